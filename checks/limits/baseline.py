"""The distance of each value from the usual one, and how far from it a value may be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby, pairwise
from math import log, log1p, pi, sqrt
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from checks.limits.slots import Flags, Floats, compare_by_rhythm, slot_of

_NEVER: Final = 1e-12
_LARGEST: Final = 3
"""How many of the largest distances show how fast the tail falls."""
_NEAR: Final = 2.0
"""Up to so many times the reach of the other runs, an unanswered alarm counts as noise."""
_ROUNDING: Final = 1 + 1e-12
"""1/49 of 49 is a whole rank, though floating point numbers make it less."""
_EQUAL: Final = 1e-9
"""Below this share of the mean deviation, a median deviation is rounding: most residuals are equal."""
_TO_SIGMA: Final = 1.4826
"""The standard deviation of a normal distribution, in median absolute deviations."""


def distances_from_others(residuals: Floats) -> Floats:
    """Return how far each of at least three residuals lies above the median of the others.

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
    return away


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
    """Return the same from distances in the order of time, and those of unanswered alarms.

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


_FARTHEST: Final = 1e300
_MOSTLY: Final = 0.95
"""Share of positive values from which on ratios are compared, not differences."""


class TimedValue(NamedTuple):
    """A number at a time. `expected`: it broke its limit, and a person said that it was to be expected.

    `unanswered`: it lies in an unanswered alarm. `looks`: how many looks it stands for, where one
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
    many there are of all slots. With an `offset` c, residuals and `centre` are differences of log(x + c), else of x.
    `unanswered` has the residual farthest from 0 of each run of unanswered looks. `rhythm`: the kind of day of the
    month that now is, where the past shows that such days differ; `alike`: which of `past` are ranked with now, all but
    those of such days where now is none of them. `least`: the smallest value of the past.
    """

    past: Floats
    unanswered: Floats
    centre: float | None
    slot_values: int
    values: int
    offset: float | None
    alike: Flags
    rhythm: str | None
    least: float

    @property
    def is_ratio(self) -> bool:
        """Check whether ratios are compared, not differences."""
        return self.offset is not None

    def residual(self, value: float) -> float:
        """Return how far a value is from what is usual now; minus infinity for 0 and less where the past has none."""
        if self.centre is None:
            raise ValueError("a slot with too few values has no usual value")
        value = float(_bounded(np.float64(value)))
        if self.offset is None:
            return value - self.centre
        return float(np.log(value + self.offset) - self.centre) if 0 <= value > -self.offset else -np.inf

    def value(self, residual: float) -> float:
        """Return the value that is so far from what is usual now."""
        if self.centre is None:
            raise ValueError("a slot with too few values has no usual value")
        if self.offset is None:
            return self.centre + residual
        with np.errstate(over="ignore"):
            return max(0.0, float(np.exp(self.centre + residual)) - self.offset)


def residuals_at(
    looks: Sequence[TimedValue], at: datetime, *, weeks: int, zone: ZoneInfo, spacing: timedelta, level: int = 0
) -> Residuals:
    """Compare each look with other looks of its slot, and find what is usual at a time after all of them.

    What is usual is the median of the last `weeks` values of the slot (`slot_of`). The first values of a slot are
    compared with the next ones, so that each look has a residual. Values that are nearly all
    positive are compared as ratios. Kinds of days that the past shows to differ are compared with their like.
    """
    values = _bounded(np.array([look.value for look in looks], dtype=np.float64))
    offset = _offset_of(values)
    scaled = values if offset is None else np.log(values + offset)
    usable = np.array([not look.unanswered for look in looks], dtype=np.bool_)
    moments = [moment.astimezone(zone) for moment in (*(look.at for look in looks), at)]
    slots = np.array([slot_of(moment, spacing, level) for moment in moments])
    compared, kinds = compare_by_rhythm(scaled, usable, slots, moments, most=weeks)
    past = compared.above
    has_residual = ~np.isnan(past)
    return Residuals(
        past=past[usable & has_residual],
        unanswered=_farthest_of_runs(np.where(has_residual, past, 0.0), usable),
        centre=None if np.isnan(compared.centre) else compared.centre,
        slot_values=int(np.sum(usable & (slots[:-1] == slots[-1]))),
        values=int(np.sum(usable)),
        offset=offset,
        alike=((kinds[:-1] == "") | (kinds[-1] != ""))[usable & has_residual],
        rhythm=kinds[-1] or None,
        least=float(np.min(values, initial=np.inf)),
    )


def _bounded(values: Floats | np.float64) -> Floats:
    """Return values whose differences, sums and logarithms are finite: beyond 1e300, and nearer to 0, none differ."""
    return np.where(values == 0, values, np.copysign(np.clip(np.abs(values), 1 / _FARTHEST, _FARTHEST), values))


def _offset_of(values: Floats) -> float | None:
    """Return what is added before logarithms are taken; None where differences are compared.

    Nothing where all are positive, so that the first value of 0 is infinitely far. Where there are some of 0, half of
    the smallest positive one, so that they are ranked with the others.
    """
    if not len(values) or np.min(values) < 0 or np.mean(values > 0) < _MOSTLY:
        return None
    return 0.0 if np.min(values) > 0 else float(np.min(values[values > 0])) / 2


def _farthest_of_runs(residuals: Floats, usable: Flags) -> Floats:
    """Return the residual farthest from 0 of each run of looks that are not usable: one alarm is one distance."""
    ends = np.flatnonzero(np.diff(np.concatenate(([True], usable, [True]))))
    pairs = zip(ends[::2], ends[1::2], strict=True)
    runs = [residuals[start:end] for start, end in pairs if end < len(usable)]  # the last may be the same alarm still
    return np.array([run[np.argmax(np.abs(run))] for run in runs], dtype=np.float64)


def at_present_level(
    looks: Sequence[TimedValue], now: TimedValue, *, weeks: int, zone: ZoneInfo, spacing: timedelta, level: int = 0
) -> Sequence[TimedValue]:
    """Return the looks that tell what is usual now, with each change of level that a person confirmed taken back.

    A run of looks that a person said were expected is a change of level if the next look is nearer to them than to what
    was usual before them. Then the run counts, and the looks before it are moved by the median of the change, so that
    the shape of the week stays known. Else the run was a peak, which is left out. Where nothing was usual before, it
    stays in.
    """
    present: list[TimedValue] = []
    for is_expected, group in groupby(looks, key=lambda look: look.expected):
        run = list(group)
        if is_expected:
            following = next((look for look in looks if look.at > run[-1].at), now)
            compare = partial(residuals_at, present, weeks=weeks, zone=zone, spacing=spacing, level=level)
            present = _after_run(present, run, following, compare)
        else:
            present += run
    return present


def _after_run(
    level: list[TimedValue],
    run: Sequence[TimedValue],
    following: TimedValue,
    compare: Callable[[datetime], Residuals],
) -> list[TimedValue]:
    before = [compare(look.at) for look in (*run, following)]
    if any(residuals.centre is None for residuals in before):
        return [*level, *run]
    pairs = zip(before, (*run, following), strict=True)
    *of_run, last = [residuals.residual(look.value) for residuals, look in pairs]
    shift = float(np.median(of_run))
    if not np.isfinite(shift) or abs(last - shift) >= abs(last):
        return level
    factor, difference = (float(np.exp(np.clip(shift, -700, 700))), 0.0) if before[0].is_ratio else (1.0, shift)
    return [look._replace(value=look.value * factor + difference) for look in level] + list(run)
