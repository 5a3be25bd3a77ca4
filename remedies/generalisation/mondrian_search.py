"""Mondrian: a table cut into parts of at least k rows, each with labels of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from checks.risk.pairs import ClassPairs
from remedies._contract import Progress
from remedies._errors import Misfit
from remedies.generalisation._cutting import CutColumns, SpannedColumn, cut_up, packed, propose, spanned, spans
from remedies.generalisation.criteria import Breaks, Criterion, check_k
from remedies.generalisation.frequencies import Frequencies, number_rows, read_counts
from remedies.generalisation.incognito_search import sensitive_of
from remedies.generalisation.levels import with_plain
from remedies.generalisation.recoding import RecodedColumn, Recoding

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk import Hierarchy

Whole = npt.NDArray[np.int64]
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
    """Run `mondrian` on a frequency table that was already read."""
    check_k(frequencies, k)
    unknown = sorted(set(numeric) - set(frequencies.columns))
    if unknown:
        raise Misfit(f"column '{unknown[0]}' is no quasi-identifier; expected some of {', '.join(frequencies.columns)}")
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
    """Return the places of consecutive stretches."""
    sizes = ends - starts
    return np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
