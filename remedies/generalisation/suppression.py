"""Suppression without generalising: of records, and of as few cells as possible."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
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
from remedies.generalisation.criteria import Breaks, Criterion, LDiversityLimit, check_k
from remedies.generalisation.frequencies import ColumnFrequencies, Frequencies, number_rows, read_counts
from remedies.generalisation.incognito_search import sensitive_of
from remedies.generalisation.keyed_order import key_for_one_run, keyed_order
from remedies.generalisation.levels import with_plain
from remedies.generalisation.limits_of_classes import broken_combinations
from remedies.generalisation.recoding import EVERYTHING, Labels, Mask, RecodedColumn, Recoding, column_at, labels_of
from remedies.generalisation.spelling import text_of

if TYPE_CHECKING:
    import pandas as pd

Whole = npt.NDArray[np.int64]

Pattern: TypeAlias = tuple[int, ...]
"""A set of columns, by their places."""


class Blanks:
    """The cells that are blanked so far, and the combinations that are still in too small a class."""

    def __init__(self, frequencies: Frequencies, k: int) -> None:
        self._frequencies, self._k = frequencies, k
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
        """Check whether all classes of a result are large enough."""
        released = np.flatnonzero(~recoding.suppressed)
        return not self._broken(recoding.classes()[released], released).any()

    def _broken(self, classes: Whole, combinations: Whole) -> Mask:
        """Return of each class whether it is too small. `classes`: of some combinations."""
        sizes = np.zeros(int(classes.max(initial=-1)) + 1, dtype=np.int64)
        np.add.at(sizes, classes, self._frequencies.counts[combinations])
        broken: Mask = sizes < self._k
        return broken


def _without_breaking(recoding: Recoding, criteria: Sequence[Criterion]) -> Recoding:
    """Suppress all rows of the classes that break a criterion."""
    frequencies, released = recoding.frequencies, np.flatnonzero(~recoding.suppressed)
    classes = recoding.classes()[released]
    suppressed = recoding.suppressed.copy()
    for criterion in criteria if len(released) else ():
        values = frequencies.sensitive[criterion.column][released]
        broken = criterion.breaks(frequencies)(ClassPairs.of(classes, values, frequencies.counts[released]))
        suppressed[released[broken[classes]]] = True
    return replace(recoding, suppressed=suppressed)


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
    over until nothing helps. What is left then, fewer than k rows, is suppressed as whole rows. Rows in large enough
    classes are never blanked, and the result is looked at again in the end.

    Sensitive values decide nothing of this: cells that are blanked for them would name the class whose values are
    alike, and show these. Classes that break a criterion afterwards are suppressed as whole rows; `mix_suppressed`
    hides which.

    A blank is NULL, a value of its own: who reads NULL as "could be any value" sees larger classes, never smaller ones.

    Args:
        counts: a row for each combination of the quasi-identifiers and the criteria's columns, with its `count`.
        k: rows of the smallest class, at least 2.
        weights: how much a column's cell is worth, above 0; 1 where nothing is said.
        criteria: limits on sensitive columns, against the whole table's distribution.
        count: the column that says how many rows have the combination.
        progress: called with the share of the rows that are in order.

    Raises:
        Misfit: the table does not fit, has fewer than k rows, or a weight's column is not there.
        Refused: the result does not hold; no such case is known.
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
    blanks = Blanks(frequencies, k)
    left = -1
    while left != int(blanks.open.sum()):
        left = int(blanks.open.sum())
        for _, equal in _patterns(worth):
            _blank_equal(blanks, equal)
            if progress is not None:
                progress(1 - float(frequencies.counts[blanks.open].sum()) / frequencies.rows)
    recoding = blanks.recoding()
    if not blanks.holds(recoding):
        raise Refused("cells were blanked, and classes are still too small; please report this as an error")
    return _without_breaking(recoding, criteria)


@dataclass(frozen=True, slots=True)
class Mixed:
    """Further classes suppressed, to hide why classes are missing. `recoding`: with these suppressed too.

    `for_values`: classes of k or more that are suppressed for their sensitive values; `added`: classes that hold and
    are suppressed with them, `rows`: the rows of these. All 0 where no class was suppressed for its values. Where parts
    are cut (Mondrian), classes that were not cut further in their place.
    `repeatable`: whether another run under the same key hides the same; else two outputs together undo it.
    """

    recoding: Recoding
    for_values: int = 0
    added: int = 0
    rows: int = 0
    repeatable: bool = True

    def as_json(self) -> dict[str, Json]:
        """Return the counts as plain data, and how likely a missing class is one that broke a limit: at most so."""
        together = self.for_values + self.added
        return {
            "classes_for_values": self.for_values,
            "classes_besides": self.added,
            "rows_besides": self.rows,
            "repeatable": self.repeatable,
            "probability_for_values": self.for_values / together if together else 0.0,
        }


def mix_suppressed(recoding: Recoding, k: int, criteria: Sequence[Criterion], *, key: bytes | None = None) -> Mixed:
    """Suppress some classes that hold beside those that are suppressed for their sensitive values.

    An attacker who knows the size of a class, and that it is missing, knows that it broke a limit on sensitive values,
    and so that its values are alike (minimality: Wong, Fu, Wang & Pei 2007, "Minimality attack in privacy preserving
    data publishing", VLDB); with the totals of the table, which values these are. So as many classes that hold go with
    them, and so many more that all suppressed rows together have the k and the diversity that is asked of a class.
    Which ones is recorded nowhere. They are the first by a keyed hash of their labels: the same in each run under the
    same key, and nearly the same after the table changed; of those that earlier outputs left out as long as the class
    that they conceal, where `earlier` of the frequencies tells it. A reader may still conclude that a missing class of
    k or more broke a limit with a probability of at most one half.

    Where all of a coarser group is missing and breaks a limit as a whole (a postcode whose patients of either sex are
    alike), coarser groups that hold go whole: as many, the first by the hash of their labels, which are those that a
    file of the coarser grouping suppresses. Else what is missing in both files is what broke a limit.

    Args:
        recoding: what is suppressed already.
        k: the size of the smallest class that may leave.
        criteria: limits on sensitive columns.
        key: of the hash; None for one that no other run has, which two outputs of the table undo.

    Raises:
        Refused: too few classes hold.
    """
    asked = [(criterion.column, criterion.breaks(recoding.frequencies)) for criterion in criteria]
    own = _Grouping.of(recoding, recoding.columns, k, asked)
    if not criteria or not len(own.missing):
        return Mixed(recoding, *recoding.uncut, repeatable=key is not None or not any(recoding.uncut))
    own_key, suppressed = key or key_for_one_run(), recoding.suppressed
    for grouping in (own, *_coarser(recoding, k, asked)):
        if len(grouping.holding) < len(grouping.missing):
            raise _too_few(grouping)
        suppressed = suppressed | np.isin(grouping.groups, grouping.in_order(own_key)[: len(grouping.missing)])
    for group in own.in_order(own_key)[len(own.missing) - 1 :]:
        suppressed = suppressed | (own.groups == group)
        if _mixed_enough(recoding.frequencies, suppressed, k, criteria):
            added = len(np.intersect1d(own.groups[suppressed], own.holding))
            mixed = replace(recoding, suppressed=suppressed)
            rows = mixed.rows_suppressed - recoding.rows_suppressed
            return Mixed(mixed, len(own.missing), added, rows, key is not None)
    raise _too_few(own)


@dataclass(frozen=True, slots=True, eq=False)
class _Grouping:
    """Classes of a recoding, or coarser groups of them.

    `columns`: with more than one label. `groups` (combinations,): the group of each. `holding`: the groups of k or more
    that hold. `missing`: those of k or more that break a limit, and are suppressed in all their classes. `since`
    (groups,): how many outputs just before this one left out k rows of the group or more, and showed none.
    """

    columns: tuple[RecodedColumn, ...]
    groups: Whole
    holding: Whole
    missing: Whole
    since: Whole

    @classmethod
    def of(
        cls, recoding: Recoding, columns: Sequence[RecodedColumn], k: int, asked: Sequence[tuple[str, Breaks]]
    ) -> _Grouping:
        frequencies, several = recoding.frequencies, tuple(item for item in columns if np.ptp(item.numbers))
        nothing = np.zeros(len(frequencies.counts), dtype=np.int64)
        groups = number_rows([item.numbers for item in several] or [nothing])
        sizes = np.bincount(groups, weights=frequencies.counts)
        broken, gone = np.zeros(len(sizes), dtype=np.bool_), np.ones(len(sizes), dtype=np.bool_)
        for column, breaks in asked:
            broken |= breaks(ClassPairs.of(groups, frequencies.sensitive[column], frequencies.counts))
        gone[groups[~recoding.suppressed]] = False
        large = sizes >= k
        since, still = np.zeros(len(sizes), dtype=np.int64), large
        for output in frequencies.earlier:
            hidden = np.bincount(groups, weights=output.left_out) >= k
            if (hidden & large).any():  # else it groups otherwise, or had nothing to hide
                still = still & hidden
                since += still
        return cls(several, groups, np.flatnonzero(large & ~broken), np.flatnonzero(large & broken & gone), since)

    def in_order(self, key: bytes) -> Whole:
        """Return the groups that hold in the order of their keyed hashes: of the names of columns, and the labels.

        As many as are missing come first of those that are left out as long as these: what changes between two outputs
        shows which of them broke a limit, where others take their place.
        """
        hashed = self._hashed(key)
        since, wanted = self.since[hashed], np.bincount(self.since[self.missing], minlength=1 + int(self.since.max()))
        by_since = np.argsort(-since, kind="stable")
        first = np.searchsorted(-since[by_since], -since[by_since])
        rank = np.empty(len(hashed), dtype=np.int64)
        rank[by_since] = np.arange(len(hashed)) - first
        result: Whole = hashed[np.lexsort((-since, rank >= wanted[since]))]
        return result

    def _hashed(self, key: bytes) -> Whole:
        names = [item.domain.column for item in self.columns]
        first = np.unique(self.groups, return_index=True)[1][self.holding]
        texts = [[text_of(item.labels.texts[number]) for number in item.numbers[first]] for item in self.columns]
        return self.holding[keyed_order([[*names, *cells] for cells in zip(*texts, strict=True)], key)]


MOST_GROUPINGS: Final = 256
"""So many coarser groupings are looked at, the next ones first: a group is missing only if its parts are."""


def _coarser(recoding: Recoding, k: int, asked: Sequence[tuple[str, Breaks]]) -> Iterator[_Grouping]:
    """Yield the groupings by fewer columns, or by higher levels, in which a whole group is missing for its values."""
    steps = [_steps(column, recoding, place) for place, column in enumerate(recoding.columns)]
    own = (0,) * len(steps)
    queue, seen = deque([own]), {own}
    while queue:
        node = queue.popleft()
        for place in range(len(steps)):
            above = (*node[:place], node[place] + 1, *node[place + 1 :])
            if node[place] >= len(steps[place]) or above in seen or len(seen) > MOST_GROUPINGS:
                continue
            seen.add(above)
            columns = [several[at] for several, at in zip(steps, above, strict=True) if at < len(several)]
            grouping = _Grouping.of(recoding, columns, k, asked)
            if columns and len(grouping.missing):
                queue.append(above)
                yield grouping


def _steps(column: RecodedColumn, recoding: Recoding, place: int) -> Sequence[RecodedColumn]:
    """Return a column as it is, and at each higher level that has several labels; none at all comes after them."""
    levels = () if recoding.levels is None else range(recoding.levels[place] + 1, column.domain.height + 1)
    higher = (column_at(column.domain, recoding.frequencies.codes[:, place], level) for level in levels)
    return [item for item in (column, *higher) if np.ptp(item.numbers)]


def _too_few(grouping: _Grouping) -> Refused:
    missing, holding = len(grouping.missing), len(grouping.holding)
    return Refused(
        f"{missing:,} classes would be suppressed for their sensitive values, and {holding:,} "
        "other classes are too few to conceal this; generalise, relax the limits, or name fewer columns"
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
