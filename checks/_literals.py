"""Write the values people type as literals of SQL that compare exactly."""

import math
from datetime import date, datetime
from typing import Annotated, TypeAlias
from uuid import UUID

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
from pydantic import BeforeValidator
from pydantic import WithJsonSchema as JsonSchema

from checks._columns import say_type
from checks._errors import Misconfigured
from sources._postgres_columns import Enum


def _checked(value: object) -> object:
    if value is None:
        raise ValueError("a value, not null; whether NULL is accepted says 'allow_null'")
    if isinstance(value, datetime):
        raise ValueError("a text, number, date, or true or false; for times use 'range'")  # noqa: TRY004 - pydantic
    if isinstance(value, float) and math.isnan(value):
        raise ValueError("a value, not NaN")
    return value


Scalar: TypeAlias = Annotated[
    bool | int | float | date | str,
    BeforeValidator(_checked),
    JsonSchema({"type": ["string", "number", "boolean"], "description": "A text, number, date, or true or false."}),
]


def literal_for(value: Scalar, column: ir.Column, name: str) -> ir.Scalar:
    """Give a literal that equals the column's values where a person would say so.

    Raises:
        Misconfigured: the value and the column are of two kinds.
    """
    kind = column.type()
    fitting = _fitting(value, kind)
    if fitting is None:
        raise Misconfigured(f"column '{name}' is of type {say_type(kind)}, which holds no {_say_kind(value)}")
    if isinstance(fitting, int | float) and not isinstance(fitting, bool):
        return number_for(fitting, column)
    return ibis.literal(fitting)


def comparable(column: ir.Column) -> ir.Column:
    """Give a column that can be compared with any text: one that its type does not know is then just another.

    PostgreSQL reads a text beside an enum as one of its labels, and every engine one beside a UUID as a UUID; they
    refuse the whole statement when it is none. Every other type compares by its own rules, which a cast would change:
    PostgreSQL's citext takes capitals for small letters, char(n) leaves blanks at the end out.
    """
    kind = column.type()
    return column.cast("string") if kind.is_uuid() or isinstance(kind, Enum) else column


def number_for(value: float, column: ir.Column) -> ir.Scalar:
    """Give a literal of a number with all its digits, to compare with a column of numbers.

    The type is left open: a literal of a decimal type would be rounded to the digits that an engine takes for granted.

    Raises:
        Misconfigured: a whole number beyond 64 bits.
    """
    try:
        literal = ibis.literal(value)
    except TypeError:
        raise Misconfigured("a whole number is beyond 64 bits; write it as 1.0e+20") from None
    return literal.cast("float32") if column.type().is_float32() else literal


def _fitting(value: Scalar, kind: dt.DataType) -> Scalar | None:
    if kind.is_unknown():  # a column of SQLite may be declared as anything, and hold anything
        return value
    if kind.is_boolean():
        return value if isinstance(value, bool) else None
    if kind.is_numeric():
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        fits = isinstance(value, int | float) and not isinstance(value, bool) and (whole or not kind.is_integer())
        return value if fits else None
    if kind.is_date():
        return _as_date(value)
    if kind.is_uuid() and isinstance(value, str):
        return _as_uuid(value)
    return value if isinstance(value, str) and kind.is_string() else None


def _as_uuid(value: str) -> str:
    """Give the spelling that engines use; a text that is no UUID as it is, since it equals none."""
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


def _say_kind(value: Scalar) -> str:
    """Name the kind of a value, never the value: it may be one of the table's."""
    return {bool: "truth values", int: "whole numbers", float: "fractions", str: "such text"}.get(type(value), "dates")
