"""The number that stands for a label, and how far the numbers under it are from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from remedies.generalisation._cells import Cells
from remedies.generalisation._frequencies import Domain
from remedies.generalisation._recoding import EVERYTHING, INTERVAL
from remedies.generalisation._spell import text_of
from remedies.generalisation._units import number_in

Floats = npt.NDArray[np.float64]

Representative: TypeAlias = Literal["midpoint", "mean", "median"]
"""What stands for a label: the middle between the smallest and the largest number that it may be, by the hierarchy's
lines; or the mean or median of the table's values under it, each as often as it comes."""

_Span: TypeAlias = tuple[float, float]
_NO_SPAN: Final = (np.nan, np.nan)


def squared_differences(cells: Cells, representative: Representative) -> float:
    """Sum the squared differences between numbers and what stands for their labels (U_Euclid; no root is taken).

    A suppressed row and a blanked cell count as a label above everything. NULL is no number and adds nothing.
    """
    numbers = numbers_of(cells.column.domain)
    here = ~np.isnan(numbers)
    stands, for_all = _STANDING[representative](cells, numbers)
    pairs = here[cells.leaf]
    leaf, label, rows = cells.leaf[pairs], cells.label[pairs], cells.rows[pairs]
    released = np.dot((numbers[leaf] - stands[label]) ** 2, rows)
    lost = np.dot((numbers[here] - for_all) ** 2, cells.lost[here]) if here.any() else 0.0
    return float(released + lost)


def is_numeric(domain: Domain) -> bool:
    """Say whether a column holds numbers, by the type of its values: a postcode that is a text is none."""
    kinds = (int, float, Decimal, np.integer, np.floating)
    values = [value for value in domain.values if text_of(value) is not None]
    return bool(values) and all(isinstance(value, kinds) and not isinstance(value, bool) for value in values)


def numbers_of(domain: Domain) -> Floats:
    """Read the leaves as numbers: float64 (leaves,), NaN of NULL and of what is no number."""
    return np.array([_number(text_of(value)) for value in domain.values], dtype=np.float64)


def _number(text: str | None) -> float:
    found = None if text is None else number_in(text)
    return np.nan if found is None else float(found)


def _midpoints(cells: Cells, numbers: Floats) -> tuple[Floats, float]:
    labels, domain = cells.labels, cells.column.domain
    lines = np.array([_number(text) for text in domain.hierarchy.values])
    of_table = (float(np.nanmin(numbers)), float(np.nanmax(numbers)))
    everything = _span(lines) or of_table
    named = {int(level): _spans(domain, int(level), lines) for level in np.unique(labels.levels) if level > 0}
    found = np.empty(len(labels.texts))
    for place, level in enumerate(labels.levels):
        if level in (0, INTERVAL):
            span = _span(numbers[_leaves(cells, place)]) or _NO_SPAN
        elif level == EVERYTHING:
            span = everything
        else:
            span = named[int(level)].get(labels.texts[place], _NO_SPAN)
        found[place] = _middle(span)
    return found, _middle(everything)


def _middle(span: _Span) -> float:
    return span[0] + (span[1] - span[0]) / 2


def _span(numbers: Floats) -> _Span | None:
    known = numbers[~np.isnan(numbers)]
    return (float(known.min()), float(known.max())) if len(known) else None


def _spans(domain: Domain, level: int, lines: Floats) -> Mapping[str | None, _Span]:
    """Give the smallest and the largest number among the lines under each label of a level."""
    found: dict[str | None, _Span] = {}
    for label, number in zip(domain.hierarchy.levels[level], lines, strict=True):
        if not np.isnan(number):
            low, high = found.get(label, (number, number))
            found[label] = (min(low, number), max(high, number))
    return found


def _leaves(cells: Cells, label: int) -> npt.NDArray[np.int64]:
    labels = cells.labels
    return labels.order[labels.first[label] : labels.last[label]]


def _means(cells: Cells, numbers: Floats) -> tuple[Floats, float]:
    return _of_covered(cells, numbers, lambda own, rows: float(np.average(own, weights=rows)))


def _medians(cells: Cells, numbers: Floats) -> tuple[Floats, float]:
    return _of_covered(cells, numbers, weighted_median)


def _of_covered(
    cells: Cells, numbers: Floats, middle: Callable[[Floats, npt.NDArray[np.int64]], float]
) -> tuple[Floats, float]:
    """Give the middle of the table's numbers under each label, and of all; NaN where there is none."""
    covered: Sequence[npt.NDArray[np.int64]] = [
        *(_leaves(cells, place) for place in range(len(cells.labels.texts))),
        cells.labels.order,
    ]
    found = np.full(len(covered), np.nan)
    for place, leaves in enumerate(covered):
        known = leaves[~np.isnan(numbers[leaves])]
        if len(known):
            found[place] = middle(numbers[known], cells.total[known])
    return found[:-1], float(found[-1])


def weighted_median(numbers: Floats, rows: npt.NDArray[np.int64]) -> float:
    """Give the median of numbers that come in so many rows; between the two in the middle where these differ."""
    order = np.argsort(numbers, kind="stable")
    up_to = np.cumsum(rows[order])
    middle = [np.searchsorted(up_to, rank, side="left") for rank in ((up_to[-1] + 1) // 2, up_to[-1] // 2 + 1)]
    low, high = numbers[order[middle]]
    return float(low + (high - low) / 2)


_STANDING: Final[Mapping[Representative, Callable[[Cells, Floats], tuple[Floats, float]]]] = {
    "midpoint": _midpoints,
    "mean": _means,
    "median": _medians,
}
