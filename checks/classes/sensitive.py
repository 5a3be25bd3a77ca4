"""What checks of sensitive columns share: which columns are meant, and what breaks a limit within their classes.

Ask, inside the engine, how diverse the sensitive values of the equivalence classes are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from checks._contract import ColumnClass, Context, Misconfigured
from checks.classes.tables import COPIES, KNOWN, MEMBERS, SIZE, ClassTables
from checks.risk.l_measures import entropy_floor, ratio_of
from sources.expressions import ibis, ir


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
    size = classes[MEMBERS if MEMBERS in classes.columns else SIZE]
    expressions: dict[str, ir.Value] = {}
    for name, bad in broken.items():
        expressions[f"classes:{name}"] = bad.ifelse(1, 0).sum().cast("int64")
        expressions[f"records:{name}"] = bad.ifelse(size, 0).sum().cast("int64")
    return expressions


def broken_in(row: Mapping[str, Any], name: str) -> tuple[int, int]:
    """Return how many records, and classes, break a limit that `bad_classes` counted."""
    return int(row[f"records:{name}"] or 0), int(row[f"classes:{name}"] or 0)


def worst_of(columns: Mapping[str, Mapping[str, Any]], figure: str) -> str:
    """Return the sensitive column of which a figure is the largest."""
    return max(columns, key=lambda name: float(columns[name][figure]))


class Variant(StrEnum):
    """What counts as diverse."""

    DISTINCT = "distinct"
    ENTROPY = "entropy"
    RECURSIVE = "recursive"


@dataclass(frozen=True, slots=True)
class DiversityLimit:
    """A diversity that each class must have; `c` is that of recursive diversity."""

    variant: Variant
    wanted: float
    c: float | None = None

    @property
    def name(self) -> str:
        """Return a name that no other limit of a check has."""
        return f"{self.wanted!r}/{self.c!r}"

    @property
    def depth(self) -> str:
        """Return the column that holds, for each class, the largest recursive l under this c."""
        return f"recursive:{self.c!r}"

    def is_broken(self, classes: ir.Table) -> ir.BooleanValue:
        """Return of each class whether it has less."""
        if self.variant is Variant.ENTROPY:
            return classes["entropy"] < entropy_floor(self.wanted)
        return classes["distinct" if self.variant is Variant.DISTINCT else self.depth] < self.wanted


def diversity_of(sensitive: str, limits: Sequence[DiversityLimit]) -> Callable[[ClassTables], ir.Table]:
    """Return the query of the diversity of a sensitive column, one row.

    `rows`, `classes`; the smallest of all classes: `distinct` values, `entropy` (nats), and for each c in the limits
    `recursive:C`, the largest l of (c, l)-diversity; for each limit what `bad_classes` counts. All but the counts of
    classes and rows are NULL of a table without rows.
    """

    def answer(tables: ClassTables) -> ir.Table:
        classes = _classes(tables, sensitive, limits)
        depths = {limit.depth for limit in limits if limit.c is not None}
        return classes.aggregate(
            rows=classes[SIZE].sum().cast("int64"),
            classes=classes.count(),
            **{name: classes[name].min() for name in ("distinct", "entropy", *sorted(depths))},
            **bad_classes(classes, {limit.name: limit.is_broken(classes) for limit in limits}),
        )

    return answer


def entropy_l(entropy: float | None) -> float | None:
    """Return the l of an entropy in nats, so that equally frequent values count as many as there are."""
    return None if entropy is None else math.exp(entropy)


def _classes(tables: ClassTables, sensitive: str, limits: Sequence[DiversityLimit]) -> ir.Table:
    """Return a row for each class: `size`, `distinct`, `entropy`, and the depth for each c."""
    ratios = {limit.depth: ratio_of(limit.c) for limit in limits if limit.c is not None}
    pairs = tables.pairs(sensitive)
    if ratios:
        pairs = _with_depths(pairs, tables.keys, ratios)
    if not tables.is_plain:
        return _classes_as_read(tables, pairs, list(ratios))
    copies = pairs[COPIES].cast("float64")
    classes = pairs.group_by(list(tables.keys)).aggregate(
        distinct=pairs.count(),
        size=pairs[COPIES].sum().cast("int64"),
        logs=(copies * copies.ln()).sum(),
        **{name: pairs[name].sum().cast("int64") for name in ratios},
    )
    size = classes[SIZE].cast("float64")
    entropy = (classes["distinct"] == 1).ifelse(0.0, size.ln() - classes["logs"] / size)
    return classes.mutate(entropy=entropy)


def _classes_as_read(tables: ClassTables, pairs: ir.Table, depths: Sequence[str]) -> ir.Table:
    """Return a row for each class as `_classes` does, without what is missing.

    Where people are counted, a value that all of a class have is certain for each of them: its l is 1, whatever other
    values they have too.
    """
    copies = pairs[COPIES].cast("float64").nullif(0)
    classes = pairs.group_by(list(tables.keys)).aggregate(
        distinct=copies.count(),
        size=pairs[MEMBERS].max(),
        known=pairs[KNOWN].max(),
        most=pairs[COPIES].max(),
        copies=copies.sum(),
        logs=(copies * copies.ln()).sum(),
        **{name: pairs[name].sum().cast("int64") for name in depths},
    )
    is_certain = classes["most"] == classes[KNOWN] if tables.person is not None else classes["distinct"] <= 1
    entropy = is_certain.ifelse(0.0, classes["copies"].ln() - classes["logs"] / classes["copies"])
    certain = {name: is_certain.ifelse(ibis.least(classes[name], 1), classes[name]) for name in ("distinct", *depths)}
    return classes.mutate(entropy=entropy, **certain)


def _with_depths(pairs: ir.Table, keys: Sequence[str], ratios: dict[str, Fraction]) -> ir.Table:
    """Compute for each pair, from the rarest, whether r_1 < c (r_l + ... + r_m) where it is the l-th most frequent.

    If it holds of one it holds of all that are more frequent, so that their number is the largest l.
    """
    copies = pairs[COPIES]
    ranked = pairs.mutate(
        most=copies.max().over(group_by=list(keys)),
        tail=copies.sum().over(group_by=list(keys), order_by=copies, rows=(None, 0)).cast("int64"),
    )
    return ranked.mutate(
        **{
            name: (ranked["most"] * ratio.denominator < ranked["tail"] * ratio.numerator).ifelse(1, 0)
            for name, ratio in ratios.items()
        }
    )
