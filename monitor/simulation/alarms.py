"""Let the alerts of replayed incidents be decided by the product itself, on a store of their own that is thrown away.

What is replayed is written there as it was recorded, in order; between two changes the clock goes to each moment at
which something is due: a group that has waited, a hold that ends, a reminder, the next in line. Messages arrive at once
and nothing is sent. Silences are those that there were; incidents of other checks are there only where lineage makes
one stand for another.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from incidents import Event, Incident, Opened, Window, from_us
from monitor.alerts.decide import FLAPPING_NOTICE
from monitor.alerts.digest import next_slot
from monitor.alerts.hold import Lineage
from monitor.alerts.notify import notify
from monitor.config.project import Project
from store import IncidentFilter, ReadTransaction, Store, open_store

_HOLDER: Final = "simulate"
_MOST: Final = 100_000
_BEFORE_ALL: Final = from_us(0)


class Alarm(NamedTuple):
    """A channel is told of an incident: when, why (`first`, `reminder` ...), and in which message."""

    at: datetime
    channel: str
    reason: str
    check_id: str
    table: str
    message: str


def alarms_of(
    project: Project, tx: ReadTransaction, events: Iterable[Event], *, checks: Sequence[str], window: Window
) -> list[Alarm]:
    """Return of which alerts a project would have notified its channels in a window.

    Args:
        project: whose routes and rules hold.
        tx: the store with what was recorded: silences, and the incidents of other checks.
        events: what happened to the incidents of some checks.
        checks: those checks.
        window: the time of the alerts.
    """
    if not project.config.alerts.channels:
        return []
    around = _around(project, tx, checks)
    merged = heapq.merge(
        *(_in_order(part) for part in (_touching(events, window), around)),
        key=lambda event: event.recorded_at,
    )
    with TemporaryDirectory(prefix="tablewatch-") as folder, _scratch(Path(folder)) as scratch:
        replayed = _ReplayedStore(project, scratch, frozenset(checks))
        replayed.silence(tx)
        alarms = list(replayed.play(merged, until=from_us(window.end_us)))
    start, end = from_us(window.start_us), from_us(window.end_us)
    return [alarm for alarm in alarms if start <= alarm.at < end]


def _scratch(folder: Path) -> Store:
    return open_store(f"sqlite:///{folder / 'simulation.db'}", checkpoints=True)


def _touching(events: Iterable[Event], window: Window) -> list[Event]:
    """Return what happened to incidents of which something happened in a window or that lasted into it."""
    start, end = from_us(window.start_us), from_us(window.end_us)
    by_incident: dict[int, list[Event]] = {}
    for event in events:
        by_incident.setdefault(event.incident_id, []).append(event)
    return [
        event
        for own in by_incident.values()
        if own[-1].recorded_at >= start or own[-1].change.kind not in {"resolved", "merged"}
        for event in own
        if event.recorded_at < end
    ]


def _in_order(events: Iterable[Event]) -> list[Event]:
    """Return events by their times, those of an incident in its order: a run may end before one decided on earlier."""
    moved: dict[int, list[Event]] = {}
    for event in events:
        own = moved.setdefault(event.incident_id, [])
        own.append(replace(event, recorded_at=max(event.recorded_at, own[-1].recorded_at)) if own else event)
    return sorted((event for own in moved.values() for event in own), key=lambda event: event.recorded_at)


def _around(project: Project, tx: ReadTransaction, checks: Sequence[str]) -> list[Event]:
    """Return what was recorded of other checks on tables of which incidents stand for these, or the other way."""
    if not project.config.alerts.mute_downstream:
        return []
    lineage = Lineage.of(project.config)
    tables = {table.name for table in project.config.tables if any(table.check(check) for check in checks)}
    related = tables.union(*(lineage.ancestors(table) | lineage.descendants(table) for table in tables)) - tables
    if not related:
        return []
    incidents = tx.incidents.matching(IncidentFilter(tables=tuple(sorted(related))))
    others = [incident.id for incident in incidents if incident.check_id not in checks]
    # numbers of replayed incidents are positive
    return [
        Event(-event.incident_id, event.recorded_at, event.actor, event.change)
        for events in tx.incidents.histories(others).values()
        for event in events
    ]


@dataclass
class _ReplayedStore:
    """A store in which incidents happen, and who is notified of them."""

    project: Project
    store: Store
    checks: frozenset[str]
    now: datetime = _BEFORE_ALL

    def silence(self, tx: ReadTransaction) -> None:
        with self.store.writing() as scratch:
            for entry in reversed(tx.silences.all()):
                until = entry.until if entry.ended_at is None else min(entry.until, entry.ended_at)
                if until > entry.starts_at:
                    scratch.silences.add(
                        scope=entry.scope, name=entry.name, starts_at=entry.starts_at, until=until,
                        reason="silenced", by=_HOLDER,
                    )  # fmt: skip

    def play(self, events: Iterable[Event], *, until: datetime) -> Iterator[Alarm]:
        incidents: dict[int, Incident] = {}
        for event in events:
            yield from self._wait(event.recorded_at)
            self._happen(event, incidents)
        yield from self._wait(until)

    def _happen(self, event: Event, incidents: dict[int, Incident]) -> None:
        with self.store.writing() as tx:
            if isinstance(event.change, Opened):
                incident = tx.incidents.open(event.change, recorded_at=event.recorded_at, actor=event.actor)
            else:
                incident = tx.incidents.append(
                    incidents[event.incident_id], [event.change], recorded_at=event.recorded_at, actor=event.actor
                )
        incidents[event.incident_id] = incident

    def _wait(self, until: datetime) -> Iterator[Alarm]:
        """Let the clock go to a moment; what happens at it comes before what is decided at it."""
        last: datetime | None = None
        while (due := self._next_due(last)) is not None and due < until:
            notify(self.project, self.store, due)
            yield from self._arrive(due)
            self.now = last = due
        self.now = until

    def _next_due(self, last: datetime | None) -> datetime | None:
        """Return the next moment at which something may be decided; None if nothing waits.

        What was due before is due now, once: `last` is when it was decided since something happened.
        """
        with self.store.reading() as tx:
            waiting = list(self._waiting(tx))
            lasting = [moment for moment in self._lasting(tx) if moment > self.now]
        moments = [max(moment, self.now) for moment in waiting]
        return min((moment for moment in (*moments, *lasting) if last is None or moment > last), default=None)

    def _waiting(self, tx: ReadTransaction) -> Iterator[datetime]:
        """Yield when changes may be decided on: their group has waited, or what holds them back ends."""
        for item in tx.outbox.waiting(_MOST):
            yield item.recorded_at + self.project.config.alerts.group_wait
            if item.not_before is not None:
                yield item.not_before

    def _lasting(self, tx: ReadTransaction) -> Iterator[datetime]:
        """Yield when somebody may hear of what lasts: a reminder, the message of the day, the next in line."""
        alerts, zone = self.project.config.alerts, self.project.config.timezone
        for row in tx.outbox.last_notifications_of_open():
            yield row.told_at + min(alerts.remind_every, FLAPPING_NOTICE)
            yield row.told_at + alerts.remind_every
        for item in tx.outbox.open_incidents():
            for route in alerts.routes:
                if route.unacknowledged_for is not None and item.acknowledged_at is None:
                    yield item.detected_at + route.unacknowledged_for
                if route.digest is not None:
                    yield next_slot((route.digest.at,), self.now, zone=zone)

    def _arrive(self, now: datetime) -> Iterator[Alarm]:
        """Let what was written reach its channel, and yield what was told."""
        with self.store.writing() as tx:
            rows = tx.deliveries.lease(now, holder=_HOLDER, lease_until=now + timedelta(minutes=1), limit=_MOST)
            for row in rows:
                tx.deliveries.mark_sent(row.id, now, _HOLDER)
        for row in rows:
            for entry in row.payload.get("incidents", ()):
                if entry["check_id"] in self.checks:
                    yield Alarm(now, row.channel, entry["reason"], entry["check_id"], entry["table"], row.id)
