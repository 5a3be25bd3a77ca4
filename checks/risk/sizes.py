"""How large the equivalence classes of a table are: everything that follows from sizes alone starts here.

k-anonymity, and how likely it is that a record is found again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Self

from checks.classes.arrays import np, npt

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class ClassSizes:
    """The number of equivalence classes of each size (an equivalence class: rows alike in the quasi-identifiers).

    `sizes`: the sizes that occur, int64 of shape (s,), at least 1, ascending, each once. `classes`: how many classes
    have that size, int64 of shape (s,), at least 1. A table without rows has none.
    """

    sizes: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]

    @classmethod
    def of(cls, counts: Iterable[tuple[int, int]]) -> Self:
        """Take (size, number of classes) in any order; a size that comes twice counts together.

        Raises:
            ValueError: an item is not a pair, or a size or a number is not a positive whole number.
        """
        seen: Sequence[Any] = list(counts)
        items = [tuple(item) if isinstance(item, Iterable) else (item,) for item in seen]
        odd = next((item for item in items if len(item) != 2), None)
        if odd is not None:
            raise ValueError(f"expected pairs of a size and the number of classes of it; seen: {len(odd)} numbers")
        if not all(isinstance(number, int | np.integer) and number >= 1 for item in items for number in item):
            raise ValueError("sizes of classes, and how many there are of each, are whole numbers of at least 1")
        pairs = np.array(items, dtype=np.int64).reshape(-1, 2)
        sizes, place = np.unique(pairs[:, 0], return_inverse=True)
        classes = np.zeros(len(sizes), dtype=np.int64)
        np.add.at(classes, place, pairs[:, 1])
        return cls(sizes, classes)

    @property
    def rows(self) -> int:
        """Count the rows."""
        return int(self.sizes @ self.classes)

    @property
    def count(self) -> int:
        """Count the classes."""
        return int(self.classes.sum())

    @property
    def smallest(self) -> int | None:
        """Return the size of the smallest class, which is k; None without rows."""
        return int(self.sizes[0]) if len(self.sizes) else None

    @property
    def uniques(self) -> int:
        """Count the classes of one row."""
        return self.of_size(1)

    def of_size(self, size: int) -> int:
        """Count the classes of a size."""
        return int(self.classes[self.sizes == size].sum())

    def classes_below(self, k: int) -> int:
        """Count the classes smaller than k."""
        return int(self.classes[self.sizes < k].sum())

    def rows_below(self, k: int) -> int:
        """Count the rows in classes smaller than k."""
        small = self.sizes < k
        return int(self.sizes[small] @ self.classes[small])


def column_names(table: pd.DataFrame, names: str | Sequence[str]) -> list[str]:
    """Return the names of columns; a text is one name.

    Raises:
        KeyError: the frame has no such column; the nearest one is suggested.
        ValueError: the frame has several columns of a name.
    """
    from sources import did_you_mean

    names, columns = [names] if isinstance(names, str) else list(names), table.columns.tolist()
    for name in names:
        count = columns.count(name)
        if not count:
            raise KeyError(f"column '{name}' not found{did_you_mean(str(name), map(str, columns))}")
        if count > 1:
            raise ValueError(f"{count} columns are named '{name}'; rename them")
    return names


def class_sizes(table: pd.DataFrame, quasi_identifiers: str | Sequence[str]) -> ClassSizes:
    """Count the sizes of the equivalence classes of a frame; NULL is a value of its own, equal to NULL.

    Args:
        table: any frame, whatever its index; it is not changed.
        quasi_identifiers: columns; with none, all rows are one class.

    Raises:
        KeyError: the frame has no such column.
        ValueError: the frame has several columns of a name.
    """
    names = column_names(table, quasi_identifiers)
    if not len(table):
        return ClassSizes.of(())
    if not names:
        return ClassSizes.of([(len(table), 1)])
    counts = table.groupby(names, dropna=False, observed=True, sort=False).size().to_numpy()
    sizes, classes = np.unique(counts, return_counts=True)
    return ClassSizes(sizes.astype(np.int64), classes.astype(np.int64))


STEPS: Final = (1, 2, 3, 4, 5, 10, 20, 50, 100, 1000)
"""Where the bars of the histogram of class sizes begin; the last one has no end."""


@dataclass(frozen=True, slots=True)
class KAnonymity:
    """k-anonymity: how many records share their quasi-identifier values. Figures of no record are None.

    `k`: the size of the smallest class. `highest_risk`: 1/k, the prosecutor risk of the record that is easiest to find:
    an attacker who knows that the person is in the table guesses right so often. `average_risk`: classes/rows, the mean
    prosecutor risk over all records, which is also the marketer risk: the share of all records that guessing names
    right. `records_below_k`, `classes_below_k`: what is in classes smaller than `wanted`, whose risk is above 1/wanted.
    `histogram`: (smallest size, classes, records) of each bar that is not empty; sizes as in `STEPS`.

    Where people are counted, a record is a person, once, in the smallest class that the person is in.
    """

    rows: int
    classes: int
    wanted: int
    k: int | None
    sample_uniques: int
    records_below_k: int
    classes_below_k: int
    highest_risk: float | None
    average_risk: float | None
    histogram: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, sizes: ClassSizes, k: int, people: Mapping[int, int] | None = None) -> KAnonymity:
        """Take the sizes of the classes, and the k that is wanted.

        `people`: where sizes are of people, how many there are by the size of the smallest class that each is in.
        """
        if people is not None:
            return _of_people(cls.of(sizes, k), people)
        smallest, rows = sizes.smallest, sizes.rows
        return cls(
            rows=rows,
            classes=sizes.count,
            wanted=k,
            k=smallest,
            sample_uniques=sizes.uniques,
            records_below_k=sizes.rows_below(k),
            classes_below_k=sizes.classes_below(k),
            highest_risk=None if smallest is None else 1 / smallest,
            average_risk=sizes.count / rows if rows else None,
            histogram=_histogram(sizes),
        )


def _of_people(of_classes: KAnonymity, people: Mapping[int, int]) -> KAnonymity:
    """Return the figures of people in the place of those of their places in classes."""
    persons = sum(people.values())
    last = dict(pairwise(STEPS))
    bars = [
        (first, classes, sum(many for size, many in people.items() if first <= size < last.get(first, math.inf)))
        for first, classes, _ in of_classes.histogram
    ]
    return replace(
        of_classes,
        rows=persons,
        sample_uniques=people.get(1, 0),
        records_below_k=sum(many for size, many in people.items() if size < of_classes.wanted),
        average_risk=sum(many / size for size, many in people.items()) / persons if persons else None,
        histogram=tuple(bars),
    )


def k_anonymity(table: pd.DataFrame, quasi_identifiers: str | Sequence[str], k: int = 5) -> KAnonymity:
    """Measure k-anonymity of a frame; NULL is a value of its own.

    Samarati & Sweeney 1998; Sweeney 2002, definition 3: each combination of quasi-identifiers occurs at least k times.
    Risks: El Emam, Guide to the De-Identification of Personal Health Information (2013), chapter 16.

    It says nothing about what is learned without finding a record: all records of a class may share a sensitive value
    (see `l_diversity`), and two tables that are k-anonymous each may not be so together.

    Args:
        table: any frame; it is not changed.
        quasi_identifiers: columns that an attacker may know from elsewhere; at least one.
        k: at least 2; records in smaller classes are counted.

    Raises:
        KeyError: the frame has no such column.
        ValueError: no quasi-identifier, several columns of a name, or k is not a whole number of 2 or more.
    """
    if not quasi_identifiers:
        raise ValueError("no quasi-identifier: name at least one column")
    if not (k >= 2 and k % 1 == 0):  # of NaN neither is true
        raise ValueError(f"k is {k!r}; expected a whole number of at least 2, since every table has a k of 1")
    return KAnonymity.of(class_sizes(table, quasi_identifiers), k)


def _histogram(sizes: ClassSizes) -> tuple[tuple[int, int, int], ...]:
    bars = []
    for first, after in zip(STEPS, (*STEPS[1:], None), strict=True):
        inside = sizes.sizes >= first
        if after is not None:
            inside &= sizes.sizes < after
        if inside.any():
            classes = int(sizes.classes[inside].sum())
            bars.append((first, classes, int(sizes.sizes[inside] @ sizes.classes[inside])))
    return tuple(bars)
