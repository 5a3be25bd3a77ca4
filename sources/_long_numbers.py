"""Find the columns of CSV files that hold whole numbers beyond 64 bits.

DuckDB takes them for floating point, in which neighbours are one number: keys would seem to occur twice, and persons to
be alike. They are read as decimals, or as texts where no decimal holds their digits.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

import duckdb
import ibis
import ibis.expr.types as ir

_SNIFFED_ROWS: Final = 20_480
"""Rows in which DuckDB looks for the type of a column."""
_BEYOND_64_BITS: Final = float(2**63)
_DIGITS: Final = 38


def types_of_long_numbers(
    connection: duckdb.DuckDBPyConnection, view: ir.Table, read: Callable[..., ir.Table], *, but: Collection[str]
) -> dict[str, str]:
    """Return the type of each column of whole numbers beyond 64 bits.

    Args:
        connection: to DuckDB.
        view: the files as DuckDB reads them.
        read: reads the files again with `types`.
        but: the columns that are not looked at.
    """
    floats = [name for name in view.columns if view[name].type().is_floating() and name not in but]
    long = [name for name, is_long in _each(connection, view.limit(_SNIFFED_ROWS), floats, _seems_long) if is_long]
    texts = read(types=dict.fromkeys(long, "VARCHAR")) if long else view
    return {
        name: f"DECIMAL({_DIGITS}, 0)" if digits <= _DIGITS else "VARCHAR"
        for name, digits in _each(connection, texts, long, _most_digits)
        if digits is not None
    }


def _each(
    connection: duckdb.DuckDBPyConnection, rows: ir.Table, names: Sequence[str], aggregate: Callable[[Any], ir.Scalar]
) -> Iterator[tuple[str, Any]]:
    """Yield each column with what an aggregate of it is."""
    if names:
        asked = rows.aggregate(**{f"c{place}": aggregate(rows[name]) for place, name in enumerate(names)})
        values = connection.execute(str(ibis.to_sql(asked, dialect="duckdb"))).fetchone()
        yield from zip(names, values or (), strict=True)


def _seems_long(column: Any) -> ir.BooleanScalar:
    return (column % 1 == 0).all() & (column.abs().max() >= _BEYOND_64_BITS)


def _most_digits(column: Any) -> ir.IntegerScalar:
    """Return the most digits of its whole numbers; NULL where a value is none."""
    is_whole = column.strip().re_search(r"^[+-]?[0-9]+$")
    digits = column.re_replace(r"[^0-9]", "").length()
    return is_whole.all().ifelse(digits.max(), None)
