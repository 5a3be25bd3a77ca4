"""Decide on everything that waits to be told, and write the messages, in one transaction: a crash tells nothing twice.

What changed of an incident waits in the store. For each channel it is decided what there is to tell and whether this is
the moment. Then the messages, what the channels know by now, and what was decided are written down together. What
nothing holds back any more is settled; the rest waits, with the reason, and is decided again when the hold ends, at the
latest after `LOOK_AGAIN`: silences are ended and configurations changed meanwhile.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from incidents import Incident, State
from monitor.alerts.decide import FLAPPING_NOTICE, Reason, believed, remembered
from monitor.alerts.group import Item, Parcel, parcels, ready
from monitor.alerts.message import Writer
from monitor.alerts.notices import deliver
from monitor.alerts.pace import HOUR, Room, room
from monitor.alerts.record import Action, Record, as_decision
from monitor.alerts.route import any_way, channels_for
from monitor.alerts.suppress import LONGEST_SETTLING, Circumstances, HeldBy, Hold, Lineage
from monitor.alerts.weigh import Ear, Scales
from monitor.wiring import Project
from store import Book, DeliveryState, FailPoint, IncidentFilter, Store, Subject, Told, Transition, View, reached

LOOK_AGAIN: Final = timedelta(minutes=5)
AT_ONCE: Final = 5_000
"""Transitions decided on in one transaction: others wait for the store meanwhile."""
_EVERYTHING: Final = 1_000_000
_LASTING: Final = tuple(state for state in State if state is not State.RESOLVED)


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

    `remind`: also of what lasts. That looks at everything that lasts, so a daemon asks for it now and then only.

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

    For when the clock went back, the configuration changed, or a silence was ended.
    """
    with store.writing() as book:
        waiting = book.waiting_transitions(_EVERYTHING)
        return len(book.postpone([one.id for one in waiting], now))


def _is_due(project: Project, view: View, now: datetime, *, remind: bool) -> bool:
    waiting = view.transitions(now, AT_ONCE)
    if ready(waiting, group_wait=project.config.alerts.group_wait, now=now):
        return True
    return remind and any(_may_be_reminded(told, project, now) for told in view.told_open())


def _may_be_reminded(told: Told, project: Project, now: datetime) -> bool:
    soonest = min(project.config.alerts.remind_every, FLAPPING_NOTICE)
    return told.reason != Reason.RESOLVED and now - told.told_at >= soonest


