"""Numbers in intervals: of widths that grow from level to level, and in listed bins.

Top and bottom coding is the case of two open ones: the largest values become `>=80`, the smallest `<20`, others stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from checks.classes.arrays import np
from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation._faults import FaultKind, HierarchyFault, refuse
from remedies.generalisation.levels import ROOT, with_root
from remedies.generalisation.units import Ends, Number, Numbers, Scale, as_decimal, gaps_and_overlaps

Pair: TypeAlias = tuple[Number | None, Number | None]
"""A lower and an upper number; None where there is none."""

NO_PAIR: Pair = (None, None)


def intervals(
    values: Iterable[object],
    *,
    widths: Sequence[Number],
    origin: Number = 0,
    snap: Pair = NO_PAIR,
    codes: Pair = NO_PAIR,
    root: str | None = ROOT,
) -> Hierarchy:
    """Return the hierarchy value, intervals of the first width, of the second ..., root; values ascending.

    Intervals begin at `origin` plus a multiple of the width and leave their upper bound out. Where all values and
    bounds are whole numbers they are written `25-29`, elsewhere `[2.5, 5[`; the outermost ones of `snap` and `codes`
    have no end, and are written `<20` and `>=80`.

    Args:
        values: the values of a column; repeated ones and NULL do no harm.
        widths: each a multiple of the one before, so that no interval is split by one above it.
        origin: where an interval of every level begins.
        snap: numbers below the first join its interval, numbers above the second join that one's.
        codes: bottom and top coding as a level of its own below the first intervals: what is below the first number
            stays together on all levels, and so does what is not below the second.
        root: what everything is at the last level; None for none.

    Raises:
        Misfit: widths that do not nest or are not above 0, bounds in the wrong order or without a cut between them, or
            values that are no numbers.
    """
    check_widths(widths)
    check_coding(*codes)
    check_snap(*snap)
    numbers = Numbers.read(values, *widths, origin, *(bound for bound in (*snap, *codes) if bound is not None))
    levels = [] if codes == NO_PAIR else [coded(numbers, bottom=codes[0], top=codes[1])]
    for width in widths:
        grid = EqualIntervals.of(numbers.scale, width=width, origin=origin)
        levels.append(_on_grid(numbers, grid, *grid.ends(numbers.scale, snap=snap, codes=codes)))
    return with_root(numbers.texts, levels, root)


def breaks(
    values: Iterable[object], *, levels: Sequence[Sequence[Number]], codes: Pair = NO_PAIR, root: str | None = ROOT
) -> Hierarchy:
    """Return the hierarchy whose intervals begin at the given numbers; the outermost have no end.

    `levels=[[18, 30, 50], [30]]` is `<18`, `18-29`, `30-49`, `>=50`, then `<30`, `>=30`. `codes` as in `intervals`.

    Raises:
        Misfit: a level without a cut or with unsorted ones, one that cuts what the level below joined, or values that
            are no numbers.
    """
    check_breaks(levels)
    check_coding(*codes)
    bounds = [*(cut for level in levels for cut in level), *(bound for bound in codes if bound is not None)]
    numbers = Numbers.read(values, *bounds)
    labels = [] if codes == NO_PAIR else [coded(numbers, bottom=codes[0], top=codes[1])]
    bottom, top = codes
    for number, level in enumerate(levels, 1):
        current_numbers = [cut for cut in level if _within(cut, bottom, top)]
        if not current_numbers:
            raise Misfit(f"level {number} has no break from 'bottom' to 'top'; all would be one interval: leave it out")
        labels.append(_between(numbers, [numbers.scale.units(cut) for cut in current_numbers]))
    return with_root(numbers.texts, labels, root)


def check_widths(widths: Sequence[Number]) -> None:
    """Refuse widths that do not nest.

    Raises:
        Misfit: there is none, one is not above 0, or one is no multiple of the one before it.
    """
    if not widths:
        raise Misfit("intervals need at least one width")
    exact = [as_decimal(width) for width in widths]
    if min(exact) <= 0:
        raise Misfit(f"a width of {min(exact)}; expected widths above 0")
    for lower, upper in pairwise(exact):
        times = Fraction(upper) / Fraction(lower)
        if times < 2 or times.denominator > 1:
            raise Misfit(f"width {upper} is no multiple of {lower}, the one before it; expected twice as much or more")


def check_snap(low: Number | None, high: Number | None) -> None:
    """Refuse bounds in the wrong order.

    Raises:
        Misfit: the lower is not below the upper.
    """
    if low is not None and high is not None and as_decimal(low) >= as_decimal(high):
        raise Misfit(f"'snap' from {low} to {high}; expected the smaller number first")


def check_breaks(levels: Sequence[Sequence[Number]]) -> None:
    """Refuse cuts that do not nest.

    Raises:
        Misfit: no level, one without a cut or with unsorted ones, or one that cuts where the one below does not.
    """
    if not levels or not all(levels):
        raise Misfit("breaks need at least one level, and each level at least one number")
    for number, level in enumerate(levels, 1):
        exact = [as_decimal(cut) for cut in level]
        if any(low >= high for low, high in pairwise(exact)):
            raise Misfit(f"the breaks of level {number} are not ascending; expected each above the one before it")
        below = exact if number == 1 else [as_decimal(cut) for cut in levels[number - 2]]
        missing = [cut for cut in exact if cut not in below]
        if missing:
            raise Misfit(
                f"level {number} splits an interval of level {number - 1}: {missing[0]} is no break there; "
                "expected a part of the breaks below"
            )


@dataclass(frozen=True, slots=True)
class EqualIntervals:
    """Equally wide intervals, in units."""

    width: int
    origin: int

    @classmethod
    def of(cls, scale: Scale, *, width: Number, origin: Number) -> EqualIntervals:
        """Take numbers."""
        return cls(scale.units(width), scale.units(origin))

    def at_or_below(self, units: int) -> int:
        """Return the last cut that is not above a number."""
        return self.origin + (units - self.origin) // self.width * self.width

    def at_or_above(self, units: int) -> int:
        """Return the first cut that is not below a number."""
        return self.origin - (self.origin - units) // self.width * self.width

    def ends(self, scale: Scale, *, snap: Pair, codes: Pair) -> Ends:
        """Return the first and the last cut that are left between the bounds; None where there is no bound.

        Raises:
            Misfit: none is left.
        """
        lows = [self.at_or_above(scale.units(codes[0]))] if codes[0] is not None else []
        lows += [self.at_or_below(scale.units(snap[0])) + self.width] if snap[0] is not None else []
        highs = [self.at_or_below(scale.units(bound)) for bound in (snap[1], codes[1]) if bound is not None]
        low, high = max(lows, default=None), min(highs, default=None)
        if low is not None and high is not None and low > high:
            hint = "leave this width out, or set the bounds farther apart"
            raise Misfit(f"between the bounds there is no cut of width {scale.text(self.width)}; {hint}")
        return low, high


def _on_grid(numbers: Numbers, grid: EqualIntervals, first: int | None, last: int | None) -> tuple[str, ...]:
    """Write the interval of each value on a grid of which no cut below `first` or above `last` is left."""
    lows = grid.origin + (numbers.units - grid.origin) // grid.width * grid.width
    if first is not None:
        lows = np.maximum(lows, first - grid.width)
    if last is not None:
        lows = np.minimum(lows, last)
    distinct, places = np.unique(lows, return_inverse=True)
    ends = [(int(low), int(low) + grid.width) for low in distinct]
    open_ends = [
        (None if first is not None and low < first else low, None if low == last else high) for low, high in ends
    ]
    return numbers.labels(places, open_ends)


def _between(numbers: Numbers, at: Sequence[int]) -> tuple[str, ...]:
    """Write the interval of each value between these cuts, ascending."""
    ends = list(zip([None, *at], [*at, None], strict=True))
    places = np.searchsorted(np.array(at, dtype=numbers.units.dtype), numbers.units, side="right")
    return numbers.labels(places, ends)


def _within(cut: Number, bottom: Number | None, top: Number | None) -> bool:
    exact = as_decimal(cut)
    return (bottom is None or exact >= as_decimal(bottom)) and (top is None or exact <= as_decimal(top))


def coding(
    values: Iterable[object], *, top: Number | None = None, bottom: Number | None = None, root: str | None = ROOT
) -> Hierarchy:
    """Return the hierarchy value, coded value, root; values ascending.

    `top`: the smallest number that becomes `>=top`. `bottom`: the smallest one that does not become `<bottom`.

    Raises:
        Misfit: neither is given, `bottom` is above `top`, or values are no numbers.
    """
    bounds = [bound for bound in (bottom, top) if bound is not None]
    if not bounds:
        raise Misfit("coding needs 'top' or 'bottom', or both")
    check_coding(bottom, top)
    numbers = Numbers.read(values, *bounds)
    return with_root(numbers.texts, [coded(numbers, bottom=bottom, top=top)], root)


def check_coding(bottom: Number | None, top: Number | None) -> None:
    """Refuse bounds in the wrong order.

    Raises:
        Misfit: `bottom` is above `top`.
    """
    if bottom is not None and top is not None and as_decimal(bottom) > as_decimal(top):
        raise Misfit(f"'bottom' {bottom} is above 'top' {top}; expected the smaller number as 'bottom'")


def coded(numbers: Numbers, *, bottom: Number | None, top: Number | None) -> tuple[str, ...]:
    """Return what each value becomes."""
    scale = numbers.scale
    labels = list(numbers.texts)
    if bottom is not None:
        low = scale.units(bottom)
        for place in (numbers.units < low).nonzero()[0]:
            labels[place] = scale.interval(None, low)
    if top is not None:
        high = scale.units(top)
        for place in (numbers.units >= high).nonzero()[0]:
            labels[place] = scale.interval(high, None)
    return tuple(labels)


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
    labels = [_placed(numbers, number, _read(level, numbers.scale)) for number, level in enumerate(levels, 1)]
    return with_root(numbers.texts, labels, root)


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
    outside = 0 if first is None else int((numbers.units < first).sum())
    outside += 0 if last is None else int((numbers.units >= last).sum())
    if outside:
        hint = "make the first or the last one wider, or give it no end"
        raise Misfit(f"{outside} of {len(numbers.texts)} values are in no interval of level {number}; {hint}")
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
        missing = [edge for edge in current_bin.ends if edge not in edges]
        if missing:
            begins = f"'{current_bin.name}' begins or ends inside of it"
            text = f"level {number} splits what level {number - 1} has together: {begins}"
            yield HierarchyFault(FaultKind.SPLIT, number, text, current_bin.name)
