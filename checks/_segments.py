"""Judge a check in each segment of its table: `by: [country]`, one GROUP BY, the same verdict as on the filtered table.

The planner computes the aggregates of all checks that share the columns of `by` in one statement, with a GROUP BY. Each
group is a `Segment` with the numbers that the check would have had of the filtered table, so `judge` needs no change.
The values of a segment are data: they are shown only where the configuration lists them or allows it (`show: true`);
otherwise a segment is named by a keyed hash, which is the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from operator import and_, or_
from typing import Any, Final

from pydantic import Field

from checks._contract import CheckParameters, ColumnClass, Context, Measurement, Misconfigured, PeopleTable
from checks._literals import literals_for
from checks.parameters.columns import joined, type_name
from checks.parameters.rows import SegmentBy, SegmentValue
from sources.expressions import ibis, ir

MOST_SEGMENTS: Final = 10_000
"""Segments that are judged; a table with more of them has its largest judged, and the check does not pass."""
_LONGEST: Final = 60
"""Characters of a value that are shown."""
_KEY_DIGITS: Final = 12


class TakesSegments(CheckParameters):
    """The parameters of a check that can be judged in each segment of its table."""

    by: SegmentBy | None = Field(None, description="Columns whose values make segments, each judged for itself.")


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment: its stable name, what it is called where it may be named, and the numbers measured in it.

    `key` is a keyed hash of its values. `title` is what people see: its values, or `segment` and the key.
    """

    key: str
    title: str
    is_listed: bool
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SegmentedMeasurement:
    """The measurement of a check with `by`: one of each segment.

    `whole` holds what is the same for all segments, and no numbers. `segments`: those listed first, then the largest
    first. `is_cut`: there are more than were measured.
    """

    whole: Measurement
    segments: tuple[Segment, ...]
    is_cut: bool = False

    def of(self, segment: Segment) -> Measurement:
        """Return the measurement that the check would have made of the filtered table."""
        return replace(self.whole, values=segment.values)


@dataclass(frozen=True, slots=True)
class SegmentNames:
    """Names segments by their values. `sign` returns a keyed hash of values, the same in every run."""

    table: str
    by: SegmentBy
    kinds: Mapping[str, str]
    """The kind of each column: `string`, `integer`, `boolean` or `date`."""
    sign: Callable[[Sequence[object]], bytes]
    people: PeopleTable | None = None

    def key(self, values: Mapping[str, object]) -> str:
        """Return the stable name of a segment: a keyed hash of the table, the columns and their values."""
        parts = [part for name in sorted(values) for part in (name, _as_kind(values[name], self.kinds[name]))]
        return self.sign([self.table, *parts]).hex()[:_KEY_DIGITS]

    def title(self, key: str, values: Mapping[str, object], *, is_listed: bool, rows: int) -> str:
        """Return what people see: values that may be shown, else the stable name.

        In a table of people, a segment of a few `rows`, or people, is named only where the configuration lists it.
        """
        people = self.people
        is_small = people is not None and rows < people.k and any(map(people.protects, self.by.columns))
        if not is_listed and (is_small or not self.by.show):
            return f"segment {key}"
        return ", ".join(f"{name}={_shown(values[name])}" for name in self.by.columns)

    @property
    def listed(self) -> Mapping[str, Mapping[str, object]]:
        """Return the values of the segments that the configuration lists, by their stable names."""
        named = (dict(zip(self.by.columns, values, strict=True)) for values in self.by.values)
        return {self.key(values): values for values in named}


def _as_kind(value: Any, kind: str) -> object:
    """Return a value as its column means it: engines give dates as text and truth values as numbers."""
    if value is None or kind == "string":
        return value
    try:
        if kind == "date":
            return date.fromisoformat(str(value)[:10])
        return int(value)
    except ValueError:  # what SQLite lets into a column of any type
        return value


def _shown(value: object) -> str:
    if value is None:
        return "NULL"
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def segment_kind(context: Context, name: str, by: SegmentBy) -> str:
    """Return the kind of a column that makes segments: `string`, `integer`, `boolean` or `date`.

    Raises:
        Misconfigured: there is no such column, its values name no segment, or they must not be shown.
    """
    kind = context.column(name).type()
    kinds = {"string": kind.is_string(), "integer": kind.is_integer(), "boolean": kind.is_boolean()}
    word = next((word for word, fits in {**kinds, "date": kind.is_date()}.items() if fits), None)
    if word is None:
        text = "segments are made by text, whole numbers, truth values or dates"
        raise Misconfigured(f"column '{name}' is of type {type_name(kind)}; {text}")
    classes = context.classified if context.people is None else context.people.columns
    if by.show and classes.get(name) in {ColumnClass.DIRECT_IDENTIFIER, ColumnClass.SENSITIVE}:
        classified = classes[name].value
        raise Misconfigured(f"column '{name}' is classified as {classified}; remove 'show' from 'by'")
    return word


def is_listed(context: Context, by: SegmentBy) -> ir.BooleanValue | None:
    """Return which rows are of segments that the configuration lists; None where it lists none.

    Raises:
        Misconfigured: a listed value and its column are of two kinds.
    """
    if not by.values:
        return None
    return joined(or_, [_is_one(context, by.columns, values) for values in by.values])


def _is_one(context: Context, names: Iterable[str], values: Iterable[SegmentValue]) -> ir.BooleanValue:
    return joined(and_, [_equals(context, name, value) for name, value in zip(names, values, strict=True)])


def _equals(context: Context, name: str, value: SegmentValue) -> ir.BooleanValue:
    column = context.column(name)
    if value is None:
        return column.isnull()
    literals = literals_for([value], column, name, context.dialect)
    return column.notnull() & column.isin(literals) if literals else ibis.literal(value=False)
