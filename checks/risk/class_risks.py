"""k-anonymity, and how likely it is that a record is found again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from checks.risk.sizes import ClassSizes, class_sizes

if TYPE_CHECKING:
    import pandas as pd

STEPS: Final = (1, 2, 3, 4, 5, 10, 20, 50, 100, 1000)
"""Where the bars of the histogram of class sizes begin; the last one has no end."""


@dataclass(frozen=True, slots=True)
class KAnonymity:
    """How well records hide among others that are alike in the quasi-identifiers. Figures of no record are None.

    `k`: the size of the smallest class. `highest_risk`: 1/k, the prosecutor risk of the record that is easiest to find:
    an attacker who knows that the person is in the table guesses right so often. `average_risk`: classes/rows, the mean
    prosecutor risk over all records, which is also the marketer risk: the share of all records that guessing names
    right. `records_below_k`, `classes_below_k`: what is in classes smaller than `wanted`, whose risk is above 1/wanted.
    `histogram`: (smallest size, classes, records) of each bar that is not empty; sizes as in `STEPS`.
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
    def of(cls, sizes: ClassSizes, k: int) -> KAnonymity:
        """Take the sizes of the classes, and the k that is wanted."""
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


def k_anonymity(table: pd.DataFrame, quasi_identifiers: Sequence[str], k: int = 5) -> KAnonymity:
    """Measure k-anonymity of a frame; NULL is a value of its own.

    Samarati & Sweeney 1998; Sweeney 2002, definition 3: each combination of quasi-identifiers occurs at least k times.
    Risks: El Emam, Guide to the De-Identification of Personal Health Information (2013), chapter 16.

    It says nothing about what is learned without finding a record: all records of a class may share a sensitive value
    (see `l_diversity`), and two tables that are k-anonymous each may not be so together.

    Args:
        table: any frame; it is not changed.
        quasi_identifiers: columns that somebody may know from elsewhere; at least one.
        k: at least 2; records in smaller classes are counted.

    Raises:
        KeyError: the frame has no such column.
        ValueError: no quasi-identifier, or k below 2.
    """
    if not quasi_identifiers:
        raise ValueError("no quasi-identifier: name at least one column")
    if k < 2:
        raise ValueError(f"k is {k}; expected at least 2, since every table has a k of 1")
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
