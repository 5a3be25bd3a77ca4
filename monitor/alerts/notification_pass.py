"""Decide on all incidents that are due at one moment, and compose the messages."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple

from checks import Message
from incidents import Incident, to_us
from monitor.alerts.batch import Batch, BatchItem, batches, rate_limit, worst_first
from monitor.alerts.decide import NotificationReason, is_warning, last_delivered, stored_reason
from monitor.alerts.decision_record import RECHECK_AFTER, DecisionAction, IncidentNotification, encode_decision
from monitor.alerts.digest import DigestSchedule, digest_id
from monitor.alerts.facts import AlertFacts
from monitor.alerts.hold import Hold, HoldReason
from monitor.alerts.message import MessageComposer
from monitor.alerts.operational import enqueue
from monitor.alerts.policy import ChannelState, NotificationPolicy
from monitor.alerts.reminders import may_be_reminded
from monitor.alerts.route import any_way, channels_of, next_in_line_at
from monitor.config.project import Project
from store import (
    Delivery,
    DeliveryState,
    LastNotification,
    MessageSubject,
    WriteTransaction,
)

NO_CHANNEL: Final = Message("no route matches, and the owner has no channel")
NO_TABLE: Final = Message("no route matches, and the table is not configured")


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """A decision on transitions; `until` is when to decide again, None if it is final."""

    until: datetime | None
    decision: Mapping[str, object]
    ids: Sequence[int]


class PlannedMessage(NamedTuple):
    """A message to write; `full_until`: with it the channel has reached its rate limit until then."""

    channel: str
    batch: Batch
    full_until: datetime | None

    @property
    def delivery_id(self) -> str | None:
        """Return the id of a digest, which is the same from every process; None for other messages."""
        return None if self.batch.digest is None else digest_id(self.channel, self.batch.digest)


class NotificationPass:
    """All decisions at one moment, and the messages that follow."""

    def __init__(self, project: Project, facts: AlertFacts, now: datetime, *, remind: bool) -> None:
        """Decide; `remind`: the facts have all incidents that may have reminders."""
        self.remind = remind
        self._project = project
        self._config = project.config
        self._facts = facts
        self._now = now
        self._digests = DigestSchedule(facts.digest_ids, now, zone=project.config.timezone, complete=remind)
        policy = NotificationPolicy(self._config, facts.hold_rules, now)
        self._changed = [
            IncidentNotification(facts.incidents[number], transitions)
            for number, transitions in facts.due.changed.items()
        ]
        for case in self._changed:
            self._decide_incident(case, policy)
        self._reminders = [IncidentNotification(facts.incidents[number]) for number in facts.due.lasting]
        for case in self._reminders:
            self._decide_reminder(case, policy)
        self._by_id = {case.incident.id: case for case in self._all}
        for channel in self._config.alerts.channels:
            self._hold_above_cap(channel)

    @property
    def notified_ids(self) -> set[int]:
        """Return the ids of the incidents of which a channel is notified."""
        return {case.incident.id for case in self._all if any(case.notifies(channel) for channel in case.records)}

    @property
    def unnotified_ids(self) -> set[int]:
        """Return the ids of the incidents that changed and of which no channel is notified."""
        return {case.incident.id for case in self._changed} - self.notified_ids

    @property
    def reminder_hold_ends(self) -> Sequence[datetime]:
        """Return when reminders that are held back may be sent, where that is known."""
        return _hold_ends(self._reminders)

    @property
    def hold_ends(self) -> Sequence[datetime]:
        """Return when holds end, where that is known, also of what would follow a message that was sent."""
        return _hold_ends(self._all)

    def postpone(self, among: Collection[int], why: str) -> Sequence[PendingDecision]:
        """Return the earlier decisions on the changes of incidents that cannot be decided on now, with the reason."""
        until = self._now + RECHECK_AFTER
        changes = [item for case in self._changed if case.incident.id in among for item in case.transitions]
        return [
            PendingDecision(until, {**encode_decision({}, None), **(item.decision or {}), "why": why}, [item.id])
            for item in changes
        ]

    @property
    def _all(self) -> Sequence[IncidentNotification]:
        return [*self._changed, *self._reminders]

    def decisions(self, *, among: Collection[int] | None = None) -> Sequence[PendingDecision]:
        """Return the decisions on the changes of all or these incidents; equal ones (most, in a storm) together."""
        equal: dict[tuple[datetime | None, str], tuple[Mapping[str, object], list[int]]] = {}
        for case in self._changed:
            if among is None or case.incident.id in among:
                next_at = next_in_line_at(case.incident, self._config, self._now)
                for transition, until, decision in case.conclusions(self._now, next_in_line_at=next_at):
                    equal.setdefault((until, json.dumps(decision)), (decision, []))[1].append(transition.id)
        return [PendingDecision(until, decision, ids) for (until, _), (decision, ids) in equal.items()]

    # --- decisions ----------------------------------------------------------------------------------------------------

    def _decide_incident(self, case: IncidentNotification, policy: NotificationPolicy) -> None:
        for channel, state in self._channel_states(case).items():
            case.records[channel] = case.dropped(channel) or policy.decide_for_channel(case.incident, state)
        if not case.records:
            is_gone = self._config.table(case.incident.table) is None
            case.why = str(NO_TABLE if is_gone else NO_CHANNEL)

    def _decide_reminder(self, case: IncidentNotification, policy: NotificationPolicy) -> None:
        """Decide on an incident that did not change. A reminder that is held back is not recorded: it is due again."""
        for channel, state in self._channel_states(case).items():
            last = self._facts.last_notifications.get(case.incident.id, {}).get(channel)
            if last is None:
                continue
            record = policy.decide_for_channel(case.incident, state)
            is_reminder = state.given_up or record.reason in {NotificationReason.REMINDER, NotificationReason.FLAPPING}
            is_due = is_reminder and may_be_reminded(last, self._project, self._now)
            if (is_due or record.reason is NotificationReason.ACKNOWLEDGED) and record.action in {
                DecisionAction.NOTIFIED,
                DecisionAction.HELD,
            }:
                case.records[channel] = record

    def _channel_states(self, case: IncidentNotification) -> Mapping[str, ChannelState]:
        """Return the channels that an incident is routed to or that were notified of it.

        Where its table is no longer configured, no route by domain or owner leads anywhere: channels for which an alert
        was held back stay.
        """
        incident = case.incident
        routed, held = channels_of(incident, self._config, self._now).channels, case.held_channels()
        if self._config.table(incident.table) is None:
            routed = {channel: any_way(channel, self._config) for channel in held} | dict(routed)
        last_notifications = self._facts.last_notifications.get(incident.id, {})
        states = {}
        for channel in dict.fromkeys((*routed, *last_notifications)):
            if channel not in self._config.alerts.channels:
                continue
            last = last_notifications.get(channel)
            delivery = None if last is None else self._facts.delivery_states.get(last.delivery_id)
            disabled = self._facts.disabled.get(channel)
            reached = routed.get(channel) or any_way(channel, self._config)
            given_up = delivery is DeliveryState.DEAD
            states[channel] = ChannelState(
                reached=reached,
                routed=channel in routed,
                last_notification=last_delivered(last) if last is not None and given_up else last,
                given_up=given_up,
                undelivered=delivery is DeliveryState.WAITING,
                disabled=None if disabled is None else disabled.why,
                even_if_resolved=held.get(channel, False),
                follows=self._follows(channel),
                since=case.since,
                digest_at=self._digests.held_until(channel, reached.digest, case, last),
            )
        return states

    def _hold_above_cap(self, channel: str) -> None:
        """Hold back the alerts for a channel that has reached its rate limit."""
        notified = [case for case in self._all if case.notifies(channel)]
        if not notified:
            return
        cap = self._config.alerts.hourly_cap
        moments = self._facts.recent_messages[channel]
        limit = rate_limit(moments, cap, self._now)
        if self._follows(channel):  # one message for each incident; updates of existing items are not limited
            new = [case for case in notified if case.records[channel].reason is NotificationReason.FIRST]
            notified = sorted(new, key=lambda case: worst_first(self._item(case, channel)))[limit.free :]
            limit = rate_limit([*moments, *[self._now] * limit.free], cap, self._now)
        if notified and not limit.free:
            hold = Hold(HoldReason.CAP, f"the cap of {cap} messages an hour (alerts.hourly_cap)", limit.until)
            for case in notified:
                case.records[channel] = case.records[channel].held(hold)

    def _follows(self, channel: str) -> bool:
        return self._config.alerts.channels[channel].kind.follows

    def _item(self, case: IncidentNotification, channel: str) -> BatchItem:
        incident, record = case.incident, case.records[channel]
        waited = incident.last.unacknowledged(self._now) if record.escalates else None
        acknowledged_by, weight = self._facts.acknowledged_by.get(incident.id), self._weight(incident)
        return BatchItem(incident, record.reason, case.since, acknowledged_by, waited, weight)

    def _weight(self, incident: Incident) -> float:
        """Return in how many runs one is so far from what is usual, times the price of an hour and the consumers."""
        odds = incident.title_values.get("odds")
        if not isinstance(odds, int | float):
            return 0.0
        price = self._project.pricing.per_hour(incident.table, to_us(self._now))
        return odds * float(price or 1) * (1 + len(self._config.consumers_of(incident.table)))

    # --- messages -----------------------------------------------------------------------------------------------------

    def messages(self) -> Iterator[PlannedMessage]:
        """Yield the messages to write, by channel."""
        cap = self._config.alerts.hourly_cap
        for channel in self._config.alerts.channels:
            items = [self._item(case, channel) for case in self._all if case.notifies(channel)]
            if not items:
                continue
            moments = self._facts.recent_messages[channel]
            parts = self._batches(items, channel, rate_limit(moments, cap, self._now).free)
            after = rate_limit([*moments, *[self._now] * len(parts)], cap, self._now)
            for number, batch in enumerate(parts, start=1):
                is_last = number == len(parts) and not self._follows(channel)
                yield PlannedMessage(channel, batch, after.until if is_last else None)

    def _batches(self, items: Sequence[BatchItem], channel: str, free: int) -> Sequence[Batch]:
        digest = self._digests.batch(items, channel)
        others = [item for item in items if not self._digests.is_in(item, channel)]
        if self._follows(channel):
            return [*digest, *(Batch((item,)) for item in sorted(others, key=worst_first))]
        return [*digest, *batches(others, free)]

    def compose(self) -> Iterator[tuple[PlannedMessage, Delivery]]:
        """Yield the messages with their contents."""
        composer = MessageComposer(self._project, self._now)
        for message in self.messages():
            payload = composer.incidents(
                message.batch, message.channel, self._facts.hold_rules, full_until=message.full_until
            )
            about, now = message.batch.table, self._now
            delivery = enqueue(message.channel, MessageSubject.INCIDENTS, payload, now=now, about=about)
            yield message, replace(delivery, id=message.delivery_id or delivery.id)

    def record(self, message: PlannedMessage, delivery_id: str) -> Sequence[LastNotification]:
        """Put the id of a message into the decisions, and return the last notifications of its incidents."""
        channel, items = message.channel, message.batch.items
        for item in items:
            records = self._by_id[item.incident.id].records
            records[channel] = replace(records[channel], delivery=delivery_id)
        return [  # those of warnings follow from the decisions
            LastNotification(
                incident_id=item.incident.id,
                channel=channel,
                reason=stored_reason(item.incident, item.reason, follows=self._follows(channel)),
                severity=item.incident.severity,
                episodes=len(item.incident.episodes),
                told_at=self._now,
                delivery_id=delivery_id,
            )
            for item in items
            if not is_warning(item.incident)
        ]

    def write(self, tx: WriteTransaction) -> int:
        """Write the messages and the last notifications, and return the number of messages."""
        messages = list(self.compose())
        tx.deliveries.add([delivery for _, delivery in messages])
        tx.outbox.save_notifications([row for item, delivery in messages for row in self.record(item, delivery.id)])
        return len(messages)


def _hold_ends(cases: Iterable[IncidentNotification]) -> Sequence[datetime]:
    records = (record for case in cases for record in case.records.values())
    return [record.until for record in records if record.action is DecisionAction.HELD and record.until is not None]
