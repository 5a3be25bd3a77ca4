"""Read moments out of a time column, however the engine keeps them.

Engines with types for time need little. Text is read as ISO 8601: a date, or a date and a clock parted by `T` or a
space, with or without seconds and a fraction (digits after the sixth are cut off), with or without `Z` or an offset
(`+09:00`, `+0900`, `+09`, one space may precede it). All else, and days that no calendar has, is unparsed.

SQLite has no type for time at all: it keeps text, whatever was declared. There the work is done by two functions that
every open SQLite source offers (measured: four times as fast as the same rules written as SQL). PostgreSQL has no cast
that may fail, so the pattern admits only what its cast takes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from hashlib import blake2b, md5
from typing import TYPE_CHECKING, Final, NamedTuple

from sources._contract import NotTemporal
from sources.expressions import engine_function

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    import ibis.expr.types as ir

_DAY: Final = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)
_CLOCK: Final = "(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]+)?)?"
_OFFSET: Final = " ?(?:[Zz]|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)"
_ISO: Final = f"^{_DAY}(?:[Tt ]{_CLOCK}(?:{_OFFSET})?)?$"
_ISO_WITH_OFFSET: Final = f"^{_DAY}[Tt ]{_CLOCK}{_OFFSET}$"
_ISO_WITHOUT_OFFSET: Final = f"^{_DAY}(?:[Tt ]{_CLOCK})?$"

_CLOCK_ENDS, _MICROSECOND_ENDS = len("2026-11-20 17:15"), len("2026-11-20 17:15:00.123456")
_SQLITE_MOMENT: Final = "tablewatch_moment"
_SQLITE_OFFSET: Final = "tablewatch_has_offset"
_SQLITE_MICROSECONDS: Final = "tablewatch_microseconds"
_SQLITE_HASH: Final = "tablewatch_hash"

_START: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - wall clocks are counted as they are written
_FIRST, _LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)  # noqa: DTZ001 - as above
_MICROSECONDS: Final = 6
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Moment:
    """A time column as expressions.

    `value`: a timestamp that compares rightly with Ibis timestamp literals and sorts by time; NULL where the row holds
    none or it does not parse. Of text with an offset it is the wall clock in UTC, of text without one the wall clock as
    written. `unparsed`: whether the row holds something that is no moment. `offset`: whether the row's text carries an
    offset; None where that is no question of the row. `aware`: whether the values know their zone; None where that
    depends on the row.
    """

    value: ir.TimestampValue
    unparsed: ir.BooleanValue
    offset: ir.BooleanValue | None
    aware: bool | None


def as_moment(column: ir.Column, dialect: str) -> Moment:
    """Read a column as moments. `dialect` is the source's; on SQLite the source must be open when the text is run.

    On engines other than DuckDB, MariaDB, MySQL, PostgreSQL, SQLite and Spark text with an offset counts as unparsed.

    Raises:
        NotTemporal: the column holds neither times nor text.
    """
    kind = column.type()
    if not (kind.is_timestamp() or kind.is_date() or kind.is_string() or (dialect == "sqlite" and kind.is_unknown())):
        text = f"column '{column.get_name()}' is of type {kind}"
        raise NotTemporal(f"{text}; expected a timestamp, a date or ISO 8601 text")
    if dialect == "sqlite":
        return _of_sqlite(column)
    if kind.is_string():
        return _of_mysql_text(column) if dialect == "mysql" else _of_text(column, dialect)
    never = column.notnull() & False
    if kind.is_date():
        return Moment(_naive(column.cast("timestamp"), dialect), never, None, aware=False)
    return Moment(column, never, None, aware=kind.timezone is not None)


def within_years(time: ir.Scalar, dialect: str) -> ir.Scalar:
    """Return a time of the years 1 to 9999, the first or last of them for one outside, which no driver can read.

    DuckDB and PostgreSQL have such times, and infinity; other types and engines are returned as they are.
    """
    kind = time.type()
    if dialect not in {"duckdb", "postgres"} or not (kind.is_timestamp() or kind.is_date()):
        return time
    if kind.is_timestamp() and (kind.scale or 0) > _MICROSECONDS:  # nanoseconds end in 2262, and have no year 1
        return time
    import ibis

    first, last = (ibis.literal(end).cast(kind) for end in (_FIRST, _LAST))
    return (time < first).ifelse(first, (time > last).ifelse(last, time))


def microseconds(moment: Moment, dialect: str) -> ir.IntegerValue:
    """Return whole microseconds since 1970, of a moment in UTC and of a wall clock as if it were UTC's.

    NULL where the moment is NULL or outside the years 1 to 9999.
    """
    import ibis

    value = moment.value
    if dialect == "sqlite":
        return _functions().sqlite_microseconds(value)
    if dialect == "spark":
        return _functions().spark_microseconds(value.cast("timestamp('UTC')"))
    first, last = (ibis.literal(end).cast(value.type()) for end in (_FIRST, _LAST))
    seconds = value.truncate("s").epoch_seconds().cast("int64")
    total = seconds * 1_000_000 + value.microsecond().cast("int64")
    return value.between(first, last).ifelse(total, ibis.null("int64"))


def microseconds_of_text(text: str, *, in_utc: bool = False) -> str | None:
    """Return the microseconds since 1970 of ISO text, with `Z` where it has an offset; None if it is no moment.

    Of more digits it is the nanoseconds, and `n`. `in_utc`: text without an offset is of UTC.
    """
    moment = _read(text)
    if moment is None:
        return None
    fraction = _FRACTION.search(text)
    rest = "" if fraction is None else fraction[1][_MICROSECONDS:].rstrip("0")
    total = (datetime.fromisoformat(moment) - _START) // _MICROSECOND
    number = f"{total * 1000 + int(rest[:3].ljust(3, '0'))}n" if rest else str(total)
    return f"{number}Z" if in_utc or _has_offset(text) else number


def register(connection: sqlite3.Connection) -> None:
    """Offer a SQLite connection the functions that `as_moment` and `microseconds` call, and hashes of values."""
    connection.create_function(_SQLITE_MOMENT, 1, _read, deterministic=True)
    connection.create_function(_SQLITE_OFFSET, 1, _has_offset, deterministic=True)
    connection.create_function(_SQLITE_MICROSECONDS, 1, _count_microseconds, deterministic=True)
    connection.create_function(_SQLITE_HASH, -1, _hash, deterministic=True)
    connection.create_function("md5", 1, _md5, deterministic=True)


def _hash(*values: object) -> int:
    """Hash values to 63 bits, which every process does alike; `checks.classes.changes` adds the hashes of rows up."""
    text = "\0".join(f"{type(value).__name__[0]}{value!r}" for value in values)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1


def _md5(text: object) -> str:
    """Hash a text, or its bytes, as other engines' `md5` does; it puts rows into an order and guards nothing."""
    read = text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogatepass")
    return md5(read, usedforsecurity=False).hexdigest()


