"""Decide which checks of a table add up over rows, and compile what they ask of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from checks import Check, Context, Misconfigured, Wants
from checks.parameters.columns import type_name
from checks.sql_text.where import is_timeless
from monitor.scan.incremental.parts import (
    BEFORE,
    CLOSED,
    CLOSING,
    NEWEST,
    OPEN,
    PLACE,
    ROWS,
    UNTIL,
    PartPlan,
    PartQuery,
)
from monitor.scan.results import Subject
from monitor.scan.sql_template import Placeholders, SqlTemplate
from sources import Source, did_you_mean
from sources.expressions import ibis, ir, ops
from sources.moments import within_years

if TYPE_CHECKING:
    from monitor.scan.segment_query import Fuse

_EXACT_SUMS: Final = frozenset({"duckdb", "postgres", "mysql", "spark"})
"""Engines whose sums of whole numbers and decimals are exact."""
_KEEP_COUNTS: Final = frozenset({"duckdb"})
"""Engines that count the rows of a table without reading them: in their own files and in Parquet."""


class PartPlanner:
    """Collects the checks of a table that add up."""

    def __init__(self, subject: Subject, source: Source, table: ir.Table, holes: Placeholders) -> None:
        if subject.incremental is None:
            raise TypeError("only a table with 'incremental' is read in parts")
        self._subject, self._source, self._table, self._holes = subject, source, table, holes
        self._lookback = subject.incremental
        self._whole: dict[str, Wants] = {}
        self._recent: dict[str, Wants] = {}
        self._queries: dict[tuple[str, str], Mapping[int, ir.Table]] = {}

    def take(self, check_id: str, check: Check, wants: Wants, context: Context) -> bool:
        """Take a check if it adds up; return whether it does.

        Raises:
            Misconfigured: it does, and the column is missing or no time.
        """
        if not self._adds_up(check, wants):
            return False
        slices = self._slices()
        self._recent[check_id] = check.wants(replace(context, table=self._recent_rows()))
        self._whole[check_id] = wants
        by_place = {place: check.wants(replace(context, table=rows)).queries for place, rows in slices.items()}
        for name in wants.queries:
            self._queries[check_id, name] = {place: queries[name] for place, queries in by_place.items()}
        return True

    def plan(self, fuse: Fuse) -> PartPlan | None:
        """Return the statements; None where no check adds up."""
        if not self._whole:
            return None
        aggregates, columns = fuse(self._whole)
        whole = self._by_place(self._table, aggregates)
        recent = self._by_place(self._recent_rows(), fuse(self._recent)[0])
        ways = {label: self._way(value) or "" for label, value in aggregates.items()}
        queries = tuple(self._query(*item) for item in enumerate(self._queries.items()))
        for query, by_place in zip(queries, self._queries.values(), strict=True):
            ways |= {query.columns[name]: way for name, way in _ways_of_query(by_place[OPEN]).items()}
        newest = self._holes.compile(self._table.aggregate(**{NEWEST: self._newest(self._table)}))
        return PartPlan(
            lookback=self._lookback,
            schema=repr([(name, str(kind)) for name, kind in self._table.schema().items()]),
            newest=newest,
            whole=whole,
            recent=recent,
            count=self._count() if self._source.dialect in _KEEP_COUNTS else None,
            columns=columns,
            queries=queries,
            ways={**ways, ROWS: "count", NEWEST: "max"},
        )

    def _query(self, number: int, item: tuple[tuple[str, str], Mapping[int, ir.Table]]) -> PartQuery:
        wanted_by, by_place = item
        columns = {name: f"q{number}_{name}" for name in by_place[OPEN].columns}
        templates = {place: self._holes.compile(table) for place, table in by_place.items()}
        return PartQuery(templates, columns, wanted_by)

    # --- what adds up -------------------------------------------------------------------------------------------------

    def _adds_up(self, check: Check, wants: Wants) -> bool:
        """Check whether what is wanted of the table follows from what is wanted of its parts, whenever it is asked."""
        others = replace(wants, aggregates={}, queries={}, grouped_by=(), earlier=None)
        is_other = check.segments is not None or check.sampling is not None or check.looks_again
        if others != Wants() or is_other:
            return False
        if check.where is not None and not is_timeless(check.where, dialect=self._source.dialect):
            return False
        if wants.queries and self._lookback.column not in wants.grouped_by:
            return False
        if not all(_ways_of_query(query) for query in wants.queries.values()):
            return False
        return all(self._way(value) is not None for value in wants.aggregates.values())

    def _way(self, value: ir.Value) -> str | None:
        operation = value.op()
        if not self._is_timeless(operation):
            return None
        return _way_of(operation, self._source.dialect, times={self._lookback.column, self._subject.loaded_at})

    def _is_timeless(self, operation: ops.Node) -> bool:
        """Check whether closed rows are judged alike at all times: by no clock, or as a time that has passed by one."""
        times = self._holes.times
        clocks = [node for node in operation.find(lambda node: node in times) if times[node].bound is None]
        if not clocks:
            return True
        if self._lookback.column not in self._table.columns:
            return False
        column = self._table[self._lookback.column].op()
        zone = None if self._is_aware else self._zone
        passed = set()
        for node in operation.find(ops.Comparison):
            sides = [side for side in (node.left, node.right) if side not in times]
            if len(sides) == 1 and set(sides[0].find(ops.Field)) == {column}:
                passed |= {node.left, node.right} & times.keys()
        return all(node in passed and times[node].shift >= timedelta() and times[node].zone == zone for node in clocks)

    # --- where parts begin and end ------------------------------------------------------------------------------------

    @property
    def _is_aware(self) -> bool:
        kind = self._column(self._table).type()
        return bool(kind.is_timestamp() and kind.timezone is not None)

    @property
    def _zone(self) -> str:
        return self._subject.zones.of(self._lookback.column) or "UTC"

    def _column(self, table: ir.Table) -> ir.Column:
        name, dialect = self._lookback.column, self._source.dialect
        if name not in table.columns:
            raise Misconfigured(f"column '{name}' of 'incremental' not found{did_you_mean(name, table.columns)}")
        column = table[name]
        if dialect == "sqlite":
            raise Misconfigured("SQLite keeps times as text, which has no order; remove 'incremental' from the table")
        if not (column.type().is_timestamp() or column.type().is_date()):
            text = f"column '{name}' of 'incremental' is of type {type_name(column.type())}"
            raise Misconfigured(f"{text}; it must be a timestamp or a date")
        return column

    def _bound(self, name: str, column: ir.Column) -> ir.Value:
        time = self._holes.bound(name, None if self._is_aware else "UTC")
        return time.date() if column.type().is_date() else time

    def _recent_rows(self) -> ir.Table:
        """Return the rows that are not closed, by a condition that lets the engine pass over the others unread."""
        column = self._column(self._table)
        later = column >= self._bound(BEFORE, column)
        return self._table.filter(later | column.isnull() if column.type().nullable else later)

    def _slices(self) -> Mapping[int, ir.Table]:
        column = self._column(self._table)
        before, until = self._bound(BEFORE, column), self._bound(UNTIL, column)
        return {
            CLOSED: self._table.filter(column < before),
            CLOSING: self._table.filter((column >= before) & (column < until)),
            OPEN: self._table.filter((column >= until) | column.isnull()),
        }

    def _by_place(self, table: ir.Table, aggregates: Mapping[str, ir.Value]) -> SqlTemplate:
        column = self._column(table)
        before, until = (column < self._bound(name, column) for name in (BEFORE, UNTIL))
        place = ibis.cases((before, CLOSED), (until, CLOSING), else_=OPEN)
        own = {ROWS: table.count(), NEWEST: self._newest(table)}
        return self._holes.compile(table.group_by(**{PLACE: place}).aggregate(**own, **aggregates))

    def _count(self) -> SqlTemplate:
        return self._holes.compile(self._table.aggregate(**{ROWS: self._table.count()}))

    def _newest(self, table: ir.Table) -> ir.Value:
        """Return the newest value that is not in the future: a stray one must not close what comes after it."""
        column = self._column(table)
        now = self._holes.now(timedelta(), None if self._is_aware else self._zone)
        return column.max(where=column <= (now.date() if column.type().is_date() else now))


def _way_of(operation: ops.Node, dialect: str, *, times: set[str | None] | None = None) -> str | None:
    """Return how an aggregate adds up over rows, exactly; None if it does not, or if that would keep a value.

    `times`: the columns of which the least and greatest time may be kept; None where the check names them.
    """
    if operation.find((ops.WindowFunction, ops.Subquery, ops.Impure)):
        return None
    operation = _without_bounds(operation, dialect)
    if isinstance(operation, ops.CountStar | ops.Count):
        return "count"
    kind = operation.dtype
    if isinstance(operation, ops.Sum) and (kind.is_integer() or kind.is_decimal()):
        return "sum" if dialect in _EXACT_SUMS else None
    if isinstance(operation, ops.Min | ops.Max) and kind.is_temporal():
        names = {field.name for field in operation.arg.find(ops.Field)}
        if times is None or names <= times:
            return "min" if isinstance(operation, ops.Min) else "max"
    return None


def _without_bounds(operation: ops.Node, dialect: str) -> ops.Node:
    """Return the least or greatest time of which `within_years` takes the nearest readable one; all else as it is.

    The nearest readable time of the least one is the least of the nearest readable times, so both add up alike.
    """
    if isinstance(operation, ops.IfElse) and isinstance(operation.bool_expr, ops.Less):
        time = operation.bool_expr.left
        if within_years(time.to_expr(), dialect).op() == operation:
            return time
    return operation


def _ways_of_query(query: ir.Table) -> Mapping[str, str]:
    """Return how the columns of a one-row answer add up; nothing if it is none, or if one of them does not."""
    operation = query.op()
    if not isinstance(operation, ops.Aggregate) or operation.groups:
        return {}
    ways = {name: _way_of(value, "duckdb", times=None) for name, value in operation.metrics.items()}
    return {name: way for name, way in ways.items() if way is not None} if all(ways.values()) else {}
