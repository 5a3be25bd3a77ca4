"""Measure a table for proposals: one aggregate over all columns, then one statement of bounded GROUP BYs.

    rows ─> totals (every column: filled, distinct, smallest, largest, NaN) ─> values and shapes of a sample

Both run in the engine that holds the table; what comes back is numbers, the most frequent values of columns that have
few, and the shapes of texts (`AAA-999` for `SKU-042`). Up to `EXACT_ROWS` rows everything is counted over all rows.
Above, values and shapes come from a random sample of about that many rows, and distinct values are approximate where
the engine can approximate them. Above `_MOST_ROWS` the totals come from a random sample of that many rows, too.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from checks.parameters.columns import is_null, type_name
from sources import Source
from sources.expressions import dt, ibis, ir
from sources.moments import as_moment

EXACT_ROWS: Final = 200_000
_MOST_ROWS: Final[Mapping[str, int]] = {"duckdb": 20_000_000, "pyspark": 20_000_000, "spark": 20_000_000}
_MOST_ROWS_ELSEWHERE: Final = 1_000_000
"""Where counting distinct values sorts every column, as PostgreSQL and SQLite do."""
_MOST_COLUMNS: Final = 300
_MOST_SHAPES: Final = 200
_MOST_VALUES: Final = 1_000
_MOST_HOURS: Final = 20_000
_SEPARATOR: Final = "\x1f"
_LETTERS: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SHAPES: Final = "9" * 10 + "A" * 26 + "a" * 26


class ColumnFamily(StrEnum):
    """Kinds of statistics of the values of a column."""

    WHOLE = "whole"
    NUMBER = "number"
    TEXT = "text"
    TIME = "time"
    TRUTH = "truth"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value, or the shape of one, as text, and the rows of the sample that hold it."""

    text: str
    rows: int


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Statistics of a column.

    `distinct` is approximate above `EXACT_ROWS` rows. `low` and `high`: of numbers only. `counted`: rows of the sample
    that are not NULL, of which `sampled_distinct` values, and `singletons` that occur once. `alike`: ordered pairs of
    rows of the sample that hold the same value. `values`: the most frequent of the sample, most first. `shapes`: the
    most frequent of texts; `shaped`: the rows of the sample that have one of them.
    """

    name: str
    type: str
    family: ColumnFamily
    filled: int
    distinct: int
    low: Any = None
    high: Any = None
    nan: int = 0
    longest: int = 0
    counted: int = 0
    sampled_distinct: int = 0
    singletons: int = 0
    alike: int = 0
    values: tuple[ValueCount, ...] = ()
    shapes: tuple[ValueCount, ...] = ()

    @property
    def shaped(self) -> int:
        """Count the rows of the sample whose shape is among `shapes`."""
        return sum(shape.rows for shape in self.shapes)

    @property
    def complete(self) -> bool:
        """Check whether `values` are all values of the sample."""
        return len(self.values) == self.sampled_distinct > 0


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """Statistics of a table.

    `rows` is exact. `scanned`: the rows of the totals; `sampled`: the rows of the sample. Both are `rows` where nothing
    was sampled. `left_out`: columns beyond those that are looked at.
    """

    name: str
    rows: int
    scanned: int
    sampled: int
    columns: tuple[ColumnStatistics, ...]
    left_out: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Check whether every number is of all rows."""
        return self.sampled == self.rows

    def column(self, name: str) -> ColumnStatistics | None:
        """Return a column by its name."""
        return next((column for column in self.columns if column.name == name), None)


def profile_table(source: Source, relation: str, name: str, columns: Sequence[str] | None = None) -> TableStatistics:
    """Measure a table of an open source. `columns`: those that may be read; by default all.

    Raises:
        SourceError: it cannot be read.
    """
    return _Profiler(source, relation, name, columns).profile()


