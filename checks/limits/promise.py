"""Choose a limit by its own past, so that false alarms stay as rare as was promised."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import exp, inf
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from checks.limits.baseline import LEAST_VALUES, Look, Residuals, at_present_level, residuals_at, spacing_of
from checks.limits.bounds import METHODS, Bounds, Method, above_only, sigma_bounds

_WEEK: Final = timedelta(days=7)
_DAY: Final = timedelta(days=1)
_LEAST_RESIDUALS: Final = 10
_WEEKS_OF_RESIDUALS: Final = 2
_REFUTED: Final = 0.05
"""A method broke the promise if so many alarms as it raised would have a smaller chance than this."""
_DIVISORS: Final[Mapping[Method, Sequence[int]]] = {
    Method.STUDENT: (1, 4, 16),
    Method.CANTELLI: (1,),
    Method.EMPIRICAL: (1,),
}
"""What the chance of a false alarm is divided by, one after the other, until a method keeps the promise."""
_MOST_OFTEN: Final = 0.25
"""The largest chance of an alarm at one look, where more alarms are promised than there are looks."""


@dataclass(frozen=True, slots=True)
class LimitRule:
    """How a limit is to be learned.

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
    """The values that are allowed now, and how that was learned.

    `side`: -1 where the value now lies below, 1 above, 0 inside. `method` is None where the limit was set by hand.
    `alarms`: how many alarms the method would have raised over its past, `expected_alarms`: how many were promised.
    """

    side: int
    low: float
    high: float
    usual: float
    method: Method | None
    residuals: int
    alarms: int = 0
    expected_alarms: float = 0.0


@dataclass(frozen=True, slots=True)
class MissingHistory:
    """How much history is missing before a limit can be learned: looks, and how long they take; None if unknown."""

    looks: int
    length: timedelta | None


@dataclass(frozen=True, slots=True)
class _History:
    alarms: int
    expected: float

    @property
    def is_refuted(self) -> bool:
        """Check whether so many alarms are too many for the promise to be true."""
        return _poisson_tail(self.alarms, self.expected) < _REFUTED


class _Attempt(NamedTuple):
    method: Method
    bounds: Bounds
    history: _History
    width: float


def learn_limit(looks: Sequence[Look], now: Look, *, rule: LimitRule, zone: ZoneInfo) -> LearnedLimit | MissingHistory:
    """Learn what is allowed now from earlier looks, oldest first, all before `now`."""
    spacing = spacing_of([*looks, now])
    if spacing is None:
        return MissingHistory(LEAST_VALUES * 7 + _LEAST_RESIDUALS, None)
    usual = at_present_level(looks, now, weeks=rule.weeks, zone=zone, spacing=spacing)
    residuals = residuals_at(usual, now.at, weeks=rule.weeks, zone=zone, spacing=spacing)
    missing = _missing(residuals)
    if missing is not None:
        return missing
    floor = rule.floor / residuals.value(0.0) if residuals.is_ratio else rule.floor
    if rule.per_day is None:
        method, history, bounds = None, _History(0, 0.0), sigma_bounds(residuals.past, rule.sigma or inf, floor)
    else:
        method, bounds, history, _ = _choose(residuals, rule, floor)
    residual = residuals.residual(now.value)
    is_below = residual < bounds.low and not rule.above_only
    return LearnedLimit(
        side=-1 if is_below else int(residual > bounds.high),
        low=-inf if rule.above_only else residuals.value(bounds.low),
        high=residuals.value(bounds.high),
        usual=residuals.value(0.0),
        method=method,
        residuals=len(residuals.past),
        alarms=history.alarms,
        expected_alarms=history.expected,
    )


def _missing(residuals: Residuals) -> MissingHistory | None:
    in_week = max(1.0, _WEEK / residuals.spacing)
    needed = max(_LEAST_RESIDUALS, round(_WEEKS_OF_RESIDUALS * in_week))
    slots = max(_WEEK, residuals.spacing)
    for_slot = max(0, LEAST_VALUES - residuals.slot_values) * slots if residuals.centre is None else timedelta()
    short = max(0, needed - len(residuals.past)) * residuals.spacing
    if not short and not for_slot:
        return None
    first = timedelta() if len(residuals.past) else LEAST_VALUES * slots - residuals.values * residuals.spacing
    length = max(for_slot, short + max(first, timedelta()))
    return MissingHistory(max(1, round(length / residuals.spacing)), length)


def _choose(residuals: Residuals, rule: LimitRule, floor: float) -> _Attempt:
    """Return the tightest limit that kept the promise over its own past; the widest where none did.

    A method that raised too many alarms is tried again with a smaller chance of an alarm.
    """
    per_look = min((rule.per_day or 0.0) * (residuals.spacing / _DAY), _MOST_OFTEN)
    tail = per_look if rule.above_only else per_look / 2
    attempts: list[_Attempt] = []
    for method in Method:
        for divisor in _DIVISORS[method]:
            attempt = _attempt(method, residuals, tail=tail / divisor, floor=floor, rule=rule, promised=per_look)
            if attempt is not None:
                attempts.append(attempt)
            if attempt is None or not attempt.history.is_refuted:
                break
    kept = [attempt for attempt in attempts if not attempt.history.is_refuted]
    return min(kept, key=lambda attempt: attempt.width) if kept else max(attempts, key=lambda attempt: attempt.width)


def _attempt(
    method: Method, residuals: Residuals, *, tail: float, floor: float, rule: LimitRule, promised: float
) -> _Attempt | None:
    bounds = METHODS[method](residuals.past, tail, floor)
    if bounds is None:
        return None
    bounds = above_only(bounds) if rule.above_only else bounds
    width = bounds.high - (float(np.median(residuals.past)) if rule.above_only else bounds.low)
    history = _replay(method, residuals, tail=tail, floor=floor, rule=rule, promised=promised)
    return _Attempt(method, bounds, history, width)


def _replay(
    method: Method, residuals: Residuals, *, tail: float, floor: float, rule: LimitRule, promised: float
) -> _History:
    """Count the alarms that a method would have raised, judging each week by what was known before it."""
    past, alarms, judged = residuals.past, 0, 0
    week = max(1, round(_WEEK / residuals.spacing))
    was_alarm = False
    for start in range(max(_LEAST_RESIDUALS, _WEEKS_OF_RESIDUALS * week), len(past), week):
        bounds = METHODS[method](past[:start], tail, floor)
        if bounds is not None:
            bounds = above_only(bounds) if rule.above_only else bounds
            flagged = bounds.breaks(past[start : start + week])
            alarms += _episodes(flagged, was_alarm=was_alarm)
            was_alarm, judged = bool(flagged[-1]), judged + len(flagged)
    return _History(alarms, judged * promised)


def _episodes(flagged: npt.NDArray[np.bool_], *, was_alarm: bool) -> int:
    """Count runs of flagged looks: consecutive looks at one anomaly are one alarm."""
    before = np.concatenate(([was_alarm], flagged[:-1]))
    return int(np.sum(flagged & ~before))


def _poisson_tail(count: int, expected: float) -> float:
    """Return the chance of at least so many events where so many are expected."""
    term, below = exp(-expected), 0.0
    for number in range(count):
        below += term
        term *= expected / (number + 1)
    return 1.0 - below
