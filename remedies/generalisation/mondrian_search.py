"""Mondrian: a table cut into parts of at least k rows, each with labels of its own."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from checks.risk.pairs import ClassPairs
from remedies._contract import Progress
from remedies._errors import Misfit
from remedies.generalisation._cutting import CutColumns, cut_up, propose, spans
from remedies.generalisation.criteria import Breaks, Criterion, check_k
from remedies.generalisation.frequencies import ColumnFrequencies, Frequencies, number_rows, read_counts
from remedies.generalisation.incognito_search import sensitive_of
from remedies.generalisation.levels import ROOT, with_plain
from remedies.generalisation.recoding import EVERYTHING, INTERVAL, Labels, RecodedColumn, Recoding, labels_of
from remedies.generalisation.spelling import texts_of
from remedies.generalisation.units import Numbers, Scale, number_in

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk import Hierarchy

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_NARROW = 1e-12
"""The width of a label with several values that is as narrow as one: it can be cut, after all others."""


@dataclass(frozen=True, slots=True, eq=False)
class SpannedColumn:
    """A cut column. `codes` (combinations,), `nodes` and `widths` (levels, leaves or ranks): see `CutColumns`."""

    domain: ColumnFrequencies
    codes: Whole
    nodes: Whole
    widths: Floats
    ranks: _Ranks | None

    def labelled(self, whole: Whole) -> tuple[Labels, Whole]:
        """Return the labels of spans (parts, 2), and the label of each part: int64 (parts,)."""
        pairs, numbers = np.unique(whole, axis=0, return_inverse=True)
        labels = self._of_nodes(pairs) if self.ranks is None else self.ranks.labels(self.domain, pairs)
        return labels, numbers.reshape(-1).astype(np.int64)

    def _of_nodes(self, pairs: Whole) -> Labels:
        levels, nodes = pairs[:, 0], pairs[:, 1]
        above = levels > self.domain.height
        labels = labels_of(self.domain, np.minimum(levels, self.domain.height), nodes)
        labels.texts[above], labels.levels[above] = root_of(self.domain), EVERYTHING
        labels.widths[above] = len(self.domain.hierarchy.values)
        labels.first[above], labels.last[above] = 0, len(labels.order)
        return labels


@dataclass(frozen=True, slots=True, eq=False)
class _Ranks:
    """Numbers in their order. `of_leaf` (leaves,): the rank of each leaf, NULL last. `units` (ranks,), in `scale`."""

    of_leaf: Whole
    units: Sequence[int]
    scale: Scale

    def labels(self, domain: ColumnFrequencies, pairs: Whole) -> Labels:
        """Return the labels of spans from a rank to a rank, both in it: int64 (labels, 2)."""
        order = np.argsort(self.of_leaf, kind="stable")
        ascending = self.of_leaf[order]
        first = np.searchsorted(ascending, pairs[:, 0], side="left").astype(np.int64)
        last = np.searchsorted(ascending, pairs[:, 1], side="right").astype(np.int64)
        levels, texts = np.full(len(pairs), INTERVAL, dtype=np.int64), np.empty(len(pairs), dtype=object)
        widths = self._widths(domain, pairs)
        for place, (low, high) in enumerate(pairs.tolist()):
            if last[place] - first[place] == 1:
                texts[place], levels[place] = domain.values[order[first[place]]], 0  # noqa: PD011 - no frame
            elif high == len(self.units):
                texts[place], levels[place] = root_of(domain), EVERYTHING
                first[place], last[place], widths[place] = 0, len(order), len(domain.hierarchy.values)
            elif low == high:
                texts[place] = self.scale.text(self.units[low])
            else:
                texts[place] = self.scale.interval(self.units[low], self.units[high] + 1)
        return Labels(texts, levels, widths, order, first, last)

    def _widths(self, domain: ColumnFrequencies, pairs: Whole) -> Whole:
        """Count the lines of the hierarchy in each span; at least 1."""
        numbers = map(number_in, domain.hierarchy.values)
        lines = sorted(number for number in numbers if number is not None)
        ends = [*(Decimal(self.scale.text(unit)) for unit in self.units), Decimal("inf")]
        counted = [bisect_right(lines, ends[high]) - bisect_left(lines, ends[low]) for low, high in pairs.tolist()]
        return np.maximum(np.array(counted, dtype=np.int64), 1)


def spanned(domain: ColumnFrequencies, codes: Whole, *, numeric: bool) -> SpannedColumn:
    """Prepare a column. `codes` (combinations,): its leaves.

    Raises:
        Misfit: it is to be numeric, and holds what is no number.
    """
    if not numeric:
        nodes = domain.nodes
        if (nodes[-1] != 0).any():
            nodes = np.vstack([nodes, np.zeros_like(nodes[0])])
        widths = np.array([_shares(domain, level, nodes[level]) for level in range(len(nodes))])
        return SpannedColumn(domain, codes, nodes, widths, None)
    ranks = _ranks(domain)
    low, reach = ranks.units[0], max(ranks.units[-1] - ranks.units[0], 1)
    widths = np.array([*((unit - low) / reach for unit in ranks.units), 1.0])
    return SpannedColumn(
        domain, ranks.of_leaf[codes], np.zeros((1, len(widths)), dtype=np.int64), widths[None, :], ranks
    )


def packed(columns: Sequence[SpannedColumn]) -> CutColumns:
    """Put columns into the arrays that kernels read."""
    most = max(len(column.nodes) for column in columns)
    start = np.zeros((len(columns), most), dtype=np.int64)
    at = 0
    for place, column in enumerate(columns):
        for level in range(most):
            start[place, level] = at + min(level, len(column.nodes) - 1) * column.nodes.shape[1]
        at += column.nodes.size
    return CutColumns(
        codes=np.ascontiguousarray(np.stack([column.codes for column in columns], axis=1)),
        numeric=np.array([column.ranks is not None for column in columns]),
        null=np.array([-1 if column.ranks is None else len(column.ranks.units) for column in columns], dtype=np.int64),
        start=start,
        nodes=np.concatenate([column.nodes.ravel() for column in columns]),
        widths=np.concatenate([column.widths.ravel() for column in columns]),
    )


def root_of(domain: ColumnFrequencies) -> str:
    """Return the label of everything: the hierarchy's.

    Or `*` if its last level has several or is that of the values.
    """
    top = set(domain.hierarchy.levels[-1])
    return top.pop() if len(top) == 1 and domain.height else ROOT


def _shares(domain: ColumnFrequencies, level: int, nodes: Whole) -> Floats:
    """Return the share of the column that each leaf's label covers at a level, 0 to 1."""
    if level > domain.height:
        return np.ones(len(nodes))
    shares = (domain.widths(level) - 1) / max(len(domain.hierarchy.values) - 1, 1)
    several = np.bincount(nodes, minlength=len(nodes))[nodes] > 1
    return np.where(several, np.maximum(shares, _NARROW), shares)


