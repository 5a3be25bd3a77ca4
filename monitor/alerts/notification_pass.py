"""Decide at one moment on everything that changed or lasts, and compose what channels are told of it."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from incidents import Incident
from monitor.alerts.batch import HOUR, Batch, BatchItem, batches, rate_limit, ready, worst_first
from monitor.alerts.decide import NotificationReason, believed, is_warning, remembered
from monitor.alerts.decision_record import LOOK_AGAIN, DecisionAction, IncidentNotification, as_decision
from monitor.alerts.digest import DigestSchedule, digest_id
from monitor.alerts.hold import Hold, HoldReason
from monitor.alerts.inhibition import circumstances_of
from monitor.alerts.lasting import acknowledged_by, may_be_reminded, to_hear_of_lasting
from monitor.alerts.message import MessageComposer
from monitor.alerts.operational import enqueue
from monitor.alerts.policy import ChannelState, NotificationPolicy
from monitor.alerts.route import any_way, channels_of
from monitor.alerts.warning import incidents_and_warnings, last_notifications, notified_id
from monitor.config.project import Project
from store import (
    Delivery,
    DeliveryState,
    LastNotification,
    MessageSubject,
    ReadTransaction,
    Transition,
    WriteTransaction,
)

AT_ONCE: Final = 25_000
"""Transitions decided on in one go: four checks of 5,000 tables, since what comes later is not in today's digest."""


def _delivery(channel: str, batch: Batch, payload: Mapping[str, Any], now: datetime) -> Delivery:
    delivery = enqueue(channel, MessageSubject.INCIDENTS, payload, now=now, about=batch.table)
    return delivery if batch.digest is None else replace(delivery, id=digest_id(channel, batch.digest))


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """A decision and the transitions it is about; `until` is when to decide again, None if they are settled."""

    until: datetime | None
    decision: Mapping[str, object]
    ids: Sequence[int]


