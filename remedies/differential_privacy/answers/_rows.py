"""Which rows count: those that are meant, and of each privacy unit at most so many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from remedies.differential_privacy.answers._declared import Declared
from remedies.differential_privacy.answers._reading import Reader
from remedies.differential_privacy.answers._where import Comparison

if TYPE_CHECKING:
    import ibis.expr.types as ir

_BETWEEN: Final = "\x1f"
_NOTHING: Final = "\x1e"
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
    """Keep so many rows of each unit, by the order of a keyed hash, which nobody who writes rows can foresee."""
    import ibis

    units = [reader.column(name) for name in declared.unit]
    if declared.pairs:  # a pair is the same from either side
        one, other = (unit.cast("string").fill_null(_NOTHING) for unit in units)
        units = [ibis.least(one, other), ibis.greatest(one, other)]
    read = [reader.column(name).cast("string").fill_null(_NOTHING) for name in dict.fromkeys(columns)]
    order = _md5()(ibis.literal(_BETWEEN).join([ibis.literal(key), *read]))
    place = ibis.row_number().over(group_by=units, order_by=order)
    placed = reader.table.mutate(**{_PLACE: place})
    return placed.filter(placed[_PLACE] < declared.rows_per_unit).drop(_PLACE)


def _md5() -> Any:
    """Give the engine's own function. It orders; that equal hashes could be found for it is no harm."""
    import ibis

    @ibis.udf.scalar.builtin(signature=(("string",), "string"))
    def md5(text):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202 - the engine's
        ...

    return md5
