"""l-diversity: how many values of a sensitive column remain possible for a person who was found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Unpack

from checks.classes.arrays import np, npt
from checks.risk.pairs import (
    ClassPairs,
    DeclaredValues,
    ValueReading,
    Whole,
    class_numbers,
    numbered_values,
    readings_of,
    sensitive_columns,
)

if TYPE_CHECKING:
    import pandas as pd

SLACK: Final = 1e-9
"""By how much an entropy (in nats) may miss the logarithm of the l that is wanted: it is a sum of rounded numbers."""
_LARGEST_C: Final = 1000
_SMALLEST_PART: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Broken:
    """The number of classes that break a limit, and of the records in them."""

    records: int
    classes: int


@dataclass(frozen=True, slots=True)
class ColumnDiversity:
    """The diversity of one sensitive column: the smallest of all classes. Figures of no record are None.

    `l_distinct`: values in a class. `l_entropy`: exp of the entropy of a class, so that equally frequent values count
    as many as there are. `l_recursive`: the largest l for which every class is (c, l)-diverse, 0 if there is none; None
    without a c. `distinct`, `entropy`, `recursive`: what breaks the wanted l; None where none is wanted or measured.
    """

    l_distinct: int | None
    l_entropy: float | None
    l_recursive: int | None
    distinct: Broken | None
    entropy: Broken | None
    recursive: Broken | None


@dataclass(frozen=True, slots=True)
class LDiversity:
    """The diversity of a table, each sensitive column on its own. `wanted` and `c` are as they were given."""

    rows: int
    classes: int
    wanted: float | None
    c: float | None
    columns: Mapping[str, ColumnDiversity]

    @property
    def l_distinct(self) -> int | None:
        """Return that of the column which has the smallest."""
        return None if not self.rows else min(column.l_distinct or 0 for column in self.columns.values())

    @property
    def l_entropy(self) -> float | None:
        """Return that of the column which has the smallest."""
        return None if not self.rows else min(column.l_entropy or 0.0 for column in self.columns.values())

    @property
    def l_recursive(self) -> int | None:
        """Return that of the column which has the smallest; None without a c."""
        return (
            None
            if not self.rows or self.c is None
            else min(column.l_recursive or 0 for column in self.columns.values())
        )


def l_diversity(
    table: pd.DataFrame,
    quasi_identifiers: str | Sequence[str],
    sensitive: str | Sequence[str],
    *,
    c: float | None = None,
    l: float | None = None,
    **declared: Unpack[DeclaredValues],
) -> LDiversity:
    """Measure l-diversity of a frame, by the strictest reading; NULL of a quasi-identifier is a value of its own.

    A missing sensitive value (NULL, NaN, text of white space alone) is not known to be another value, and values that
    differ in spelling alone are one to a reader: the smallest l of the readings with and without them is returned.

    Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam 2007 (ACM TKDD 1(1)): distinct l-diversity (l different values
    in each class), entropy l-diversity (definition 4.1: the entropy of each class is at least log l), recursive
    (c, l)-diversity (definition 4.2: with the counts of a class sorted, r_1 < c (r_l + r_(l+1) + ... + r_m)).

    Several sensitive columns are looked at one by one; who knows a person's value of one may learn another from it.

    It protects neither against values that differ and mean the same (similarity: three diseases of the stomach), nor
    against a class in which a value is far more frequent than in the table (skewness; see `t_closeness`). Distinct l
    says nothing of how likely the values are: 99 of 100 records may share one.

    Args:
        table: any frame; it is not changed.
        quasi_identifiers: columns that an attacker may know from elsewhere; at least one.
        sensitive: a column, or several, that must stay unknown; at least one, none of them a quasi-identifier.
        c: above 0, at most 1000, at most six decimals; without it recursive diversity is not measured.
        l: above 1; records and classes with less are counted.
        declared: `missing_is_a_value` and `spelling_is_a_value`: whether what is missing, and each spelling, counts as
            a value of its own.

    Raises:
        KeyError: the frame has no such column.
        ValueError: no column of a kind, a column of both kinds, or a c or l out of range.
    """
    names = sensitive_columns(table, quasi_identifiers, sensitive)
    if l is not None and not 1 < l < math.inf:
        raise ValueError(f"l is {l}; expected a number above 1, since every table has an l of 1")
    ratio = None if c is None else ratio_of(c)
    classes = class_numbers(table, quasi_identifiers)
    count = int(classes.max()) + 1 if len(classes) else 0
    columns = {}
    for name in names:
        numbers, values = numbered_values(table[name])
        pairs = ClassPairs.of(classes, numbers)
        readings = [*readings_of(values, **declared)] if len(classes) else []
        figures = [_diversity(pairs, ratio, l), *(_diversity(pairs, ratio, l, reading) for reading in readings)]
        columns[name] = _smallest_of(figures)
    return LDiversity(rows=len(table), classes=count, wanted=l, c=c, columns=columns)


def ratio_of(c: float) -> Fraction:
    """Return c as the decimal that a person reads, exactly: counts are compared as whole numbers.

    Raises:
        ValueError: c is not above 0, above 1000, or has more than six decimals.
    """
    ratio = Fraction(repr(c)) if math.isfinite(c) else Fraction(0)
    if not 0 < ratio <= _LARGEST_C or (ratio * _SMALLEST_PART).denominator != 1:
        raise ValueError(f"c is {c}; expected a number above 0, at most {_LARGEST_C}, with at most six decimals")
    return ratio


def entropy_floor(l: float) -> float:
    """Return the least entropy, in nats, of a class that counts as diverse enough."""
    return math.log(l) - SLACK


def _diversity(
    exact: ClassPairs, ratio: Fraction | None, l: float | None, reading: ValueReading | None = None
) -> ColumnDiversity:
    def spread(of_kept: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return of each class what those that have a value have; 0 for the others."""
        every = np.zeros(len(sizes), dtype=of_kept.dtype)
        every[classes] = of_kept
        return every

    sizes = exact.sizes
    classes, pairs = (np.arange(len(sizes)), exact) if reading is None else reading.pairs(exact)
    distinct, entropies = spread(pairs.distinct), spread(class_entropies(pairs))
    recursive = None if ratio is None else spread(class_recursive_l(pairs, ratio))
    some = len(sizes) > 0

    def broken(low: npt.NDArray[np.bool_]) -> Broken:
        return Broken(records=int(sizes[low].sum()), classes=int(low.sum()))

    return ColumnDiversity(
        l_distinct=int(distinct.min()) if some else None,
        l_entropy=math.exp(entropies.min()) if some else None,
        l_recursive=int(recursive.min()) if some and recursive is not None else None,
        distinct=None if l is None else broken(distinct < l),
        entropy=None if l is None else broken(entropies < entropy_floor(l)),
        recursive=None if l is None or recursive is None else broken(recursive < l),
    )