class _Profiler:
    def __init__(self, source: Source, relation: str, name: str, columns: Sequence[str] | None) -> None:
        self._source, self._name = source, name
        table = source.table(relation)
        readable = [column for column in table.columns if columns is None or column in columns]
        self._left_out = tuple(readable[_MOST_COLUMNS:])
        self._table = table.select(*readable[:_MOST_COLUMNS]) if readable else table
        self._dialect = source.dialect

    def profile(self) -> TableStatistics:
        rows = int(self._fetch(self._table.aggregate(n=self._table.count()))[0]["n"])
        if not rows:
            kinds = {name: _kind(type_) for name, type_ in self._table.schema().items()}
            columns = [self._statistics(name, kind, {}, 0) for name, kind in kinds.items()]
            return TableStatistics(self._name, 0, 0, 0, tuple(columns), self._left_out)
        most = _MOST_ROWS.get(self._dialect, _MOST_ROWS_ELSEWHERE)
        scanned, totals = self._totals(rows, most)
        columns = [
            self._statistics(name, _kind(type_), totals, at)
            for at, (name, type_) in enumerate(self._table.schema().items())
        ]
        sampled, statistics = self._values(rows, columns)
        return TableStatistics(self._name, rows, scanned, sampled, tuple(statistics), self._left_out)

    def _totals(self, rows: int, most: int) -> tuple[int, Mapping[str, Any]]:
        table = sample(self._table, rows, most)
        approximate = rows > EXACT_ROWS
        aggregates: dict[str, ir.Scalar] = {"rows": table.count()}
        for at, (name, type_) in enumerate(table.schema().items()):
            aggregates |= {f"{key}{at}": value for key, value in self._of(table[name], type_, approximate).items()}
        (row,) = self._fetch(table.aggregate(**aggregates))
        return int(row["rows"]), row

    def _of(self, column: ir.Column, type_: dt.DataType, approximate: bool) -> dict[str, ir.Scalar]:
        kind = _kind(type_)
        results: dict[str, ir.Scalar] = {"filled": column.count()}
        if self._dialect in {"spark", "pyspark"}:  # where Ibis takes NaN for NULL
            results["filled"] = (~is_null(column, "spark")).sum()
        if kind is ColumnFamily.OTHER:
            return results
        results["distinct"] = column.approx_nunique() if approximate else column.nunique()
        if kind in {ColumnFamily.WHOLE, ColumnFamily.NUMBER}:
            numbers = column
            if self._dialect == "sqlite":  # where a text may stand in a column of numbers, and sorts behind them
                numbers = column.typeof().isin(["text", "blob"]).ifelse(ibis.null(), column)
            if type_.is_floating() and self._dialect != "sqlite":
                results["nan"] = column.isnan().sum()
                numbers = column.isnan().ifelse(ibis.null(), column)
            results |= {"low": numbers.min(), "high": numbers.max()}
        if kind is ColumnFamily.TEXT:
            results["longest"] = column.cast("string").length().max()
        return results

    def _statistics(self, name: str, kind: ColumnFamily, row: Mapping[str, Any], at: int) -> ColumnStatistics:
        return ColumnStatistics(
            name=name,
            type=type_name(self._table[name].type()),
            family=kind,
            low=row.get(f"low{at}"),
            high=row.get(f"high{at}"),
            filled=int(row.get(f"filled{at}") or 0),
            distinct=int(row.get(f"distinct{at}") or 0),
            nan=int(row.get(f"nan{at}") or 0),
            longest=int(row.get(f"longest{at}") or 0),
        )

    def _values(self, rows: int, columns: Sequence[ColumnStatistics]) -> tuple[int, Sequence[ColumnStatistics]]:
        """Count values and shapes, of every column in one statement."""
        counted = [column for column in columns if _is_counted(column)]
        if not counted:
            return min(rows, EXACT_ROWS), columns
        table = sample(self._table, rows, EXACT_ROWS)
        parts = [_part("rows", "", ibis.null("string"), table.aggregate(n=table.count()))]
        for at, column in enumerate(counted):
            parts += _column_parts(str(at), table[column.name], column)
        answers: dict[tuple[str, str], list[ValueCount]] = {}
        for row in self._fetch(ibis.union(*parts, distinct=False) if len(parts) > 1 else parts[0]):
            answers.setdefault((row["what"], row["place"]), []).append(ValueCount(row["value"], int(row["n"] or 0)))
        results = {column.name: _filled_in(column, str(at), answers) for at, column in enumerate(counted)}
        return answers["rows", ""][0].rows, [results.get(column.name, column) for column in columns]

    def _fetch(self, expression: ir.Expr) -> Sequence[Mapping[str, Any]]:
        return self._source.fetch(self._source.compile(expression))


def sample(table: ir.Table, rows: int, most: int) -> ir.Table:
    """Return about `most` rows at random, or the table where it has no more."""
    return table if rows <= most else table.filter(ibis.random() < most / rows)


def hours_of(source: Source, relation: str, column: str) -> Sequence[tuple[int, int]]:
    """Return the latest hours since 1970 in which a time column has rows, latest first, with the number of rows.

    Text is read as ISO 8601; an offset is counted in, and a time without one is read as it is written.

    Raises:
        SourceError: it cannot be read, or holds neither times nor text.
    """
    table = source.table(relation)
    moment = as_moment(table[column], source.dialect).value
    hours = table.select(hour=(moment.epoch_seconds() / 3600).floor().cast("int64"))
    hours = hours.filter(hours["hour"].notnull())
    groups = hours.group_by("hour").aggregate(n=hours.count())
    rows = source.fetch(source.compile(groups.order_by(groups["hour"].desc()).limit(_MOST_HOURS)))
    return [(int(row["hour"]), int(row["n"])) for row in rows]


