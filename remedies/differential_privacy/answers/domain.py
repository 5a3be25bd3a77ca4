"""What a data set declares of a column before any query: all values it can have, or the limits of its numbers.

A declaration comes from what is known of the subject, never from the table: whatever an answer shows of it, it shows
of every table.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Final, Self, TypeAlias

from annotated_types import Ge, Gt, MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Discriminator, Field, PlainSerializer, Tag, WithJsonSchema, model_validator

from checks import Json

Value: TypeAlias = bool | int | float | str
Number: TypeAlias = Annotated[
    Decimal,
    PlainSerializer("{:f}".format, return_type=str),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]}),
]

_MOST_VALUES: Final = 10_000
_MOST_CELLS: Final = 100_000
_EXACT: Final = 2**53
_MOST_GRID: Final = 10**15
"""A grid is no coarser, and no finer than one through it: numbers stay where floats are exact enough."""
_MOST_UNITS: Final = 2**31
"""Sums of so many units over four milliards of rows fit into 64 bits: an overflow would tell of the data."""


class Declaration(BaseModel):
    """A part of what is declared."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)

    def as_json(self) -> Mapping[str, Json]:
        """Return it as plain data: the same data for the same declaration."""
        values: Mapping[str, Json] = self.model_dump(mode="json")
        return values


def _or_a_list(schema: dict[str, Any]) -> None:
    """Report to editors that the list of values alone is enough."""
    whole = dict(schema)
    schema.clear()
    schema.update(anyOf=[whole["properties"]["values"], whole])


class CategoryColumn(Declaration):
    """A column of categories: all values it can have. What else comes is counted in one cell more, or as `other`."""

    model_config = ConfigDict(json_schema_extra=_or_a_list)

    values: Annotated[tuple[Value, ...], MinLen(1), MaxLen(_MOST_VALUES)] = Field(
        description="All values that it can have, whether they occur or not."
    )
    other: Value | None = Field(
        None, description="The value that NULL and all others are taken for; by default they are counted by themselves."
    )

    @model_validator(mode="before")
    @classmethod
    def _a_list_is_enough(cls, raw: Any) -> Any:
        return {"values": raw} if isinstance(raw, list | tuple) else raw

    @model_validator(mode="after")
    def _differ(self) -> Self:
        kinds = {_kind(value) for value in self.values}
        if len(kinds) > 1:
            raise ValueError(f"'values' are of one kind; seen: {', '.join(sorted(kinds))}; put texts in quotes")
        if any(not isinstance(value, str) and abs(value) > _EXACT for value in self.values):
            raise ValueError(f"'values' has a number above {_EXACT:,}; put such numbers in quotes")
        if len(set(self.values)) < len(self.values):
            raise ValueError("'values' names a value twice")
        if self.other is not None and self.other not in self.values:
            raise ValueError("'other' is not one of 'values', expected the one that all others are taken for")
        return self

    @property
    def kind(self) -> str:
        """Return what the values are: `text`, `number` or `truth value`."""
        return _kind(self.values[0])

    @property
    def size(self) -> int:
        """Return the number of values."""
        return len(self.values)

    @property
    def rest(self) -> int:
        """The cell of NULL and all other values."""
        return self.size if self.other is None else self.values.index(self.other)

    @property
    def cells(self) -> int:
        """Return the number of cells, that of the rest included."""
        return max(self.size, self.rest + 1)

    def label(self, cell: int) -> Json:
        """Return the value of a cell; None for the rest."""
        return self.values[cell] if cell < self.size else None


