"""Prove that what is stored of incidents is what their events say.

In a large store only incidents with new events are compared, since the last comparison without a discrepancy; all of
them once in `_ALL_AGAIN`, or when asked.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, Final

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, Row, Text, func, select, type_coerce, update

from incidents import BrokenHistory, Event, Incident, to_us
from incidents.events import decode, replay
from store import _incidents
from store._errors import StoreCorrupt
from store._incidents import checksum_of
from store._json import from_text
from store._repository import any_of
from store._rows import IncidentEventRow, IncidentRow
from store._trusted_time import ClockRow

_V: Final = IncidentEventRow.__table__
_I: Final = IncidentRow.__table__
_CLOCK: Final = ClockRow.__table__

_BATCH: Final = 1000
_MOST: Final = 100
"""Discrepancies after which no further incidents are compared: the store needs a backup, however many there are."""
_FEW: Final = 20_000
"""A store with no more events is compared whole each time: it takes a few seconds."""
_AGAIN: Final = 1_000
"""So many of the last events are read again: on PostgreSQL one may become visible after one with a larger number."""
_ALL_AGAIN: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """An incident whose stored form is not what its events amount to."""

    incident_id: int
    problem: str


@dataclass(frozen=True, slots=True)
class EventComparison:
    """So many incidents that are to be compared with their events, or were. `last_event`: the number of the newest one.

    `since`, `all_at`: when the comparison was made after which these changed, and when all were compared last; None
    where all are compared now.
    """

    last_event: int
    incidents: int
    since: datetime | None = None
    all_at: datetime | None = None
    wrong: tuple[Discrepancy, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Check whether all incidents were compared."""
        return self.since is None


def plan_comparison(connection: Connection, now: datetime, *, everything: bool) -> EventComparison:
    """Return what is to be compared: all incidents, or those that changed since the last comparison."""
    last_event = connection.scalar(select(func.max(_V.c.id))) or 0
    known = connection.execute(
        select(*(_CLOCK.c[name].label(name) for name in ("compared_at", "compared_all_at", "compared_event")))
    ).first()
    if (
        not everything
        and last_event > _FEW
        and known is not None
        and known.compared_at is not None
        and timedelta(0) <= now - known.compared_all_at < _ALL_AGAIN
        and known.compared_event <= last_event
    ):
        incidents = connection.scalar(select(func.count(_V.c.incident_id.distinct())).where(_changed_after(known[2])))
        return EventComparison(last_event, incidents or 0, known.compared_at, known.compared_all_at)
    return EventComparison(last_event, connection.scalar(select(func.count()).select_from(_I)) or 0)


def record_comparison(connection: Connection, comparison: EventComparison, now: datetime) -> None:
    """Record that a comparison found no discrepancy, in a store that has seen a time; `now` is not taken for one."""
    values = {
        "compared_at": now,
        "compared_all_at": comparison.all_at or now,
        "compared_event": comparison.last_event,
    }
    connection.execute(update(_CLOCK).values(values))


def compare(connection: Connection, planned: EventComparison, advance: Callable[[int], object]) -> EventComparison:
    """Compare what is planned, at most until `_MOST` discrepancies; `advance` is called with the incidents of a batch.

    What changed without an event since all incidents were compared last is found when all are compared again.
    """
    batches = _batches(connection) if planned.is_whole else _changed(connection)
    wrong: list[Discrepancy] = []
    for ids in batches:
        wrong += _discrepancies(connection, ids)
        advance(len(ids))
        if len(wrong) >= _MOST:
            break
    return replace(planned, wrong=tuple(wrong[:_MOST]))


def _changed(connection: Connection) -> Iterator[Sequence[int]]:
    """Yield the numbers of incidents with an event since the last comparison, or shortly before it."""
    last = connection.scalar(select(_CLOCK.c.compared_event)) or 0
    numbers = iter(connection.scalars(select(_V.c.incident_id).distinct().where(_changed_after(last))).all())
    while ids := list(islice(numbers, _BATCH)):
        yield ids


def _changed_after(event: int) -> ColumnElement[bool]:
    return _V.c.id > event - _AGAIN


def compare_with_events(connection: Connection) -> Sequence[Discrepancy]:
    """Fold the events of every incident and name the first `_MOST` that differ; events without an incident too."""
    return list(compare(connection, EventComparison(0, 0), lambda _: None).wrong)


def _discrepancies(connection: Connection, ids: Sequence[int]) -> list[Discrepancy]:
    results: list[Discrepancy] = []
    stored = _incidents.load(connection, ids)
    response = _histories(connection, ids)
    for incident_id in ids:
        problem = _problem(stored.get(incident_id), response.get(incident_id, []))
        results += [] if problem is None else [Discrepancy(incident_id, problem)]
    return results


def _batches(connection: Connection) -> Iterator[Sequence[int]]:
    """Yield all numbers of incidents, of those that are there and of those that only events speak of."""
    last = 0
    while ids := _following(connection, last):
        yield ids
        last = ids[-1]


def _following(connection: Connection, last: int) -> Sequence[int]:
    incidents = select(_I.c.id).where(_I.c.id > last).order_by(_I.c.id).limit(_BATCH)
    spoken_of = (
        select(_V.c.incident_id).distinct().where(_V.c.incident_id > last).order_by(_V.c.incident_id).limit(_BATCH)
    )
    return sorted({*connection.scalars(incidents), *connection.scalars(spoken_of)})[:_BATCH]


def _histories(connection: Connection, ids: Iterable[int]) -> dict[int, list[Row[*tuple[Any, ...]]]]:
    batch = any_of(connection, ids, "incident_number")
    body = type_coerce(_V.c.body, Text).label("body")  # read later, one by one: a broken one must not hide the others
    rows = connection.execute(
        select(
            _V.c.incident_id,
            _V.c.number,
            _V.c.recorded_at.label("recorded_at"),
            _V.c.actor,
            _V.c.kind,
            body,
            _V.c.checksum,
        )
        .where(_V.c.incident_id.in_(batch))
        .order_by(_V.c.incident_id, _V.c.number)
    ).all()
    return {incident_id: list(events) for incident_id, events in groupby(rows, key=attrgetter("incident_id"))}


def _problem(stored: Incident | None, rows: Sequence[Row[*tuple[Any, ...]]]) -> str | None:
    if stored is None:
        return "its events are there, but it is not"
    if [row.number for row in rows] != list(range(len(rows))):
        return "an event is missing"
    try:
        incident = replay(
            Event(row.incident_id, row.recorded_at, row.actor, decode(from_text(row.body))) for row in rows
        )
    except BrokenHistory as error:
        return str(error)
    except (ValidationError, StoreCorrupt):
        return "an event cannot be read"
    if incident != stored:
        return "it is not what its events amount to"
    changed = [row.number for row in rows if _differs(row)]
    return f"its event {changed[0]} is not what was written: it does not fit its checksum" if changed else None


def _differs(row: Row[*tuple[Any, ...]]) -> bool:
    cells = (row.incident_id, row.number, to_us(row.recorded_at), row.actor, row.kind, row.body)
    return bool(row.checksum != checksum_of(*cells))
