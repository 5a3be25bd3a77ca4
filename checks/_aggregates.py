"""Sum a table up in one number."""

import math
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

import ibis
import ibis.expr.types as ir

from checks._columns import NUMBERS, fit
from checks._contract import Context, Json, Outcome, UnknownReason, unknown
from checks._message import Message

_IMPOSTORS: Final = Message(
    "{what} takes in {found:count} values that are no numbers, though the column is one of numbers",
    one="{what} takes in {found:count} value that is no number, though the column is one of numbers",
    counted="found",
)


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
        """Say whether the number stands in the table itself: then it is judged, and neither kept nor said."""
        return self in {Aggregate.MIN, Aggregate.MAX}


def aggregate(context: Context, how: Aggregate, column: str | None) -> ir.Scalar:
    """Give an aggregate of the rows that a check looks at; without a column, their count. `stddev` is of a sample.

    Raises:
        Misconfigured: there is no such column, or its type does not fit the aggregate.
    """
    if column is None:
        return context.rows
    if how is Aggregate.COUNT:
        return context.column(column).count(where=context.where)
    if how is Aggregate.DISTINCT:
        return context.column(column).nunique(where=context.where)
    hint = "; for times use 'range' or 'freshness', which keep no value" if how.is_value else ""
    values = fit(context, column, NUMBERS, asked=f"{how} takes numbers{hint}")
    if how is Aggregate.STDDEV:
        if context.dialect == "sqlite":  # where a text would end the statement with an error; `impostors` counts them
            values = holds_no_number(values).ifelse(ibis.null(), values)
        # from that of the population: on SQLite, Ibis' own sample deviation of one value is a division by zero
        count = values.count(where=context.where)
        return values.std(where=context.where, how="pop") * (count / (count - 1).nullif(0)).sqrt()
    sums = {
        Aggregate.SUM: values.sum,
        Aggregate.MEAN: values.mean,
        Aggregate.MIN: values.min,
        Aggregate.MAX: values.max,
    }
    return sums[how](where=context.where)


def impostors(context: Context, how: Aggregate, column: str | None) -> Mapping[str, ir.IntegerScalar]:
    """Ask for `impostors`: how many values of a column of numbers are none. Nothing is asked where there can be none.

    SQLite keeps text in any column, and adds it up as 0.
    """
    if column is None or context.dialect != "sqlite" or how in {Aggregate.COUNT, Aggregate.DISTINCT}:
        return {}
    return {"impostors": context.count(holds_no_number(context.column(column)))}


def holds_no_number(column: ir.Column) -> ir.BooleanValue:
    """Say of each value of a column of SQLite whether it is a text or a blob, whatever the column is declared as."""
    return column.typeof().isin(["text", "blob"])


def without_impostors(values: Mapping[str, Any], what: str, observed: Mapping[str, Json]) -> Outcome | None:
    """Give the outcome of an aggregate (`what`) over values some of which are no numbers; None if all are."""
    found = values.get("impostors") or 0
    if not found:
        return None
    return unknown(UnknownReason.MISCONFIGURED, _IMPOSTORS.given(what=what, found=found), {**observed, "value": None})


def needs_column(how: Aggregate, column: str | None) -> None:
    """Refuse an aggregate of nothing.

    Raises:
        ValueError: only rows can be counted without a column.
    """
    if column is None and how is not Aggregate.COUNT:
        raise ValueError(f"'{how}' needs a 'column'")


def decimal(number: float | Decimal) -> Fraction:
    """Give a finite number as the decimal that a person reads, exactly.

    A floating point number is its shortest decimal: 0.1 is a tenth, whether it comes as binary, decimal or text.
    """
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def exact(value: object) -> Fraction | None:
    """Give a number, as a driver returns it, as `decimal` reads it; None for NULL, NaN and infinity."""
    if not isinstance(value, int | float | Decimal) or not math.isfinite(value):
        return None
    return decimal(value)


def at_least(value: Fraction, limit: float | None) -> bool:
    """Say whether a number is not below a limit; None is no limit."""
    return limit is None or value >= decimal(limit)


def at_most(value: Fraction, limit: float | None) -> bool:
    """Say whether a number is not above a limit; None is no limit."""
    return limit is None or value <= decimal(limit)


def plain(value: Fraction | None) -> int | float | None:
    """Give a number that JSON knows: whole numbers stay whole."""
    if value is None or value.denominator == 1:
        return None if value is None else value.numerator
    return float(value)


def say_aggregate(how: str, column: str | None, table: str | None = None) -> str:
    """Give the name of an aggregate for messages: `sum(amount)`, `count(sales.orders)`."""
    return f"{how}({'.'.join(name for name in (table, column) if name) or '*'})"
