"""Which cells of a table are blanked, and whom that helps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from checks.risk.pairs import ClassPairs
from remedies.generalisation.criteria import Breaks, Criterion
from remedies.generalisation.frequencies import ColumnFrequencies, Frequencies, number_rows
from remedies.generalisation.recoding import EVERYTHING, Labels, RecodedColumn, Recoding, column_at, labels_of

Whole = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

Pattern: TypeAlias = tuple[int, ...]
"""A set of columns, by their places."""


class Blanks:
    """Which cells are blanked so far, and which combinations are still in too small a class."""

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
        """Look at the classes of a result again."""
        kept = np.flatnonzero(~recoding.suppressed)
        return not self._broken(recoding.classes()[kept], kept).any()

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
