"""The limit now: as far from what is usual as the promise allows, or how much history is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil, inf, isinf
from statistics import NormalDist
from typing import Final, TypedDict
from zoneinfo import ZoneInfo

import numpy as np

from checks.limits.baseline import (
    Residuals,
    TimedValue,
    at_present_level,
    distances_from_others,
    reach_by_sigma,
    reach_of_promise,
    residuals_at,
    spacing_of,
)
from checks.limits.slots import COARSEST, LEAST_VALUES, Floats

_WEEK: Final = timedelta(weeks=1)
_DAY: Final = timedelta(days=1)
_LEAST_LOOKS: Final = 10
_LONGEST_WAIT: Final = timedelta(weeks=8)
_WAIT_BY_HAND: Final = timedelta(weeks=5)
_PART_OF_PROMISE: Final = 0.6
"""History that is waited for, as a part of the time in which one false alarm is promised."""
_ALIKE: Final = 5.0
"""Up to so many times the largest distance of one side, that of the other is alike."""
_MOST_OFTEN: Final = 0.25
"""The largest chance of an alarm at one look, where more alarms are promised than there are looks."""


@dataclass(frozen=True, slots=True)
class LimitRule:
    """The parameters by which a limit is learned.

    `per_day` is the promise in alarms a day, for this number alone; None with `sigma`, the robust standard deviations
    that are allowed by hand. `floor` is the smallest standard deviation that is believed, in units of the number.
    `weeks` is how many values of a slot its usual value is the median of. Within `at_least` of what is usual, or within
    `at_least_share` of it, nothing is flagged.
    """

    per_day: float | None = None
    sigma: float | None = None
    weeks: int = 4
    above_only: bool = False
    floor: float = 0.0
    at_least: float = 0.0
    at_least_share: float = 0.0


@dataclass(frozen=True, slots=True)
class LearnedLimit:
    """The values that are allowed now.

    `side`: -1 where the value now lies below, 1 above, 0 inside. `chance` is that of a false alarm at this look, None
    where the limit was set by hand; `residuals` is how many distances of the past it was learned from. `loss` and
    `excess`: the power, the smallest change that would be flagged with a chance of one half; None where none would be,
    as of a number that was never negative and may be 0. `rhythm`: the kind of day that it was compared with.
    """

    side: int
    low: float
    high: float
    usual: float
    residuals: int
    chance: float | None
    loss: float | None
    excess: float | None
    rhythm: str | None = None


@dataclass(frozen=True, slots=True)
class MissingHistory:
    """The history that is missing before a limit can be learned: looks, and how long they take.

    Before a second look the time between looks is unknown: `at_least` so many looks within that length.
    """

    looks: int
    length: timedelta
    at_least: bool = False


def learn_limit(
    looks: Sequence[TimedValue], now: TimedValue, *, rule: LimitRule, zone: ZoneInfo
) -> LearnedLimit | MissingHistory:
    """Learn what is allowed now from earlier looks, oldest first, all before `now`."""
    spacing = spacing_of([*looks, now])
    if spacing is None:
        return MissingHistory(_LEAST_LOOKS, _wait_of(rule), at_least=True)
    missing: list[MissingHistory] = []
    for level in range(COARSEST + 1):
        slots: _Slots = {"weeks": rule.weeks, "zone": zone, "spacing": spacing, "level": level}
        residuals = residuals_at(at_present_level(looks, now, **slots), now.at, **slots)
        lack = _missing(residuals, rule, looks, spacing)
        if lack is None:
            return _limit(residuals, now.value, rule, spacing)
        missing.append(lack)
    return min(missing, key=lambda lack: lack.looks)


class _Slots(TypedDict):
    weeks: int
    zone: ZoneInfo
    spacing: timedelta
    level: int


def _limit(residuals: Residuals, value: float, rule: LimitRule, spacing: timedelta) -> LearnedLimit:
    """Return the limit now, and on which side of it a value lies."""
    chance = None if rule.per_day is None else chance_at(rule.per_day, spacing)
    past = residuals.past[residuals.alike]
    middle, floor = float(np.median(past)), rule.floor
    usual, typical = residuals.value(0.0), residuals.value(middle)
    if residuals.offset is not None:
        floor /= usual + residuals.offset
    if chance is None:
        below = above = reach_by_sigma(past, rule.sigma or inf, floor)
    else:
        each = chance if rule.above_only else chance / 2
        floor *= -NormalDist().inv_cdf(each)
        sides = _reaches(past, residuals.unanswered - middle, each, above_only=rule.above_only)
        below, above = (max(reach, floor) for reach in sides)
    least = max(rule.at_least, rule.at_least_share * abs(usual))
    low = -inf if rule.above_only else min(residuals.value(middle - below), usual - least)
    high = max(residuals.value(middle + above), usual + least)
    residual = residuals.residual(value)
    is_low = not rule.above_only and residual < middle - below and value < usual - least
    is_high = residual > middle + above and value > usual + least
    is_never_low = low <= 0 <= residuals.least or isinf(low)
    return LearnedLimit(
        side=-1 if is_low else int(is_high),
        low=low,
        high=high,
        usual=usual,
        residuals=len(past),
        chance=chance,
        loss=None if is_never_low else typical - low,
        excess=None if isinf(high) else high - typical,
        rhythm=residuals.rhythm,
    )


def chance_at(per_day: float, spacing: timedelta) -> float:
    """Return the chance of an alarm at one look by which a promise of alarms a day is kept."""
    return min(per_day * (spacing / _DAY), _MOST_OFTEN)


def _reaches(past: Floats, unanswered: Floats, chance: float, *, above_only: bool) -> tuple[float, float]:
    """Return how far below and above the median of the past a residual may be, each with a chance.

    The sides are ranked apart where the largest distances show that one reaches farther: else zeros on one side would
    widen the limit of the other. Where they are alike, they are ranked together, which shows twice as much of the tail.
    """
    up, down = distances_from_others(past), distances_from_others(-past)
    nearer, farther = sorted((float(up.max()), float(down.max())))
    if not above_only and farther <= _ALIKE * nearer:
        both = reach_of_promise(np.abs(up), np.abs(unanswered), 2 * chance)
        return both, both
    return inf if above_only else reach_of_promise(down, -unanswered, chance), reach_of_promise(up, unanswered, chance)


def _wait_of(rule: LimitRule) -> timedelta:
    """Return for how long history is collected before a limit is learned."""
    if rule.per_day is None:
        return _WAIT_BY_HAND
    return min(_LONGEST_WAIT, _PART_OF_PROMISE * _DAY / rule.per_day)


def _missing(
    residuals: Residuals, rule: LimitRule, looks: Sequence[TimedValue], spacing: timedelta
) -> MissingHistory | None:
    """Return what is missing: values of the slot, and enough residuals for the rank of a distance among them."""
    wait = _wait_of(rule)
    step = spacing * float(np.median([look.looks for look in looks]))
    needed = max(_LEAST_LOOKS, ceil(wait / step))
    present = residuals.values if residuals.values < needed else len(residuals.past)
    slots = max(0, LEAST_VALUES - residuals.slot_values) * max(_WEEK, spacing) if residuals.centre is None else 0 * _DAY
    length = max(slots, max(0, needed - present) * step)
    return MissingHistory(max(1, round(length / spacing)), length) if length else None
