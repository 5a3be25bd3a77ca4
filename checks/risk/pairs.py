"""Which sensitive values each equivalence class holds, and how often: what l-diversity and t-closeness start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from checks.classes.arrays import np, npt
from checks.risk.sizes import column_names

if TYPE_CHECKING:
    import pandas as pd

Whole: TypeAlias = "npt.NDArray[np.int64]"
_N = TypeVar("_N", "np.int64", "np.float64")


@dataclass(frozen=True, slots=True, eq=False)
class ClassPairs:
    """A row for each value that occurs in a class, sorted by class and then by value. NULL is a value of its own.

    `starts`: where each class begins, int64 of shape (classes,). `value`: the place of the value among all values,
    int64 of shape (pairs,). `copies`: in how many records, int64 of shape (pairs,), at least 1.
    """

    starts: Whole
    value: Whole
    copies: Whole

    @classmethod
    def of(cls, classes: Whole, values: Whole, records: Whole | None = None) -> ClassPairs:
        """Take, for each record, the number of its class and of its value, both counted from 0 without gaps.

        `records`: how many records each of these stands for; 1 by default.
        """
        width = int(values.max()) + 1 if len(values) else 1
        numbers = classes * width + values
        if records is None:
            results, copies = np.unique(numbers, return_counts=True)
        else:
            results, place = np.unique(numbers, return_inverse=True)
            copies = np.zeros(len(results), dtype=np.int64)
            np.add.at(copies, place, records)
        starts = np.flatnonzero(np.diff(results // width, prepend=-1))
        return cls(starts.astype(np.int64), results % width, copies.astype(np.int64))

    @property
    def sizes(self) -> Whole:
        """Count the records of each class."""
        return self.sums(self.copies)

    @property
    def distinct(self) -> Whole:
        """Count the values of each class."""
        return np.diff(self.starts, append=len(self.copies))

    @property
    def owner(self) -> Whole:
        """Return the class of each pair."""
        return np.repeat(np.arange(len(self.starts)), self.distinct)

    def sums(self, of: npt.NDArray[_N]) -> npt.NDArray[_N]:
        """Add up, in each class, what each pair has."""
        values: npt.NDArray[_N] = np.add.reduceat(of, self.starts) if len(self.starts) else of[:0]
        return values


def sensitive_columns(
    table: pd.DataFrame, quasi_identifiers: str | Sequence[str], sensitive: str | Sequence[str]
) -> tuple[str, ...]:
    """Return the sensitive columns.

    Raises:
        KeyError: the frame has no such column.
        ValueError: there is no quasi-identifier or no sensitive column, a column is both, or there are several of a
            name.
    """
    names = column_names(table, sensitive)
    if not quasi_identifiers:
        raise ValueError("no quasi-identifier: name at least one column")
    if not names:
        raise ValueError("no sensitive column: name at least one")
    both = sorted(set(names) & set(column_names(table, quasi_identifiers)))
    if both:
        raise ValueError(f"both quasi-identifier and sensitive: {', '.join(both)}; a column can be only one of them")
    return tuple(names)


def class_numbers(table: pd.DataFrame, quasi_identifiers: str | Sequence[str]) -> Whole:
    """Number the equivalence class of each record from 0.

    Raises:
        KeyError: the frame has no such column.
        ValueError: the frame has several columns of a name.
    """
    names = column_names(table, quasi_identifiers)
    if not len(table):
        return np.empty(0, dtype=np.int64)
    grouped = table.groupby(names, dropna=False, observed=True, sort=False)
    return grouped.ngroup().to_numpy().astype(np.int64)


def value_numbers(column: pd.Series[Any], *, ordered: bool = False) -> Whole:
    """Number the value of each record from 0; if `ordered`, by the order of the values, with NULL after the last.

    Raises:
        TypeError: the values have no order.
    """
    import pandas as pd

    codes, distinct = pd.factorize(column, sort=ordered, use_na_sentinel=True)
    return np.where(codes < 0, len(distinct), codes).astype(np.int64)
