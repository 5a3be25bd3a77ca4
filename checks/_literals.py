"""Compare columns with the values people type: exactly, as far as the column's type holds them exactly.

What is exact, and what is not:

- whole numbers and decimals compare exactly, whatever the digits of the limit: it is moved to the nearest number that
  the type can hold, to the side on which the comparison stays the same, so that no engine converts or rounds it;
- a column of floating point numbers compares with the double (or float) nearest to the limit: 0.1 is not above 0.1;
- SQLite keeps a column of decimals as INTEGER, which is exact, or as REAL, which has 15 digits. Values that REAL cannot
  tell from the limit are counted apart (`uncertain`), and are never taken for good ones.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Final, TypeAlias
from uuid import UUID

from pydantic import BeforeValidator, PlainSerializer
from pydantic import WithJsonSchema as JsonSchema

from checks._errors import Misconfigured
from checks.parameters.columns import joined, type_name
from checks.parameters.numbers import digits_of, looks_like_number, parse_number, plain
from sources.expressions import dt, ibis, ir

_SAFE_DIGITS: Final = 15
"""Digits that every decimal keeps on its way through a REAL of SQLite."""
_WHOLE_IN_A_DOUBLE: Final = 2**53
_MOST_DIGITS: Final = 38
"""Digits of DuckDB's decimals. Its HUGEINT, which Ibis takes for a decimal without places, holds some more."""


def _checked(value: object) -> object:
    if value is None:
        raise ValueError("a value, not null; use 'allow_null' to accept NULL")
    if isinstance(value, datetime):
        raise ValueError("a text, number, date, or true or false; for times use 'range'")  # noqa: TRY004 - pydantic
    if isinstance(value, float) and math.isnan(value):
        raise ValueError("a value, not NaN")
    if isinstance(value, float) and math.isfinite(value):
        return parse_number(value)
    return value


def _to_json(value: Any) -> Any:
    return plain(value) if isinstance(value, Decimal) else value


_LARGEST_FLOAT32: Final = 2**128 - 2**104


Scalar: TypeAlias = Annotated[
    bool | int | Decimal | float | date | str,
    BeforeValidator(_checked),
    PlainSerializer(_to_json, when_used="json"),
    JsonSchema({"type": ["string", "number", "boolean"], "description": "A text, number, date, or true or false."}),
]

Comparison: TypeAlias = Callable[[Any, Any], Any]
"""One of `operator.lt`, `le`, `gt`, `ge`."""


def compared(column: ir.NumericColumn, comparison: Comparison, limit: int | Decimal, dialect: str) -> ir.BooleanValue:
    """Return the predicate that compares a column of numbers with a limit. NULL is neither.

    Raises:
        Misconfigured: the engine has no such number to compare with.
    """
    kind = column.type()
    units = Fraction(limit) * 10 ** _scale(kind)
    rounds_up = comparison in {operator.lt, operator.ge}
    whole = math.ceil(units) if rounds_up else math.floor(units)
    if kind.is_floating() or dialect == "sqlite":
        if _is_kept_exactly(limit, kind):  # else one REAL may stand for the limit and for a value beside it
            return comparison(column, _nearest(Fraction(whole, 10 ** _scale(kind)), kind, dialect))
        return comparison(column, _nearest(limit, kind, dialect))
    if kind.is_decimal() and (dialect == "postgres" or kind.scale is None):
        return comparison(column, _decimal(Fraction(limit), dt.decimal))
    low, high = _bounds(kind)
    if low <= whole <= high:
        return comparison(column, _exactly(Fraction(whole, 10 ** _scale(kind)), kind))
    _check_hugeint("the limit", kind, dialect)
    always = comparison in ({operator.lt, operator.le} if whole > high else {operator.gt, operator.ge})
    return column.notnull() if always else ibis.literal(value=False)


def _check_hugeint(what: str, kind: dt.DataType, dialect: str) -> None:
    """Check that a number beyond a type is none that a HUGEINT of DuckDB may hold.

    Raises:
        Misconfigured: it may be.
    """
    if dialect == "duckdb" and kind.is_decimal() and kind.precision == _MOST_DIGITS and not _scale(kind):
        raise Misconfigured(f"{what} has more than {_MOST_DIGITS} digits, which DuckDB cannot compare with")


def uncertain(column: ir.Column, limits: Sequence[object], dialect: str) -> ir.BooleanValue | None:
    """Return which values cannot be distinguished from one of some limits; None where all can be.

    On SQLite, a decimal of more than 15 digits is kept as the REAL nearest to it, and so are its neighbours. Where that
    REAL is a whole number, SQLite keeps it as an INTEGER.
    """
    if dialect != "sqlite":
        return None
    numbers = (limit for limit in limits if isinstance(limit, int | Decimal) and not isinstance(limit, bool))
    unsafe = unsafe_from(column.type())
    near = [column == float(limit) for limit in numbers if unsafe is not None and abs(Fraction(limit)) >= unsafe]
    return joined(operator.or_, near) & is_imprecise(column) if near else None


def unsafe_from(kind: dt.DataType) -> Fraction | None:
    """Return from which size on SQLite may have rounded numbers of a type; None for a type that rounds by itself."""
    if kind.is_integer():  # what has more than 64 bits is kept as REAL
        return Fraction(_WHOLE_IN_A_DOUBLE)
    has_scale = kind.is_decimal() and kind.scale is not None
    return Fraction(10) ** int(_SAFE_DIGITS - kind.scale) if has_scale else None


def _is_kept_exactly(limit: int | Decimal, kind: dt.DataType) -> bool:
    """Check whether SQLite keeps the numbers of a type exactly that are as large as a limit."""
    unsafe = unsafe_from(kind)
    return unsafe is not None and abs(Fraction(limit)) < (unsafe if _scale(kind) else 2**63)


