"""How large the equivalence classes of a table are: everything that follows from sizes alone starts here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from checks.classes.arrays import np, npt

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class ClassSizes:
    """How many equivalence classes there are of each size (an equivalence class: rows alike in the quasi-identifiers).

    `sizes`: the sizes that occur, int64 of shape (s,), at least 1, ascending, each once. `classes`: how many classes
    have that size, int64 of shape (s,), at least 1. A table without rows has none.
    """

    sizes: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]

    @classmethod
    def of(cls, counted: Iterable[tuple[int, int]]) -> Self:
        """Take (size, number of classes) in any order; a size that comes twice counts together.

        Raises:
            ValueError: a size or a number is not positive.
        """
        pairs = np.array(list(counted), dtype=np.int64).reshape(-1, 2)
        if (pairs < 1).any():
            raise ValueError("sizes of classes, and how many there are of each, are at least 1")
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


def class_sizes(table: pd.DataFrame, quasi_identifiers: Sequence[str]) -> ClassSizes:
    """Count the sizes of the equivalence classes of a frame; NULL is a value of its own, equal to NULL.

    Args:
        table: any frame, whatever its index; it is not changed.
        quasi_identifiers: columns; with none, all rows are one class.

    Raises:
        KeyError: the frame has no such column.
    """
    if not len(table):
        return ClassSizes.of(())
    if not quasi_identifiers:
        return ClassSizes.of([(len(table), 1)])
    counts = table.groupby(list(quasi_identifiers), dropna=False, observed=True, sort=False).size().to_numpy()
    sizes, classes = np.unique(counts, return_counts=True)
    return ClassSizes(sizes.astype(np.int64), classes.astype(np.int64))
