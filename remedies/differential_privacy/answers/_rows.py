"""Which rows count: those that are meant, and of each privacy unit at most so many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from remedies.differential_privacy.answers._declared import Declared
from remedies.differential_privacy.answers._reading import Reader
from remedies.differential_privacy.answers._where import Comparison
from sources import engine_function

if TYPE_CHECKING:
    import ibis.expr.types as ir

_BETWEEN: Final = "\x1f"
_NOTHING: Final = "\x1e"
_IS: Final = "="
_PLACE: Final = "tablewatch_place"


def meant_rows(
    reader: Reader, declared: Declared, *, where: Sequence[Comparison], columns: Sequence[str], key: str
) -> Reader:
    """Give a table with the rows that count.

    `columns`: all that the statistic reads of a row; rows in which these are equal are interchangeable. Which rows of a
    unit are kept depends on its own rows only, so that another unit's record changes nothing there. Rows whose unit is
    NULL are those of one unit.
    """
    table = reader.table
    if where:
        table = table.filter(*(one.rows(reader, declared) for one in where))
    if declared.unit:
        table = _cut(Reader(table, reader.dialect), declared, columns=columns, key=key)
    return Reader(table, reader.dialect)


def _cut(reader: Reader, declared: Declared, *, columns: Sequence[str], key: str) -> ir.Table:
    """Keep so many rows of each unit, by the order of a keyed hash, which nobody who writes rows can foresee.

    Rows whose hashes are equal follow the order of their values, so that no other row can decide between them.
    """
    import ibis

    read = list(dict.fromkeys(columns))
    written = [reader.written(name).fill_null(_NOTHING) for name in read]
    order = _hash(reader, ibis.literal(_BETWEEN).join([ibis.literal(key), *written]))
    place = ibis.row_number().over(group_by=_units(reader, declared), order_by=[order, *map(reader.column, read)])
    placed = reader.table.mutate(**{_PLACE: place})
    return placed.filter(placed[_PLACE] < declared.rows_per_unit).drop(_PLACE)


def _units(reader: Reader, declared: Declared) -> Sequence[ir.Column]:
    if not declared.pairs:
        return [reader.column(name) for name in declared.unit]
    import ibis

    # A pair is the same from either side. No text that a member can be is taken for none.
    one, other = ((ibis.literal(_IS) + reader.written(name)).fill_null(_NOTHING) for name in declared.pairs)
    return [ibis.least(one, other), ibis.greatest(one, other)]


def _hash(reader: Reader, text: ir.StringValue) -> ir.StringValue:
    """Hash with the engine's own function. It orders; that equal hashes could be found for it is no harm."""
    found: ir.StringValue
    if reader.dialect == "sqlite":  # to its function, which is ours, a text that is no UTF-8 does not come through
        found = engine_function("md5", ("binary",), "string")(text.cast("binary"))
    else:
        found = engine_function("md5", ("string",), "string")(text)
    return found