def _ranks(domain: ColumnFrequencies) -> _Ranks:
    texts = texts_of(domain.values)
    names = [text for text in texts if text is not None]
    try:
        numbers = Numbers.read(names)
    except Misfit as error:
        raise Misfit(f"column '{domain.column}': {error}") from None
    units = dict(zip(numbers.texts, numbers.units.tolist(), strict=True))
    ascending = sorted(set(units.values()))
    rank = {unit: place for place, unit in enumerate(ascending)}
    of_leaf = [len(ascending) if text is None else rank[units[text]] for text in texts]
    return _Ranks(np.array(of_leaf, dtype=np.int64), ascending, numbers.scale)


Mask = npt.NDArray[np.bool_]


def mondrian(
    counts: pd.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    *,
    numeric: Collection[str] = (),
    criteria: Sequence[Criterion] = (),
    count: str = "count",
    progress: Progress | None = None,
) -> Recoding:
    """Cut a table into parts of at least k rows, as small as that allows, and give each the narrowest labels.

    LeFevre, DeWitt & Ramakrishnan 2006 (ICDE, "Mondrian multidimensional k-anonymity"), strict: equal combinations stay
    together. The column to cut is the one that a part spans the widest, measured as its loss would be; where it cannot
    be cut, the next one. Numbers are cut as near to their median as their values allow, and labelled `25-29` from the
    smallest to the largest that the part holds; all others are cut into the children of the lowest label that the part
    has in common, which is its label when no cut is left. NULL lies above all numbers and is cut off where it can be;
    a part of NULL and numbers is labelled as everything, as are values that have no common label.

    A value may have several labels, so analyses have to work with overlapping ones; in return far less is lost than by
    one level for all. Cutting looks at the data: who knows the algorithm learns something from where it cut
    (minimality attack, Wong et al. 2007). No optimum. The same table gives the same parts.

    Cost: combinations by columns, times the depth of the cuts.

    Args:
        counts: a row for each combination of the quasi-identifiers (and sensitive columns), with its `count`.
        hierarchies: of each quasi-identifier; those of `numeric` columns need none, and are not cut along it.
        k: rows of the smallest class, at least 2.
        numeric: columns to be cut as numbers.
        criteria: limits on sensitive columns that hold in each part, against the whole table's distribution.
        count: the column that says how many rows have the combination.
        progress: is told the share of the rows that are in parts which are not cut any more.

    Raises:
        Misfit: the table does not fit, has fewer than k rows, or breaks a criterion as a whole.
        ValueError: k is out of range.
    """
    current_hierarchies = with_plain(counts, hierarchies, numeric)
    frequencies = read_counts(counts, current_hierarchies, sensitive=sensitive_of(criteria), count=count)
    return cut_apart(frequencies, k, numeric=numeric, criteria=criteria, progress=progress)


