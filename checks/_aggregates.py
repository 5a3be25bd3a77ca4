"""Sum a table up in one number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from checks._contract import Context, Json, Outcome, UnknownReason, unknown
from checks._literals import is_imprecise, unsafe_from
from checks._outcome import Message
from checks.parameters.columns import fit, is_nan, number_types
from checks.parameters.numbers import digits_of, exact
from sources.expressions import ibis, ir

_NEVER_RUNS_OVER: Final = 18
"""Digits of a decimal of which no table has enough to fill 38 digits with their sum."""
_MOST_DIGITS: Final = 38
_MILLION: Final = 1_000_000

_IMPOSTORS: Final = Message(
    "{what} includes {found:count} non-numeric values in a numeric column",
    one="{what} includes {found:count} non-numeric value in a numeric column",
    counted="found",
)
_NAN: Final = Message(
    "{what} includes {found:count} NaN values",
    one="{what} includes {found:count} NaN value",
    counted="found",
)
_IMPRECISE: Final = Message(
    "{what} includes {found:count} values that SQLite stores as REAL with 15 digits; the exact values may have more",
    one="{what} includes {found:count} value that SQLite stores as REAL with 15 digits; the exact value may have more",
    counted="found",
)
_RUNS_OVER: Final = Message("{what} has more than 38 digits, the maximum of DuckDB")
_NO_VALUE: Final = Message("{what} has no finite value: all values are NULL, or some are NaN or infinite")
_DOUBTS: Final = {"impostors": _IMPOSTORS, "nan": _NAN, "imprecise": _IMPRECISE}


class Aggregate(StrEnum):
    """A way to sum up a table: its rows, or the values of a column that are not NULL."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    MIN = "min"
    MAX = "max"
    DISTINCT = "distinct"
    STDDEV = "stddev"

    @property
    def is_value(self) -> bool:
        """Check whether the number stands in the table itself: then it is judged, and neither kept nor said."""
        return self in {Aggregate.MIN, Aggregate.MAX}


def aggregate(context: Context, how: Aggregate, column: str | None) -> dict[str, ir.Scalar]:
    """Return an aggregate of the rows that a check looks at, `value`, with what `total` needs to know beside it.

    Without a column, their count. `stddev` is of a sample. A mean of whole numbers or decimals is a sum and a `count`:
    engines divide in floating point. What stands beside: `impostors` (values of a column of numbers that are none,
    which SQLite allows and adds up as 0), `nan` (values that are NaN), `imprecise` (decimals that SQLite keeps as REAL
    and that may have more digits), `units` and `more_units` (their exact sum in two parts, as text), `approximate` (the
    sum in floating point, where that of DuckDB may run over).

    Raises:
        Misconfigured: there is no such column, or its type does not fit the aggregate.
    """
    where = context.where
    if column is None:
        return {"value": context.rows}
    if how in {Aggregate.COUNT, Aggregate.DISTINCT}:
        counted = context.column(column)
        return {"value": counted.count(where=where) if how is Aggregate.COUNT else counted.nunique(where=where)}
    hint = "; for times use 'range' or 'freshness', which keep no value" if how.is_value else ""
    values = fit(context, column, number_types(), text=f"{how} takes numbers{hint}")
    if how is Aggregate.MEAN and not values.type().is_floating():
        return {**_sum(context, values), "count": values.count(where=where), **_doubtful(context, values)}
    computed = {
        Aggregate.SUM: lambda: _sum(context, values),
        Aggregate.MEAN: lambda: {"value": values.mean(where=where)},
        Aggregate.MIN: lambda: {"value": values.min(where=where)},
        Aggregate.MAX: lambda: {"value": values.max(where=where)},
        Aggregate.STDDEV: lambda: {"value": _stddev(context, values)},
    }
    return {**computed[how](), **_doubtful(context, values)}


def _stddev(context: Context, values: ir.NumericColumn) -> ir.Scalar:
    if context.dialect == "sqlite":  # where a text would end the statement with an error; `impostors` counts them
        values = holds_no_number(values).ifelse(ibis.null(), values)
    nan = is_nan(values, context.dialect)
    if nan is not None:  # which ends the statement on DuckDB; it is counted beside
        values = nan.ifelse(ibis.null(), values)
    if context.dialect == "duckdb" and values.type().is_floating():  # where infinity ends the statement too
        finite = values.isinf().ifelse(ibis.null(), values)
        return (context.count(values.isinf()) == 0).ifelse(_sample_deviation(context, finite), ibis.null())
    return _sample_deviation(context, values)


def _sample_deviation(context: Context, values: ir.NumericColumn) -> ir.Scalar:
    """Return it from that of the population: on SQLite, Ibis' own of one value is a division by zero."""
    count = values.count(where=context.where)
    return values.std(where=context.where, how="pop") * (count / (count - 1).nullif(0)).sqrt()


