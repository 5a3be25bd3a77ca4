"""Numbers in intervals that somebody has listed, with or without names of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from checks.classes.arrays import np
from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation._faults import FaultKind, HierarchyFault, refuse
from remedies.generalisation._intervals import Pair
from remedies.generalisation.levels import ROOT, with_root
from remedies.generalisation.units import Ends, Number, Numbers, Scale, as_decimal, gaps_and_overlaps

Listed: TypeAlias = "Sequence[Pair] | Mapping[str, Pair]"
"""The intervals of a level, each (from, to), `to` left out; None where one has no end. With names or without."""


def bins(values: Iterable[object], *, levels: Sequence[Listed], root: str | None = ROOT) -> Hierarchy:
    """Return the hierarchy value, its interval of the first level, of the second ..., root; values ascending.

    `levels=[{"young": (None, 30), "middle": (30, 60), "old": (60, None)}]`; a level without names is written as
    `intervals` writes its own. The intervals of a level may come in any order.

    Raises:
        Misfit: a gap, an overlap, a level that splits an interval of the level below, two of one name, or values that
            are no numbers or in no interval. All of the listed intervals' faults at once.
    """
    refuse(bin_faults(levels), about="the list of intervals")
    numbers = Numbers.read(values, *(bound for level in levels for pair in _pairs(level) for bound in _bounds(pair)))
    made = [_placed(numbers, number, _read(level, numbers.scale)) for number, level in enumerate(levels, 1)]
    return with_root(numbers.texts, made, root)


def bin_faults(levels: Sequence[Listed]) -> tuple[HierarchyFault, ...]:
    """Return all that is wrong with lists of intervals."""
    if not levels or not all(levels):
        return (HierarchyFault(FaultKind.EMPTY, None, "a level without an interval", 0),)
    wrong = [
        HierarchyFault(
            FaultKind.EMPTY,
            number,
            f"level {number} has an interval from {low} to {high}; nothing is in it",
            f"{low}, {high}",
        )
        for number, level in enumerate(levels, 1)
        for low, high in _pairs(level)
        if low is not None and high is not None and as_decimal(low) >= as_decimal(high)
    ]
    wrong += [
        HierarchyFault(
            FaultKind.EMPTY, number, f"level {number} has an interval without a name, which would be NULL", 1
        )
        for number, level in enumerate(levels, 1)
        if isinstance(level, Mapping) and "" in level
    ]
    if wrong:
        return tuple(wrong)
    scale = Scale.of(*(bound for level in levels for pair in _pairs(level) for bound in _bounds(pair)))
    read = [_read(level, scale) for level in levels]
    return (
        *(fault for number, level in enumerate(read, 1) for fault in _of_level(number, level, scale)),
        *(fault for number, (lower, upper) in enumerate(pairwise(read), 2) for fault in _of_pair(number, lower, upper)),
    )


@dataclass(frozen=True, slots=True)
class _Bin:
    name: str
    ends: Ends


def _pairs(level: Listed) -> Iterable[Pair]:
    return level.values() if isinstance(level, Mapping) else level


def _bounds(pair: Pair) -> Iterator[Number]:
    return (bound for bound in pair if bound is not None)


def _read(level: Listed, scale: Scale) -> Sequence[_Bin]:
    ends = [tuple(None if bound is None else scale.units(bound) for bound in pair) for pair in _pairs(level)]
    read: list[Ends] = [(low, high) for low, high in ends]
    names = list(level) if isinstance(level, Mapping) else [scale.interval(low, high) for low, high in read]
    return [_Bin(name, current_ends) for name, current_ends in zip(names, read, strict=True)]


def _placed(numbers: Numbers, number: int, level: Sequence[_Bin]) -> Sequence[str]:
    """Return the interval of each value; intervals have neither gaps nor overlaps, and the values ascend.

    Raises:
        Misfit: values lie below the first or above the last.
    """
    ordered = sorted(level, key=lambda current_bin: (current_bin.ends[0] is not None, current_bin.ends[0] or 0))
    first, last = ordered[0].ends[0], ordered[-1].ends[1]
    strange = 0 if first is None else int((numbers.units < first).sum())
    strange += 0 if last is None else int((numbers.units >= last).sum())
    if strange:
        hint = "make the first or the last one wider, or give it no end"
        raise Misfit(f"{strange} of {len(numbers.texts)} values are in no interval of level {number}; {hint}")
    starts = np.array([current_bin.ends[0] for current_bin in ordered[1:]], dtype=numbers.units.dtype)
    return [ordered[place].name for place in np.searchsorted(starts, numbers.units, side="right")]


def _of_level(number: int, level: Sequence[_Bin], scale: Scale) -> Iterator[HierarchyFault]:
    gaps, overlaps = gaps_and_overlaps([current_bin.ends for current_bin in level])
    for gap in gaps:
        where = scale.interval(*gap)
        yield HierarchyFault(FaultKind.GAP, number, f"level {number} has a gap at {where}", where)
    for overlap in overlaps:
        where = scale.interval(*overlap)
        yield HierarchyFault(FaultKind.OVERLAP, number, f"level {number} covers {where} twice", where)


def _of_pair(number: int, lower: Sequence[_Bin], upper: Sequence[_Bin]) -> Iterator[HierarchyFault]:
    edges = {edge for current_bin in lower for edge in current_bin.ends}
    for current_bin in upper:
        strange = [edge for edge in current_bin.ends if edge not in edges]
        if strange:
            begins = f"'{current_bin.name}' begins or ends inside of it"
            text = f"level {number} splits what level {number - 1} has together: {begins}"
            yield HierarchyFault(FaultKind.SPLIT, number, text, current_bin.name)