class NotificationPass:
    """Everything that is decided on one state of the store."""

    def __init__(self, project: Project, tx: ReadTransaction, now: datetime, *, remind: bool) -> None:
        self.reminds = remind
        """Whether it looks at what lasts, too."""
        self._project = project
        self._config = project.config
        self._tx = tx
        self._now = now
        self._disabled = tx.silences.disabled_channels()
        self._told: dict[int, dict[str, LastNotification]] = {}
        self._states: Mapping[str, DeliveryState] = {}
        self._cases: list[IncidentNotification] = []
        self._reminders: list[IncidentNotification] = []
        self._digests = DigestSchedule(tx, now, zone=project.config.timezone, whole=remind)

    def decide(self, *, among: Collection[int] | None = None) -> None:
        """Decide on what changed and, if asked, on what lasts: on all, or on these incidents."""
        remind = self.reminds
        lasting = self._tx.outbox.last_notifications_of_open() if remind else ()
        changed = {item: news for item, news in self._changed().items() if among is None or item in among}
        due = to_hear_of_lasting(
            self._tx, self._project, lasting, disabled=self._disabled, now=self._now, remind=remind
        ).difference(changed)
        due = due if among is None else due.intersection(among)
        incidents = incidents_and_warnings(self._tx, [*changed, *sorted(due)])
        self._recall(incidents)
        self._circumstances = circumstances_of(
            self._config, self._tx, incidents.values(), disabled=self._disabled, now=self._now
        )
        scales = NotificationPolicy(self._config, self._circumstances, self._now)
        self._cases = [IncidentNotification(incidents[item], transitions) for item, transitions in changed.items()]
        for case in self._cases:
            self._decide(case, scales)
        self._reminders = [IncidentNotification(incidents[item]) for item in sorted(due)]
        for case in self._reminders:
            self._remind(case, scales)
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
                for transition in case.transitions:
                    until, decision = case.conclude(transition, self._now)
                    alike.setdefault((until, json.dumps(decision)), (decision, []))[1].append(transition.id)
        return [PendingDecision(until, decision, ids) for (until, _), (decision, ids) in alike.items()]

    # --- what there is to decide on -----------------------------------------------------------------------------------

    def _changed(self) -> dict[int, list[Transition]]:
        waiting = self._tx.outbox.due(self._now, AT_ONCE)
        groups = ready(waiting, group_wait=self._config.alerts.group_wait, now=self._now)
        results: dict[int, list[Transition]] = {}
        for group in groups.values():
            for transition in group:
                results.setdefault(notified_id(transition), []).append(transition)
        return results

    def _recall(self, incidents: Mapping[int, Incident]) -> None:
        """Look what channels know; what reached them late they know since then, so that no reminder follows at once."""
        rows = last_notifications(self._tx, incidents)
        messages = {row.delivery_id for row in rows}
        sent = self._tx.deliveries.sent_at(messages)
        for row in rows:
            heard_at = max(row.told_at, sent.get(row.delivery_id, row.told_at))
            self._told.setdefault(row.incident_id, {})[row.channel] = replace(row, told_at=heard_at)
        self._states = self._tx.deliveries.states(messages)

    # --- deciding -----------------------------------------------------------------------------------------------------

    def _decide(self, case: IncidentNotification, scales: NotificationPolicy) -> None:
        for channel, state in self._ears(case).items():
            case.records[channel] = case.dropped(channel) or scales.weigh(case.incident, state)
        if not case.records:
            case.why = "no route matches, and the owner has no channel"

    def _remind(self, case: IncidentNotification, scales: NotificationPolicy) -> None:
        """Report again what lasts. What is held back now is no loss: it is asked again, and again."""
        for channel, state in self._ears(case).items():
            told = self._told[case.incident.id].get(channel)
            if told is None:
                continue
            record = scales.weigh(case.incident, state)
            again = state.given_up or record.reason in {NotificationReason.REMINDER, NotificationReason.FLAPPING}
            expected = again and may_be_reminded(told, self._project, self._now)
            if record.action is DecisionAction.TOLD and (expected or record.reason is NotificationReason.ACKNOWLEDGED):
                case.records[channel] = record

    def _ears(self, case: IncidentNotification) -> Mapping[str, ChannelState]:
        """Return the channels that are concerned: those of the routes, and those that know of the incident."""
        incident = case.incident
        routing = channels_of(incident, self._config, self._now)
        told = self._told.get(incident.id, {})
        results = {}
        for channel in (*routing.channels, *(item for item in told if item not in routing.channels)):
            if channel not in self._config.alerts.channels:
                continue
            known = told.get(channel)
            state = None if known is None else self._states.get(known.delivery_id)
            disabled = self._disabled.get(channel)
            reached = routing.channels.get(channel) or any_way(channel, self._config)
            results[channel] = ChannelState(
                reached=reached,
                routed=channel in routing.channels,
                told=believed(known) if known is not None and state is DeliveryState.DEAD else known,
                given_up=state is DeliveryState.DEAD,
                undelivered=state is DeliveryState.WAITING,
                disabled=None if disabled is None else disabled.why,
                owed=case.owes(channel),
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
        moments = self._tx.deliveries.created_since(channel, self._now - HOUR)
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
        return BatchItem(
            case.incident, case.records[channel].reason, case.since, acknowledged_by(self._tx, case.incident)
        )

    # --- writing ------------------------------------------------------------------------------------------------------

    def write(self, tx: WriteTransaction) -> int:
        """Write the messages, and what the channels know by now; gives how many messages."""
        messages, cases = self.compose(tx), {case.incident.id: case for case in self._all}
        for batch, delivery in messages:
            self._hand_over(tx, batch, delivery, cases)
        return len(messages)

    def compose(self, tx: ReadTransaction) -> Sequence[tuple[Batch, Delivery]]:
        """Return the messages, each with what it is about."""
        writer, results = MessageComposer(self._project, self._now), list[tuple[Batch, Delivery]]()
        for channel in self._config.alerts.channels:
            items = [self._item(case, channel) for case in self._all if case.tells(channel)]
            if not items:
                continue
            moments = tx.deliveries.created_since(channel, self._now - HOUR)
            filled = self._parcels(items, channel, moments)
            after = rate_limit([*moments, *[self._now] * len(filled)], self._config.alerts.hourly_cap, self._now)
            for number, batch in enumerate(filled, start=1):
                full_until = after.until if number == len(filled) and not self._follows(channel) else None
                payload = writer.incidents(batch, channel, self._circumstances, full_until=full_until)
                results.append((batch, _delivery(channel, batch, payload, self._now)))
        return results

    def _parcels(self, items: Sequence[BatchItem], channel: str, moments: Sequence[datetime]) -> Sequence[Batch]:
        today = self._digests.batch(items, channel)
        single = [item for item in items if not self._digests.is_in(item, channel)]
        if self._follows(channel):
            return [*today, *(Batch((item,)) for item in sorted(single, key=worst_first))]
        free = rate_limit(moments, self._config.alerts.hourly_cap, self._now).free
        return [*today, *batches(single, free)]

    def _hand_over(
        self, tx: WriteTransaction, batch: Batch, delivery: Delivery, cases: Mapping[int, IncidentNotification]
    ) -> None:
        channel = delivery.channel
        tx.deliveries.add([delivery])
        for item in batch.items:
            case = cases[item.incident.id]
            case.records[channel] = replace(case.records[channel], delivery=delivery.id)
        tx.outbox.save_notifications(  # of warnings, what was decided says who was told
            [
                LastNotification(
                    incident_id=item.incident.id,
                    channel=channel,
                    reason=remembered(item.incident, item.reason, follows=self._follows(channel)),
                    severity=item.incident.severity,
                    episodes=len(item.incident.episodes),
                    told_at=self._now,
                    delivery_id=delivery.id,
                )
                for item in batch.items
                if not is_warning(item.incident)
            ]
        )
