"""Which columns, known together, tell records apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
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


@dataclass(frozen=True, slots=True)
class SpecialUniques:
    """Records that are unique in few columns and in no part of these: minimal sample uniques, by set of columns.

    `counts`: by set, the records (or people) that are unique in it and in none of its parts. Of `attributes` columns,
    sets of up to `known` were looked at. What is of fewer than `k` people is not shown, nor what would tell it.

    Source: Elliot, M. J., Manning, A. M. and Ford, R. W. (2002). A computational algorithm for handling the special
    uniques problem. International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5); SUDA2 of
    Manning, A. M., Haglin, D. J. and Keane, J. A. (2008). Data Mining and Knowledge Discovery 16.
    """

    counts: Mapping[tuple[str, ...], int]
    attributes: int
    known: int
    k: int = 1

    def score(self, size: int) -> int:
        """Return the score of one minimal sample unique: the product of (attributes - i) for i from size to known."""
        return prod(self.attributes - place for place in range(size, min(self.known, self.attributes - 1) + 1))

    def contribution(self, column: str) -> float | None:
        """Return the share of the scores of all minimal sample uniques that are of sets with a column: 0 to 1."""
        total = sum(count * self.score(len(names)) for names, count in self.counts.items())
        if sum(self.counts.values()) < self.k or not total:
            return None
        return sum(count * self.score(len(names)) for names, count in self.counts.items() if column in names) / total

    def shown(self, count: int) -> int | None:
        """Return a count that may be shown: 0, or of at least k; else None."""
        return None if 0 < count < self.k else count

    def of_size(self, size: int) -> int | None:
        """Count those of sets of a size; None where a count that is not shown would follow from it."""
        counts = [count for names, count in self.counts.items() if len(names) == size]
        hidden = [count for count in counts if self.shown(count) is None]
        return None if hidden and (len(hidden) == 1 or sum(hidden) < self.k) else sum(counts)


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
