"""Columns as Mondrian cuts them, and the labels of what the parts span."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from remedies._errors import Misfit
from remedies.generalisation._cutting import CutColumns
from remedies.generalisation.frequencies import ColumnFrequencies
from remedies.generalisation.levels import ROOT
from remedies.generalisation.recoding import EVERYTHING, INTERVAL, Labels, labels_of
from remedies.generalisation.spelling import texts_of
from remedies.generalisation.units import Numbers, Scale, number_in

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