def _sum(context: Context, values: ir.NumericColumn) -> dict[str, ir.Scalar]:
    kind, where = values.type(), context.where
    plain_sum = values.sum(where=where)
    if context.dialect == "duckdb" and kind.is_decimal() and kind.precision > _NEVER_RUNS_OVER:
        approximate = values.cast("float64").sum(where=where)
        # a sum that runs over is off by 2 to the power of 128; one of 39 digits may have no text
        safe = (plain_sum.cast("float64") - approximate).abs() < float(
            10 ** (_MOST_DIGITS - 1) / Fraction(10) ** kind.scale
        )
        return {"value": safe.ifelse(plain_sum.cast("string"), ibis.null()), "approximate": approximate}
    if context.dialect == "sqlite" and kind.is_decimal() and kind.scale is not None:
        return {"value": plain_sum, **_units(context, values)}
    if context.dialect == "spark" and kind.is_integer():  # whose sums of 64 bits run over in silence
        plain_sum = values.cast("decimal(20, 0)").sum(where=where)
    return {"value": plain_sum}


def _units(context: Context, values: ir.NumericColumn) -> dict[str, ir.Scalar]:
    """Add decimals of SQLite up in whole units of their last place, where all of them are such; else NULL.

    In two parts, millions and the rest, since a sum of 64 bits that runs over ends the statement.
    """
    places = values.type().scale
    rounded = (values * 10**places).round()
    off_grid = context.count(rounded / float(10**places) != values)
    units = is_imprecise(values).ifelse(0, rounded).cast("int64")
    high = units // _MILLION
    parts = {"units": (high, 6 - places), "more_units": (units - high * _MILLION, -places)}
    return {
        name: (off_grid == 0).ifelse(part.sum(where=context.where).cast("string") + f"e{exponent}", ibis.null())
        for name, (part, exponent) in parts.items()
    }


def _doubtful(context: Context, values: ir.NumericColumn) -> dict[str, ir.Scalar]:
    """Count the values that no aggregate of numbers can take in."""
    kind, results = values.type(), {}
    nan = is_nan(values, context.dialect)
    if nan is not None:
        results["nan"] = context.count(nan)
    if context.dialect == "sqlite":
        results["impostors"] = context.count(holds_no_number(values))
        if unsafe_from(kind) is not None:
            results["imprecise"] = context.count(is_imprecise(values))
    return results


def holds_no_number(column: ir.Column) -> ir.BooleanValue:
    """Return of each value of a column of SQLite whether it is a text or a blob, whatever the column is declared as."""
    return column.typeof().isin(["text", "blob"])


@dataclass(frozen=True, slots=True)
class Total:
    """An aggregate as a number. `rounded`: it was computed in floating point, or does not end in decimals."""

    number: Fraction
    rounded: bool = False


def total(values: Mapping[str, Any], how: str, what: str, observed: Mapping[str, Json]) -> Total | Outcome:
    """Return the number that `aggregate` measured, exactly as far as the engine knows it.

    `what` names the aggregate. Without a number the outcome is unknown, with what was `observed` otherwise.
    """
    observed = {**observed, "value": None}
    for name, message in _DOUBTS.items():
        if values.get(name):
            reason = UnknownReason.NO_DATA if message is _NAN else UnknownReason.MISCONFIGURED
            return unknown(reason, message.given(what=what, found=int(values[name])), observed)
    raw, count = values["value"], values.get("count")
    number = exact(raw)
    if values.get("units") is not None:
        number, raw = (exact(values["units"]) or 0) + (exact(values["more_units"]) or Fraction(0)), None
    if number is None and values.get("approximate") is not None:
        return unknown(UnknownReason.MISCONFIGURED, _RUNS_OVER.given(what=what), observed)
    if number is None or count == 0:
        return unknown(UnknownReason.NO_DATA, _NO_VALUE.given(what=what), observed)
    if count is not None:
        return Total(number / count, rounded=isinstance(raw, float) or digits_of(number / count) is None)
    return Total(number, rounded=isinstance(raw, float) or how == Aggregate.STDDEV)


def infinity(values: Mapping[str, Any]) -> int:
    """Return 1 or -1 of an aggregate that is infinite, by its sign; 0 of one that is finite or unknown."""
    raw = values.get("value")
    if not isinstance(raw, float | Decimal) or not math.isinf(raw) or any(values.get(name) for name in _DOUBTS):
        return 0
    return 1 if raw > 0 else -1


def needs_column(how: Aggregate, column: str | None) -> None:
    """Refuse an aggregate of nothing.

    Raises:
        ValueError: only rows can be counted without a column.
    """
    if column is None and how is not Aggregate.COUNT:
        raise ValueError(f"'{how}' needs a 'column'")


def aggregate_name(how: str, column: str | None, table: str | None = None) -> str:
    """Return the name of an aggregate for messages: `sum(amount)`, `count(sales.orders)`."""
    return f"{how}({'.'.join(name for name in (table, column) if name) or '*'})"