def distinct_sets(
    source: Source, relation: str, rows: int, sets: Sequence[Sequence[str]], *, most: int = EXACT_ROWS
) -> Sequence[tuple[int, int]]:
    """Count for each set of columns the rows of a sample in which none is NULL, and their distinct combinations.

    `most`: about how many rows the sample has.

    Raises:
        SourceError: it cannot be read.
    """
    table = sample(source.table(relation), rows, most)
    aggregates: dict[str, ir.Scalar] = {}
    for at, columns in enumerate(sets):
        joined = _joined(table, columns)
        aggregates |= {f"filled{at}": joined.count(), f"distinct{at}": joined.nunique()}
    (row,) = source.fetch(source.compile(table.aggregate(**aggregates)))
    return [(int(row[f"filled{at}"] or 0), int(row[f"distinct{at}"] or 0)) for at in range(len(sets))]


def _joined(table: ir.Table, columns: Sequence[str]) -> ir.StringValue:
    """Return the values of several columns as one text; NULL where one of them is."""
    first, *others = (table[name].cast("string") for name in columns)
    for other in others:
        first = first + ibis.literal(_SEPARATOR) + other
    return first


def _kind(type_: dt.DataType) -> ColumnFamily:
    if type_.is_boolean():
        return ColumnFamily.TRUTH
    if type_.is_integer():
        return ColumnFamily.WHOLE
    if type_.is_floating() or type_.is_decimal():
        return ColumnFamily.NUMBER
    if type_.is_string():
        return ColumnFamily.TEXT
    return ColumnFamily.TIME if type_.is_timestamp() or type_.is_date() else ColumnFamily.OTHER


def _is_counted(column: ColumnStatistics) -> bool:
    few = column.family is ColumnFamily.WHOLE and column.distinct <= _MOST_VALUES
    return column.filled > 0 and (column.family is ColumnFamily.TEXT or few)


def _column_parts(place: str, column: ir.Column, statistics: ColumnStatistics) -> Iterator[ir.Table]:
    """Yield the questions about one column: its values, how many there are, and its shapes."""
    text = column.cast("string")
    values = text.as_table().rename(value=text.get_name())
    values = values.filter(values["value"].notnull())
    groups = values.group_by("value").aggregate(n=values.count())
    n = groups["n"]
    figures = {
        "counted": n.sum(),
        "distinct": groups.count(),
        "singletons": (n == 1).sum(),
        "alike": (n.cast("float64") * (n - 1)).sum(),
    }
    for what, figure in figures.items():
        yield _part(what, place, ibis.null("string"), groups.aggregate(n=figure.cast("int64")))
    top = groups.order_by(n.desc(), groups["value"]).limit(_MOST_VALUES)
    yield _part("value", place, top["value"], top)
    if statistics.family is ColumnFamily.TEXT:
        shapes = values.select(value=shape_of(values["value"]))
        shape_groups = shapes.group_by("value").aggregate(n=shapes.count())
        top = shape_groups.order_by(shape_groups["n"].desc(), shape_groups["value"]).limit(_MOST_SHAPES)
        yield _part("shape", place, top["value"], top)


def _part(what: str, place: str, value: ir.StringValue, table: ir.Table) -> ir.Table:
    return table.select(what=ibis.literal(what), place=ibis.literal(place), value=value, n=table["n"].cast("int64"))


def shape_of(text: ir.StringValue) -> ir.StringValue:
    """Return each text with `9` for a digit, `A` and `a` for letters, and `U` for all that is not ASCII."""
    return text.translate(_LETTERS, _SHAPES).re_replace("[^ -~]", "U")


def _filled_in(
    column: ColumnStatistics, place: str, answers: Mapping[tuple[str, str], Sequence[ValueCount]]
) -> ColumnStatistics:
    counted, distinct, singletons, alike = (
        answers[what, place][0].rows for what in ("counted", "distinct", "singletons", "alike")
    )
    return replace(
        column,
        counted=counted,
        sampled_distinct=distinct,
        singletons=singletons,
        alike=alike,
        values=_most_first(answers.get(("value", place), ())),
        shapes=_most_first(answers.get(("shape", place), ())),
    )


def _most_first(counts: Sequence[ValueCount]) -> tuple[ValueCount, ...]:
    return tuple(sorted(counts, key=lambda count: (-count.rows, count.text)))
