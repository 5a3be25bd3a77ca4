"""Which rows count: those that are meant, and of each privacy unit at most so many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from remedies.differential_privacy.answers._declared import Declared
from remedies.differential_privacy.answers._where import WhereComparison
from remedies.differential_privacy.answers.domain import BoundedColumn, SteppedColumn
from remedies.differential_privacy.answers.reading import Held, Reader
from sources import engine_function

if TYPE_CHECKING:
    import ibis.expr.types as ir

_BETWEEN: Final = "\x1f"
_NOTHING: Final = "\x1e"
_IS: Final = "="
_OWN: Final = "tablewatch_"
_NUMBER: Final = f"{_OWN}number"
_PLACE: Final = f"{_OWN}place"
_NEEDS_ORDER: Final = frozenset({"spark", "databricks"})
"""Dialects of engines that number rows only in an order that is given."""


def meant_rows(
    reader: Reader,
    declared: Declared,
    *,
    where: Sequence[WhereComparison],
    columns: Sequence[str],
    numbers: Sequence[str] = (),
    key: str,
) -> Reader:
    """Return the rows that count.

    `columns`: those that the statistic reads of a row, beside `where`; of those in `numbers` the numbers, and the cells
    too where they come twice. Which rows of a unit are kept depends on its own rows only, so that another unit's record
    changes nothing there. Rows whose unit is NULL are those of one unit.
    """
    table = reader.table
    if where:
        table = table.filter(*(comparison.rows(reader, declared) for comparison in where))
    rows = replace(reader, table=table)
    return _cut(rows, declared, _canonical(rows, declared, columns, numbers), key=key) if declared.unit else rows


def _canonical(
    reader: Reader, declared: Declared, columns: Sequence[str], numbers: Sequence[str]
) -> Mapping[Held, ir.IntegerValue]:
    """Return all that a statistic can read of a row, as whole numbers: cells, and units of the grid."""
    read: dict[Held, ir.IntegerValue] = {}
    for name in dict.fromkeys(columns):
        result = declared.column(name)
        if isinstance(result, BoundedColumn) or (name in numbers and isinstance(result, SteppedColumn)):
            read["units", name] = reader.units(name, result.limits)
        if not isinstance(result, BoundedColumn) and (name not in numbers or list(columns).count(name) > 1):
            read["cell", name] = reader.cell(name, result)
    return read


def _cut(reader: Reader, declared: Declared, read: Mapping[Held, ir.IntegerValue], *, key: str) -> Reader:
    """Keep so many rows of each unit: each of its rows with the same probability, independently of other units.

    The rows of a unit are put in the order of a keyed hash of the unit, of what the statistic reads of the row (its
    cells and its units of the grid, never its spelling or type), and of the row's number among the unit's rows that are
    equal in all of that: equal rows are interchangeable, so it does not matter which of them has which number.
    """
    import ibis

    held = {place: f"{_OWN}value_{number}" for number, place in enumerate(read)}
    units = {f"{_OWN}unit_{number}": unit for number, unit in enumerate(_units(reader, declared))}
    table = reader.table.mutate(**units, **{held[place]: value for place, value in read.items()})
    any_order = [table[name] for name in units][:1] if reader.dialect in _NEEDS_ORDER else None
    if held:
        equal = [table[name] for name in (*units, *held.values())]
        table = table.mutate(**{_NUMBER: ibis.row_number().over(group_by=equal, order_by=any_order)})
        numbers = [table[name] for name in (*held.values(), _NUMBER)]
        whose = [reader.as_text(table[name]).fill_null(_NOTHING) for name in units]
        parts = [ibis.literal(key), *whose, *(number.cast("string") for number in numbers)]
        order: Sequence[ir.Value] | None = [_hash(reader, ibis.literal(_BETWEEN).join(parts)), *numbers]
    else:  # all rows of a unit are interchangeable
        order = any_order
    place = ibis.row_number().over(group_by=[table[name] for name in units], order_by=order)
    table = table.mutate(**{_PLACE: place})
    return replace(reader, table=table.filter(table[_PLACE] < declared.rows_per_unit), held=held)


def _units(reader: Reader, declared: Declared) -> Sequence[ir.Column]:
    if not declared.pairs:
        return [reader.unit(name) for name in declared.unit]
    import ibis

    # A pair is the same from either side. No text that a member can be is taken for none.
    item, other = (
        (ibis.literal(_IS) + reader.as_text(reader.unit(name))).fill_null(_NOTHING) for name in declared.pairs
    )
    return [ibis.least(item, other), ibis.greatest(item, other)]


def _hash(reader: Reader, text: ir.StringValue) -> ir.Value:
    """Hash with the engine's own function. It orders; that equal hashes could be found for it is no harm."""
    if reader.dialect == "sqlite":  # to its function, which is ours, a text that is no UTF-8 does not come through
        return engine_function("md5", ("binary",), "string")(text.cast("binary"))
    if reader.dialect == "duckdb":  # half of it, as a number, is put in order faster than its letters
        return engine_function("md5_number_lower", ("string",), "uint64")(text)
    return engine_function("md5", ("string",), "string")(text)
