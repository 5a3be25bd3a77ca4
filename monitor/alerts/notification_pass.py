"""Decide on everything that changed or lasts at one moment, and compose what channels are told of it."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from monitor.alerts.batch import Batch, BatchItem, batches, rate_limit, worst_first
from monitor.alerts.decide import NotificationReason, believed, is_warning, remembered
from monitor.alerts.decision_record import LOOK_AGAIN, DecisionAction, IncidentNotification, as_decision
from monitor.alerts.digest import DigestSchedule, digest_id
from monitor.alerts.facts import AlertFacts
from monitor.alerts.hold import Hold, HoldReason
from monitor.alerts.lasting import may_be_reminded
from monitor.alerts.message import MessageComposer
from monitor.alerts.operational import enqueue
from monitor.alerts.policy import ChannelState, NotificationPolicy
from monitor.alerts.route import any_way, channels_of, next_in_line_at
from monitor.config.project import Project
from store import (
    Delivery,
    DeliveryState,
    LastNotification,
    MessageSubject,
    WriteTransaction,
)


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """A decision and the transitions it is about; `until` is when to decide again, None if they are settled."""

    until: datetime | None
    decision: Mapping[str, object]
    ids: Sequence[int]


class Announcement(NamedTuple):
    """A message to write; `full_until`: with it the channel has had all it may get until then."""

    channel: str
    batch: Batch
    full_until: datetime | None

    @property
    def delivery_id(self) -> str | None:
        """Return the id of the message where it is the same whoever makes it: a digest; else None."""
        return None if self.batch.digest is None else digest_id(self.channel, self.batch.digest)


class NotificationPass:
    """Everything that is decided on one state of things."""

    def __init__(self, project: Project, facts: AlertFacts, now: datetime, *, remind: bool) -> None:
        """Decide; `remind`: all that lasts was looked at, too."""
        self.reminds = remind
        self._project = project
        self._config = project.config
        self._facts = facts
        self._now = now
        self._digests = DigestSchedule(facts.digests, now, zone=project.config.timezone, whole=remind)
        scales = NotificationPolicy(self._config, facts.circumstances, now)
        self._cases = [IncidentNotification(facts.incidents[item], news) for item, news in facts.due.changed.items()]
        for case in self._cases:
            self._decide(case, scales)
        self._reminders = [IncidentNotification(facts.incidents[item]) for item in facts.due.lasting]
        for case in self._reminders:
            self._remind(case, scales)
        self._by_id = {case.incident.id: case for case in self._all}
        for channel in self._config.alerts.channels:
            self._keep_back(channel)

    @property
    def telling(self) -> set[int]:
        """Name the incidents of which a channel is told."""
        return {case.incident.id for case in self._all if any(case.tells(channel) for channel in case.records)}

    @property
    def silent(self) -> set[int]:
        """Name the incidents that changed and of which nobody is told."""
        return {case.incident.id for case in self._cases} - self.telling

    @property
    def holds_of_reminders(self) -> Sequence[datetime]:
        """Return when what holds reminders back ends, where that is known."""
        records = (record for case in self._reminders for record in case.records.values())
        return [record.until for record in records if record.action is DecisionAction.HELD and record.until is not None]

    def postpone(self, among: Collection[int], why: str) -> Sequence[PendingDecision]:
        """Return what is decided on what changed of incidents that we stumbled over: what it was, and why not now."""
        until = self._now + LOOK_AGAIN
        changed = [transition for case in self._cases if case.incident.id in among for transition in case.transitions]
        return [
            PendingDecision(until, {**as_decision({}, None), **(item.decision or {}), "why": why}, [item.id])
            for item in changed
        ]

    @property
    def _all(self) -> Sequence[IncidentNotification]:
        return [*self._cases, *self._reminders]

    def decisions(self, *, among: Collection[int] | None = None) -> Sequence[PendingDecision]:
        """Return what was decided on what changed, of all or these incidents; in a storm most are alike."""
        alike: dict[tuple[datetime | None, str], tuple[Mapping[str, object], list[int]]] = {}
        for case in self._cases:
            if among is None or case.incident.id in among:
                soonest = next_in_line_at(case.incident, self._config, self._now)
                for transition in case.transitions:
                    until, decision = case.conclude(transition, self._now, soonest=soonest)
                    alike.setdefault((until, json.dumps(decision)), (decision, []))[1].append(transition.id)
        return [PendingDecision(until, decision, ids) for (until, _), (decision, ids) in alike.items()]

    # --- deciding -----------------------------------------------------------------------------------------------------

    def _decide(self, case: IncidentNotification, scales: NotificationPolicy) -> None:
        for channel, state in self._ears(case).items():
            case.records[channel] = case.dropped(channel) or scales.weigh(case.incident, state)
        if not case.records:
            is_gone = self._config.table(case.incident.table) is None
            case.why = f"no route matches, and the {'table is not configured' if is_gone else 'owner has no channel'}"

    def _remind(self, case: IncidentNotification, scales: NotificationPolicy) -> None:
        """Report again what lasts. What is held back now is no loss: it is asked again, and again."""
        for channel, state in self._ears(case).items():
            told = self._facts.told.get(case.incident.id, {}).get(channel)
            if told is None:
                continue
            record = scales.weigh(case.incident, state)
            again = state.given_up or record.reason in {NotificationReason.REMINDER, NotificationReason.FLAPPING}
            expected = again and may_be_reminded(told, self._project, self._now)
            is_news = expected or record.reason is NotificationReason.ACKNOWLEDGED
            if is_news and record.action in {DecisionAction.TOLD, DecisionAction.HELD}:
                case.records[channel] = record

    def _ears(self, case: IncidentNotification) -> Mapping[str, ChannelState]:
        """Return the channels that are concerned: those of the routes, and those that know of the incident.

        Where its table is no longer configured, no route by domain or owner leads anywhere: the channels that its news
        was held back from stay.
        """
        incident = case.incident
        routed, held = channels_of(incident, self._config, self._now).channels, case.held_channels()
        if self._config.table(incident.table) is None:
            routed = {channel: any_way(channel, self._config) for channel in held} | dict(routed)
        told = self._facts.told.get(incident.id, {})
        results = {}
        for channel in (*routed, *(item for item in told if item not in routed)):
            if channel not in self._config.alerts.channels:
                continue
            known = told.get(channel)
            state = None if known is None else self._facts.states.get(known.delivery_id)
            disabled = self._facts.disabled.get(channel)
            reached = routed.get(channel) or any_way(channel, self._config)
            results[channel] = ChannelState(
                reached=reached,
                routed=channel in routed,
                told=believed(known) if known is not None and state is DeliveryState.DEAD else known,
                given_up=state is DeliveryState.DEAD,
                undelivered=state is DeliveryState.WAITING,
                disabled=None if disabled is None else disabled.why,
                owed=held.get(channel, False),
                follows=self._follows(channel),
                since=case.since,
                digest=self._digests.held_until(channel, reached.digest, case, known),
            )
        return results

    def _keep_back(self, channel: str) -> None:
        """Hold what there is to tell a channel that has had all it may get."""
        telling = [case for case in self._all if case.tells(channel)]
        if not telling:
            return
        cap = self._config.alerts.hourly_cap
        moments = self._facts.written[channel]
        full = rate_limit(moments, cap, self._now)
        if self._follows(channel):  # there is no message over several incidents; what it shows already goes on
            new = [case for case in telling if case.records[channel].reason is NotificationReason.FIRST]
            telling = sorted(new, key=lambda case: worst_first(self._item(case, channel)))[full.free :]
            full = rate_limit([*moments, *[self._now] * full.free], cap, self._now)
        if telling and not full.free:
            hold = Hold(HoldReason.CAP, f"the cap of {cap} messages an hour (alerts.hourly_cap)", full.until)
            for case in telling:
                case.records[channel] = case.records[channel].held(hold)

    def _follows(self, channel: str) -> bool:
        return self._config.alerts.channels[channel].kind.follows

    def _item(self, case: IncidentNotification, channel: str) -> BatchItem:
        incident, record = case.incident, case.records[channel]
        waited = incident.last.unacknowledged(self._now) if record.escalates else None
        return BatchItem(incident, record.reason, case.since, self._facts.acknowledged_by.get(incident.id), waited)

    # --- telling ------------------------------------------------------------------------------------------------------

    def announcements(self) -> Iterator[Announcement]:
        """Yield the messages that there are to write, channel by channel."""
        cap = self._config.alerts.hourly_cap
        for channel in self._config.alerts.channels:
            items = [self._item(case, channel) for case in self._all if case.tells(channel)]
            if not items:
                continue
            moments = self._facts.written[channel]
            filled = self._parcels(items, channel, rate_limit(moments, cap, self._now).free)
            after = rate_limit([*moments, *[self._now] * len(filled)], cap, self._now)
            for number, batch in enumerate(filled, start=1):
                is_last = number == len(filled) and not self._follows(channel)
                yield Announcement(channel, batch, after.until if is_last else None)

    def _parcels(self, items: Sequence[BatchItem], channel: str, free: int) -> Sequence[Batch]:
        today = self._digests.batch(items, channel)
        single = [item for item in items if not self._digests.is_in(item, channel)]
        if self._follows(channel):
            return [*today, *(Batch((item,)) for item in sorted(single, key=worst_first))]
        return [*today, *batches(single, free)]

    def compose(self) -> Iterator[tuple[Announcement, Delivery]]:
        """Yield the messages in words."""
        writer = MessageComposer(self._project, self._now)
        for item in self.announcements():
            payload = writer.incidents(item.batch, item.channel, self._facts.circumstances, full_until=item.full_until)
            about, now = item.batch.table, self._now
            delivery = enqueue(item.channel, MessageSubject.INCIDENTS, payload, now=now, about=about)
            yield item, replace(delivery, id=item.delivery_id or delivery.id)

    def tell(self, announcement: Announcement, delivery_id: str) -> Sequence[LastNotification]:
        """Take down that a message was written, and return what its channel knows by now."""
        channel, items = announcement.channel, announcement.batch.items
        for item in items:
            records = self._by_id[item.incident.id].records
            records[channel] = replace(records[channel], delivery=delivery_id)
        return [  # of warnings, what was decided says who was told
            LastNotification(
                incident_id=item.incident.id,
                channel=channel,
                reason=remembered(item.incident, item.reason, follows=self._follows(channel)),
                severity=item.incident.severity,
                episodes=len(item.incident.episodes),
                told_at=self._now,
                delivery_id=delivery_id,
            )
            for item in items
            if not is_warning(item.incident)
        ]

    def write(self, tx: WriteTransaction) -> int:
        """Write the messages, and what the channels know by now; gives how many messages."""
        messages = list(self.compose())
        tx.deliveries.add([delivery for _, delivery in messages])
        tx.outbox.save_notifications([row for item, delivery in messages for row in self.tell(item, delivery.id)])
        return len(messages)
