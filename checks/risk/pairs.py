"""Which sensitive values each equivalence class holds, and how often: what l-diversity and t-closeness start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, Unpack

from checks.classes.arrays import np, npt
from checks.classes.spellings import normal_form
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


@dataclass(frozen=True, slots=True, eq=False)
class ValueReading:
    """A way to read the values of a sensitive column.

    `codes`: of each value its number, int64 of shape (values,), -1 for what counts as missing. `first`: of each number
    the first value that has it, int64 of shape (numbers,).
    """

    codes: Whole
    first: Whole

    @classmethod
    def of(cls, representatives: Sequence[int]) -> ValueReading:
        """Take, for each value, the place of the value that it is read as; -1 for none. The order of values stays."""
        places = np.array(representatives, dtype=np.int64)
        first = np.unique(places[places >= 0])
        return cls(np.where(places < 0, -1, np.searchsorted(first, places)), first)

    def pairs(self, pairs: ClassPairs) -> tuple[Whole, ClassPairs]:
        """Return the classes that have a value, and their pairs as they are read."""
        codes = self.codes[pairs.value]
        kept = codes >= 0
        classes, numbers = np.unique(pairs.owner[kept], return_inverse=True)
        return classes, ClassPairs.of(numbers, codes[kept], pairs.copies[kept])

    def totals(self, totals: Whole) -> Whole:
        """Add up the counts of the values that are read as one."""
        result = np.zeros(len(self.first), dtype=np.int64)
        codes = self.codes[: len(totals)]
        np.add.at(result, codes[codes >= 0], totals[: len(codes)][codes >= 0])
        return result

    def among(self, present: Whole) -> ValueReading:
        """Return it for the values at these places alone, numbered as these are."""
        codes = self.codes[present]
        _, first, number = np.unique(codes, return_index=True, return_inverse=True)
        return ValueReading.of(np.where(codes < 0, -1, first[number]).tolist())


class DeclaredValues(TypedDict, total=False):
    """What counts as a sensitive value of its own: what is missing, and each spelling."""

    missing_is_a_value: bool
    spelling_is_a_value: bool


def readings_of(values: Sequence[Any], **declared: Unpack[DeclaredValues]) -> Sequence[ValueReading]:
    """Return the readings of values that differ from the exact one: without what is missing, in one spelling, both.

    Missing is None, NaN and text of white space alone. Spellings are those of `checks.classes.spellings`.
    """
    places = range(len(values))
    missing = set() if declared.get("missing_is_a_value") else {place for place in places if _is_missing(values[place])}
    first: dict[Any, int] = {}
    spelled = [
        first.setdefault(normal_form(values[place]), place) if isinstance(values[place], str) else place
        for place in places
    ]
    spelled = list(places) if declared.get("spelling_is_a_value") else spelled
    ways = [(places, missing), (spelled, set()), (spelled, missing)]
    read = [[-1 if place in left_out else way[place] for place in places] for way, left_out in ways]
    different = dict.fromkeys(tuple(item) for item in read if item != list(places))
    return [ValueReading.of(item) for item in different]


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and isnan(value))


def numbered_values(column: pd.Series[Any], *, ordered: bool = False) -> tuple[Whole, Sequence[Any]]:
    """Number the value of each record from 0, and return the values by their number; NULL is the last.

    `ordered`: by the order of the values.

    Raises:
        TypeError: the values have no order.
    """
    import pandas as pd

    codes, distinct = pd.factorize(column, sort=ordered, use_na_sentinel=True)
    numbers = np.where(codes < 0, len(distinct), codes).astype(np.int64)
    return numbers, [*distinct, None]


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
