"""Find keys that occur more than once, in one GROUP BY that every check of the same key shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Any

from checks._contract import Context, Measurement
from checks.parameters.columns import is_null, without_null
from sources.expressions import ir


def any_null(context: Context, columns: Iterable[str]) -> ir.BooleanColumn:
    """Return the predicate "some column of the key is NULL"."""
    return reduce(or_, (is_null(context.column(name), context.dialect) for name in columns))


def repeated_keys(context: Context, columns: Iterable[str], *, complete: bool) -> ir.Table:
    """Count the keys that occur more than once and the rows they cover: one row.

    `complete` leaves out keys with a NULL in them; else NULL is a value like any other. Columns of the answer:
    `duplicate_keys`, `duplicate_rows` (NULL if there are none) and, for a table with `loaded_at`, `first_bad_load`: for
    each repeated key the latest load time (the data went bad when the repeated row arrived), of those the earliest.
    """
    rows = context.filtered
    keys = {f"key{number}": rows[context.column(name).get_name()] for number, name in enumerate(columns)}
    loads = {} if context.loaded_at is None else {"loaded": rows[context.column(context.loaded_at).get_name()]}
    narrow = rows.select(**keys, **loads)
    if complete:
        narrow = without_null(narrow, keys, context.dialect)
    latest = {"loaded": narrow["loaded"].max()} if loads else {}
    groups = narrow.group_by(list(keys)).aggregate(copies=narrow.count(), **latest)
    repeated = groups.filter(groups["copies"] > 1)
    first = {"first_bad_load": repeated["loaded"].min()} if loads else {}
    return repeated.aggregate(duplicate_keys=repeated.count(), duplicate_rows=repeated["copies"].sum(), **first)


def offending_keys(context: Context, columns: Iterable[str], *, nulls_offend: bool, nulls_equal: bool) -> ir.Table:
    """Return the keys that occur more than once, and those with a NULL where that is wrong, with `copies`; most first.

    A column of the key that is itself named `copies` pushes the number to `copies_`.
    """
    names = list(columns)
    copies = next(label for label in ("copies" + "_" * more for more in range(len(names) + 1)) if label not in names)
    rows = context.filtered
    groups = rows.group_by([rows[name] for name in names]).aggregate(**{copies: rows.count()})
    incomplete = reduce(or_, (is_null(groups[name], context.dialect) for name in names))
    repeated = groups[copies] > 1
    if not nulls_equal:
        repeated &= ~incomplete
    bad = repeated | incomplete if nulls_offend else repeated
    return groups.filter(bad).order_by(groups[copies].desc(), *names)


def counted(measurement: Measurement, query: str = "duplicates") -> Mapping[str, Any]:
    """Return the one row of `repeated_keys`, with 0 where there are none."""
    row = measurement.tables[query][0]
    whole = {name: int(row[name] or 0) for name in ("duplicate_keys", "duplicate_rows")}
    return {**whole, "first_bad_load": row.get("first_bad_load")}
