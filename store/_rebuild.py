"""Prove that what is stored of incidents is what their events say."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from pydantic import ValidationError
from sqlalchemy import Connection, Row, Text, select, type_coerce

from incidents import BrokenHistory, Event, Incident, to_us
from incidents.events import decode, replay
from store import _incidents
from store._errors import StoreCorrupt
from store._incidents import checksum_of
from store._json import from_text
from store._repository import any_of
from store._rows import IncidentEventRow, IncidentRow

_V: Final = IncidentEventRow.__table__
_I: Final = IncidentRow.__table__

_BATCH: Final = 1000
_MOST: Final = 100
"""Discrepancies after which no further incidents are compared: the store needs a backup, however many there are."""


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """An incident whose stored form is not what its events amount to."""

    incident_id: int
    problem: str


def compare_with_events(connection: Connection) -> Sequence[Discrepancy]:
    """Fold the events of every incident and name the first `_MOST` that differ; events without an incident too."""
    results: list[Discrepancy] = []
    for ids in _batches(connection):
        stored = _incidents.load(connection, ids)
        response = _histories(connection, ids)
        for incident_id in ids:
            problem = _problem(stored.get(incident_id), response.get(incident_id, []))
            results += [] if problem is None else [Discrepancy(incident_id, problem)]
            if len(results) == _MOST:
                return results
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
