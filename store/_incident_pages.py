"""Read incidents a page at a time, the newest detection first, in a bounded number of rows however rare a filter is.

A page begins after a place, never at a number of rows: what is written meanwhile neither repeats nor hides a row.
Incidents that last, and those of tables with few incidents, are collected by their indexes. Otherwise incidents are
passed over in order, at most `PASSED_OVER` for a page: one of a rare filter may be short, and goes on where it ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Tuple,
    func,
    literal,
    literal_column,
    select,
    tuple_,
)

from incidents import Incident, State
from store import _incidents
from store._columns import WHOLE, UtcTime
from store._repository import any_of
from store._rows import IncidentRow
from store._values import IncidentFilter

PASSED_OVER: Final = 50_000
"""Incidents that are looked at for one page, at most."""
_FEW: Final = 20_000
"""Incidents of some tables that are collected and sorted, at most."""
_I: Final = IncidentRow.__table__
_KEY: Final = (_I.c.detected_at, _I.c.id)
_LASTS: Final = _I.c.state != literal_column("'resolved'")  # in the text, so that the partial index is used


class IncidentPlace(NamedTuple):
    """A place in the order of incidents: between those detected before it and those after it."""

    detected_at: datetime
    id: int


@dataclass(frozen=True, slots=True)
class IncidentSlice:
    """Some incidents, newest first, and the places at which to go on; None where nothing is beyond."""

    incidents: Sequence[Incident]
    newer: IncidentPlace | None
    older: IncidentPlace | None


def read_slice(
    connection: Connection,
    incident_filter: IncidentFilter,
    *,
    size: int,
    older_than: IncidentPlace | None = None,
    newer_than: IncidentPlace | None = None,
) -> IncidentSlice:
    """Return the incidents next to a place: older ones, or those that are newer than it."""
    forward = newer_than is not None
    start = newer_than if forward else older_than
    unlimited = replace(incident_filter, limit=None)
    plan = _Plan(connection, unlimited, start, forward=forward)
    places = plan.collected(size + 1) if plan.is_few else plan.passed(size + 1)
    more = len(places) > size
    places = places[:size]
    end = places[-1] if places and more else None if plan.is_few or more else plan.end_of_passed
    before = None if start is None else _beside(start, forward=forward) if not places else places[0]
    loaded = _incidents.load(connection, [place.id for place in places])
    incidents = [loaded[place.id] for place in places]
    if forward:
        return IncidentSlice(incidents[::-1], newer=end, older=before)
    return IncidentSlice(incidents, newer=before, older=end)


def _beside(start: IncidentPlace, *, forward: bool) -> IncidentPlace:
    """Return the place on the other side of the incident at a place, from which the way back includes it."""
    return start._replace(id=start.id + 1 if forward else start.id - 1)


def _row_of(place: IncidentPlace) -> Tuple:
    return tuple_(literal(place.detected_at, UtcTime()), literal(place.id, WHOLE))


class _Plan:
    """The order and direction in which a page of incidents is read."""

    def __init__(
        self, connection: Connection, incident_filter: IncidentFilter, start: IncidentPlace | None, *, forward: bool
    ) -> None:
        self._connection = connection
        self._asked = incident_filter
        self._forward = forward
        self._beyond: list[ColumnElement[bool]] = []
        if start is not None:
            key = tuple_(*_KEY)
            self._beyond = [key > _row_of(start) if forward else key < _row_of(start)]
        self.is_few = self._only_lasting or self._has_few_tables()

    @property
    def _only_lasting(self) -> bool:
        return bool(self._asked.states) and State.RESOLVED not in self._asked.states

    def _has_few_tables(self) -> bool:
        if not self._asked.tables:
            return False
        names = any_of(self._connection, self._asked.tables, "table_name")
        some = select(_I.c.id).where(_I.c.table_name.in_(names)).limit(_FEW + 1).subquery()
        return (self._connection.scalar(select(func.count()).select_from(some)) or 0) <= _FEW

    def collected(self, limit: int) -> list[IncidentPlace]:
        """Return the first places, of all that the filter asks for: they are few."""
        lasting = [_LASTS] if self._only_lasting else []
        conditions = [*_incidents.conditions(self._connection, self._asked), *lasting, *self._beyond]
        few = select(*_KEY).where(*conditions).cte("few").prefix_with("MATERIALIZED")
        return self._places(select(few).order_by(*self._order(few)).limit(limit))

    def passed(self, limit: int) -> list[IncidentPlace]:
        """Return the first places among the incidents that are passed over, in the order of the index."""
        without_tables = replace(self._asked, tables=())
        conditions = [*_incidents.conditions(self._connection, without_tables), *self._beyond]
        if self._asked.tables:  # not by the index of tables, which knows no order
            names = any_of(self._connection, self._asked.tables, "table_name")
            conditions.append(_I.c.table_name.concat("").in_(names))
        if self.end_of_passed is not None:
            end = _row_of(self.end_of_passed)
            conditions.append(tuple_(*_KEY) <= end if self._forward else tuple_(*_KEY) >= end)
        return self._places(select(*_KEY).where(*conditions).order_by(*self._order(_I)).limit(limit))

    @cached_property
    def end_of_passed(self) -> IncidentPlace | None:
        """Return the place of the last incident that may be passed over; None where all may."""
        if not _incidents.conditions(self._connection, self._asked):
            return None
        in_order = select(*_KEY).where(*self._beyond).order_by(*self._order(_I))
        after = self._places(in_order.offset(PASSED_OVER - 1).limit(2))
        return after[0] if len(after) > 1 else None

    def _order(self, rows: FromClause) -> list[ColumnElement[Any]]:
        key = [rows.c[column.key] for column in _KEY]
        return [column.asc() if self._forward else column.desc() for column in key]

    def _places(self, statement: Select[Any]) -> list[IncidentPlace]:
        return [IncidentPlace(*row) for row in self._connection.execute(statement)]