def _of_sqlite(column: ir.Column) -> Moment:
    text = column.cast("string")
    value = _functions().sqlite_moment(text)
    return Moment(value, column.notnull() & value.isnull(), _functions().sqlite_offset(text), aware=None)


def _of_text(column: ir.StringColumn, dialect: str) -> Moment:
    has_offsets = dialect in {"duckdb", "postgres", "spark"}
    matches = _matcher(dialect)
    readable = matches(column, _ISO if has_offsets else _ISO_WITHOUT_OFFSET) & ~column.startswith("0000")
    first, both = (r"$1", r"$1:00$2") if dialect == "spark" else (r"\1", r"\1:00\2")
    plain = (
        column.upper()
        .re_replace("([.][0-9]{6})[0-9]+", first)
        .re_replace("^(.{16})( ?(?:Z|[+-][0-9:]+))?$", both)
        .re_replace(" (Z|[+-])", first)
    )
    # A plain cast to a naive timestamp would drop the offset without a word. The session's zone is UTC.
    read = _naive(plain.try_cast("timestamp('UTC')"), dialect) if has_offsets else plain.try_cast("timestamp")
    value = readable.ifelse(read, None)
    unparsed = column.notnull() & value.isnull()
    if not has_offsets:
        return Moment(value, unparsed, None, aware=False)
    return Moment(value, unparsed, matches(column, _ISO_WITH_OFFSET), aware=None)


