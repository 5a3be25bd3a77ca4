"""Limits that many tables learn together: the distances of all tables of a rhythm are ranked as one history.

    own looks ──> step_of ──> distance in own spreads ──> DistancePool ──> the limit now, or how much history is missing

Each look is compared with what the looks before it predict, and its distance is kept. How often so large a distance
comes is read off those of all tables, so that the promise is of the project: that some tables are wilder than others
does not break it, since the wild ones are in the pool as often as they are judged.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache, reduce
from itertools import groupby
from math import ceil, expm1, isinf, log1p
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from checks.limits.baseline import TimedValue, distances_from_others, reach_of_promise, spacing_of
from checks.limits.promise import LearnedLimit, LimitRule, MissingHistory, chance_at
from checks.limits.slots import COARSEST, Floats, Integers, slot_of

LEAST_STEPS: Final = 8
"""Steps of its own past without which a table has no spread."""
_BANDS: Final = (14, 28)
"""The numbers of steps from which on spreads are better known; tables of one band are ranked together."""
_GRAIN: Final = 0.02
"""The smallest spread that is believed: steps below two per cent are alike."""
_MOST: Final = 4
"""The number of values of a slot whose median is usual."""
_LEAST_DISTANCES: Final = 4
_TO_SIGMA: Final = 1.4826
_UNSURE: Final = 4.0
"""A spread of n distances is taken to be larger by so many parts of n: of few, a narrow one may be chance."""
_DAILY: Final = timedelta(hours=18)
_LEAST_RANK: Final = 0.6
"""The history that is waited for, as a part of that in which one false alarm is promised."""
_LEAST_REACH: Final = 1.0
"""Distances within one spread, of at least two per cent, are no alarm, however calm the others are."""
_WIDE: Final = 0.9
_WIDE_OF_NORMAL: Final = 1.645
"""Nine tenths of normal values are nearer than so many standard deviations."""
_LARGEST_SHOWN: Final = 1e6
_ENOUGH_TO_EXTRAPOLATE: Final = 10


class PooledLook(NamedTuple):
    """The distance of a look of a `series` from its prediction, and with which others it is ranked."""

    series: str
    at: datetime
    group: str
    band: int
    distance: float
    unanswered: bool = False


@dataclass(frozen=True, slots=True)
class PredictedStep:
    """How far a value is from what its own past predicts, in spreads of that past; both on a scale of logarithms.

    `group`: the rhythm, `band`: how long the past is. Only steps of one group are ranked together.
    """

    distance: float
    group: str
    band: int
    predicted: float
    spread: float
    unit: float
    spacing: timedelta

    def value(self, distance: float) -> float:
        """Return the value at a distance; never less than 0."""
        scaled = self.predicted + distance * self.spread
        return float("inf") if scaled > 700 else max(0.0, expm1(scaled) * self.unit)


@dataclass(frozen=True, slots=True)
class PooledVerdict:
    """What a pool says of a value: its limit, or what is missing, and how rare it is: one in `odds` looks."""

    limit: LearnedLimit | MissingHistory
    step: PredictedStep | None = None
    odds: float | None = None


class _Tail(NamedTuple):
    low: float
    high: float
    distances: Floats


class DistancePool:
    """The distances of the looks of a project, and by how many `numbers` its promise is shared."""

    def __init__(self, looks: Iterable[PooledLook] = (), numbers: int = 1) -> None:
        self.numbers = max(1, numbers)
        self._looks: dict[str, dict[int, list[PooledLook]]] = {}
        self._tails: dict[tuple[str, int, float, bool], _Tail | int] = {}
        for look in looks:
            self._looks.setdefault(look.group, {}).setdefault(look.band, []).append(look)

    def tail(self, group: str, band: int, chance: float, *, above_only: bool) -> _Tail | int:
        """Return how far a distance may be on either side with a chance, or how many looks are missing.

        Where looks of one band are too few, those of shorter pasts are added: their distances are wider.
        """
        key = group, band, chance, above_only
        if key not in self._tails:
            self._tails[key] = self._tail(*key)
        return self._tails[key]

    def _tail(self, group: str, band: int, chance: float, above_only: bool) -> _Tail | int:
        needed = max(_ENOUGH_TO_EXTRAPOLATE, ceil(_LEAST_RANK / chance))
        looks: list[PooledLook] = []
        for shorter in range(band, -1, -1):
            looks += self._looks.get(group, {}).get(shorter, ())
            if sum(not look.unanswered for look in looks) >= needed:
                break
        past = np.array([look.distance for look in sorted(looks) if not look.unanswered])  # runs of a table stay runs
        if len(past) < needed:
            return needed - len(past)
        unanswered = np.array([_farthest(run) for run in _runs(looks)], dtype=np.float64)
        middle = float(np.median(past))
        above = middle + reach_of_promise(distances_from_others(past), unanswered, chance)
        below = np.inf if above_only else reach_of_promise(distances_from_others(-past), -unanswered, chance) - middle
        return _Tail(max(below, _LEAST_REACH), max(above, _LEAST_REACH), np.sort(past))


def _runs(looks: Iterable[PooledLook]) -> Iterable[Sequence[float]]:
    unanswered = sorted(look for look in looks if look.unanswered)
    return ([look.distance for look in run] for _, run in groupby(unanswered, key=lambda look: look.series))


def _farthest(run: Sequence[float]) -> float:
    return max(run, key=abs)


@lru_cache(maxsize=8)  # a check is judged by its limits, then by those of its warning
def step_of(
    name: str, looks: tuple[TimedValue, ...], now: TimedValue, *, unit: float, zone: ZoneInfo
) -> PredictedStep | MissingHistory:
    """Return how far a value that is never negative is from what earlier looks predict.

    Values in unanswered alarms are passed over. `unit` is the least value that matters.
    """
    usable = [look for look in looks if not look.unanswered]
    spacing = spacing_of([*looks, now])
    if spacing is None or len(usable) <= LEAST_STEPS:
        missing = LEAST_STEPS + 1 - len(usable)
        return MissingHistory(missing, missing * (spacing or timedelta(days=1)), at_least=spacing is None)
    prediction = min(_predictions(usable, now, unit=unit, spacing=spacing, zone=zone), default=None)
    if prediction is None:
        return MissingHistory(1, spacing)
    spread, predicted = max(prediction.spread, _GRAIN), max(0.0, prediction.value)
    pace = "hours" if spacing < _DAILY else "days" if spacing <= timedelta(days=8) else "weeks"
    return PredictedStep(
        distance=(log1p(now.value / unit) - predicted) / spread,
        group=f"{name}, {pace}, {'calm' if prediction.spread <= _GRAIN else 'moving'}",
        band=sum(prediction.steps >= band for band in _BANDS),
        predicted=predicted,
        spread=spread,
        unit=unit,
        spacing=spacing,
    )


class _Prediction(NamedTuple):
    spread: float
    value: float
    steps: int


def _predictions(
    usable: Sequence[TimedValue], now: TimedValue, *, unit: float, spacing: timedelta, zone: ZoneInfo
) -> Iterable[_Prediction]:
    """Yield what may predict a value: the last one and the usual step of its slot, and the usual value of its slot.

    The nearest in the past, that of the least spread, counts.
    """
    values = np.log1p(np.array([look.value for look in usable]) / unit)
    gap = max(1, round((now.at - usable[-1].at) / spacing))
    slots = np.zeros(len(usable) + 1, dtype=np.int_)
    for level in (COARSEST, 0) if spacing >= _DAILY else (COARSEST, 2, 1):  # of few weeks few slots have enough
        if level != COARSEST:
            moments = [look.at.astimezone(zone) for look in (*usable, now)]
            slots = np.array([slot_of(moment, spacing, level) for moment in moments])
        if (step := _of_slots(np.diff(values), slots[1:])) is not None:
            yield step._replace(value=float(values[-1]) + gap * step.value)
        if (usual := _of_slots(values, slots)) is not None:
            yield usual


def _of_slots(values: Floats, slots: Integers) -> _Prediction | None:
    """Return how far values are from the median of those before them in their slot, and what is usual now.

    None where too few are known.
    """
    past, usual = [], None
    for slot in set(slots.tolist()):
        own = values[slots[:-1] == slot]
        if len(own) >= _MOST:
            medians = _medians_of_four(own)
            past.append(own[_MOST:] - medians[:-1])
            usual = float(medians[-1]) if slot == slots[-1] else usual
    distances = np.sort(np.concatenate(past)) if past else np.empty(0)
    if usual is None or len(distances) < _LEAST_DISTANCES:
        return None
    middle = float(distances[len(distances) // 2])
    away = np.sort(np.abs(distances - middle))
    wide = float(away[ceil(_WIDE * len(away)) - 1]) / _WIDE_OF_NORMAL
    spread = max(float(away[len(away) // 2]) * _TO_SIGMA, wide) * (1 + _UNSURE / len(distances))
    return _Prediction(spread, usual + middle, len(distances))


def _medians_of_four(values: Floats) -> Floats:
    """Return the median of each value with the three before it, from the fourth on."""
    four = values[:-3], values[1:-2], values[2:-1], values[3:]
    outer = reduce(np.maximum, four) + reduce(np.minimum, four)
    medians: Floats = (sum(four) - outer) / 2
    return medians


def learn_pooled(
    name: str,
    looks: Sequence[TimedValue],
    now: TimedValue,
    *,
    pool: DistancePool,
    rule: LimitRule,
    zone: ZoneInfo,
) -> PooledVerdict:
    """Judge a value by its own past and the distances of all tables of its rhythm."""
    step = step_of(name, tuple(looks), now, unit=rule.floor or 1.0, zone=zone)
    if isinstance(step, MissingHistory):
        return PooledVerdict(step)
    chance = chance_at((rule.per_day or 0.0) / pool.numbers, step.spacing)
    tail = pool.tail(step.group, step.band, chance if rule.above_only else chance / 2, above_only=rule.above_only)
    if isinstance(tail, int):
        return PooledVerdict(MissingHistory(tail, timedelta()), step)
    usual, least = step.value(0.0), max(rule.at_least, rule.at_least_share * step.value(0.0))
    low = -float("inf") if isinf(tail.low) else min(step.value(-tail.low), usual - least)
    high = max(step.value(tail.high), usual + least)
    is_low = step.distance < -tail.low and now.value < usual - least
    is_high = step.distance > tail.high and now.value > usual + least
    limit = LearnedLimit(
        side=-1 if is_low else int(is_high),
        low=low,
        high=high,
        usual=usual,
        residuals=len(tail.distances),
        chance=chance,
        loss=None if low <= 0 else usual - low,
        excess=None if isinf(high) else high - usual,
        rhythm=step.group,
    )
    return PooledVerdict(limit, step, _odds(tail.distances, step.distance))


def _odds(ordered: Floats, distance: float) -> float:
    """Return that as far on its side lies one look in how many, at most all that there were."""
    at = int(np.searchsorted(ordered, distance))
    as_far = len(ordered) - at if distance >= 0 else int(np.searchsorted(ordered, distance, side="right"))
    return min(_LARGEST_SHOWN, (len(ordered) + 1) / (as_far + 1))
