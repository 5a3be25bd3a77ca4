"""The limit now: as far from what is usual as the promise allows, or how much history is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil, inf
from statistics import NormalDist
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from checks.limits.baseline import (
    LEAST_VALUES,
    Residuals,
    TimedValue,
    at_present_level,
    distances_from_others,
    reach_by_sigma,
    reach_of_promise,
    residuals_at,
    spacing_of,
)

_WEEK: Final = timedelta(weeks=1)
_DAY: Final = timedelta(days=1)
_LEAST_LOOKS: Final = 10
_LONGEST_WAIT: Final = timedelta(weeks=8)
_WAIT_BY_HAND: Final = timedelta(weeks=5)
_PART_OF_PROMISE: Final = 0.6
"""History that is waited for, as a part of the time in which one false alarm is promised."""
_MOST_OFTEN: Final = 0.25
"""The largest chance of an alarm at one look, where more alarms are promised than there are looks."""


@dataclass(frozen=True, slots=True)
class LimitRule:
    """The parameters by which a limit is learned.

    `per_day` is the promise in alarms a day, for this number alone; None with `sigma`, the robust standard deviations
    that are allowed by hand. `floor` is the smallest standard deviation that is believed, in units of the number.
    `weeks` is how many values of a slot its usual value is the median of.
    """

    per_day: float | None = None
    sigma: float | None = None
    weeks: int = 4
    above_only: bool = False
    floor: float = 0.0


@dataclass(frozen=True, slots=True)
class LearnedLimit:
    """The values that are allowed now.

    `side`: -1 where the value now lies below, 1 above, 0 inside. `chance` is that of a false alarm at this look, None
    where the limit was set by hand; `residuals` is how many distances of the past it was learned from.
    """

    side: int
    low: float
    high: float
    usual: float
    residuals: int
    chance: float | None


@dataclass(frozen=True, slots=True)
class MissingHistory:
    """The history that is missing before a limit can be learned: looks, and how long they take; None if unknown."""

    looks: int
    length: timedelta | None


def learn_limit(
    looks: Sequence[TimedValue], now: TimedValue, *, rule: LimitRule, zone: ZoneInfo
) -> LearnedLimit | MissingHistory:
    """Learn what is allowed now from earlier looks, oldest first, all before `now`."""
    spacing = spacing_of([*looks, now])
    if spacing is None:
        return MissingHistory(_LEAST_LOOKS, None)
    level = at_present_level(looks, now, weeks=rule.weeks, zone=zone, spacing=spacing)
    residuals = residuals_at(level, now.at, weeks=rule.weeks, zone=zone, spacing=spacing)
    missing = _missing(residuals, rule, looks, spacing)
    if missing is not None:
        return missing
    chance = None if rule.per_day is None else min(rule.per_day * (spacing / _DAY), _MOST_OFTEN)
    middle, reach = float(np.median(residuals.past)), _reach(residuals, rule, chance)
    low, high = -inf if rule.above_only else middle - reach, middle + reach
    residual = residuals.residual(now.value)
    return LearnedLimit(
        side=-1 if residual < low else int(residual > high),
        low=-inf if rule.above_only else residuals.value(low),
        high=residuals.value(high),
        usual=residuals.value(0.0),
        residuals=len(residuals.past),
        chance=chance,
    )


def _reach(residuals: Residuals, rule: LimitRule, chance: float | None) -> float:
    """Return how far from the median of the past a residual may be."""
    floor = rule.floor / residuals.value(0.0) if residuals.is_ratio else rule.floor
    if chance is None:
        return reach_by_sigma(residuals.past, rule.sigma or inf, floor)
    unanswered = residuals.unanswered - np.median(residuals.past)
    reach = reach_of_promise(
        distances_from_others(residuals.past, above_only=rule.above_only),
        unanswered if rule.above_only else np.abs(unanswered),
        chance,
    )
    return max(reach, floor * -NormalDist().inv_cdf(chance if rule.above_only else chance / 2))


def _missing(
    residuals: Residuals, rule: LimitRule, looks: Sequence[TimedValue], spacing: timedelta
) -> MissingHistory | None:
    """Return what is missing: values of the slot, and enough residuals for the rank of a distance among them."""
    wait = _WAIT_BY_HAND
    if rule.per_day is not None:
        wait = min(_LONGEST_WAIT, _PART_OF_PROMISE * _DAY / rule.per_day)
    step = spacing * float(np.median([look.looks for look in looks]))
    needed = max(_LEAST_LOOKS, ceil(wait / step))
    present = residuals.values if residuals.values < needed else len(residuals.past)
    slots = max(0, LEAST_VALUES - residuals.slot_values) * max(_WEEK, spacing) if residuals.centre is None else 0 * _DAY
    length = max(slots, max(0, needed - present) * step)
    return MissingHistory(max(1, round(length / spacing)), length) if length else None