def _of_mysql_text(column: ir.StringColumn) -> Moment:
    """Read text on MySQL, whose cast knows no offset, and on MariaDB, which writes back references in another way."""
    import ibis

    matches, column = _matcher("mysql"), column.upper()
    rest = column.substr(_CLOCK_ENDS)  # seconds, a fraction, an offset
    sign = ibis.greatest(rest.find("+"), rest.find("-"))
    offset = rest.substr(sign + 1).replace(":", "")
    ahead_s = (
        offset.substr(0, 2).cast("int64") * 3600 + offset.substr(2, 2).nullif("").fill_null("0").cast("int64") * 60
    )
    wall = (sign >= 0).ifelse(column.substr(0, sign + _CLOCK_ENDS), column.replace("Z", "")).strip()
    clock = wall.substr(0, _MICROSECOND_ENDS).try_cast("timestamp")  # MySQL would round
    east = (rest.find("+") >= 0).ifelse(-ahead_s, ahead_s)
    value = (sign >= 0).ifelse(clock + east.as_interval("s"), clock)
    readable = matches(column, _ISO) & ~column.startswith("0000")
    value = readable.ifelse(value, None)
    return Moment(value, column.notnull() & value.isnull(), matches(column, _ISO_WITH_OFFSET), aware=None)


def _naive(moment: ir.TimestampValue, dialect: str) -> ir.TimestampValue:
    if dialect == "spark":  # Ibis has one word for both of Spark's types, and means the one that is a moment
        return _functions().spark_naive("UTC", "UTC", moment)
    return moment.cast("timestamp")


def _matcher(dialect: str) -> Callable[[ir.StringColumn, str], ir.BooleanValue]:
    if dialect == "postgres":  # Ibis says regexp_like, which PostgreSQL has only since 15
        return _functions().postgres_matches
    if dialect in {"mysql", "spark"}:  # whose $ also matches before a last line break
        return lambda column, pattern: column.re_search(pattern.removesuffix("$") + r"\z")
    return lambda column, pattern: column.re_search(pattern)


class _Functions(NamedTuple):
    sqlite_moment: Callable[[ir.StringValue], ir.TimestampValue]
    sqlite_offset: Callable[[ir.StringValue], ir.BooleanValue]
    postgres_matches: Callable[[ir.StringValue, str], ir.BooleanValue]
    spark_naive: Callable[[str, str, ir.TimestampValue], ir.TimestampValue]
    sqlite_microseconds: Callable[[ir.TimestampValue], ir.IntegerValue]
    spark_microseconds: Callable[[ir.TimestampValue], ir.IntegerValue]


@cache
def _functions() -> _Functions:
    return _Functions(
        sqlite_moment=engine_function(_SQLITE_MOMENT, ("string",), "timestamp"),
        sqlite_offset=engine_function(_SQLITE_OFFSET, ("string",), "boolean"),
        postgres_matches=engine_function("textregexeq", ("string", "string"), "boolean"),
        spark_naive=engine_function("convert_timezone", ("string", "string", "timestamp"), "timestamp"),
        sqlite_microseconds=engine_function(_SQLITE_MICROSECONDS, ("timestamp",), "int64"),
        spark_microseconds=engine_function("unix_micros", ("timestamp",), "int64"),
    )


_matches_iso: Final = re.compile(_ISO).fullmatch
_FRACTION: Final = re.compile("[.]([0-9]+)")
_matches_offset: Final = re.compile(_ISO_WITH_OFFSET).fullmatch


@lru_cache(maxsize=64)  # one statement asks for the same row's moment several times in a row
def _read(text: object) -> str | None:
    """Return ISO text as Ibis writes a timestamp for SQLite, in UTC where it has an offset; None if it is no moment."""
    if not isinstance(text, str) or _matches_iso(text) is None:
        return None
    try:
        moment = datetime.fromisoformat(text[:11] + text[11:].replace(" ", "").upper())
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):  # the year 0000, or beyond the year 9999 in UTC
        return None
    return moment.isoformat(" ")


@lru_cache(maxsize=64)  # as above
def _has_offset(text: object) -> bool | None:
    return None if text is None else isinstance(text, str) and _matches_offset(text) is not None


@lru_cache(maxsize=64)  # as above
def _count_microseconds(moment: str | None) -> int | None:
    return None if moment is None else (datetime.fromisoformat(moment) - _START) // _MICROSECOND
