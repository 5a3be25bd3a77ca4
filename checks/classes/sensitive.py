"""What checks of sensitive columns share: which columns are meant, and what breaks a limit within their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from checks._contract import ColumnClass, Context, Misconfigured
from checks.classes.tables import SIZE
from sources.expressions import ir


def sensitive_of(context: Context, names: Sequence[str], quasi_identifiers: Sequence[str]) -> tuple[str, ...]:
    """Return the sensitive columns that a check names, else those that the table's configuration classifies as such.

    Raises:
        Misconfigured: there is none, the table has no such column, or it is a quasi-identifier as well.
    """
    classified = [name for name, word in context.classified.items() if word is ColumnClass.SENSITIVE]
    if not names and not classified:
        raise Misconfigured(
            "no sensitive column: name them with 'sensitive', or classify the table's columns with 'columns'"
        )
    results = tuple(context.column(name).get_name() for name in names or classified)
    both = [name for name in results if name in quasi_identifiers]
    if both:
        raise Misconfigured(f"both quasi-identifier and sensitive: {', '.join(both)}; a column can be only one of them")
    return results


def bad_classes(classes: ir.Table, broken: Mapping[str, ir.BooleanValue]) -> dict[str, ir.Value]:
    """Count, for each named limit, the classes that break it (`classes:NAME`), and their records (`records:NAME`)."""
    expressions: dict[str, ir.Value] = {}
    for name, bad in broken.items():
        expressions[f"classes:{name}"] = bad.ifelse(1, 0).sum().cast("int64")
        expressions[f"records:{name}"] = bad.ifelse(classes[SIZE], 0).sum().cast("int64")
    return expressions


def broken_in(row: Mapping[str, Any], name: str) -> tuple[int, int]:
    """Return how many records, and classes, break a limit that `bad_classes` counted."""
    return int(row[f"records:{name}"] or 0), int(row[f"classes:{name}"] or 0)


def worst_of(columns: Mapping[str, Mapping[str, Any]], figure: str) -> str:
    """Return the sensitive column of which a figure is the largest."""
    return max(columns, key=lambda name: float(columns[name][figure]))
