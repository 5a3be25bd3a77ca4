"""Measure a table for proposals: one aggregate over all columns, then one statement of bounded GROUP BYs.

    rows ─> totals (every column: filled, distinct, smallest, largest, NaN) ─> values and shapes of a sample

Both run in the engine that holds the table; what comes back is numbers, the most frequent values of columns that have
few, and the shapes of texts (`AAA-999` for `SKU-042`). Up to `EXACT_ROWS` rows everything is counted over all rows.
Above, values and shapes come from a random sample of about that many rows, and distinct values are approximate where
the engine can approximate them. Above `_MOST_ROWS` the totals come from a random sample of that many rows, too.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, Final

from checks.parameters.columns import is_null, type_name
from monitor.suggest.statements import Build, TableStatements
from sources import QueryFailed
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
_MICROSECONDS: Final = 6
_COUNTED_TIMES: Final = "0001-01-01", "9998-12-31"
_FIGURES: Final = ("n", "distinct", "singletons", "alike")
_SEPARATOR: Final = "\x1f"
_LETTERS: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SHAPES: Final = "9" * 10 + "A" * 26 + "a" * 26
_SHAPE_OF_LETTER: Final = str.maketrans(_LETTERS, _SHAPES)
_NO_ASCII: Final = "[^ -~]"


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
    is_measured: bool = True
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
    was sampled.
    """

    name: str
    rows: int
    scanned: int
    sampled: int
    columns: tuple[ColumnStatistics, ...]

    @property
    def exact(self) -> bool:
        """Check whether every number is of all rows."""
        return self.sampled == self.rows

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return the columns that were not measured: beyond the first 300, of a shape, or not to be read."""
        return tuple(column.name for column in self.columns if not column.is_measured)

    def column(self, name: str) -> ColumnStatistics | None:
        """Return a column by its name."""
        return next((column for column in self.columns if column.name == name), None)


def profile_table(statements: TableStatements, name: str) -> TableStatistics:
    """Measure a table. Columns of a type that only the engine knows, and those that it cannot read, are listed only.

    Raises:
        SourceError: it cannot be read.
    """
    return _Profiler(statements, name).profile()


class _Profiler:
    def __init__(self, statements: TableStatements, name: str) -> None:
        self._statements, self._name = statements, name
        self._names = statements.measured[:_MOST_COLUMNS]
        self._dialect = statements.source.dialect

    def profile(self) -> TableStatistics:
        rows = self._statements.rows()
        every = self._statements.schema
        if not rows or not self._names:
            return TableStatistics(
                self._name, rows, rows, rows, tuple(self._statistics(name, None if rows else {}) for name in every)
            )
        most = _MOST_ROWS.get(self._dialect, _MOST_ROWS_ELSEWHERE)
        scanned, totals = self._totals(rows, sampled_share(rows, most))
        sampled, columns = self._values(rows, [self._statistics(name, totals.get(name)) for name in every])
        return TableStatistics(self._name, rows, scanned, sampled, tuple(columns))

    def _totals(self, rows: int, share: float) -> tuple[int, Mapping[str, Mapping[str, Any]]]:
        """Return the rows that were read, and the totals of each column; one that cannot be read is left out."""
        try:
            return self._totals_of(self._names, rows, share)
        except QueryFailed:
            if len(self._names) < 2:
                raise
        scanned = 0
        totals: dict[str, Mapping[str, Any]] = {}
        for name in self._names:  # a column that cannot be read costs only itself
            try:
                scanned, own = self._totals_of([name], rows, share)
                totals |= own
            except QueryFailed:
                continue
        if not totals:
            raise QueryFailed(f"source '{self._statements.source.name}': no column of '{self._name}' can be read")
        return scanned, totals

    def _totals_of(self, names: Sequence[str], rows: int, share: float) -> tuple[int, Mapping[str, Mapping[str, Any]]]:
        statements = self._statements
        figures = {"rows": statements.figure("rows", names[:1], lambda table, _: table.count())}
        keys: dict[str, dict[str, str]] = {}
        for at, name in enumerate(names):
            keys[name] = {}
            for key, build in self._builders(statements.schema[name], approximate=rows > EXACT_ROWS).items():
                label = keys[name][key] = f"{key}{at}"
                figures[label] = statements.figure((key, rows > EXACT_ROWS), [name], build)
        row = statements.figures(figures, share, names)
        return int(row["rows"]), {name: {key: row[label] for key, label in own.items()} for name, own in keys.items()}

    def _builders(self, type_: dt.DataType, *, approximate: bool) -> Mapping[str, Build]:
        """Return what is computed of a column of a type."""
        kind, dialect = _kind(type_), self._dialect

        def numbers(table: ir.Table, name: str) -> ir.Value:
            column = table[name]
            if dialect == "sqlite":  # where a text may stand in a column of numbers, and sorts behind them
                return column.typeof().isin(["text", "blob"]).ifelse(ibis.null(), column)
            return column.isnan().ifelse(ibis.null(), column) if type_.is_floating() else column

        results: dict[str, Build] = {"filled": lambda table, name: table[name].count()}
        if dialect in {"spark", "pyspark"}:  # where Ibis takes NaN for NULL
            results["filled"] = lambda table, name: (~is_null(table[name], "spark")).sum()
        if kind is ColumnFamily.OTHER:
            return results
        results["distinct"] = lambda table, name: table[name].approx_nunique() if approximate else table[name].nunique()
        if kind in {ColumnFamily.WHOLE, ColumnFamily.NUMBER}:
            if type_.is_floating() and dialect != "sqlite":
                results["nan"] = lambda table, name: table[name].isnan().sum()
            results["low"] = lambda table, name: numbers(table, name).min()
            results["high"] = lambda table, name: numbers(table, name).max()
        if kind is ColumnFamily.TEXT:
            results["longest"] = lambda table, name: table[name].cast("string").length().max()
        return results

    def _statistics(self, name: str, row: Mapping[str, Any] | None) -> ColumnStatistics:
        """Return the totals of a column; without a row, that it was not measured."""
        type_ = self._statements.schema[name]
        if row is None:
            return ColumnStatistics(name, type_name(type_), ColumnFamily.OTHER, 0, 0, is_measured=False)
        return ColumnStatistics(
            name=name,
            type=type_name(type_),
            family=_kind(type_),
            low=row.get("low"),
            high=row.get("high"),
            filled=int(row.get("filled") or 0),
            distinct=int(row.get("distinct") or 0),
            nan=int(row.get("nan") or 0),
            longest=int(row.get("longest") or 0),
        )

    def _values(self, rows: int, columns: Sequence[ColumnStatistics]) -> tuple[int, Sequence[ColumnStatistics]]:
        """Count values and shapes, of many columns in one statement."""
        counted = [column for column in columns if _is_counted(column)]
        if not counted:
            return min(rows, EXACT_ROWS), columns
        share, statements = sampled_share(rows, EXACT_ROWS), self._statements
        whole = [_comes_whole(column, share) for column in counted]
        parts = []
        for column, is_whole in zip(counted, whole, strict=True):
            build = _groups_part if is_whole else partial(_column_part, family=column.family)
            parts.append(statements.part(("values", column.family, is_whole), [column.name], build))
        if share < 1:
            parts.append(statements.part("rows of the sample", [counted[0].name], _rows_part))
        answers: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
        for row in statements.answers(parts, share):
            answers.setdefault((int(row["place"]), row["what"]), []).append(row)
        results = {
            column.name: (_counted_here if whole[at] else _filled_in)(column, at, answers)
            for at, column in enumerate(counted)
        }
        sampled = int(answers[len(counted), "rows"][0]["n"]) if share < 1 else rows
        return sampled, [results.get(column.name, column) for column in columns]


def sampled_share(rows: int, most: int) -> float:
    """Return the share of rows that makes a sample of about `most`; 1 where the table has no more."""
    return 1 if rows <= most else most / rows


def hours_of(statements: TableStatements, column: str, *, second: int = 0) -> Sequence[tuple[int, int]]:
    """Return the latest hours since 1970 in which a time column has rows, latest first, with the number of rows.

    Text is read as ISO 8601; an offset is counted in, and a time without one is read as it is written. `second`: of a
    column of whole numbers since 1970, how many make a second.

    Raises:
        SourceError: it cannot be read, or holds neither times nor text.
    """
    dialect = statements.source.dialect

    def hours(table: ir.Table, name: str) -> ir.Table:
        if second:
            rows = table.filter(table[name].notnull())
            rows = rows.select(hour=(rows[name] // (3600 * second)).cast("int64"))
        else:
            moment = as_moment(table[name], dialect).value
            if moment.type().is_timestamp() and (moment.type().scale or 0) > _MICROSECONDS:
                moment = moment.cast("timestamp(6)")  # DuckDB has no nanoseconds in the year 1
            rows = table.select(moment=moment)
            rows = rows.filter(
                rows["moment"].between(*map(ibis.timestamp, _COUNTED_TIMES))
            )  # no infinity, and no day of a year 0
            rows = rows.select(hour=(rows["moment"].epoch_seconds() / 3600).floor().cast("int64"))
        rows = rows.filter(rows["hour"].notnull())  # MariaDB has days that no calendar has, such as a 0th of May
        groups = rows.group_by("hour").aggregate(n=rows.count())
        return groups.order_by(groups["hour"].desc()).limit(_MOST_HOURS)

    rows = statements.answers([statements.part(("hours", second), [column], hours)], 1)
    return sorted(((int(row["hour"]), int(row["n"])) for row in rows), reverse=True)


def distinct_sets(
    statements: TableStatements,
    table: TableStatistics,
    sets: Sequence[Sequence[ColumnStatistics]],
    *,
    most: int = EXACT_ROWS,
) -> Sequence[tuple[int, int]]:
    """Count for each set of columns the rows of a sample in which none is NULL, and their distinct combinations.

    `most`: about how many rows the sample has.

    Raises:
        SourceError: it cannot be read.
    """
    names = list(dict.fromkeys(column.name for columns in sets for column in columns))
    figures = {"rows": statements.figure("rows", names[:1], lambda rows, _: rows.count())}
    filled = []
    for at, columns in enumerate(sets):
        own = [column.name for column in columns]
        figures[f"distinct{at}"] = statements.figure("distinct set", own, _joined_distinct)
        filled.append("rows" if all(column.filled == table.rows for column in columns) else f"filled{at}")
        if filled[at] != "rows":
            figures[filled[at]] = statements.figure("filled set", own, _joined_count)
    row = statements.figures(figures, sampled_share(table.rows, most), names)
    return [(int(row[label] or 0), int(row[f"distinct{at}"] or 0)) for at, label in enumerate(filled)]


def _joined_count(table: ir.Table, *columns: str) -> ir.Value:
    return _joined(table, columns).count()


def _joined_distinct(table: ir.Table, *columns: str) -> ir.Value:
    return _joined(table, columns).nunique()


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


def _comes_whole(column: ColumnStatistics, share: float) -> bool:
    """Check whether all values of a column are returned, and nothing about them has to be asked."""
    return share == 1 and column.distinct < _MOST_VALUES


def _column_part(table: ir.Table, name: str, *, family: ColumnFamily) -> ir.Table:
    """Return the questions about one column: how many values there are, the most frequent, and shapes of texts."""
    values, groups = _groups(table, name)
    n = groups["n"]
    counts = groups.aggregate(
        n=n.sum(), distinct=groups.count(), singletons=(n == 1).sum(), alike=(n.cast("float64") * (n - 1)).sum()
    )
    parts = [_part("counts", ibis.null("string"), counts)]
    top = groups.order_by(n.desc(), groups["value"]).limit(_MOST_VALUES)
    parts.append(_part("value", top["value"], top))
    if family is ColumnFamily.TEXT:
        shapes = values.select(value=shape_of(values["value"]))
        shape_groups = shapes.group_by("value").aggregate(n=shapes.count())
        top = shape_groups.order_by(shape_groups["n"].desc(), shape_groups["value"]).limit(_MOST_SHAPES)
        parts.append(_part("shape", top["value"], top))
    return ibis.union(*parts, distinct=False)


def _groups_part(table: ir.Table, name: str) -> ir.Table:
    """Return all values of a column; how many there are, and their shapes, follow from them."""
    _, groups = _groups(table, name)
    return _part("value", groups["value"], groups)


def _groups(table: ir.Table, name: str) -> tuple[ir.Table, ir.Table]:
    """Return the values of a column as text, and how many rows hold each."""
    values = table.select(value=table[name].cast("string"))
    values = values.filter(values["value"].notnull())
    return values, values.group_by("value").aggregate(n=values.count())


def _rows_part(table: ir.Table, name: str) -> ir.Table:
    del name
    return _part("rows", ibis.null("string"), table.aggregate(n=table.count()))


def _part(what: str, value: ir.StringValue, table: ir.Table) -> ir.Table:
    figures = {name: table[name] if name in table.columns else ibis.null("int64") for name in _FIGURES}
    cast = {name: figure.cast("int64") for name, figure in figures.items()}
    return table.select(what=ibis.literal(what), value=value, **cast)


def shape_of(text: ir.StringValue) -> ir.StringValue:
    """Return each text with `9` for a digit, `A` and `a` for letters, and `U` for all that is not ASCII."""
    return text.translate(_LETTERS, _SHAPES).re_replace(_NO_ASCII, "U")


def shape_of_text(text: str) -> str:
    """Return the shape of a text that an engine returned, as `shape_of` has the engine compute it."""
    return re.sub(_NO_ASCII, "U", text.translate(_SHAPE_OF_LETTER))


def _filled_in(
    column: ColumnStatistics, at: int, answers: Mapping[tuple[int, str], Sequence[Mapping[str, Any]]]
) -> ColumnStatistics:
    counted, distinct, singletons, alike = (int(answers[at, "counts"][0][name] or 0) for name in _FIGURES)
    return replace(
        column,
        counted=counted,
        sampled_distinct=distinct,
        singletons=singletons,
        alike=alike,
        values=_most_first(answers.get((at, "value"), ())),
        shapes=_most_first(answers.get((at, "shape"), ())),
    )


def _counted_here(
    column: ColumnStatistics, at: int, answers: Mapping[tuple[int, str], Sequence[Mapping[str, Any]]]
) -> ColumnStatistics:
    """Return a column with what follows from all of its values."""
    values = _most_first(answers.get((at, "value"), ()))
    shapes: Counter[str] = Counter()
    if column.family is ColumnFamily.TEXT:
        for value in values:
            shapes[shape_of_text(value.text)] += value.rows
    return replace(
        column,
        counted=sum(value.rows for value in values),
        sampled_distinct=len(values),
        singletons=sum(value.rows == 1 for value in values),
        alike=sum(value.rows * (value.rows - 1) for value in values),
        values=values,
        shapes=_most_first([{"value": shape, "n": n} for shape, n in shapes.items()])[:_MOST_SHAPES],
    )


def _most_first(rows: Sequence[Mapping[str, Any]]) -> tuple[ValueCount, ...]:
    counts = [ValueCount(row["value"], int(row["n"])) for row in rows]
    return tuple(sorted(counts, key=lambda count: (-count.rows, count.text)))