@dataclass(slots=True)
class _Case:
    """An incident to decide on: what changed of it (nothing, if it is about a reminder), and what was decided."""

    incident: Incident
    transitions: Sequence[Transition] = ()
    records: dict[str, Record] = field(default_factory=dict)
    why: str | None = None

    def owes(self, channel: str) -> bool:
        """Say whether quiet hours or a full channel kept something of it back before."""
        before = (Record.read(one.decision, channel) for one in self.transitions)
        return any(record is not None and record.action is Action.HELD and record.owed for record in before)

    @property
    def since(self) -> datetime:
        """Give since when it waits to be told."""
        recorded = (one.recorded_at for one in self.transitions)
        return min(recorded, default=self.incident.last.detected_at)


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
        changed = self._changed()
        due = self._due_for_a_reminder(known=changed) if remind else ()
        incidents = self._book.incidents_numbered([*changed, *due])
        self._recall(incidents)
        circumstances = self._look_around(incidents.values())
        scales = Scales(self._config, circumstances, self._now)
        cases = [_Case(incidents[one], transitions) for one, transitions in changed.items()]
        for case in cases:
            self._decide(case, scales)
        reminders = [_Case(incidents[one]) for one in due]
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

    def _due_for_a_reminder(self, *, known: Iterable[int]) -> Sequence[int]:
        due = [one.incident_id for one in self._book.told_open() if _may_be_reminded(one, self._project, self._now)]
        return sorted(set(due).difference(known))

    def _recall(self, incident_ids: Iterable[int]) -> None:
        rows = self._book.told(incident_ids)
        for one in rows:
            self._told.setdefault(one.incident_id, {})[one.channel] = one
        self._states = self._book.delivery_states({one.delivery_id for one in rows})

    def _look_around(self, incidents: Iterable[Incident]) -> Circumstances:
        tables = {one.table for one in incidents}
        lineage = Lineage.of(self._config)
        above = {table for one in tables for table in lineage.ancestors(one)}
        related = tuple(sorted(above.union(*(lineage.descendants(one) for one in tables))))
        around: list[Incident] = []
        if related and self._config.alerts.mute_downstream:
            around = self._book.incidents(IncidentFilter(states=_LASTING, tables=related))
            since = self._now - LONGEST_SETTLING
            above_ones = IncidentFilter(states=(State.RESOLVED,), tables=tuple(sorted(above)), since=since)
            around += self._book.incidents(above_ones) if above else []
        silences = self._book.silences(self._now)
        return Circumstances(self._config, silences=silences, around=around, now=self._now)

    # --- deciding -----------------------------------------------------------------------------------------------------

    def _decide(self, case: _Case, scales: Scales) -> None:
        for channel, ear in self._ears(case).items():
            case.records[channel] = scales.weigh(case.incident, ear)
        if not case.records:
            case.why = "no route leads to a channel, and the owner has none"

    def _remind(self, case: _Case, scales: Scales) -> None:
        """Tell again what lasts. What is held back now is no loss: it is asked again, and again."""
        for channel, ear in self._ears(case).items():
            told = self._told[case.incident.id].get(channel)
            if told is None or not _may_be_reminded(told, self._project, self._now):
                continue
            record = scales.weigh(case.incident, ear)
            expected = ear.given_up or record.reason in {Reason.REMINDER, Reason.FLAPPING}
            if record.action is Action.TOLD and expected:
                case.records[channel] = record

    def _ears(self, case: _Case) -> Mapping[str, Ear]:
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
            )
        return found

    # --- writing ------------------------------------------------------------------------------------------------------

    def _write(self, cases: Sequence[_Case], circumstances: Circumstances) -> int:
        writer = Writer(self._project, self._now)
        messages = 0
        for channel in self._config.alerts.channels:
            telling = {case.incident.id: case for case in cases if _tells(case, channel)}
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

    def _keep_back(self, cases: Iterable[_Case], channel: str, full: Room) -> None:
        cap = self._config.alerts.hourly_cap
        hold = Hold(HeldBy.CAP, f"the cap of {cap} messages an hour (alerts.hourly_cap)", full.until)
        for case in cases:
            case.records[channel] = case.records[channel].held(hold)

    def _hand_over(
        self, parcel: Parcel, channel: str, payload: Mapping[str, object], telling: Mapping[int, _Case]
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

    def _settle(self, cases: Sequence[_Case]) -> Announced:
        """Write the decisions down, alike ones together: in a storm most are."""
        alike: dict[tuple[datetime | None, str], tuple[Mapping[str, object], list[int]]] = {}
        for case in cases:
            for one in case.transitions:
                until, decision = self._conclude(case, one)
                alike.setdefault((until, json.dumps(decision)), (decision, []))[1].append(one.id)
        settled = held = 0
        for (until, _), (decision, ids) in alike.items():
            if until is None:
                settled += len(self._book.settle(ids, self._now, decision))
            else:
                held += len(self._book.postpone(ids, until, decision))
        return Announced(settled=settled, held=held)

    def _conclude(self, case: _Case, one: Transition) -> tuple[datetime | None, Mapping[str, object]]:
        """Give what was decided on a change by now, and when to look again; None if that is settled."""
        records = {
            channel: record.after(Record.read(one.decision, channel)) for channel, record in case.records.items()
        }
        holds = [record for record in records.values() if record.action is Action.HELD]
        ends = [record.until for record in holds if record.until is not None]
        until = min([*ends, self._now + LOOK_AGAIN]) if holds else None
        return until, as_decision({**self._gone(one, records), **records}, case.why)

    def _gone(self, transition: Transition, records: Mapping[str, Record]) -> Mapping[str, Record]:
        """Give what was decided before for channels that are not concerned any more."""
        before = (transition.decision or {}).get("channels", {})
        found = {}
        for channel in before:
            record = Record.read(transition.decision, channel)
            if channel in records or record is None:
                continue
            gone = record.action is Action.HELD
            found[channel] = (
                record if not gone else replace(record, action=Action.NOTHING, why="no longer a channel of it")
            )
        return found


def _tells(case: _Case, channel: str) -> bool:
    return channel in case.records and case.records[channel].action is Action.TOLD