def is_imprecise(column: ir.Column) -> ir.BooleanValue:
    """Return of which values of a column of whole numbers or decimals SQLite may have kept a neighbour.

    A REAL that is a whole number is kept as an INTEGER: only where all values are whole numbers is that exact.
    """
    kind = column.type()
    unsafe = unsafe_from(kind)
    if unsafe is None:
        return ibis.literal(value=False)
    large = (column >= float(unsafe)) | (column <= -float(unsafe))  # the smallest whole number has no absolute value
    return large if _scale(kind) else large & (column.typeof() == "real")


def literal_for(value: Scalar, column: ir.Column, name: str, dialect: str) -> ir.Scalar | None:
    """Return a literal that equals the column's values where a person would say so; None where none can equal it.

    Raises:
        Misconfigured: the value and the column are of two kinds.
    """
    kind = column.type()
    fitting = _fitting(value, kind)
    if fitting is None:
        raise Misconfigured(f"column '{name}' is of type {type_name(kind)}, which holds no {_kind_name(value)}")
    if isinstance(fitting, bool) or not isinstance(fitting, int | Decimal):
        return ibis.literal(fitting)
    if kind.is_floating() or kind.is_unknown() or dialect == "sqlite":
        return _nearest(fitting, kind, dialect)
    number = Fraction(fitting)
    if number.denominator == 1 and abs(number) >= 10**_MOST_DIGITS:
        _check_hugeint("the value", kind, dialect)
    return _exactly(number, kind)


def literals_for(values: Sequence[Scalar], column: ir.Column, name: str, dialect: str) -> list[ir.Scalar]:
    """Return literals of those values that the column can hold at all, to look its values up among them.

    Raises:
        Misconfigured: a value and the column are of two kinds.
    """
    literals = [literal_for(value, column, name, dialect) for value in values]
    return [literal for literal in literals if literal is not None]


def comparable(column: ir.Column) -> ir.Column:
    """Return a column that can be compared with any text: one that its type does not know is then just another.

    PostgreSQL reads a text beside an enum as one of its labels, and every engine one beside a UUID as a UUID; they
    refuse the whole statement when it is none. Every other type compares by its own rules, which a cast would change:
    PostgreSQL's citext takes capitals for small letters, char(n) leaves blanks at the end out.
    """
    kind = column.type()
    from sources.postgres_columns import Enum  # imports an engine

    return column.cast("string") if kind.is_uuid() or isinstance(kind, Enum) else column


def _nearest(value: int | Decimal | Fraction, kind: dt.DataType, dialect: str) -> ir.Scalar:
    """Return a literal of the number, or of the nearest that the column can hold, with its type left open."""
    if value == int(value) and -(2**63) <= value < 2**63 and not kind.is_floating():
        return ibis.literal(int(value))
    literal = ibis.literal(float(value))
    narrow = kind.is_float32() and dialect != "sqlite" and abs(Fraction(value)) <= _LARGEST_FLOAT32
    return literal.cast("float32") if narrow else literal


def _exactly(value: Fraction, kind: dt.DataType) -> ir.Scalar | None:
    """Return a literal of the column's own type; None where it cannot hold the number."""
    units = value * 10 ** _scale(kind)
    low, high = _bounds(kind)
    if kind.is_decimal() and kind.scale is None:
        return _decimal(value, dt.decimal)
    if units.denominator != 1 or not low <= units <= high:
        return None
    return ibis.literal(int(units), kind) if kind.is_integer() else _decimal(value, kind.copy(nullable=True))


def _decimal(value: Fraction, kind: dt.DataType) -> ir.Scalar:
    """Return a decimal literal, cast from text: engines read a bare one of many digits as a double."""
    return ibis.literal(digits_of(value)).cast(kind)


def _scale(kind: dt.DataType) -> int:
    """Return how many places a type has behind the point."""
    return (kind.scale or 0) if kind.is_decimal() else 0


def _bounds(kind: dt.DataType) -> tuple[int, int]:
    """Return the smallest and the largest number of a type, counted in its last place."""
    if kind.is_integer():
        return kind.bounds.lower, kind.bounds.upper
    most = 10 ** (kind.precision or _MOST_DIGITS) - 1
    return -most, most


def _fitting(value: Scalar, kind: dt.DataType) -> Scalar | None:
    if kind.is_unknown():  # a column of SQLite may be declared as anything, and hold anything
        return value
    if kind.is_boolean():
        return value if isinstance(value, bool) else None
    if kind.is_numeric():
        number = parse_number(value) if isinstance(value, str) and looks_like_number(value) else value
        whole = isinstance(number, int | Decimal) and number == int(number)
        fits = isinstance(number, int | Decimal) and not isinstance(number, bool) and (whole or not kind.is_integer())
        return number if fits else None
    if kind.is_date():
        return _as_date(value)
    if kind.is_uuid() and isinstance(value, str):
        return _as_uuid(value)
    return value if isinstance(value, str) and kind.is_string() else None


def _as_uuid(value: str) -> str:
    """Return the spelling that engines use; a text that is no UUID as it is, since it equals none."""
    try:
        return str(UUID(value))
    except ValueError:
        return value


def _as_date(value: Scalar) -> date | None:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, date) else None


def _kind_name(value: Scalar) -> str:
    """Return the kind of a value, never the value: it may be one of the table's."""
    kinds = {bool: "truth values", int: "whole numbers", float: "fractions", Decimal: "fractions", str: "such text"}
    return kinds.get(type(value), "dates")
