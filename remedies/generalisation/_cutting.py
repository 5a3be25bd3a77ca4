"""The loops of Mondrian: where a part of the table can be cut, what it spans, and the labels of that.

A part is a stretch of `order`, which holds numbers of combinations. All parts of a round are looked at in one call.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled, inner
from remedies._errors import Misfit
from remedies.generalisation.frequencies import ColumnFrequencies
from remedies.generalisation.levels import ROOT
from remedies.generalisation.recoding import EVERYTHING, INTERVAL, Labels, labels_of
from remedies.generalisation.spelling import texts_of
from remedies.generalisation.units import Numbers, Scale, number_in

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class CutColumns(NamedTuple):
    """The columns of a table, as they are cut.

    `codes` (combinations, columns): leaves, or of numbers their rank. `numeric` (columns,). `null` (columns,): the rank
    of NULL among numbers, above all others, or -1. `start` (columns, levels): where a level's
    stretch of `nodes` and `widths` begins. `nodes`: of each leaf the first one with the same label. `widths`: of each
    leaf the share of the column that its label covers, 0 to 1; of numbers, at level 0, the number divided by the range.
    """

    codes: Whole
    numeric: Mask
    null: Whole
    start: Whole
    nodes: Whole
    widths: Floats


@inner
def span(columns: CutColumns, order: Whole, column: int) -> tuple[int, int]:
    """Return what a part holds of a column: the lowest and highest rank.

    Or level and node of the lowest common label.
    """
    first = columns.codes[order[0], column]
    if columns.numeric[column]:
        low = high = first
        for place in order:
            low = min(low, columns.codes[place, column])
            high = max(high, columns.codes[place, column])
        return low, high
    level = 0
    for place in order:
        code = columns.codes[place, column]
        while columns.nodes[columns.start[column, level] + code] != columns.nodes[columns.start[column, level] + first]:
            level += 1
    return level, columns.nodes[columns.start[column, level] + first]


@inner
def _width(columns: CutColumns, column: int, low: int, high: int) -> float:
    """Return how wide a span is, 0 to 1; 0 if there is nothing to cut."""
    start = columns.start[column, 0]
    if not columns.numeric[column]:
        return columns.widths[columns.start[column, low] + high] if low else 0.0
    if low == high:
        return 0.0
    return 1.0 if high == columns.null[column] else columns.widths[start + high] - columns.widths[start + low]


@inner
def _rows_below(columns: CutColumns, counts: Whole, order: Whole, column: int, rank: int) -> int:
    below = 0
    for place in order:
        if columns.codes[place, column] < rank:
            below += counts[place]
    return below


@inner
def _cut_numbers(columns: CutColumns, counts: Whole, order: Whole, k: int, column: int, low: int, high: int) -> int:
    """Return the first rank of the upper side: NULL if it can be cut off, or of the most even cut.

    -1 if none can be.
    """
    rows = _rows_below(columns, counts, order, column, high + 1)
    if high == columns.null[column]:
        numbers = _rows_below(columns, counts, order, column, high)
        if numbers >= k and rows - numbers >= k:
            return high
    first, last = low + 1, high  # in between is the first rank with half of the rows below it, if there is one
    while first < last:
        middle = (first + last) // 2
        if 2 * _rows_below(columns, counts, order, column, middle) >= rows:
            last = middle
        else:
            first = middle + 1
    below, before = (
        _rows_below(columns, counts, order, column, first),
        _rows_below(columns, counts, order, column, first - 1),
    )
    even = min(below, rows - below)
    if max(before, even) < k:
        return -1
    return first - 1 if before >= even else first


@inner
def _cut(
    columns: CutColumns,
    counts: Whole,
    order: Whole,
    k: int,
    column: int,
    low: int,
    high: int,
    part: Whole,
    scratch: Whole,
) -> int:
    """Cut along a column: write the side of each combination and return the number of sides, 0 if it cannot be."""
    if columns.numeric[column]:
        cut = _cut_numbers(columns, counts, order, k, column, low, high)
        if cut < 0:
            return 0
        for place in range(len(order)):
            part[place] = 1 if columns.codes[order[place], column] >= cut else 0
        return 2
    sides = 0
    start, whole = columns.start[column, low - 1], scratch[: scratch.shape[0] // 2]
    rows = scratch[scratch.shape[0] // 2 :]
    for place in range(len(order)):
        node = columns.nodes[start + columns.codes[order[place], column]]
        if whole[node] < 0:
            whole[node] = sides
            rows[sides] = 0
            sides += 1
        part[place] = whole[node]
        rows[whole[node]] += counts[order[place]]
    for place in order:
        whole[columns.nodes[start + columns.codes[place, column]]] = -1
    for side in range(sides):
        if rows[side] < k:
            return 0
    return sides


@compiled
def propose(
    columns: CutColumns, counts: Whole, order: Whole, starts: Whole, ends: Whole, tried: Mask, k: int, part: Whole
) -> Whole:
    """Find for each part the widest column along which it can be cut, all sides at least k: give how many sides.

    0 sides: no column is left. `tried` (parts, columns): what is not to be tried; what was tried is added.
    `part` (combinations,): is written with the side of each, as `order` has them.
    """
    width = columns.codes.shape[1]
    sides = np.zeros(len(starts), np.int64)
    scratch = np.full(2 * (len(columns.nodes) + 1), -1, np.int64)
    low, high, wide = np.empty(width, np.int64), np.empty(width, np.int64), np.empty(width, np.float64)
    for number in range(len(starts)):
        own, side = order[starts[number] : ends[number]], part[starts[number] : ends[number]]
        for column in range(width):
            low[column], high[column] = span(columns, own, column)
            wide[column] = _width(columns, column, low[column], high[column])
        while sides[number] == 0:
            best = -1
            for column in range(width):
                if not tried[number, column] and wide[column] > 0 and (best < 0 or wide[column] > wide[best]):
                    best = column
            if best < 0:
                break
            tried[number, best] = True
            sides[number] = _cut(columns, counts, own, k, best, low[best], high[best], side, scratch)
    return sides


@compiled
def cut_up(order: Whole, starts: Whole, ends: Whole, sides: Whole, part: Whole) -> tuple[Whole, Whole]:
    """Sort each part's combinations by their sides, and return where the new parts begin and end."""
    many = 0
    for number in range(len(starts)):
        many += sides[number]
    new_starts, new_ends = np.empty(many, np.int64), np.empty(many, np.int64)
    count = 0
    for number in range(len(starts)):
        first, last = starts[number], ends[number]
        own, side = order[first:last].copy(), part[first:last]
        at = first
        for item in range(sides[number]):
            new_starts[count] = at
            for place in range(len(own)):
                if side[place] == item:
                    order[at] = own[place]
                    at += 1
            new_ends[count] = at
            count += 1
    return new_starts, new_ends


@compiled
def spans(columns: CutColumns, order: Whole, starts: Whole, ends: Whole) -> Whole:
    """Return the span of each part in each column: int64 (parts, columns, 2)."""
    result = np.empty((len(starts), columns.codes.shape[1], 2), np.int64)
    for number in range(len(starts)):
        for column in range(columns.codes.shape[1]):
            own = order[starts[number] : ends[number]]
            result[number, column, 0], result[number, column, 1] = span(columns, own, column)
    return result


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
                texts[place], levels[place] = domain.values[order[first[place]]], 0
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
        widths = [bisect_right(lines, ends[high]) - bisect_left(lines, ends[low]) for low, high in pairs.tolist()]
        return np.maximum(np.array(widths, dtype=np.int64), 1)


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
    """Pack columns into the arrays that kernels read."""
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
