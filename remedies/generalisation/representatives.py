"""The number that stands for a label, and how far the numbers under it are from it, in the cells that are released."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from remedies._errors import Misfit
from remedies.generalisation.frequencies import ColumnFrequencies
from remedies.generalisation.recoding import EVERYTHING, Labels, RecodedColumn, Recoding
from remedies.generalisation.spelling import text_of
from remedies.generalisation.units import number_in

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedCells:
    """A column's cells. `leaf`, `label`, `rows` int64 (pairs,): released cells, each pair of leaf and label once.

    `suppressed`, `total` int64 (leaves,): the suppressed rows of each leaf, and all of its rows.
    """

    column: RecodedColumn
    leaf: Whole
    label: Whole
    rows: Whole
    suppressed: Whole
    total: Whole

    @property
    def labels(self) -> Labels:
        """Return the column's labels."""
        return self.column.labels

    @property
    def lines(self) -> int:
        """Count the lines of the column's hierarchy."""
        return len(self.column.domain.hierarchy.values)

    @property
    def covered(self) -> Whole:
        """Count the rows of the table, suppressed or not, that hold a leaf under each label: int64 (labels,)."""
        up_to = np.append(0, np.cumsum(self.total[self.labels.order]))
        whole: Whole = up_to[self.labels.last] - up_to[self.labels.first]
        return whole

    def summed(self, of_label: Floats, of_lost: float) -> float:
        """Add up what each cell has: by its label, or because its row is suppressed."""
        return float(np.dot(of_label[self.label], self.rows) + of_lost * self.suppressed.sum())


def cells_of(recoding: Recoding, place: int) -> ReleasedCells:
    """Return the released cells of the column at a place."""
    frequencies, column = recoding.frequencies, recoding.columns[place]
    codes, leaves = frequencies.codes[:, place], len(column.domain.values)
    suppressed = recoding.suppressed
    counts = np.where(suppressed, 0, frequencies.counts)
    pairs = column.numbers * leaves + codes
    size = len(column.labels.texts) * leaves
    if size > max(4 * len(pairs), 65_536):
        distinct, pairs = np.unique(pairs, return_inverse=True)
    else:
        distinct = np.arange(size)
    rows = _counted(pairs, counts, len(distinct))
    held = np.flatnonzero(rows)
    leaf, label, rows = distinct[held] % leaves, distinct[held] // leaves, rows[held]
    suppressed_rows = _counted(codes[suppressed], frequencies.counts[suppressed], leaves)
    return ReleasedCells(column, leaf, label, rows, suppressed_rows, suppressed_rows + _counted(leaf, rows, leaves))


def is_everything(labels: Labels) -> npt.NDArray[np.bool_]:
    """Return of each label whether it could be any value."""
    values: npt.NDArray[np.bool_] = labels.levels == EVERYTHING
    return values


def _counted(places: Whole, counts: Whole, size: int) -> Whole:
    return np.rint(np.bincount(places, weights=counts, minlength=size)).astype(np.int64)


Representative: TypeAlias = Literal["midpoint", "mean", "median"]
"""What stands for a label: the middle between the smallest and the largest number that it may be, by the hierarchy's
lines; or the mean or median of the table's values under it, each as often as it comes."""

_Span: TypeAlias = tuple[float, float]
_NO_SPAN: Final = (np.nan, np.nan)


def squared_differences(cells: ReleasedCells, representative: Representative) -> float:
    """Sum the squared differences between numbers and what stands for their labels (U_Euclid; no root is taken).

    A suppressed row and a blanked cell count as a label above everything. NULL is no number and adds nothing.
    """
    numbers = numbers_of(cells.column.domain)
    is_number = ~np.isnan(numbers)
    if not is_number.any():
        return 0.0
    pairs = is_number[cells.leaf]
    leaf, label, rows = cells.leaf[pairs], cells.label[pairs], cells.rows[pairs]
    with np.errstate(over="ignore", invalid="ignore"):  # too large for a float: infinite
        stands, for_all = _STANDING[representative](cells, numbers)
        released = np.dot((numbers[leaf] - stands[label]) ** 2, rows)
        of_suppressed = np.dot((numbers[is_number] - for_all) ** 2, cells.suppressed[is_number])
    result = float(released + of_suppressed)
    return math.inf if math.isnan(result) else result


