"""Which columns, known together, tell records apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Final

from checks.risk.sizes import ClassSizes, class_sizes

if TYPE_CHECKING:
    import pandas as pd

MOST_SUBSETS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Separation:
    """How many rows, and pairs of rows, a set of columns distinguishes. Shares of no row, or no pair of rows, are None.

    `uniques`: rows that are alone. `distinction`: distinct combinations per row. `separation`: the share of all pairs
    of rows that differ in at least one of the columns. Both from 0 (all alike) to 1 (all different).
    """

    uniques: int
    distinction: float | None
    separation: float | None

    @classmethod
    def of(cls, *, rows: int, classes: int, uniques: int, alike: int) -> Separation:
        """Take counts; `alike`: ordered pairs of different rows that are alike, the sum of size x (size - 1)."""
        pairs = rows * (rows - 1)
        return cls(uniques, classes / rows if rows else None, 1 - alike / pairs if pairs else None)

    @classmethod
    def of_sizes(cls, sizes: ClassSizes) -> Separation:
        """Compute it from the sizes of the classes."""
        counts = zip(sizes.sizes.tolist(), sizes.classes.tolist(), strict=True)  # Python's whole numbers are exact
        alike = sum(size * (size - 1) * classes for size, classes in counts)
        return cls.of(rows=sizes.rows, classes=sizes.count, uniques=sizes.uniques, alike=alike)


def separations(table: pd.DataFrame, columns: Sequence[str], *, count: int = 3) -> Mapping[tuple[str, ...], Separation]:
    """Measure every set of up to `count` columns: how many rows it makes unique, and how well it tells them apart.

    Motwani & Xu 2007 (Efficient algorithms for masking and finding quasi-identifiers): distinct ratio and separation
    ratio. A set never makes fewer rows unique than a part of it does, so below a set that makes none unique nothing is
    counted. It says who could be distinguished, not who could be found: that takes an attacker who knows these columns.

    Args:
        table: any frame; NULL is a value of its own.
        columns: to take sets of; their order is that of the names within a set.
        count: the largest set, at least 1.

    Raises:
        KeyError: the frame has no such column.
        ValueError: more than `MOST_SUBSETS` sets.
    """
    refuse_too_many(len(columns), count)
    current_separations: dict[tuple[str, ...], Separation] = {}
    for level in range(min(count, len(columns)), 0, -1):
        for names in level_of(columns, level, current_separations):
            current_separations[names] = Separation.of_sizes(class_sizes(table, names))
    return dict(sorted(current_separations.items(), key=lambda item: (len(item[0]), -item[1].uniques)))


def level_of(
    columns: Sequence[str], level: int, separations: Mapping[tuple[str, ...], Separation]
) -> Iterator[tuple[str, ...]]:
    """Yield the sets of a size that may make a row unique: parts of a larger one that does, if any is known."""
    larger = [set(item) for item, separation in separations.items() if len(item) == level + 1 and separation.uniques]
    is_first = not any(len(separation) > level for separation in separations)
    for combination in combinations(columns, level):
        if is_first or any(set(combination) <= other for other in larger):
            yield combination


def refuse_too_many(columns: int, count: int) -> None:
    """Refuse more than `MOST_SUBSETS` sets.

    Raises:
        ValueError: there are more.
    """
    sets = sum(comb(columns, level) for level in range(1, min(count, columns) + 1))
    if sets > MOST_SUBSETS:
        raise ValueError(
            f"{columns} columns have {sets:,} sets of up to {count}; at most {MOST_SUBSETS:,} are measured: name fewer "
            "columns, or let 'known' be smaller"
        )
