"""Join a table with an auxiliary one inside the engine by shared columns, equal or within a tolerance.

Times become whole microseconds since 1970 on every engine: of moments in UTC, of wall clocks as they are written. Which
of the two a column holds is known from its type or from all its rows (text, and everything in SQLite), so it is counted
and judged afterwards.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeAlias

from pydantic import BeforeValidator, PlainSerializer
from pydantic import WithJsonSchema as JsonSchema

from checks._aggregates import holds_no_number
from checks._contract import Context, Misconfigured, Outcome, UnknownReason, unknown
from checks._literals import comparable
from checks._outcome import Message
from checks.parameters.columns import WITHOUT_NAN, number_types, type_name
from checks.parameters.scalars import parse_duration, say
from checks.risk.record_linkage import WIDTH
from checks.risk.shared_columns import FAR, MICROSECOND, SLACK
from sources import NotTemporal
from sources.expressions import dt, ibis, ir
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
    own, other_column = (
        current_context.column(name) for current_context, name in zip((context, other), names, strict=True)
    )
    kinds = {_kind(own), _kind(other_column)}
    if isinstance(tolerance, timedelta) or (tolerance is None and kinds == {"time"}):
        try:
            sides = [
                _times(current_context, column) for current_context, column in ((context, own), (other, other_column))
            ]
        except NotTemporal as error:
            raise Misconfigured(f"{error}; a duration tolerance applies to times only") from None
        return SharedColumn(sides[0], sides[1], None if not tolerance else round(tolerance / MICROSECOND))
    if tolerance is not None and kinds != {"number"}:
        name, column = next(pair for pair in zip(names, (own, other_column), strict=True) if _kind(pair[1]) != "number")
        hint = "a duration such as 3d" if _kind(column) == "time" else "none: the column is compared exactly"
        raise Misconfigured(
            f"column '{name}' is of type {type_name(column.type())}, which has no distance in numbers; expected {hint}"
        )
    if len(kinds - {"unknown"}) > 1:
        raise Misconfigured(
            f"column '{names[0]}' is of type {type_name(own.type())} and '{names[1]}' of the other table of type "
            f"{type_name(other_column.type())}; shared columns must have the same type"
        )
    if not tolerance:
        return SharedColumn(_exact(context, own), _exact(other, other_column), None)
    whole = own.type().is_integer() and other_column.type().is_integer()
    reach = min(math.floor(tolerance), FAR) if whole else tolerance * (1 + SLACK)
    return SharedColumn(_numbers(context, own, whole=whole), _numbers(other, other_column, whole=whole), reach)


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
    no_number = holds_no_number(column)
    return Side(values, time_measure & ~no_number, {"no_number": context.count(no_number)})


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
    have_offset = [bool(int(counts["with_offset"] or 0)) for counts in (own, other) if int(counts.get("filled") or 0)]
    if len(set(have_offset)) > 1:
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


_FARTHEST: Final = 2.0**62
"""Buckets are numbered up to here; what lies beyond shares one: there, a tolerance is lost in the last digit."""


class CompleteRows(NamedTuple):
    """The complete rows of both tables: columns `own0`, `own1` ... and `other0`, `other1` ..., and who they are of.

    With a tolerance, also the bucket of each auxiliary row (`there`), and those between which a row's matches lie
    (`low`, `high`).
    """

    own: ir.Table
    other: ir.Table
    columns: Sequence[SharedColumn]

    @property
    def owns(self) -> list[str]:
        """Return the columns of the table."""
        return [f"own{at}" for at in range(len(self.columns))]

    @property
    def others(self) -> list[str]:
        """Return the columns of the auxiliary table."""
        return [f"other{at}" for at in range(len(self.columns))]

    @property
    def reaches(self) -> Mapping[int, float]:
        """Return how far two values may be apart, by the place of the column."""
        return {at: column.reach for at, column in enumerate(self.columns) if column.reach is not None}

    def counted(self) -> tuple[ir.Table, ir.Table]:
        """Return the distinct rows of both tables, and how many there are of each: `own_rows`, `other_rows`."""
        return (
            self.own.group_by(list(self.own.columns)).aggregate(own_rows=self.own.count()),
            self.other.group_by(list(self.other.columns)).aggregate(other_rows=self.other.count()),
        )


def complete(tables: tuple[ir.Table, ir.Table], columns: Sequence[SharedColumn], **people: ir.Column) -> CompleteRows:
    """Return the rows in which every shared column is known. `people`: `person` of the table, `target` of the other."""
    sides = []
    for table, label in zip(tables, ("own", "other"), strict=True):
        results = [getattr(column, label) for column in columns]
        persons = {name: column for name, column in people.items() if (name == "person") == (label == "own")}
        condition = reduce(and_, [side.known for side in results] + [column.notnull() for column in persons.values()])
        values = {f"{label}{at}": side.values for at, side in enumerate(results)}
        sides.append(table.filter(condition).select(**values, **persons, **_buckets(columns, own=label == "own")))
    return CompleteRows(sides[0], sides[1], columns)


def _buckets(columns: Sequence[SharedColumn], *, own: bool) -> Mapping[str, ir.Column]:
    """Return the buckets by which the first column with a tolerance is joined: computed once, so that they are indexed.

    A bucket is several tolerances wide: values within one lie in the same bucket or in the next.
    """
    for column in columns:
        if column.reach is not None:
            far = _distance(column)
            if own:
                return {
                    "low": _bucket(column.own.values - far, column),
                    "high": _bucket(column.own.values + far, column),
                }
            return {"there": _bucket(column.other.values, column)}
    return {}


def _bucket(value: ir.Column, column: SharedColumn) -> ir.Column:
    width = float((column.reach or 0) * WIDTH or 1)
    number = value.cast("float64") / ibis.literal(width, type="float64")
    buckets = number.floor().cast("int64")
    return buckets if value.type().is_integer() else number.between(-_FARTHEST, _FARTHEST).ifelse(buckets, 0)


def _distance(column: SharedColumn) -> ir.Scalar:
    return ibis.literal(column.reach, type="int64" if column.own.values.type().is_integer() else "float64")


def linked_records(records: CompleteRows) -> ir.Table:
    """Count rows by how many auxiliary rows they match: columns `candidates`, `found`, `both_ways`; none has 0.

    Both sides are counted by their values first, so that what is joined is never larger than both by repetition.
    """
    pairs = _matches(records, *records.counted())
    back = pairs["own_rows"].sum().over(ibis.window(group_by=records.others)) if records.reaches else pairs["own_rows"]
    pairs = pairs.mutate(back=back)
    if records.reaches:
        pairs = pairs.group_by(records.owns).aggregate(
            own_rows=pairs["own_rows"].max(), other_rows=pairs["other_rows"].sum(), back=pairs["back"].max()
        )
    only = (pairs["other_rows"] == 1) & (pairs["back"] == 1)
    return _histogram(pairs, "other_rows", only, "own_rows")


def linked_persons(records: CompleteRows, at_least: int | None) -> ir.Table:
    """Count auxiliary people by how many people of the table they may be: columns as `linked_records`."""
    own, other = records.counted()
    pairs = _matches(records, own, other)
    if records.reaches:  # else a fact and a person meet once
        pairs = pairs.group_by("target", *records.others, "person").aggregate(rows=pairs.count())
    scores = pairs.group_by("target", "person").aggregate(score=pairs.count())
    if at_least is None:
        facts = other.group_by(of=other["target"]).aggregate(needed=other.count())
        scores = scores.join(facts, scores["target"] == facts["of"])
        fits = scores.filter(scores["score"] >= scores["needed"])
    else:
        fits = scores.filter(scores["score"] >= at_least)
    fits = fits.mutate(back=fits.count().over(ibis.window(group_by="person")))
    per = fits.group_by("target").aggregate(fitting=fits.count(), back=fits["back"].max())
    only = (per["fitting"] == 1) & (per["back"] == 1)
    return _histogram(per, "fitting", only, None)


def shared_values(records: CompleteRows) -> ir.Table:
    """Count the distinct rows that match any of the other table, as one row: `shared`."""
    pairs = _matches(records, *records.counted())
    return pairs.aggregate(shared=pairs.count())


def _histogram(table: ir.Table, candidates: str, only: ir.BooleanColumn, weight: str | None) -> ir.Table:
    groups = table.group_by(candidates=table[candidates].cast("int64"))
    if weight is None:
        return groups.aggregate(found=table.count(), both_ways=table.count(where=only))
    result, both = table[weight].sum(), only.ifelse(table[weight], 0).sum()
    return groups.aggregate(found=result.cast("int64"), both_ways=both.cast("int64"))


def _matches(records: CompleteRows, own: ir.Table, other: ir.Table) -> ir.Table:
    """Join what matches. Equal columns are joined first, a tolerance by buckets, so that no engine compares all pairs.

    Each row of the table stands in the bucket of its lowest match and, if it is another, in that of its highest.
    """
    exact: list[ir.BooleanValue] = []
    if records.reaches:
        lows, highs = own.mutate(bucket=own["low"]), own.filter(own["low"] != own["high"])
        own = ibis.union(lows, highs.mutate(bucket=highs["high"]))
        exact.append(own["bucket"] == other["there"])
    exact += [own[f"own{at}"] == other[f"other{at}"] for at in range(len(records.columns)) if at not in records.reaches]
    for at in records.reaches:
        value, other_value, far = own[f"own{at}"], other[f"other{at}"], _distance(records.columns[at])
        exact += [other_value >= value - far, other_value <= value + far]
    return own.join(other, exact)
