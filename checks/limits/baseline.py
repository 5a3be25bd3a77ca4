"""The usual value, the median of the same slot of the week in other weeks, and how far from it a value may be."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from math import log, log1p, pi, sqrt
from statistics import median
from typing import Final, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

_NEVER: Final = 1e-12
_LARGEST: Final = 3
"""How many of the largest distances show how fast the tail falls."""
_NEAR: Final = 2.0
"""Up to so many times the reach of the other looks, an alarm that nobody answered counts as noise."""
_ROUNDING: Final = 1 + 1e-12
"""1/49 of 49 is a whole rank, though floating point numbers make it less."""
_EQUAL: Final = 1e-9
"""Below this share of the mean deviation, a median deviation is rounding: most residuals are equal."""
_TO_SIGMA: Final = 1.4826
"""The standard deviation of a normal distribution, in median absolute deviations."""


def distances_from_others(residuals: Floats, *, above_only: bool = False) -> Floats:
    """Return how far each of at least three residuals is from the median of the others; above it where `above_only`.

    A median without the value itself, as for the value that is judged: else the past would look calmer than the future.
    """
    order = np.argsort(residuals)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    ordered, half = residuals[order], len(order) // 2
    if len(order) % 2:
        below, middle, above = ordered[half - 1 : half + 2]
        pairs = (middle + above) / 2, (below + above) / 2
        centre = np.select([rank < half, rank == half], pairs, (below + middle) / 2)
    else:
        centre = np.where(rank < half, ordered[half], ordered[half - 1])
    away: Floats = residuals - centre
    return away if above_only else np.abs(away)


def tops_of_runs(distances: Floats) -> Floats:
    """Return the distances that are larger than the one before and the one after: consecutive looks are one alarm.

    Above a limit that is seldom exceeded there are as many of them as runs of looks.
    """
    before, after = np.append(-np.inf, distances[:-1]), np.append(distances[1:], -np.inf)
    tops = distances[(distances > before) & (distances >= after)]
    return tops if len(tops) > _LARGEST else distances


def reach_by_rank(tops: Floats, looks: int, chance: float) -> float:
    """Return the distance beyond which an alarm begins at one look with a chance; `tops` of so many looks are known.

    Among n distances and the next one each is equally likely to be the k-th largest, whatever their distribution, so
    the next one exceeds the k-th largest of n with a chance of k / (n + 1). Between two ranks, and beyond the largest
    distance, the tail is taken as exponential; beyond it, by the mean excess of the three largest and the quantile that
    is exact for such a tail. It is never less than the largest then, so that the chance is at most 1 / (n + 1).
    """
    ordered = np.sort(tops)[::-1]
    rank = chance * (looks + 1) * _ROUNDING
    if rank >= 1:
        place = min(int(rank), len(ordered) - 1)
        step = min(1.0, log(rank / place) / log1p(1 / place))
        return float(ordered[place - 1] + (ordered[place] - ordered[place - 1]) * step)
    start = ordered[_LARGEST]
    excess = float(np.mean(ordered[:_LARGEST]) - start)
    tail = _LARGEST * excess * (((_LARGEST + 1) / rank) ** (1 / _LARGEST) - 1)
    return float(max(start + tail, ordered[0]))


def reach_of_promise(distances: Floats, unanswered: Floats, chance: float) -> float:
    """Return the same from distances in the order of time, and those of alarms of which nobody told what they were.

    Of these the near ones count as noise. Without them the tail would be cut off, and each false alarm would draw the
    limit nearer; with the far ones each bad day would widen it.
    """
    tops, looks = tops_of_runs(distances), len(distances)
    near = unanswered[unanswered <= _NEAR * reach_by_rank(tops, looks, chance)]
    return reach_by_rank(np.append(tops, near), looks + len(near), chance)


def reach_by_sigma(residuals: Floats, sigma: float, floor: float = 0.0) -> float:
    """Return a number of robust standard deviations, of which at least `floor` is believed."""
    return sigma * max(robust_scale(residuals), floor, _NEVER)


def robust_scale(residuals: Floats) -> float:
    """Return the median absolute deviation as a standard deviation; the mean one where most residuals are equal."""
    away = np.abs(residuals - np.median(residuals))
    middle, mean = float(np.median(away)), float(np.mean(away))
    return middle * _TO_SIGMA if middle > mean * _EQUAL else mean * sqrt(pi / 2)


Flags: TypeAlias = npt.NDArray[np.bool_]

LEAST_VALUES: Final = 3
"""Values of a slot without which it has no usual value."""
_FINE: Final = timedelta(hours=18)
"""Looks nearer to each other than this make the hour of the week the slot, not the weekday."""
_COARSE: Final = timedelta(days=8)
"""Looks farther from each other than this have one slot for all of them."""
_MOSTLY: Final = 0.95
"""Share of positive values from which on ratios are compared, not differences."""


class TimedValue(NamedTuple):
    """A number at a time. `expected`: it broke its limit, and a person said that it was to be expected.

    `unanswered`: it lies in an alarm of which nobody said what it was. `looks`: how many looks it stands for, where one
    was taken of many in an hour.
    """

    at: datetime
    value: float
    expected: bool = False
    unanswered: bool = False
    looks: int = 1


def spacing_of(looks: Sequence[TimedValue]) -> timedelta | None:
    """Return the usual time between two looks; None without two."""
    gaps = [(later.at - earlier.at) / later.looks for earlier, later in pairwise(looks)]
    gaps = [gap for gap in gaps if gap > timedelta()]
    return sorted(gaps)[len(gaps) // 2] if gaps else None


@dataclass(frozen=True, slots=True)
class Residuals:
    """The distances of values from the usual ones of other weeks.

    `centre` is what is usual now, None where the slot has too few values; `slot_values`: how many it has, `values`: how
    many there are of all slots. Residuals and `centre` are logarithms where `is_ratio`. `unanswered` has the residual
    farthest from 0 of each run of unanswered looks.
    """

    past: Floats
    unanswered: Floats
    centre: float | None
    slot_values: int
    values: int
    is_ratio: bool

    def residual(self, value: float) -> float:
        """Return how far a value is from what is usual now."""
        if self.centre is None:
            raise ValueError("a slot with too few values has no usual value")
        if not self.is_ratio:
            return value - self.centre
        return float(np.log(value) - self.centre) if value > 0 else -np.inf

    def value(self, residual: float) -> float:
        """Return the value that is so far from what is usual now."""
        if self.centre is None:
            raise ValueError("a slot with too few values has no usual value")
        with np.errstate(over="ignore"):
            return float(np.exp(self.centre + residual)) if self.is_ratio else self.centre + residual


def residuals_at(
    looks: Sequence[TimedValue], at: datetime, *, weeks: int, zone: ZoneInfo, spacing: timedelta
) -> Residuals:
    """Compare each look with other looks of its slot, and find what is usual at a time after all of them.

    What is usual is the median of the last `weeks` values of the slot: the same weekday, or the same hour of the week
    where looks are less than 18 hours apart. The first values of a slot are compared with the next ones, as if time ran
    backwards, so that each look has a residual. Values that are nearly all positive are compared as ratios.
    """
    is_ratio = len(looks) > 0 and sum(look.value > 0 for look in looks) >= _MOSTLY * len(looks)
    if is_ratio:
        looks = [look for look in looks if look.value > 0]
    values = np.array([look.value for look in looks], dtype=np.float64)
    values = np.log(values) if is_ratio else values
    usable = np.array([not look.unanswered for look in looks], dtype=np.bool_)
    slots = np.array([_slot(moment, zone, spacing) for moment in (*(look.at for look in looks), at)])
    past, centre = _residuals(values, usable, slots, weeks)
    has_residual = ~np.isnan(past)
    return Residuals(
        past=past[usable & has_residual],
        unanswered=_farthest_of_runs(np.where(has_residual, past, 0.0), usable),
        centre=None if np.isnan(centre) else float(centre),
        slot_values=int(np.sum(usable & (slots[:-1] == slots[-1]))),
        values=int(np.sum(usable)),
        is_ratio=is_ratio,
    )


def _residuals(values: Floats, usable: Flags, slots: npt.NDArray[np.int_], most: int) -> tuple[Floats, float]:
    """Return how far each value is from what was usual then, NaN where too little is known, and what is usual now."""
    residuals = np.full(len(values), np.nan)
    centre = np.nan
    for slot in np.unique(slots):
        places = np.flatnonzero(slots[:-1] == slot)
        own = values[places[usable[places]]].tolist()
        following = 0
        for place in places:
            number, following = following, following + int(usable[place])
            if number >= LEAST_VALUES:
                residuals[place] = values[place] - median(own[max(0, number - most) : number])
            elif len(own) - following >= LEAST_VALUES:
                residuals[place] = median(own[following : following + most]) - values[place]
        if slot == slots[-1] and len(own) >= LEAST_VALUES:
            centre = median(own[-most:])
    return residuals, centre


def _farthest_of_runs(residuals: Floats, usable: Flags) -> Floats:
    """Return the residual farthest from 0 of each run of looks that are not usable: one alarm is one distance."""
    ends = np.flatnonzero(np.diff(np.concatenate(([True], usable, [True]))))
    pairs = zip(ends[::2], ends[1::2], strict=True)
    runs = [residuals[start:end] for start, end in pairs if end < len(usable)]  # the last may be the same alarm still
    return np.array([run[np.argmax(np.abs(run))] for run in runs], dtype=np.float64)


def _slot(moment: datetime, zone: ZoneInfo, spacing: timedelta) -> int:
    if spacing > _COARSE:
        return 0
    local = moment.astimezone(zone)
    return local.weekday() if spacing >= _FINE else local.weekday() * 24 + local.hour


def at_present_level(
    looks: Sequence[TimedValue], now: TimedValue, *, weeks: int, zone: ZoneInfo, spacing: timedelta
) -> Sequence[TimedValue]:
    """Return the looks that tell what is usual now, with each change of level that a person confirmed taken back.

    A run of looks that a person said were expected is a change of level if the next look is nearer to them than to what
    was usual before them. Then the run counts, and the looks before it are moved by the median of the change, so that
    the shape of the week stays known. Else the run was a peak, which is left out. Where nothing was usual before, it
    stays in.
    """
    level: list[TimedValue] = []
    for is_expected, group in groupby(looks, key=lambda look: look.expected):
        run = list(group)
        if is_expected:
            following = next((look for look in looks if look.at > run[-1].at), now)
            level = _after_run(level, run, following, weeks=weeks, zone=zone, spacing=spacing)
        else:
            level += run
    return level


def _after_run(
    level: list[TimedValue],
    run: Sequence[TimedValue],
    following: TimedValue,
    *,
    weeks: int,
    zone: ZoneInfo,
    spacing: timedelta,
) -> list[TimedValue]:
    before = [residuals_at(level, look.at, weeks=weeks, zone=zone, spacing=spacing) for look in (*run, following)]
    if any(residuals.centre is None for residuals in before):
        return [*level, *run]
    pairs = zip(before, (*run, following), strict=True)
    *of_run, last = [residuals.residual(look.value) for residuals, look in pairs]
    shift = float(np.median(of_run))
    if not np.isfinite(shift) or abs(last - shift) >= abs(last):
        return level
    factor, difference = (float(np.exp(shift)), 0.0) if before[0].is_ratio else (1.0, shift)
    return [look._replace(value=look.value * factor + difference) for look in level] + list(run)
