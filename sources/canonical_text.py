"""A canonical text of each value, and digests of texts, which all supported engines compute alike (ADR 93).

Two values have the same text if and only if they are the same value: 1.50 and 1.5 are, also as a float and a decimal;
NULL and the empty text are not, nor `a` and `A`, nor a time to the second and one with microseconds more. A digest is
the first 60 bits of the MD5 of a text in UTF-8. SQLite has no MD5 and no types for decimals and times: there Python
computes both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import reduce
from hashlib import md5
from typing import Final

from sources.expressions import dt, engine_function, ibis, ir
from sources.moments import as_moment, microseconds, microseconds_of_text

DIGESTS: Final = {
    "duckdb": "('0x' || substr(md5({0}), 1, 15))::BIGINT",
    "mysql": "CAST(CONV(SUBSTR(MD5({0}), 1, 15), 16, 10) AS SIGNED)",
    "postgres": "('x' || substr(md5(convert_to({0}, 'UTF8')), 1, 15))::bit(60)::bigint",
    "sqlite": "tablewatch_digest({0})",
}
"""By dialect: the SQL of the digest of a text, a whole number of 0 to 2^60 - 1."""
DIGEST_BITS: Final = 60

_SQLITE_CELL: Final = "tablewatch_cell"
_LEAST_PLAIN, _LEAST_LARGE = 1e-4, 1e15
"""Between these all engines write a float without an exponent."""
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:[.][0-9]*)?")
_CLOCK: Final = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]+)?")
_NANOSECONDS: Final = 9


class CellKind(StrEnum):
    """What two columns are compared as."""

    NUMBER = "number"
    """Whole numbers, decimals and booleans, by their decimal digits."""
    FLOAT = "float"
    """Numbers of which one at least is a float, by the shortest decimal digits that lead back to it."""
    TEXT = "text"
    """Texts and UUIDs, character by character."""
    WALL = "wall"
    """Dates, and times without a zone, by their microseconds."""
    MOMENT = "moment"
    """Times with a zone, by their microseconds in UTC."""
    UTC = "utc"
    """Times of which those without a zone are wall clocks of UTC."""
    CLOCK = "clock"
    BINARY = "binary"


def cell_kind(kind: dt.DataType) -> CellKind | None:
    """Return what values of a type are compared as; None of a type that is not compared, such as a list."""
    kinds = {
        CellKind.FLOAT: kind.is_floating(),
        CellKind.NUMBER: kind.is_integer() or kind.is_decimal() or kind.is_boolean(),
        CellKind.TEXT: (kind.is_string() or kind.is_uuid()) and not kind.is_json(),
        CellKind.WALL: kind.is_date() or (kind.is_timestamp() and kind.timezone is None),
        CellKind.MOMENT: kind.is_timestamp(),
        CellKind.CLOCK: kind.is_time(),
        CellKind.BINARY: kind.is_binary(),
    }
    return next((name for name, fits in kinds.items() if fits), None)


def cell(column: ir.Column, kind: CellKind, dialect: str) -> ir.StringValue:
    """Return the canonical text of a column; NULL where the value is.

    No text but that of the kind `text`, which begins with its length, holds a `|`, and none is empty.
    """
    if dialect == "sqlite":
        return engine_function(_SQLITE_CELL, (dt.string, column.type()), dt.string)(str(kind), column)
    match kind:
        case CellKind.NUMBER:
            text = _number(column, dialect)
        case CellKind.FLOAT:
            text = _float(column, dialect)
        case CellKind.TEXT:
            text = column.cast("string").lower() if column.type().is_uuid() else _collated(column, dialect)
            text = text.length().cast("string") + ":" + text
        case CellKind.CLOCK:
            text = _trimmed(column.cast("string"), dialect)
        case CellKind.BINARY:
            text = ibis.literal("x") + _hex(column, dialect)
        case _:
            text = _time(column, kind, dialect)
    return text


def row_text(cells: Sequence[ir.StringValue]) -> ir.StringValue:
    """Return one text of several cells: equal for equal cells only, NULL included; never NULL."""
    filled = [text.fill_null("") for text in cells]
    return reduce(lambda text, next_cell: text + "|" + next_cell, filled)


def _collated(column: ir.Column, dialect: str) -> ir.StringValue:
    """Return texts by code points: as bytes and back they lose a collation of the column, where `a` may be `A`."""
    text = column.cast("string")
    if dialect == "postgres":
        encoded = engine_function("convert_to", (dt.string, dt.string), dt.binary)(text, "UTF8")
        return engine_function("convert_from", (dt.binary, dt.string), dt.string)(encoded, "UTF8")
    if dialect == "duckdb":
        return engine_function("decode", (dt.binary,), dt.string)(
            engine_function("encode", (dt.string,), dt.binary)(text)
        )
    return text  # the connection to MariaDB has a collation of code points


def _hex(column: ir.Column, dialect: str) -> ir.StringValue:
    if dialect == "postgres":
        return engine_function("encode", (column.type(), dt.string), dt.string)(column, "hex")
    return engine_function("hex", (column.type(),), dt.string)(column).lower()


def _number(column: ir.Column, dialect: str) -> ir.StringValue:
    kind = column.type()
    if kind.is_boolean():
        return column.cast("int32").cast("string")  # on MariaDB a number already, maybe another than 0 and 1
    text = column.cast("string")
    return text if kind.is_integer() or kind.scale == 0 else _trimmed(text, dialect)


def _trimmed(text: ir.StringValue, dialect: str) -> ir.StringValue:
    """Leave out zeros at the end of a fraction, and its point where nothing follows it."""
    if dialect == "mysql":
        shorter = text.re_replace("[.]?0+$", "")
    else:
        trim = engine_function("rtrim", (dt.string, dt.string), dt.string)
        shorter = trim(trim(text, "0"), ".")
    return text.contains(".").ifelse(shorter, text)


def _float(column: ir.Column, dialect: str) -> ir.StringValue:
    """Return the digits without an exponent where all engines write it so, else the significant ones and theirs."""
    is_float = column.type().is_floating()
    number = column.cast("float64") if is_float else column.cast("int32") if column.type().is_boolean() else column
    text = number.cast("string").lower()
    size = (number.cast("float64") if number.type().is_integer() else number).abs()  # the least integer has no opposite
    whole = (size >= _LEAST_PLAIN) & (size < _LEAST_LARGE)
    branches = [(number == 0, ibis.literal("0")), (whole, _trimmed(text, dialect))]
    if is_float and dialect != "mysql":
        branches = [(number.isnan(), "nan"), (number.isinf(), (number > 0).ifelse("inf", "-inf")), *branches]
    return column.notnull().ifelse(ibis.cases(*branches, else_=_scientific(text)), ibis.null("string"))


def _scientific(text: ir.StringValue) -> ir.StringValue:
    mantissa = text.re_replace("e.*$", "")
    exponent = text.contains("e").ifelse(text.re_replace("^.*e[+]?", ""), "0").cast("int64")
    digits = mantissa.replace("-", "").replace(".", "")
    fraction = mantissa.contains(".").ifelse(mantissa.length() - mantissa.find(".") - 1, 0)
    shorter = digits.re_replace("0+$", "")
    place = exponent - fraction + digits.length() - shorter.length()
    sign = mantissa.startswith("-").ifelse("-", "")
    return sign + shorter.re_replace("^0+", "") + "e" + place.cast("string")


def _time(column: ir.Column, kind: CellKind, dialect: str) -> ir.StringValue:
    type_ = column.type()
    other = ibis.literal("!") + column.cast("string")  # infinity, and years that other engines do not know
    zone = "Z" if kind is CellKind.UTC or (type_.is_timestamp() and type_.timezone is not None) else ""
    if type_.is_timestamp() and type_.scale == _NANOSECONDS and dialect == "duckdb":
        total = engine_function("epoch_ns", (type_,), dt.int64)(column)
        rest = total % 1_000
        text = (rest == 0).ifelse(((total - rest) / 1_000).cast("int64").cast("string"), total.cast("string") + "n")
    else:
        text = microseconds(as_moment(column, dialect), dialect).cast("string")
    return ibis.coalesce(text + zone, other)


def digest_of(text: str) -> int:
    """Return the digest of a text, for SQLite."""
    return int(md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:15], 16)


def cell_of_sqlite(kind: str, value: object) -> str | None:
    """Return the canonical text of a value as SQLite keeps it; one of another kind than declared stands behind `!`."""
    if value is None:
        return None
    text: str | None = None
    if kind == CellKind.TEXT:
        text = f"{len(value)}:{value}" if isinstance(value, str) else None
    elif kind == CellKind.BINARY:
        text = f"x{value.hex()}" if isinstance(value, bytes) else None
    elif kind in {CellKind.NUMBER, CellKind.FLOAT}:
        text = _number_of(value, as_float=kind == CellKind.FLOAT)
    elif isinstance(value, str) and kind == CellKind.CLOCK:
        text = _without_zeros(value) if _CLOCK.fullmatch(value) else None
    elif isinstance(value, str):
        text = microseconds_of_text(value, in_utc=kind == CellKind.UTC)
    return text if text is not None else "!" + repr(value).replace("|", r"\x7c")


def _number_of(value: object, *, as_float: bool) -> str | None:
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    try:
        number = Decimal(repr(value) if isinstance(value, float) else str(value))
    except InvalidOperation:
        return None
    if not number:
        return "0"
    if as_float and not _LEAST_PLAIN <= float(abs(number)) < _LEAST_LARGE:
        sign, digits, exponent = number.as_tuple()
        shorter = "".join(map(str, digits)).rstrip("0")
        return f"{'-' if sign else ''}{shorter.lstrip('0')}e{int(exponent) + len(digits) - len(shorter)}"
    return _without_zeros(f"{number:f}")


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
