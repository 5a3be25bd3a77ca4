"""Mondrian: a table cut into parts of at least k rows, each with labels of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from checks.risk.pairs import ClassPairs
from remedies._contract import Progress
from remedies._errors import Misfit
from remedies.generalisation._cutting import CutColumns, SpannedColumn, cut_up, packed, propose, spanned, spans
from remedies.generalisation.criteria import Breaks, Criterion, check_k
from remedies.generalisation.frequencies import Frequencies, number_rows, read_counts
from remedies.generalisation.incognito_search import sensitive_of
from remedies.generalisation.keyed_order import key_for_one_run, keyed_order
from remedies.generalisation.levels import with_plain
from remedies.generalisation.recoding import RecodedColumn, Recoding
from remedies.generalisation.spelling import text_of

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk import Hierarchy

Whole = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_JOINED: Final = 2
"""So many parts are joined beside each refused one: while a table changes, refused ones stay whole more often."""


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
    one level for all. No optimum.

    A part that k would let be cut, and is whole, broke a criterion on one of its sides: who knows the algorithm and the
    quasi-identifiers computes where (minimality attack, Wong et al. 2007). So no other column is tried then, and as
    many parts are joined again whose cut their values could have broken as well, chosen by a keyed hash of their
    labels. Where too few are there, `uncut` of the result says so.

    Cost: combinations by columns, times the depth of the cuts.

    Args:
        counts: a row for each combination of the quasi-identifiers (and sensitive columns), with its `count`.
        hierarchies: of each quasi-identifier; those of `numeric` columns need none, and are not cut along it.
        k: rows of the smallest class, at least 2.
        numeric: columns to be cut as numbers.
        criteria: limits on sensitive columns that hold in each part, against the whole table's distribution.
        count: the column that says how many rows have the combination.
        progress: called with the share of the rows that are in parts which are not cut any more.

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
    key: bytes | None = None,
) -> Recoding:
    """Run `mondrian` on a frequency table that was already read.

    `key`: by which parts are chosen that stay whole beside those whose cut a criterion refused, the same in each run;
    None for a key that no other run has.
    """
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
    kernel = packed(columns)
    every = _cut(frequencies.counts, kernel, k, limits, progress)

    def in_order(chosen: Whole) -> Whole:
        whole = spans(kernel, every.order, every.starts[chosen], every.ends[chosen])
        texts = [_texts(column, whole[:, place]) for place, column in enumerate(columns)]
        names = frequencies.columns
        return chosen[keyed_order([[*names, *cells] for cells in zip(*texts, strict=True)], own_key)]

    own_key = key or key_for_one_run()
    chosen, for_values, joined = _concealed(
        every, partial(limits.could_refuse, every), in_order, partial(_whole_since, every, frequencies)
    )
    firsts, lasts = every.starts[chosen], every.ends[chosen]
    parts = np.empty(size, dtype=np.int64)
    parts[every.order[_places(firsts, lasts)]] = np.repeat(np.arange(len(firsts)), lasts - firsts)
    result = spans(kernel, every.order, firsts, lasts)
    recoded = [_recoded(column, result[:, place], parts) for place, column in enumerate(columns)]
    rows = sum(int(frequencies.counts[every.combinations_of(part)].sum()) for part in joined.tolist())
    cuts = (for_values, len(joined), rows)
    return Recoding(frequencies, tuple(recoded), np.zeros(size, dtype=np.bool_), uncut=cuts)


def _texts(column: SpannedColumn, whole: Whole) -> Sequence[str | None]:
    labels, of_part = column.labelled(whole)
    return [text_of(text) for text in labels.texts[of_part]]


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

    def could_refuse(self, parts: _Parts, part: int) -> bool:
        """Check whether the values of a part, however they lie, could break a criterion on one of its sides."""
        counts, rows = self._frequencies.counts, parts.combinations_of(part)
        sizes = [int(counts[parts.combinations_of(side)].sum()) for side in parts.parts_of(part).tolist()]
        for column, breaks in self._asked:
            totals = np.bincount(self._frequencies.sensitive[column][rows], weights=counts[rows]).astype(np.int64)
            order = np.argsort(-totals, kind="stable")
            for size in sizes:  # the most frequent values first: the least diverse side
                taken = np.diff(np.minimum(np.cumsum(totals[order]), size), prepend=0)
                some = np.flatnonzero(taken)
                pairs = ClassPairs.of(np.zeros(len(some), dtype=np.int64), order[some], taken[some])
                if breaks(pairs).any():
                    return True
        return False

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


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """All parts of a table, those that were cut before those that they were cut into; arrays of shape (parts,).

    `order`: combinations, so that each part is the stretch from `starts` to before `ends`. `first`: its first side, of
    `sides`; 0 sides where it was not cut. `refused`: not cut, since a side would have broken a criterion.
    """

    order: Whole
    starts: Whole
    ends: Whole
    first: Whole
    sides: Whole
    refused: Mask

    def parts_of(self, part: int) -> Whole:
        """Return the sides of a part."""
        return np.arange(self.first[part], self.first[part] + self.sides[part])

    def combinations_of(self, part: int) -> Whole:
        """Return the combinations of a part."""
        return self.order[self.starts[part] : self.ends[part]]


def _cut(counts: Whole, columns: CutColumns, k: int, limits: _Limits, progress: Progress | None) -> _Parts:
    """Cut in rounds, until no part can be cut, along the first column that k allows.

    Where a criterion refuses that cut, the part stays whole: that another column was cut instead would tell which cut
    was refused.
    """
    size = len(counts)
    order, side = np.arange(size), np.zeros(size, dtype=np.int64)
    starts, ends = np.array([0]), np.array([size])
    rounds: list[tuple[npt.NDArray[np.generic], ...]] = []
    closed = many = 0
    while len(starts):
        tried = np.zeros((len(starts), len(columns.numeric)), dtype=np.bool_)
        sides = propose(columns, counts, order, starts, ends, tried, k, side)
        refused = np.zeros(len(starts), dtype=np.bool_)
        proposed = np.flatnonzero(sides) if limits else starts[:0]
        if len(proposed):
            refused[proposed] = limits.refuse(order, side, starts[proposed], ends[proposed])
        sides[refused] = 0
        many += len(starts)
        rounds.append((starts, ends, many + np.cumsum(sides) - sides, sides, refused))
        whole = sides == 0
        closed += int((ends[whole] - starts[whole]).sum())
        if progress is not None:
            progress(closed / size)
        starts, ends = cut_up(order, starts[~whole], ends[~whole], sides[~whole], side)
    every = [np.concatenate(of) for of in zip(*rounds, strict=True)]
    starts, ends, first, sides = (of.astype(np.int64) for of in every[:-1])
    return _Parts(order, starts, ends, first, sides, every[-1].astype(np.bool_))


def _whole_since(parts: _Parts, frequencies: Frequencies, part: int) -> int:
    """Count the outputs just before this one in which all of a part that they show was in one class."""
    combinations = parts.combinations_of(part)
    for number, output in enumerate(frequencies.earlier):
        classes = output.classes[combinations]
        if len(np.unique(classes[classes >= 0])) != 1:
            return number
    return len(frequencies.earlier)


def _concealed(
    parts: _Parts,
    could_be_refused: Callable[[int], bool],
    in_order: Callable[[Whole], Whole],
    whole_since: Callable[[int], int],
) -> tuple[Mask, int, Whole]:
    """Join parts again, so that a part that stays whole need not be one whose cut was refused for its values.

    Twice as many are joined as were refused, the first in order whose cut could have been refused, as far as their
    values tell; first those that were whole in as many earlier outputs as one that was refused, so that what stays
    whole while the table changes is no more likely to be one. Returned is which parts are those of the result, how many
    are whole for their values, and which are joined.
    """
    whole_since, could_be_refused = cache(whole_since), cache(could_be_refused)
    inside = np.zeros(len(parts.sides), dtype=np.bool_)
    whole, hidden, joined, tried = parts.sides == 0, parts.refused.copy(), inside.copy(), inside.copy()
    while _JOINED * hidden.sum() > joined.sum():
        cut = np.flatnonzero(~whole & ~inside & ~tried)
        twigs = cut[np.array([whole[parts.parts_of(part)].all() for part in cut.tolist()], dtype=np.bool_)]
        if not len(twigs):
            break
        order = sorted(in_order(twigs).tolist(), key=whole_since, reverse=True)
        wanted = Counter(whole_since(part) for part in np.flatnonzero(hidden).tolist() * _JOINED)
        wanted -= Counter(whole_since(part) for part in np.flatnonzero(joined).tolist())
        tried[twigs] = True
        for part, alike in [*((part, True) for part in order), *((part, False) for part in order)]:
            is_next = not whole[part] and (not alike or wanted[whole_since(part)] > 0)
            if is_next and _JOINED * hidden.sum() > joined.sum() and could_be_refused(part):
                sides = parts.parts_of(part)
                inside[sides], hidden[sides], joined[sides] = True, False, False
                whole[part] = joined[part] = True
                wanted[whole_since(part)] -= 1
    return whole & ~inside, int(hidden.sum()), np.flatnonzero(joined)


def _places(starts: Whole, ends: Whole) -> Whole:
    """Return the places of consecutive stretches."""
    sizes = ends - starts
    return np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