def is_numeric(domain: ColumnFrequencies) -> bool:
    """Check whether a column holds numbers, by the type of its values: a postcode that is a text is none."""
    kinds = (int, float, Decimal, np.integer, np.floating)
    values = [value for value in domain.values if text_of(value) is not None]
    return bool(values) and all(isinstance(value, kinds) and not isinstance(value, bool) for value in values)


def numbers_of(domain: ColumnFrequencies) -> Floats:
    """Read the leaves as numbers: float64 (leaves,), NaN of NULL.

    Raises:
        Misfit: some are not numbers.
    """
    texts = [text_of(value) for value in domain.values]
    numbers = np.array([_number(text) for text in texts], dtype=np.float64)
    invalid = int(np.isnan(numbers).sum()) - texts.count(None)
    if invalid:
        raise Misfit(f"column '{domain.column}': {invalid} of {len(texts)} values are not finite numbers")
    return numbers


def _number(text: str | None) -> float:
    result = None if text is None else number_in(text)
    return np.nan if result is None else float(result)


def _midpoints(cells: ReleasedCells, numbers: Floats) -> tuple[Floats, float]:
    labels, domain = cells.labels, cells.column.domain
    lines = np.array([_number(text) for text in domain.hierarchy.values])
    everything = _middle(_span(lines) or (float(np.nanmin(numbers)), float(np.nanmax(numbers))))
    low, high = (numbers[labels.order[ends]] for ends in (labels.first, labels.last - 1))  # intervals ascend
    count = low + (high - low) / 2
    count[labels.levels == EVERYTHING] = everything
    for level in np.unique(labels.levels[labels.levels > 0]):
        spans = _spans(domain, int(level), lines)
        for place in np.flatnonzero(labels.levels == level):
            count[place] = _middle(spans.get(labels.texts[place], _NO_SPAN))
    return count, everything


def _middle(span: _Span) -> float:
    return span[0] + (span[1] - span[0]) / 2


def _span(numbers: Floats) -> _Span | None:
    finite = numbers[~np.isnan(numbers)]
    return (float(finite.min()), float(finite.max())) if len(finite) else None


def _spans(domain: ColumnFrequencies, level: int, lines: Floats) -> Mapping[str | None, _Span]:
    """Return the smallest and the largest number among the lines under each label of a level."""
    spans: dict[str | None, _Span] = {}
    for label, number in zip(domain.hierarchy.levels[level], lines, strict=True):
        if not np.isnan(number):
            low, high = spans.get(label, (number, number))
            spans[label] = (min(low, number), max(high, number))
    return spans


def _means(cells: ReleasedCells, numbers: Floats) -> tuple[Floats, float]:
    order, is_number = cells.labels.order, ~np.isnan(numbers)
    rows = np.where(is_number, cells.total, 0)
    mean = float(np.average(numbers[is_number], weights=rows[is_number]))
    beside = np.where(is_number, numbers - mean, 0.0) * rows  # beside the mean, so that sums stay small
    values = _under(cells, beside[order]) / _under(cells, rows[order].astype(np.float64))  # NaN where there is none
    return mean + values, mean


def _under(cells: ReleasedCells, of_leaves: Floats) -> Floats:
    up_to = np.append(0.0, np.cumsum(of_leaves))
    values: Floats = up_to[cells.labels.last] - up_to[cells.labels.first]
    return values


def _medians(cells: ReleasedCells, numbers: Floats) -> tuple[Floats, float]:
    labels = cells.labels
    stretches = [labels.order[first:last] for first, last in zip(labels.first, labels.last, strict=True)]
    result = np.array([_median(numbers[leaves], cells.total[leaves]) for leaves in [*stretches, labels.order]])
    return result[:-1], float(result[-1])


def _median(numbers: Floats, rows: npt.NDArray[np.int64]) -> float:
    """Return the median of numbers that come in so many rows; between the two in the middle where these differ."""
    order = np.argsort(numbers, kind="stable")[: len(numbers) - int(np.isnan(numbers).sum())]
    if not len(order):
        return np.nan
    up_to = np.cumsum(rows[order])
    middle = [np.searchsorted(up_to, rank, side="left") for rank in ((up_to[-1] + 1) // 2, up_to[-1] // 2 + 1)]
    low, high = numbers[order[middle]]
    return float(low + (high - low) / 2)


_STANDING: Final[Mapping[Representative, Callable[[ReleasedCells, Floats], tuple[Floats, float]]]] = {
    "midpoint": _midpoints,
    "mean": _means,
    "median": _medians,
}