def _smallest_of(figures: Sequence[ColumnDiversity]) -> ColumnDiversity:
    """Return the smallest l of some readings, and what breaks the limit in the reading in which most does."""

    def least(name: str) -> Any:
        return min((item for one in figures if (item := getattr(one, name)) is not None), default=None)

    def most(name: str) -> Broken | None:
        broken: list[Broken] = [item for one in figures if (item := getattr(one, name)) is not None]
        return max(broken, key=lambda item: item.records, default=None)

    return ColumnDiversity(
        l_distinct=least("l_distinct"),
        l_entropy=least("l_entropy"),
        l_recursive=least("l_recursive"),
        distinct=most("distinct"),
        entropy=most("entropy"),
        recursive=most("recursive"),
    )


def class_entropies(pairs: ClassPairs) -> npt.NDArray[np.float64]:
    """Return the entropy of each class in nats: log n - (sum of c log c)/n. That of a single value is exactly 0."""
    sizes = pairs.sizes
    copies = pairs.copies.astype(np.float64)
    values: npt.NDArray[np.float64] = np.log(sizes) - pairs.sums(copies * np.log(copies)) / sizes
    return np.where(pairs.distinct == 1, 0.0, values)


def class_recursive_l(pairs: ClassPairs, ratio: Fraction) -> Whole:
    """Return, for each class, the largest l for which r_1 < c (r_l + ... + r_m), 0 if there is none."""
    owner = pairs.owner
    rising = pairs.copies[np.lexsort((pairs.copies, owner))]
    tails = np.cumsum(rising)
    before = np.concatenate([[0], tails])[pairs.starts]
    tails = tails - before[owner]  # r_l + ... + r_m, for l = m, ..., 1
    most = np.maximum.reduceat(rising, pairs.starts) if len(rising) else rising
    return pairs.sums((most[owner] * ratio.denominator < ratio.numerator * tails).astype(np.int64))