def cut_apart(
    frequencies: Frequencies,
    k: int,
    *,
    numeric: Collection[str] = (),
    criteria: Sequence[Criterion] = (),
    progress: Progress | None = None,
) -> Recoding:
    """Do as `mondrian` does, with a frequency table that was read already."""
    check_k(frequencies, k)
    strange = sorted(set(numeric) - set(frequencies.columns))
    if strange:
        raise Misfit(f"column '{strange[0]}' is no quasi-identifier; expected some of {', '.join(frequencies.columns)}")
    columns = [
        spanned(domain, frequencies.codes[:, place], numeric=domain.column in numeric)
        for place, domain in enumerate(frequencies.domains)
    ]
    limits, size = _Limits(frequencies, criteria), len(frequencies.counts)
    if limits.refuse(np.arange(size), np.zeros(size, dtype=np.int64), np.array([0]), np.array([size])).any():
        raise Misfit("the table as a whole breaks a limit on a sensitive column, and so does all that is made of it")
    parts, result = _cut(frequencies.counts, packed(columns), k, limits, progress)
    recoded = [_recoded(column, result[:, place], parts) for place, column in enumerate(columns)]
    return Recoding(frequencies, tuple(recoded), np.zeros(size, dtype=np.bool_))


def _recoded(column: SpannedColumn, whole: Whole, parts: Whole) -> RecodedColumn:
    labels, of_part = column.labelled(whole)
    merged, numbers = labels.merged(of_part[parts])
    return RecodedColumn(column.domain, merged, numbers)


class _Limits:
    """The criteria, prepared for a table."""

    def __init__(self, frequencies: Frequencies, criteria: Sequence[Criterion]) -> None:
        self._frequencies = frequencies
        self._asked: Sequence[tuple[str, Breaks]] = [
            (criterion.column, criterion.breaks(frequencies)) for criterion in criteria
        ]

    def __bool__(self) -> bool:
        return bool(self._asked)

    def refuse(self, order: Whole, side: Whole, starts: Whole, ends: Whole) -> Mask:
        """Return of each part whether one of its sides breaks a criterion: bool (parts,)."""
        places = _places(starts, ends)
        owner = np.repeat(np.arange(len(starts)), ends - starts)
        classes = number_rows([owner, side[places]])
        combinations = order[places]
        result = np.zeros(len(starts), dtype=np.bool_)
        for column, breaks in self._asked:
            values = self._frequencies.sensitive[column][combinations]
            broken = breaks(ClassPairs.of(classes, values, self._frequencies.counts[combinations]))
            result[owner[broken[classes]]] = True
        return result


def _cut(counts: Whole, columns: CutColumns, k: int, limits: _Limits, progress: Progress | None) -> tuple[Whole, Whole]:
    """Cut in rounds, until no part can be cut: the part of each combination, and the spans of the parts."""
    size = len(counts)
    order, side = np.arange(size), np.zeros(size, dtype=np.int64)
    starts, ends = np.array([0]), np.array([size])
    over: list[tuple[Whole, Whole]] = []
    closed = 0
    while len(starts):
        tried = np.zeros((len(starts), len(columns.numeric)), dtype=np.bool_)
        sides = propose(columns, counts, order, starts, ends, tried, k, side)
        open_to_doubt = np.flatnonzero(sides) if limits else starts[:0]
        while len(open_to_doubt):
            bad = open_to_doubt[limits.refuse(order, side, starts[open_to_doubt], ends[open_to_doubt])]
            again = tried[bad]
            sides[bad] = propose(columns, counts, order, starts[bad], ends[bad], again, k, side)
            tried[bad] = again
            open_to_doubt = bad[sides[bad] > 0]
        whole = sides == 0
        over.append((starts[whole], ends[whole]))
        closed += int((ends[whole] - starts[whole]).sum())
        if progress is not None:
            progress(closed / size)
        starts, ends = cut_up(order, starts[~whole], ends[~whole], sides[~whole], side)
    firsts, lasts = np.concatenate([first for first, _ in over]), np.concatenate([last for _, last in over])
    parts = np.empty(size, dtype=np.int64)
    parts[order[_places(firsts, lasts)]] = np.repeat(np.arange(len(firsts)), lasts - firsts)
    return parts, spans(columns, order, firsts, lasts)


def _places(starts: Whole, ends: Whole) -> Whole:
    """Put stretches behind each other."""
    sizes = ends - starts
    return np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
