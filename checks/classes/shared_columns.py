"""Compare a column of the watched table with one of another table: exactly, or within a tolerance.

Times become whole microseconds since 1970 on every engine: of moments in UTC, of wall clocks as they are written. Which
of the two a column holds is known from its type or from all its rows (text, and everything in SQLite), so it is counted
and judged afterwards.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

from pydantic import BeforeValidator, PlainSerializer
from pydantic import WithJsonSchema as JsonSchema

from checks._aggregates import holds_no_number
from checks._contract import Context, Misconfigured, Outcome, UnknownReason, unknown
from checks._literals import comparable
from checks._outcome import Message
from checks.parameters.columns import WITHOUT_NAN, number_types, type_name
from checks.parameters.scalars import parse_duration, say
from checks.risk.shared_columns import FAR, MICROSECOND, SLACK
from sources import NotTemporal
from sources.expressions import dt
from sources.moments import as_moment, microseconds

if TYPE_CHECKING:
    import ibis.expr.types as ir


def _kinds() -> Mapping[type[dt.DataType], str]:
    numbers = dict.fromkeys(number_types(), "number")
    return {**numbers, dt.String: "text", dt.Boolean: "truth value", dt.Timestamp: "time", dt.Date: "time"}


# --- what people type -------------------------------------------------------------------------------------------------


def parse_tolerance(value: object) -> int | float | timedelta:
    """Return a number that is not negative, or the duration that a text such as `3d` names.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, str | timedelta):
        return parse_duration(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
        return value
    raise ValueError("a number not below 0, or a duration such as 3d")


Tolerance: TypeAlias = Annotated[
    int | float | timedelta,
    BeforeValidator(parse_tolerance),
    PlainSerializer(lambda value: say(value) if isinstance(value, timedelta) else value),
    JsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": "^(?=.)([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$"},
            ],
            "description": "A number between numbers, a duration between times.",
            "examples": [1, "3d"],
        }
    ),
]

# --- columns ----------------------------------------------------------------------------------------------------------


class Side(NamedTuple):
    """A column of one table: its values, `known` where there is one, and counts that tell whether it can be read."""

    values: ir.Column
    known: ir.BooleanValue
    evidence: Mapping[str, ir.Value]


@dataclass(frozen=True, slots=True)
class SharedColumn:
    """The same fact in two tables. `reach`: how far two values may be apart; None: not at all."""

    own: Side
    other: Side
    reach: int | float | None


def shared_column(
    context: Context, other: Context, names: tuple[str, str], tolerance: float | timedelta | None
) -> SharedColumn:
    """Return a column of each table, in a form in which they can be compared.

    Raises:
        Misconfigured: a column is not there; the two are of different kinds; the tolerance is not of their kind.
    """
    own, theirs = (current_context.column(name) for current_context, name in zip((context, other), names, strict=True))
    kinds = {_kind(own), _kind(theirs)}
    if isinstance(tolerance, timedelta) or (tolerance is None and kinds == {"time"}):
        try:
            sides = [_times(current_context, column) for current_context, column in ((context, own), (other, theirs))]
        except NotTemporal as error:
            raise Misconfigured(f"{error}; a duration tolerance applies to times only") from None
        return SharedColumn(sides[0], sides[1], None if not tolerance else round(tolerance / MICROSECOND))
    if tolerance is not None and kinds != {"number"}:
        name, column = next(pair for pair in zip(names, (own, theirs), strict=True) if _kind(pair[1]) != "number")
        hint = "a duration such as 3d" if _kind(column) == "time" else "none: the column is compared exactly"
        raise Misconfigured(
            f"column '{name}' is of type {type_name(column.type())}, which has no distance in numbers; expected {hint}"
        )
    if len(kinds - {"unknown"}) > 1:
        raise Misconfigured(
            f"column '{names[0]}' is of type {type_name(own.type())} and '{names[1]}' of the other table of type "
            f"{type_name(theirs.type())}; shared columns must have the same type"
        )
    if not tolerance:
        return SharedColumn(_exact(context, own), _exact(other, theirs), None)
    whole = own.type().is_integer() and theirs.type().is_integer()
    reach = min(math.floor(tolerance), FAR) if whole else tolerance * (1 + SLACK)
    return SharedColumn(_numbers(context, own, whole=whole), _numbers(other, theirs, whole=whole), reach)


def _kind(column: ir.Column) -> str:
    result = next((word for kind, word in _kinds().items() if isinstance(column.type(), kind)), None)
    return result or type_name(column.type())


def _exact(context: Context, column: ir.Column) -> Side:
    values = comparable(column)
    may_be_nan = column.type().is_floating() and context.dialect not in WITHOUT_NAN
    return Side(values, values.notnull() & ~values.isnan() if may_be_nan else values.notnull(), {})


def _numbers(context: Context, column: ir.Column, *, whole: bool) -> Side:
    values = column.cast("int64" if whole else "float64")
    # neither infinite nor NaN, which every engine that has it takes for larger than any number
    time_measure = (
        values.notnull() if whole else values.notnull() & values.between(-sys.float_info.max, sys.float_info.max)
    )
    if context.dialect != "sqlite":
        return Side(values, time_measure, {})
    strange = holds_no_number(column)
    return Side(values, time_measure & ~strange, {"no_number": context.count(strange)})


def _times(context: Context, column: ir.Column) -> Side:
    moment = as_moment(column, context.dialect)
    values = microseconds(moment, context.dialect)
    with_offset = moment.offset if moment.offset is not None else moment.value.notnull() & bool(moment.aware)
    counts = {"filled": moment.value.notnull(), "unparsed": moment.unparsed, "with_offset": with_offset}
    return Side(values, values.notnull(), {name: context.count(counted) for name, counted in counts.items()})


# --- whether the values could be read ---------------------------------------------------------------------------------


def unreadable(own: Mapping[str, Any], other: Mapping[str, Any], names: tuple[str, str]) -> Outcome | None:
    """Return why two columns cannot be compared, by the counts of their evidence; None if they can."""
    for name, counts in zip(names, (own, other), strict=True):
        problem = _problem(name, {key: int(count or 0) for key, count in counts.items()})
        if problem is not None:
            return unknown(UnknownReason.MISCONFIGURED, problem)
    told = [bool(int(counts["with_offset"] or 0)) for counts in (own, other) if int(counts.get("filled") or 0)]
    if len(set(told)) > 1:
        text = (
            "{column}: one table has timestamps without a time zone, the other with one; convert both to the same form"
        )
        return unknown(UnknownReason.MISCONFIGURED, Message(text, {"column": names[0]}))
    return None


def _problem(column: str, counts: Mapping[str, int]) -> Message | None:
    if counts.get("unparsed"):
        one = "{column}: {bad:count} value is not a valid timestamp"
        many = "{column}: {bad:count} values are not valid timestamps"
        return Message(many, {"column": column, "bad": counts["unparsed"]}, one=one, counted="bad")
    if counts.get("no_number"):
        one = "{column}: {bad:count} value is not a number"
        many = "{column}: {bad:count} values are not numbers"
        return Message(many, {"column": column, "bad": counts["no_number"]}, one=one, counted="bad")
    if 0 < counts.get("with_offset", 0) < counts.get("filled", 0):
        text = "{column}: {some:count} of {filled:count} values have an offset, the others have none"
        return Message(text, {"column": column, "some": counts["with_offset"], "filled": counts["filled"]})
    return None
