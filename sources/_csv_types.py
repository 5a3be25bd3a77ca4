"""Find the columns of CSV files of which DuckDB would change values in silence.

Whole numbers beyond 64 bits are floating point to it, in which neighbours are one number: keys would seem to occur
twice, and people to be alike. They are read as decimals, or as texts where no decimal holds their digits. Codes that
look like numbers, such as 0x10 and 1e3, would be alike too, and are read as texts. Times of which only some have an
offset are times of UTC to it. They are read as texts, which checks do not take for times.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

import duckdb
import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir

from sources._names import quote_name

_SNIFFED_ROWS: Final = 20_480
"""Rows in which DuckDB looks for the type of a column."""
_BEYOND_64_BITS: Final = float(2**63)
_DIGITS: Final = 38
_WHOLE: Final = "^[+-]?[0-9]+$"
_OTHER_BASE: Final = "^[+-]?0[bBoOxX]"
_POWER: Final = "^[0-9]+[eE][0-9]+$"
_OFFSET: Final = ":[0-9:., ]*[-+A-Za-z]"
"""What follows the hour of a time with an offset or a zone; a date has a sign, but no colon before it."""


def types_that_keep_values(
    connection: duckdb.DuckDBPyConnection,
    view: ir.Table,
    read: Callable[..., ir.Table],
    *,
    but: Collection[str],
    zones_declared: bool,
) -> dict[str, str]:
    """Return the type of each column that DuckDB would read as other values.

    Args:
        connection: to DuckDB.
        view: the files as DuckDB reads them.
        read: reads the files again with `types`.
        but: the columns that are not looked at.
        zones_declared: whether a declared format says what zone times have.
    """
    others = [name for name in view.columns if name not in but]
    floats = [name for name in others if view[name].type().is_floating()]
    long = [name for name, is_long in _each(connection, view.limit(_SNIFFED_ROWS), floats, _seems_long) if is_long]
    zoned = [name for name in others if _is_zoned(view[name].type()) and not zones_declared]
    numbers = [name for name in others if name in floats or view[name].type().is_integer()]
    if not numbers and not zoned:
        return {}
    texts = read(types=dict.fromkeys([*numbers, *zoned], "VARCHAR"))
    types = {name: "VARCHAR" for name, unsure in _each(connection, texts, zoned, _lacks_offset) if unsure}
    first = texts.limit(_SNIFFED_ROWS)
    kinds = dict(_each(connection, first, numbers, _kind_of_codes))
    types |= {name: "VARCHAR" for name, kind in kinds.items() if kind == _CODES}
    spaced = [name for name, kind in kinds.items() if kind == _SPACED]
    types |= {name: "VARCHAR" for name, differ in _each(connection, first, spaced, _differ_in_spaces) if differ}
    for name, digits in _each(connection, texts, long, _most_digits):
        if digits is not None and name not in types:
            types[name] = f"DECIMAL({_DIGITS}, 0)" if digits <= _DIGITS else "VARCHAR"
    return types


def _is_zoned(kind: dt.DataType) -> bool:
    return isinstance(kind, dt.Timestamp) and kind.timezone is not None


def _lacks_offset(column: Any) -> ir.BooleanScalar:
    return (~column.re_search(_OFFSET)).any()


_ANY: Final = "\x1fcolumn"
"""A column that stands for each: a statement about a thousand columns takes Ibis seconds to compile."""
_TOGETHER: Final = 100
"""Columns in one statement: DuckDB takes half a minute for one of 4,000 aggregates."""
_CODES: Final = 2
_SPACED: Final = 1


def _each(
    connection: duckdb.DuckDBPyConnection, rows: ir.Table, names: Sequence[str], aggregate: Callable[[Any], ir.Scalar]
) -> Iterator[tuple[str, Any]]:
    """Yield each column, all of one type, with what an aggregate of it is."""
    if not names:
        return
    table = ibis.table({_ANY: rows[names[0]].type()}, name="t")
    sql = str(ibis.to_sql(table.aggregate(aggregate(table[_ANY]).name("n")), dialect="duckdb"))
    text, source = sql.removeprefix("SELECT").rpartition(' AS "n"')[0], ibis.to_sql(rows, dialect="duckdb")
    for start in range(0, len(names), _TOGETHER):
        some = names[start : start + _TOGETHER]
        texts = ", ".join(text.replace(f'"t0".{quote_name(_ANY)}', quote_name(name)) for name in some)
        values = connection.execute(f"FROM ({source}) SELECT {texts}").fetchone()
        yield from zip(some, values or (), strict=True)


def _kind_of_codes(column: Any) -> ir.IntegerScalar:
    """Return `_CODES` for whole numbers of another base, or beside powers of ten, `_SPACED` for such with spaces."""
    text = column.strip()
    is_power, is_whole = text.re_search(_POWER), text.re_search(_WHOLE)
    with_powers = (is_power | is_whole).all() & is_power.any() & is_whole.any()
    are_codes = text.re_search(_OTHER_BASE).any() | with_powers
    return are_codes.ifelse(_CODES, (is_whole.all() & (column != text).any()).ifelse(_SPACED, 0))


def _differ_in_spaces(column: Any) -> ir.BooleanScalar:
    return column.nunique() > column.strip().nunique()


def _seems_long(column: Any) -> ir.BooleanScalar:
    return (column % 1 == 0).all() & (column.abs().max() >= _BEYOND_64_BITS)


def _most_digits(column: Any) -> ir.IntegerScalar:
    """Return the most digits of its whole numbers; NULL where a value is none."""
    is_whole = column.strip().re_search(_WHOLE)
    digits = column.re_replace(r"[^0-9]", "").length()
    return is_whole.all().ifelse(digits.max(), None)
