"""Decide on everything that waits to be told, and write the messages: a crash tells nothing twice.

What changed of an incident waits in the store. For each channel it is decided what there is to tell and whether this is
the moment. Then the messages, what the channels know by now, and what was decided are written down together. What
nothing holds back any more is settled; the rest waits, with the reason, and is decided again when the hold ends, at the
latest after `LOOK_AGAIN`: silences are ended and configurations changed meanwhile. What lasts is looked at now and then
too: channels are reminded of it, and those that should know of it by now and do not are told (`missed`).
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from checks import Outcome, PlainEnglish
from monitor.alerts.batch import HOUR, Batch, BatchItem, batches, rate_limit, ready, worst_first
from monitor.alerts.decide import NotificationReason, believed, remembered
from monitor.alerts.decision_record import LOOK_AGAIN, DecisionAction, IncidentNotification, as_decision
from monitor.alerts.digest import Digests, digest_id
from monitor.alerts.hold import Hold, HoldReason
from monitor.alerts.inhibition import circumstances_of
from monitor.alerts.lasting import acknowledged_by, backfill, may_be_reminded, to_hear_of_lasting
from monitor.alerts.message import MessageComposer
from monitor.alerts.operational import enqueue
from monitor.alerts.policy import ChannelState, NotificationPolicy
from monitor.alerts.route import any_way, channels_of
from monitor.config.project import Project
from monitor.scan.results import run_guarded
from store import (
    Delivery,
    DeliveryState,
    FailPoint,
    LastNotification,
    MessageSubject,
    ReadTransaction,
    Store,
    StoreError,
    Transition,
    WriteTransaction,
    reached,
)

AT_ONCE: Final = 5_000
"""Transitions decided on in one go."""
NOTED_AT_ONCE: Final = 500
"""Decisions to tell nothing that are written in one transaction: others wait for the store meanwhile."""


@dataclass(frozen=True, slots=True)
class NotifyResult:
    """What was done: messages written, changes settled, changes that wait on; incidents that we stumbled over."""

    messages: int = 0
    settled: int = 0
    held: int = 0
    stumbled: int = 0

    def __add__(self, other: "NotifyResult") -> "NotifyResult":
        return NotifyResult(
            self.messages + other.messages,
            self.settled + other.settled,
            self.held + other.held,
            self.stumbled + other.stumbled,
        )


def notify(project: Project, store: Store, now: datetime, *, remind: bool = True) -> NotifyResult:
    """Decide on what waits and write the messages. Give how much was done; nothing, if nothing was due.

    `remind`: also of what lasts, and tell of it where that was missed. That looks at everything that lasts, so a daemon
    asks for it now and then only.

    Raises:
        StoreError: the store cannot be used; what was not finished waits on.
    """
    total = NotifyResult()
    while True:
        with store.reading() as tx:
            last_notifications = tx.outbox.last_notifications_of_open() if remind else ()
            lost = backfill(project.config, tx, last_notifications, now=now, limit=AT_ONCE) if remind else ()
            if not (
                lost
                or to_hear_of_lasting(tx, project, last_notifications, now=now, remind=remind)
                or _is_ready(project, tx, now)
            ):
                return total
        if lost:
            with store.writing() as tx:
                tx.outbox.wake(lost, now)
        with store.reading() as tx:
            current_pass = _Pass(project, tx, now, remind=remind)
            current_pass.decide()
        done = _tell(project, store, now, current_pass, sorted(current_pass.telling))
        done += _note(store, now, current_pass.decisions(among=current_pass.silent))
        total += done
        if done.settled + done.held < AT_ONCE:
            return total


def _tell(project: Project, store: Store, now: datetime, current_pass: "_Pass", telling: Sequence[int]) -> NotifyResult:
    """Notify of incidents; one that raises an error is put off alone, and delays none of the others."""
    if not telling:
        return NotifyResult()
    done = run_guarded(
        lambda: _tell_together(project, store, now, remind=current_pass.reminds, telling=telling),
        passes_on=(StoreError, KeyboardInterrupt),
    )
    if not isinstance(done, Outcome):
        return done
    if len(telling) > 1:
        half = len(telling) // 2
        halves = (telling[:half], telling[half:])
        return sum((_tell(project, store, now, current_pass, part) for part in halves), NotifyResult())
    put_off = current_pass.put_off(telling, done.message.render(PlainEnglish()))
    return replace(_note(store, now, put_off), stumbled=len(telling))


def _tell_together(
    project: Project, store: Store, now: datetime, *, remind: bool, telling: Collection[int]
) -> NotifyResult:
    """Decide once more, alone, on what there seemed to be to tell, and write all that comes of it at once."""
    with store.writing() as tx:
        alone = _Pass(project, tx, now, remind=remind)
        alone.decide(among=telling)
        messages = alone.write(tx)
        done = _write_down(tx, now, alone.decisions())
    if messages:
        reached(FailPoint.AFTER_ANNOUNCE)
    return replace(done, messages=messages)


def _note(store: Store, now: datetime, decisions: Sequence["_Alike"]) -> NotifyResult:
    """Write down why nothing is told, a little at a time: others wait for the store meanwhile.

    What changed of an incident since it was looked at waits by itself, and is decided on next.
    """
    done = NotifyResult()
    parts = [
        replace(decision, ids=decision.ids[at : at + NOTED_AT_ONCE])
        for decision in decisions
        for at in range(0, len(decision.ids), NOTED_AT_ONCE)
    ]
    while parts:
        batch, size = list[_Alike](), 0
        while parts and size + len(parts[-1].ids) <= NOTED_AT_ONCE:
            batch.append(parts.pop())
            size += len(batch[-1].ids)
        with store.writing() as tx:
            done += _write_down(tx, now, batch)
    return done


def _write_down(tx: WriteTransaction, now: datetime, decisions: Iterable["_Alike"]) -> NotifyResult:
    settled = count = 0
    for decision in decisions:
        if decision.until is None:
            settled += len(tx.outbox.settle(decision.ids, now, decision.decision))
        else:
            count += len(tx.outbox.postpone(decision.ids, decision.until, decision.decision))
    return NotifyResult(settled=settled, held=count)


def _is_ready(project: Project, tx: ReadTransaction, now: datetime) -> bool:
    waiting = tx.outbox.due(now, AT_ONCE)
    return bool(ready(waiting, group_wait=project.config.alerts.group_wait, now=now))


def _delivery(channel: str, parcel: Batch, payload: Mapping[str, Any], now: datetime) -> Delivery:
    delivery = enqueue(channel, MessageSubject.INCIDENTS, payload, now=now, about=parcel.table)
    return delivery if parcel.digest is None else replace(delivery, id=digest_id(channel, parcel.digest))


@dataclass(frozen=True, slots=True)
class _Alike:
    """A decision and the transitions it is about; `until` is when to decide again, None if they are settled."""

    until: datetime | None
    decision: Mapping[str, object]
    ids: Sequence[int]


class _Pass:
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
        self._digests = Digests(tx, now, zone=project.config.timezone, whole=remind)

    def decide(self, *, among: Collection[int] | None = None) -> None:
        """Decide on what changed and, if asked, on what lasts: on all, or on these incidents."""
        remind = self.reminds
        lasting = self._tx.outbox.last_notifications_of_open() if remind else ()
        changed = {item: news for item, news in self._changed().items() if among is None or item in among}
        due = to_hear_of_lasting(self._tx, self._project, lasting, now=self._now, remind=remind).difference(changed)
        due = due if among is None else due.intersection(among)
        incidents = self._tx.incidents.get_many([*changed, *sorted(due)])
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

    def put_off(self, among: Collection[int], why: str) -> Sequence[_Alike]:
        """Return what is decided on what changed of incidents that we stumbled over: what it was, and why not now."""
        until = self._now + LOOK_AGAIN
        changed = [transition for case in self._cases if case.incident.id in among for transition in case.transitions]
        return [
            _Alike(until, {**as_decision({}, None), **(item.decision or {}), "why": why}, [item.id]) for item in changed
        ]

    @property
    def _all(self) -> Sequence[IncidentNotification]:
        return [*self._cases, *self._reminders]

    def decisions(self, *, among: Collection[int] | None = None) -> Sequence[_Alike]:
        """Return what was decided on what changed, of all or these incidents; in a storm most are alike."""
        alike: dict[tuple[datetime | None, str], tuple[Mapping[str, object], list[int]]] = {}
        for case in self._cases:
            if among is None or case.incident.id in among:
                for transition in case.transitions:
                    until, decision = case.conclude(transition, self._now)
                    alike.setdefault((until, json.dumps(decision)), (decision, []))[1].append(transition.id)
        return [_Alike(until, decision, ids) for (until, _), (decision, ids) in alike.items()]

    # --- what there is to decide on -----------------------------------------------------------------------------------

    def _changed(self) -> dict[int, list[Transition]]:
        waiting = self._tx.outbox.due(self._now, AT_ONCE)
        groups = ready(waiting, group_wait=self._config.alerts.group_wait, now=self._now)
        results: dict[int, list[Transition]] = {}
        for group in groups.values():
            for transition in group:
                results.setdefault(transition.incident_id, []).append(transition)
        return results

    def _recall(self, incident_ids: Iterable[int]) -> None:
        """Look what channels know; what reached them late they know since then, so that no reminder follows at once."""
        rows = self._tx.outbox.last_notifications(incident_ids)
        messages = {row.delivery_id for row in rows}
        sent = self._tx.deliveries.sent_at(messages)
        for row in rows:
            heard_at = max(row.told_at, sent.get(row.delivery_id, row.told_at))
            self._told.setdefault(row.incident_id, {})[row.channel] = replace(row, told_at=heard_at)
        self._states = self._tx.deliveries.states(messages)

    # --- deciding -----------------------------------------------------------------------------------------------------

    def _decide(self, case: IncidentNotification, scales: NotificationPolicy) -> None:
        for channel, ear in self._ears(case).items():
            case.records[channel] = case.dropped(channel) or scales.weigh(case.incident, ear)
        if not case.records:
            case.why = "no route matches, and the owner has no channel"

    def _remind(self, case: IncidentNotification, scales: NotificationPolicy) -> None:
        """Report again what lasts. What is held back now is no loss: it is asked again, and again."""
        for channel, ear in self._ears(case).items():
            told = self._told[case.incident.id].get(channel)
            if told is None:
                continue
            record = scales.weigh(case.incident, ear)
            again = ear.given_up or record.reason in {NotificationReason.REMINDER, NotificationReason.FLAPPING}
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
        writer, messages = MessageComposer(self._project, self._now), 0
        for channel in self._config.alerts.channels:
            telling = {case.incident.id: case for case in self._all if case.tells(channel)}
            if not telling:
                continue
            moments = tx.deliveries.created_since(channel, self._now - HOUR)
            free = rate_limit(moments, self._config.alerts.hourly_cap, self._now)
            items = [self._item(case, channel) for case in telling.values()]
            each = self._follows(channel)
            today = self._digests.parcel(items, channel)
            single = [item for item in items if not self._digests.is_in(item, channel)]
            others = (
                [Batch((item,)) for item in sorted(single, key=worst_first)] if each else batches(single, free.free)
            )
            filled = [*today, *others]
            after = rate_limit([*moments, *[self._now] * len(filled)], self._config.alerts.hourly_cap, self._now)
            for number, parcel in enumerate(filled, start=1):
                full_until = after.until if number == len(filled) and not each else None
                payload = writer.incidents(parcel, channel, self._circumstances, full_until=full_until)
                self._hand_over(
                    tx,
                    parcel,
                    _delivery(channel, parcel, payload, self._now),
                    telling,
                )
            messages += len(filled)
        return messages

    def _hand_over(
        self, tx: WriteTransaction, parcel: Batch, delivery: Delivery, telling: Mapping[int, IncidentNotification]
    ) -> None:
        channel = delivery.channel
        tx.deliveries.add([delivery])
        for item in parcel.items:
            case = telling[item.incident.id]
            case.records[channel] = replace(case.records[channel], delivery=delivery.id)
        tx.outbox.save_notifications(
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
                for item in parcel.items
            ]
        )