class SteppedColumn(Declaration):
    """A column of whole numbers, counted in cells of the same width: [1930, 2009] by 10 has 1930, 1940, ... 2000."""

    range: tuple[int, int] = Field(description="The smallest and the largest number that it can have.")
    width: Annotated[int, Ge(1)] = Field(1, description="How many numbers a cell has, from the smallest one on.")
    other: int | None = Field(None, description="The number that NULL, and in cells all outside, are taken for.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        low, high = self.range
        if low >= high:
            raise ValueError("'range' is a smaller and a larger number, such as [0, 120]")
        if max(abs(low), abs(high)) > _MOST_UNITS or self.size > _MOST_CELLS:
            raise ValueError(
                f"'range' has numbers up to {_MOST_UNITS:,} and at most {_MOST_CELLS:,} cells; see 'width'"
            )
        if self.other is not None and not low <= self.other <= high:
            raise ValueError("'other' is not within 'range', expected the number that all others are taken for")
        return self

    @property
    def size(self) -> int:
        """Return the number of cells; the last one may be narrower."""
        low, high = self.range
        return (high - low) // self.width + 1

    @property
    def rest(self) -> int:
        """The cell of NULL and all numbers outside."""
        return self.size if self.other is None else (self.other - self.range[0]) // self.width

    @property
    def cells(self) -> int:
        """Return the number of cells, that of the rest included."""
        return max(self.size, self.rest + 1)

    def label(self, cell: int) -> Json:
        """Return the smallest number of a cell; None for the rest."""
        return self.range[0] + cell * self.width if cell < self.size else None

    @cached_property
    def limits(self) -> BoundedColumn:
        """Return it as numbers to add up; NULL is taken for `other`, or for the number nearest to 0."""
        low, high = self.range
        missing = None if self.other is None else Decimal(self.other)
        return BoundedColumn(low=Decimal(low), high=Decimal(high), grid=Decimal(1), missing=missing)


class BoundedColumn(Declaration):
    """A column of numbers: those outside are taken for the nearest limit, and all are rounded to the grid."""

    low: Number = Field(description="Smaller numbers are taken for this one.")
    high: Number = Field(description="Larger numbers are taken for this one.")
    grid: Annotated[Number, Gt(0)] = Field(Decimal(1), description="Numbers are rounded to multiples of it.")
    missing: Number | None = Field(
        None, description="What NULL is taken for; by default the number within the limits that is nearest to 0."
    )

    @model_validator(mode="after")
    def _on_the_grid(self) -> Self:
        if self.low >= self.high:
            raise ValueError("'low' is not below 'high'")
        if not 1 <= Fraction(self.grid) * _MOST_GRID <= _MOST_GRID**2:
            raise ValueError(f"'grid' is not between {1 / _MOST_GRID:g} and {_MOST_GRID:g}")
        if max(abs(self.low), abs(self.high)) > self.grid * _MOST_UNITS:
            raise ValueError(f"'grid' is too fine: the limits are more than {_MOST_UNITS:,} times as large")
        for name, number in (("low", self.low), ("high", self.high), ("missing", self.missing)):
            if number is not None and (Fraction(number) / Fraction(self.grid)).denominator != 1:
                raise ValueError(f"'{name}' is not a multiple of 'grid', expected one, such as {self.grid:f} times 100")
        if self.missing is not None and not self.low <= self.missing <= self.high:
            raise ValueError("'missing' is not within the limits")
        return self

    @property
    def limits(self) -> BoundedColumn:
        """Return itself."""
        return self

    @property
    def low_units(self) -> int:
        """The lower limit in units of the grid."""
        return self.units(self.low)

    @property
    def high_units(self) -> int:
        """The upper limit in units of the grid."""
        return self.units(self.high)

    @property
    def missing_units(self) -> int:
        """Return what NULL and NaN are taken for, in units of the grid."""
        if self.missing is not None:
            return self.units(self.missing)
        return min(max(0, self.low_units), self.high_units)

    def units(self, number: Decimal) -> int:
        """Return a multiple of the grid in units of it."""
        return int(Fraction(number) / Fraction(self.grid))

    def number(self, units: int | Fraction) -> Fraction:
        """Return what so many units of the grid are."""
        return units * Fraction(self.grid)


_FORMS: Final = {"values": {"values"}, "range": {"range"}, "limits": {"low", "high"}}
"""The forms of a domain, and the keys of which each has one."""


def _form(raw: Any) -> str | None:
    """Return which of the three forms is meant; None if no key tells."""
    if isinstance(raw, list | tuple):
        return "values"
    names = type(raw).model_fields if isinstance(raw, Declaration) else raw
    if not isinstance(names, Mapping):
        return None
    return next((form for form, keys in _FORMS.items() if keys & set(names)), None)


Cells: TypeAlias = CategoryColumn | SteppedColumn
"""A column by which rows can be counted."""
Domain: TypeAlias = Annotated[
    Annotated[CategoryColumn, Tag("values")]
    | Annotated[SteppedColumn, Tag("range")]
    | Annotated[BoundedColumn, Tag("limits")],
    Discriminator(
        _form,
        custom_error_type="domain",
        custom_error_message="values such as [F, M] or {values: [F, M], other: F}, whole numbers in cells such as "
        "{range: [0, 120], width: 10}, or limits such as {low: 0, high: 1000, grid: 0.01}",
    ),
]
"""`[F, M]`, `{values: [F, M], other: F}`, `{range: [0, 120], width: 10}`, `{low: 0, high: 1000, grid: 0.01}`."""


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "truth value"
    return "text" if isinstance(value, str) else "number"
