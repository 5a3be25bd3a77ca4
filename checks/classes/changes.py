"""Ask an engine what changed in a table since its classes were counted: expressions only, nothing is run here.

Every question bounds the next one by what it has seen, so that rows which arrive between two statements are counted by
the next look, and never twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from checks._contract import Context, Misconfigured
from checks.parameters.columns import type_name
from sources import did_you_mean
from sources.expressions import ibis, ir

ROWS: Final = "rows"
PART: Final = "part"
NEWEST, BELOW, NULLS = "newest", "below", "nulls"
ADDED, REMOVED = "added", "removed"
OP: Final = "op"
OPERATIONS: Final = ("insert", "update", "delete")

_SKIPS_ROWS: Final = {"duckdb"}
"""Engines that keep the least and the greatest value of some thousand rows at a time, and pass over the others."""


def keys(quasi_identifiers: Sequence[str]) -> dict[str, str]:
    """Return the quasi-identifiers under the names they have in the answers, in one order however they were named."""
    return {f"q{place}": name for place, name in enumerate(sorted(quasi_identifiers))}


def groups(context: Context, quasi_identifiers: Sequence[str]) -> ir.Table:
    """Count all classes: `q0`, `q1`, ..., `rows`."""
    return _counted(context.filtered, keys(quasi_identifiers))


# --- append -----------------------------------------------------------------------------------------------------------


def watermark(context: Context, rows: ir.Table, name: str) -> ir.Column:
    """Return a column of rows that grows with every one that arrives, in a form whose values can be written.

    Raises:
        Misconfigured: there is no such column, or its values have no order that survives being written.
    """
    kind, column = context.column(name).type(), rows[name]
    if kind.is_timestamp() or kind.is_date():
        if kind.is_timestamp() and kind.scale is not None and kind.scale > 6:
            raise Misconfigured(f"watermark '{name}' is of type {type_name(kind)}; expected microseconds at most")
        return column.cast("string") if context.dialect == "sqlite" else column  # SQLite keeps text, and sorts it
    if kind.is_integer() or kind.is_decimal():
        return column
    raise Misconfigured(f"watermark '{name}' is of type {type_name(kind)}; expected times, whole numbers or decimals")


def bounds(context: Context, name: str, last: Any) -> ir.Table:
    """Return the extent of a table, one row: `newest`, `nulls` and `below`, the rows below the last watermark.

    `newest` may be NULL where no row has the last watermark or a later one, though others are there.
    """
    rows = context.filtered
    column = watermark(context, rows, name)
    if last is None:
        zero = ibis.literal(0, "int64")
        return rows.aggregate(**{NEWEST: column.max(), NULLS: rows.count(where=column.isnull()), BELOW: zero})
    if context.dialect in _SKIPS_ROWS:
        return _bounds_apart(rows, column, written(last, column))
    below = rows.count(where=column < written(last, column))
    return rows.aggregate(**{NEWEST: column.max(), NULLS: rows.count(where=column.isnull()), BELOW: below})


def _bounds_apart(rows: ir.Table, column: ir.Column, last: ir.Value) -> ir.Table:
    """Return the same by filters: the engine reads only what is new, and counts all rows by what it knows of files."""
    since, empty = rows.filter(column >= last), rows.filter(column.isnull())
    newest = since[column.get_name()].max()
    every = rows.aggregate(**{ROWS: rows.count()}).cross_join(empty.aggregate(**{NULLS: empty.count()}))
    totals = every.cross_join(since.aggregate(**{NEWEST: newest, "since": since.count()}))
    return totals.select(NEWEST, NULLS, **{BELOW: totals[ROWS] - totals[NULLS] - totals["since"]})


def arrived(context: Context, quasi_identifiers: Sequence[str], name: str, *, last: Any, newest: Any) -> ir.Table:
    """Count the classes of the rows from the last watermark (None: from the first) up to the newest, both included.

    `part` is 1 for rows that have the newest one, else 0: of those more may come.
    """
    rows = context.filtered
    column = watermark(context, rows, name)
    rows = rows.filter(column <= written(newest, column))
    if last is not None:
        rows = rows.filter(column >= written(last, column))
    return _counted(rows, keys(quasi_identifiers), **{PART: (column == written(newest, column)).ifelse(1, 0)})


def written(value: Any, column: ir.Column) -> ir.Value:
    """Return a value of a column to be compared with it.

    Raises:
        Misconfigured: it is not of the column's type, which SQLite does not mind.
    """
    kind = column.type()
    if isinstance(value, str) != kind.is_string():
        raise Misconfigured(f"column '{column.get_name()}' is of type {type_name(kind)} with other values")
    return ibis.literal(value, type=kind.copy(nullable=True))


# --- changes ----------------------------------------------------------------------------------------------------------


def change_table(context: Context, quasi_identifiers: Sequence[str], *, table: str, sequence: str) -> ir.Table:
    """Return the table of changes, once it has the columns it needs.

    Raises:
        Misconfigured: a column is missing, or the sequence is no column of whole numbers.
    """
    changes = context.references[table]
    needed = [OP, sequence, *(f"{side}_{name}" for side in ("before", "after") for name in quasi_identifiers)]
    for name in needed:
        if name not in changes.columns:
            raise Misconfigured(f"column '{name}' not found in {table}{did_you_mean(name, changes.columns)}")
    for name in quasi_identifiers:
        for side in ("before", "after"):
            own, logged = context.column(name).type(), changes[f"{side}_{name}"].type()
            if own.copy(nullable=True) != logged.copy(nullable=True):
                raise Misconfigured(
                    f"column '{side}_{name}' of {table} is of type {type_name(logged)}; expected {type_name(own)}, as "
                    "the column whose changes it records"
                )
    kind = changes[sequence].type()
    if not kind.is_integer():
        raise Misconfigured(f"sequence '{table}.{sequence}' is of type {type_name(kind)}; expected whole numbers")
    return changes


def change_bounds(context: Context, changes: ir.Table, sequence: str, last: int | None) -> ir.Table:
    """Return one row: `newest` of the sequence, rows `added` and `removed` since, and the number of all `rows`.

    `nulls` counts changes whose sequence or operation is none.
    """
    new = _since(changes, sequence, last)
    bad = changes[sequence].isnull() | changes[OP].isnull() | changes[OP].notin(OPERATIONS)
    added, removed = new & (changes[OP] == "insert"), new & (changes[OP] == "delete")
    counts = {ADDED: changes.count(where=added), REMOVED: changes.count(where=removed)}
    expressions = changes.aggregate(**{NEWEST: changes[sequence].max(), NULLS: changes.count(where=bad)}, **counts)
    return expressions.cross_join(context.table.aggregate(rows=context.table.count()))


def differences(
    changes: ir.Table, quasi_identifiers: Sequence[str], sequence: str, *, last: int | None, newest: int
) -> ir.Table:
    """Count the classes that rows came to (`part` 1) and left (`part` 0) by changes after the last."""
    new = changes.filter(_since(changes, sequence, last) & (changes[sequence] <= newest))
    names = keys(quasi_identifiers)
    sides = []
    for side, operations, part in (("after", ("insert", "update"), 1), ("before", ("update", "delete"), 0)):
        rows = new.filter(new[OP].isin(operations))
        sided = {key: f"{side}_{name}" for key, name in names.items()}
        sides.append(_counted(rows, sided, **{PART: ibis.literal(part, "int8")}))
    return ibis.union(*sides, distinct=False)


def groups_with_sequence(
    context: Context, quasi_identifiers: Sequence[str], changes: ir.Table, sequence: str
) -> ir.Table:
    """Count all classes and read, in the same statement, how far the changes go: `q0`, ..., `rows`, `newest`."""
    newest = changes.aggregate(**{NEWEST: changes[sequence].max()})
    return groups(context, quasi_identifiers).cross_join(newest)


def _since(changes: ir.Table, sequence: str, last: int | None) -> ir.BooleanValue:
    return changes[sequence].notnull() if last is None else changes[sequence] > last


def _counted(rows: ir.Table, names: dict[str, str], **others: ir.Value) -> ir.Table:
    narrow = rows.select(**others, **{key: rows[name] for key, name in names.items()})
    return narrow.group_by([*others, *names]).aggregate(rows=narrow.count())
