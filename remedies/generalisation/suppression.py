"""Suppression without generalising: of records, and of as few cells as possible."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import combinations, groupby
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from checks import Json, did_you_mean
from checks.risk.pairs import ClassPairs
from remedies._contract import Progress
from remedies._errors import Misfit, Refused
from remedies.differential_privacy.random_bytes import random_order
from remedies.generalisation.criteria import Breaks, Criterion, LDiversityLimit, check_k
from remedies.generalisation.frequencies import ColumnFrequencies, Frequencies, number_rows, read_counts
from remedies.generalisation.incognito_search import sensitive_of
from remedies.generalisation.levels import with_plain
from remedies.generalisation.limits_of_classes import broken_combinations
from remedies.generalisation.recoding import EVERYTHING, Labels, Mask, RecodedColumn, Recoding, column_at, labels_of

if TYPE_CHECKING:
    import pandas as pd

Whole = npt.NDArray[np.int64]

Pattern: TypeAlias = tuple[int, ...]
"""A set of columns, by their places."""


class Blanks:
    """The cells that are blanked so far, and the combinations that are still in too small a class."""

    def __init__(self, frequencies: Frequencies, k: int, criteria: Sequence[Criterion]) -> None:
        self._frequencies, self._k = frequencies, k
        self._asked: Sequence[tuple[str, Breaks]] = [
            (criterion.column, criterion.breaks(frequencies)) for criterion in criteria
        ]
        self._codes = frequencies.codes.copy()
        self._null = np.array([_null_of(domain) for domain in frequencies.domains], dtype=np.int64)
        self.open = np.ones(len(frequencies.counts), dtype=np.bool_)
        self.blank(())

    def helped(self, pattern: Pattern) -> tuple[int, Whole]:
        """Count the rows that blanking a set of columns helps, and give their combinations."""
        columns = list(pattern)
        tried = np.flatnonzero(self.open)
        if not len(tried):
            return 0, tried
        alike = np.flatnonzero(~self.open & (self._codes[:, columns] == self._null[columns]).all(axis=1))
        both = np.concatenate([tried, alike])
        codes = self._codes[both]
        codes[:, columns] = self._null[columns]
        classes = number_rows([codes[:, place] for place in range(codes.shape[1])])
        helped = tried[~self._broken(classes, both)[classes[: len(tried)]]]
        return int(self._frequencies.counts[helped].sum()), helped

    def blank(self, pattern: Pattern) -> None:
        """Blank a set of columns where that helps."""
        _, helped = self.helped(pattern)
        self._codes[np.ix_(helped, np.array(pattern, dtype=np.int64))] = self._null[list(pattern)]
        self.open[helped] = False

    def recoding(self) -> Recoding:
        """Return what became of the table; what is not in order is suppressed."""
        columns = tuple(
            _blanked(domain, self._frequencies.codes[:, place], self._codes[:, place])
            for place, domain in enumerate(self._frequencies.domains)
        )
        return Recoding(self._frequencies, columns, self.open.copy())

    def holds(self, recoding: Recoding) -> bool:
        """Check whether all classes of a result hold the limits."""
        released = np.flatnonzero(~recoding.suppressed)
        return not self._broken(recoding.classes()[released], released).any()

    def _broken(self, classes: Whole, combinations: Whole) -> Mask:
        """Return of each class whether it is too small or breaks a criterion. `classes`: of some combinations."""
        counts = self._frequencies.counts[combinations]
        sizes = np.zeros(int(classes.max(initial=-1)) + 1, dtype=np.int64)
        np.add.at(sizes, classes, counts)
        broken: Mask = sizes < self._k
        for column, breaks in self._asked:
            if len(classes):
                broken |= breaks(ClassPairs.of(classes, self._frequencies.sensitive[column][combinations], counts))
        return broken


def _null_of(domain: ColumnFrequencies) -> int:
    """Return the number of NULL among the leaves, or the next number."""
    results = [place for place, value in enumerate(domain.values) if value is None]
    return results[0] if results else len(domain.values)


def _blanked(domain: ColumnFrequencies, before: Whole, codes: Whole) -> RecodedColumn:
    """Return a column some of whose cells are blanked; all that is NULL could then be any value."""
    if (before == codes).all():
        return column_at(domain, codes, 0)
    leaves, null = np.arange(len(domain.values)), _null_of(domain)
    labels = labels_of(domain, np.zeros(len(leaves), dtype=np.int64), leaves)
    texts = np.empty(max(null + 1, len(leaves)), dtype=object)
    texts[: len(leaves)] = labels.texts
    levels, widths, first, last = (
        np.append(of, 0)[: len(texts)] for of in (labels.levels, labels.widths, labels.first, labels.last)
    )
    texts[null], levels[null], widths[null] = None, EVERYTHING, len(domain.hierarchy.values)
    first[null], last[null] = 0, len(leaves)
    return RecodedColumn(domain, Labels(texts, levels, widths, labels.order, first, last), codes)


MOST_PATTERNS: Final = 4_096
"""So many sets of columns are tried at most: all of 12 columns, of more columns the smallest and the largest sets."""


def suppress_records(
    counts: pd.DataFrame, k: int, *, criteria: Sequence[Criterion] = (), count: str = "count"
) -> Recoding:
    """Suppress all rows in classes smaller than k, or that break a criterion; nothing else changes.

    Args:
        counts: a row for each combination of the quasi-identifiers and the criteria's columns, with its `count`.
        k: rows of the smallest class that may stay, at least 2.
        criteria: limits on sensitive columns, against the whole table's distribution.
        count: the column that says how many rows have the combination.

    Raises:
        Misfit: the table does not fit, or has fewer than k rows.
        ValueError: k is out of range.
    """
    return without_broken(_read(counts, criteria, count), k, criteria=criteria)


def without_broken(frequencies: Frequencies, k: int, *, criteria: Sequence[Criterion] = ()) -> Recoding:
    """Run `suppress_records` on a frequency table that was already read."""
    check_k(frequencies, k)
    levels = [0] * len(frequencies.domains)
    return Recoding.of_node(frequencies, levels, broken_combinations(frequencies, levels, k, criteria))


def suppress_cells(
    counts: pd.DataFrame,
    k: int,
    *,
    weights: Mapping[str, float] | None = None,
    criteria: Sequence[Criterion] = (),
    count: str = "count",
    progress: Progress | None = None,
) -> Recoding:
    """Blank few cells, so that each row reads like at least k - 1 others, NULL being a value of its own.

    A heuristic (the fewest cells are NP-hard to find: Meyerson & Williams 2004). Sets of columns are tried from the
    lightest to the heaviest, of equally heavy ones first the one that helps most rows: blanking it helps rows in too
    small classes if k or more of them then read alike, or as many together with rows that read so already. It starts
    over until nothing helps. What is left then, fewer than k rows unless there is a criterion, is suppressed as whole
    rows. Rows that were in order are never touched, and the result is looked at again in the end.

    A blank is NULL, a value of its own: who reads NULL as "could be any value" sees larger classes, never smaller ones.

    Args:
        counts: a row for each combination of the quasi-identifiers and the criteria's columns, with its `count`.
        k: rows of the smallest class, at least 2.
        weights: how much a column's cell is worth, above 0; 1 where nothing is said.
        criteria: limits on sensitive columns, against the whole table's distribution.
        count: the column that says how many rows have the combination.
        progress: is told the share of the rows that are in order.

    Raises:
        Misfit: the table does not fit, has fewer than k rows, or a weight's column is not there.
        Refused: the result does not hold; this cannot happen as far as anybody knows.
        ValueError: k or a weight is out of range.
    """
    frequencies = _read(counts, criteria, count)
    return blank_cells(frequencies, k, weights=weights, criteria=criteria, progress=progress)


def blank_cells(
    frequencies: Frequencies,
    k: int,
    *,
    weights: Mapping[str, float] | None = None,
    criteria: Sequence[Criterion] = (),
    progress: Progress | None = None,
) -> Recoding:
    """Run `suppress_cells` on a frequency table that was already read."""
    check_k(frequencies, k)
    worth = _weights(frequencies, weights or {})
    blanks = Blanks(frequencies, k, criteria)
    left = -1
    while left != int(blanks.open.sum()):
        left = int(blanks.open.sum())
        for _, equal in _patterns(worth):
            _blank_equal(blanks, equal)
            if progress is not None:
                progress(1 - float(frequencies.counts[blanks.open].sum()) / frequencies.rows)
    recoding = blanks.recoding()
    if not blanks.holds(recoding):
        raise Refused("cells were blanked, and classes still break a limit; please report this as an error")
    return recoding


@dataclass(frozen=True, slots=True)
class Mixed:
    """Further classes suppressed, to hide why classes are missing. `recoding`: with these suppressed too.

    `for_values`: classes of k or more that are suppressed for their sensitive values; `besides`: classes that hold and
    are suppressed with them, `rows`: the rows of these. All 0 where no class was suppressed for its values.
    """

    recoding: Recoding
    for_values: int = 0
    besides: int = 0
    rows: int = 0

    def as_json(self) -> dict[str, Json]:
        """Return the counts as plain data."""
        return {"classes_for_values": self.for_values, "classes_besides": self.besides, "rows_besides": self.rows}


def mix_suppressed(recoding: Recoding, k: int, criteria: Sequence[Criterion]) -> Mixed:
    """Suppress some classes that hold beside those that are suppressed for their sensitive values.

    Whoever knows how large a class was, and that it is missing, knows that it broke a limit on sensitive values, and so
    that its values are alike (minimality: Wong, Fu, Wang & Pei 2007, "Minimality attack in privacy preserving data
    publishing", VLDB); with the totals of the table, which values these are. So as many classes that hold go with them,
    drawn at random, and so many more that all suppressed rows together have the k and the diversity that is asked of a
    class. Which ones were drawn is recorded nowhere.

    Raises:
        Refused: too few classes hold.
    """
    frequencies = recoding.frequencies
    classes = number_rows([column.numbers for column in recoding.columns])
    sizes = np.bincount(classes, weights=frequencies.counts).astype(np.int64)
    missing = np.zeros(len(sizes), dtype=np.bool_)
    missing[classes[recoding.suppressed]] = True
    for_values = int((missing & (sizes >= k)).sum())
    if not criteria or not for_values:
        return Mixed(recoding)
    holding = np.flatnonzero(~missing)
    suppress = missing.copy()
    for besides, place in enumerate(random_order(len(holding)), start=1):
        suppress[holding[place]] = True
        if besides >= for_values and _mixed_enough(frequencies, suppress[classes], k, criteria):
            suppressed = recoding.suppressed | suppress[classes]
            mixed = replace(recoding, suppressed=suppressed)
            rows = mixed.rows_suppressed - recoding.rows_suppressed
            return Mixed(mixed, for_values, besides, rows)
    raise Refused(
        f"{for_values:,} classes would be suppressed for their sensitive values, and {len(holding):,} other classes "
        "are too few to conceal this; generalise, relax the limits, or name fewer columns"
    )


def _mixed_enough(frequencies: Frequencies, suppressed: Mask, k: int, criteria: Sequence[Criterion]) -> bool:
    """Return whether all suppressed rows together are k or more and as diverse as a class has to be."""
    counts = frequencies.counts[suppressed]
    if int(counts.sum()) < k:
        return False
    one_class = np.zeros(len(counts), dtype=np.int64)
    return not any(
        criterion.breaks(frequencies)(
            ClassPairs.of(one_class, frequencies.sensitive[criterion.column][suppressed], counts)
        ).any()
        for criterion in criteria
        if isinstance(criterion, LDiversityLimit)
    )


def _blank_equal(blanks: Blanks, patterns: Sequence[Pattern]) -> None:
    """Blank along sets of columns, the one that helps most rows first; each at most once."""
    queue = [(-blanks.helped(pattern)[0], pattern) for pattern in patterns]
    heapify(queue)
    while queue and queue[0][0] and blanks.open.any():
        _, pattern = heappop(queue)
        rows, _ = blanks.helped(pattern)
        if queue and rows < -queue[0][0]:
            heappush(queue, (-rows, pattern))
        else:
            blanks.blank(pattern)


def _patterns(worth: Sequence[float]) -> list[tuple[float, list[Pattern]]]:
    """Return the sets of columns to try, by what a row's cells in them are worth, ascending."""
    width = len(worth)
    tried: list[Pattern] = [tuple(range(width))]
    for size in range(1, width // 2 + 1):
        sizes = sorted({size, width - size} - {0, width})
        more = [pattern for size in sizes for pattern in combinations(range(width), size)]
        if len(tried) + len(more) > MOST_PATTERNS:
            break
        tried += more
    by_worth = sorted((math.fsum(worth[place] for place in pattern), pattern) for pattern in tried)
    return [(key, [pattern for _, pattern in equal]) for key, equal in groupby(by_worth, key=lambda item: item[0])]


def _weights(frequencies: Frequencies, weights: Mapping[str, float]) -> Sequence[float]:
    unknown = sorted(set(weights) - set(frequencies.columns))
    if unknown:
        raise Misfit(f"column '{unknown[0]}' is not a quasi-identifier{did_you_mean(unknown[0], frequencies.columns)}")
    wrong = [name for name, weight in weights.items() if not 0 < weight < math.inf]
    if wrong:
        raise ValueError(f"the weight of '{wrong[0]}' is {weights[wrong[0]]}; expected a number above 0")
    return [float(weights.get(name, 1)) for name in frequencies.columns]


def _read(counts: pd.DataFrame, criteria: Sequence[Criterion], count: str) -> Frequencies:
    """Read a frequency table; each column but the count and the sensitive ones is a quasi-identifier."""
    sensitive = sensitive_of(criteria)
    columns = [str(name) for name in counts.columns if str(name) not in {*sensitive, count}]
    return read_counts(counts, with_plain(counts, {}, columns), sensitive=sensitive, count=count)
