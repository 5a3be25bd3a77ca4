"""Decide on everything that waits to be told, and write the messages, in one transaction: a crash tells nothing twice.

What changed of an incident waits in the store. For each channel it is decided what there is to tell and whether this is
the moment. Then the messages, what the channels know by now, and what was decided are written down together. What
nothing holds back any more is settled; the rest waits, with the reason, and is decided again when the hold ends, at the
latest after `LOOK_AGAIN`: silences are ended and configurations changed meanwhile. What lasts is looked at now and then
too: channels are reminded of it, and those that should know of it by now and do not are told (`missed`).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from monitor.alerts.around import look_around
from monitor.alerts.case import Case
from monitor.alerts.decide import FLAPPING_NOTICE, Reason, believed, remembered
from monitor.alerts.group import Item, Parcel, parcels, ready
from monitor.alerts.message import Writer
from monitor.alerts.missed import missed
from monitor.alerts.notices import deliver
from monitor.alerts.pace import HOUR, Room, room
from monitor.alerts.record import Action
from monitor.alerts.route import any_way, channels_for
from monitor.alerts.suppress import Circumstances, HeldBy, Hold
from monitor.alerts.weigh import Ear, Scales
from monitor.wiring import Project
from store import Book, DeliveryState, Disabled, FailPoint, Store, Subject, Told, Transition, View, reached

AT_ONCE: Final = 5_000
"""Transitions decided on in one transaction: others wait for the store meanwhile."""
_EVERYTHING: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Announced:
    """What was done: messages written, changes settled, changes that wait on."""

    messages: int = 0
    settled: int = 0
    held: int = 0

    def __add__(self, other: "Announced") -> "Announced":
        return Announced(self.messages + other.messages, self.settled + other.settled, self.held + other.held)


def announce(project: Project, store: Store, now: datetime, *, remind: bool = True) -> Announced:
    """Decide on what waits and write the messages. Give how much was done; nothing, if nothing was due.

    `remind`: also of what lasts, and tell of it where that was missed. That looks at everything that lasts, so a daemon
    asks for it now and then only.

    Raises:
        StoreError: the store cannot be used; what was not finished waits on.
    """
    total = Announced()
    while True:
        with store.reading() as view:
            if not _is_due(project, view, now, remind=remind):
                return total
        with store.writing() as book:
            done = _Pass(project, book, now).make(remind=remind)
        if done.messages:
            reached(FailPoint.AFTER_ANNOUNCE)
        total += done
        if done.settled + done.held < AT_ONCE:
            return total


def look_again(store: Store, now: datetime) -> int:
    """Let everything that waits be decided anew at once, and give how many changes that is.

    For when the clock went back, the configuration changed, a silence was ended, or a channel is used again.
    """
    with store.writing() as book:
        waiting = book.waiting_transitions(_EVERYTHING)
        return len(book.postpone([one.id for one in waiting], now))


def _is_due(project: Project, view: View, now: datetime, *, remind: bool) -> bool:
    waiting = view.transitions(now, AT_ONCE)
    if ready(waiting, group_wait=project.config.alerts.group_wait, now=now):
        return True
    if not remind:
        return False
    told = view.told_open()
    return bool(_to_remind(told, project, view.disabled_channels(), now) or missed(project.config, view, told, limit=1))


def _to_remind(told: Iterable[Told], project: Project, disabled: Mapping[str, Disabled], now: datetime) -> set[int]:
    """Give the incidents of which a channel that is used may be reminded."""
    used = project.config.alerts.channels.keys() - disabled.keys()
    return {one.incident_id for one in told if one.channel in used and _may_be_reminded(one, project, now)}


def _may_be_reminded(told: Told, project: Project, now: datetime) -> bool:
    soonest = min(project.config.alerts.remind_every, FLAPPING_NOTICE)
    return told.reason != Reason.RESOLVED and now - told.told_at >= soonest


class _Pass:
    """Everything that is decided in one transaction."""

    def __init__(self, project: Project, book: Book, now: datetime) -> None:
        self._project = project
        self._config = project.config
        self._book = book
        self._now = now
        self._disabled = book.disabled_channels()
        self._told: dict[int, dict[str, Told]] = {}
        self._states: Mapping[str, DeliveryState] = {}

    def make(self, *, remind: bool) -> Announced:
        lasting = self._book.told_open() if remind else ()
        if remind:
            self._book.wake(missed(self._config, self._book, lasting, limit=AT_ONCE), self._now)
        changed = self._changed()
        due = sorted(_to_remind(lasting, self._project, self._disabled, self._now).difference(changed))
        incidents = self._book.incidents_numbered([*changed, *due])
        self._recall(incidents)
        circumstances = look_around(
            self._config, self._book, incidents.values(), disabled=self._disabled, now=self._now
        )
        scales = Scales(self._config, circumstances, self._now)
        cases = [Case(incidents[one], transitions) for one, transitions in changed.items()]
        for case in cases:
            self._decide(case, scales)
        reminders = [Case(incidents[one]) for one in due]
        for case in reminders:
            self._remind(case, scales)
        messages = self._write([*cases, *reminders], circumstances)
        return replace(self._settle(cases), messages=messages)

    # --- what there is to decide on -----------------------------------------------------------------------------------

    def _changed(self) -> dict[int, list[Transition]]:
        waiting = self._book.transitions(self._now, AT_ONCE)
        groups = ready(waiting, group_wait=self._config.alerts.group_wait, now=self._now)
        found: dict[int, list[Transition]] = {}
        for group in groups.values():
            for one in group:
                found.setdefault(one.incident_id, []).append(one)
        return found

    def _recall(self, incident_ids: Iterable[int]) -> None:
        """Look what channels know; what reached them late they know since then, so that no reminder follows at once."""
        rows = self._book.told(incident_ids)
        messages = {one.delivery_id for one in rows}
        sent = self._book.sent_at(messages)
        for one in rows:
            heard_at = max(one.told_at, sent.get(one.delivery_id, one.told_at))
            self._told.setdefault(one.incident_id, {})[one.channel] = replace(one, told_at=heard_at)
        self._states = self._book.delivery_states(messages)

    # --- deciding -----------------------------------------------------------------------------------------------------

    def _decide(self, case: Case, scales: Scales) -> None:
        for channel, ear in self._ears(case).items():
            case.records[channel] = case.dropped(channel) or scales.weigh(case.incident, ear)
        if not case.records:
            case.why = "no route leads to a channel, and the owner has none"

    def _remind(self, case: Case, scales: Scales) -> None:
        """Tell again what lasts. What is held back now is no loss: it is asked again, and again."""
        for channel, ear in self._ears(case).items():
            told = self._told[case.incident.id].get(channel)
            if told is None or not _may_be_reminded(told, self._project, self._now):
                continue
            record = scales.weigh(case.incident, ear)
            expected = ear.given_up or record.reason in {Reason.REMINDER, Reason.FLAPPING}
            if record.action is Action.TOLD and expected:
                case.records[channel] = record

    def _ears(self, case: Case) -> Mapping[str, Ear]:
        """Give the channels that are concerned: those of the routes, and those that know of the incident."""
        incident = case.incident
        routing = channels_for(incident.table, self._config, severity=incident.severity, kind=incident.kind)
        told = self._told.get(incident.id, {})
        found = {}
        for channel in (*routing.channels, *(one for one in told if one not in routing.channels)):
            if channel not in self._config.alerts.channels:
                continue
            known = told.get(channel)
            state = None if known is None else self._states.get(known.delivery_id)
            disabled = self._disabled.get(channel)
            found[channel] = Ear(
                reached=routing.channels.get(channel) or any_way(channel, self._config),
                routed=channel in routing.channels,
                told=believed(known) if known is not None and state is DeliveryState.DEAD else known,
                given_up=state is DeliveryState.DEAD,
                undelivered=state is DeliveryState.WAITING,
                disabled=None if disabled is None else disabled.why,
                owed=case.owes(channel),
                since=case.since,
            )
        return found

    # --- writing ------------------------------------------------------------------------------------------------------

    def _write(self, cases: Sequence[Case], circumstances: Circumstances) -> int:
        writer = Writer(self._project, self._now)
        messages = 0
        for channel in self._config.alerts.channels:
            telling = {case.incident.id: case for case in cases if case.tells(channel)}
            if not telling:
                continue
            given = self._book.delivered_since(channel, self._now - HOUR)
            free = room(given, self._config.alerts.hourly_cap, self._now)
            if not free.free:
                self._keep_back(telling.values(), channel, free)
                continue
            items = [Item(case.incident, case.records[channel].reason, case.since) for case in telling.values()]
            filled = parcels(items, free.free)
            after = room([*given, *[self._now] * len(filled)], self._config.alerts.hourly_cap, self._now)
            for number, parcel in enumerate(filled, start=1):
                full_until = after.until if number == len(filled) else None
                payload = writer.incidents(parcel, channel, circumstances, full_until=full_until)
                self._hand_over(parcel, channel, payload, telling)
            messages += len(filled)
        return messages

    def _keep_back(self, cases: Iterable[Case], channel: str, full: Room) -> None:
        cap = self._config.alerts.hourly_cap
        hold = Hold(HeldBy.CAP, f"the cap of {cap} messages an hour (alerts.hourly_cap)", full.until)
        for case in cases:
            case.records[channel] = case.records[channel].held(hold)

    def _hand_over(
        self, parcel: Parcel, channel: str, payload: Mapping[str, object], telling: Mapping[int, Case]
    ) -> None:
        delivery = deliver(channel, Subject.INCIDENTS, payload, now=self._now, about=parcel.table)
        self._book.add_deliveries([delivery])
        for item in parcel.items:
            case = telling[item.incident.id]
            case.records[channel] = replace(case.records[channel], delivery=delivery.id)
        self._book.tell(
            [
                Told(
                    incident_id=item.incident.id,
                    channel=channel,
                    reason=remembered(item.incident, item.reason),
                    severity=item.incident.severity,
                    episodes=len(item.incident.episodes),
                    told_at=self._now,
                    delivery_id=delivery.id,
                )
                for item in parcel.items
            ]
        )

    def _settle(self, cases: Sequence[Case]) -> Announced:
        """Write the decisions down, alike ones together: in a storm most are."""
        alike: dict[tuple[datetime | None, str], tuple[Mapping[str, object], list[int]]] = {}
        for case in cases:
            for one in case.transitions:
                until, decision = case.conclude(one, self._now)
                alike.setdefault((until, json.dumps(decision)), (decision, []))[1].append(one.id)
        settled = held = 0
        for (until, _), (decision, ids) in alike.items():
            if until is None:
                settled += len(self._book.settle(ids, self._now, decision))
            else:
                held += len(self._book.postpone(ids, until, decision))
        return Announced(settled=settled, held=held)
