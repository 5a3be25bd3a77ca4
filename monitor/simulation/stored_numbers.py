"""Judge stored numbers between other limits, where the numbers that decide were stored.

Only what a check says by its limits alone can be judged again: learned limits ask for a history as it was, samples for
their intervals. Nothing is believed of the rule here: a result counts only where the limits of then, by the same rule,
give the outcome that was stored; else its new outcome is `unknown`.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from checks import Check
from checks.classes.arrays import np
from checks.parameters.numbers import decimal
from incidents import ResultTrack
from incidents.result_tracks import ABSENT, FAILED, PASSED, UNKNOWN, WARNED
from monitor.summaries.check_numbers import CheckNumber

_LEAVES: Final = frozenset(
    {"severity", "open_on", "open_after", "resolve_after", "confirm", "why", "runbook", "id", "warn"}
)


class _Bounded(NamedTuple):
    """A number and the limits that it has to keep."""

    number: Fraction
    low: Fraction | None
    high: Fraction | None

    @property
    def holds(self) -> bool:
        return (self.low is None or self.number >= self.low) and (self.high is None or self.number <= self.high)


def judge_again(
    track: ResultTrack, observed: Mapping[int, Mapping[str, Any]], *, now: Check, then: Check
) -> ResultTrack:
    """Return results as they come out between other limits; `unknown` where what was stored cannot tell."""
    if not _differs_by_limits_only(now, then):
        return track.judged(np.full_like(track.status, UNKNOWN))
    status = [
        _again(int(code), observed.get(int(at), {}), now, then) for at, code in zip(track.at, track.status, strict=True)
    ]
    return track.judged(np.array(status, dtype=np.int64))


def _differs_by_limits_only(now: Check, then: Check) -> bool:
    limits = _LEAVES | now.warn_limits
    return type(now) is type(then) and all(
        vars(now)[name] == vars(then)[name] for name in vars(now) if name not in limits
    )


def _again(code: int, observed: Mapping[str, Any], now: Check, then: Check) -> int:
    if code == ABSENT:
        return ABSENT
    if code == UNKNOWN or _status(now, observed) != code:
        return UNKNOWN
    status = _status(then, observed)
    return UNKNOWN if status is None else status


def _status(check: Check, observed: Mapping[str, Any]) -> int | None:
    """Return what stored numbers come to; None where they do not tell."""
    holds = _holds(check, observed)
    softer = check.softened()
    if holds is None or not holds or softer is None:
        return None if holds is None else PASSED if holds else FAILED
    soft = _holds(softer, observed)
    return None if soft is None else PASSED if soft else WARNED


def _holds(check: Check, observed: Mapping[str, Any]) -> bool | None:
    if getattr(check, "learns", False) or check.sampling is not None:
        return None
    bounded = list(_numbers(check, observed))
    return all(item.holds for item in bounded) if bounded else None


def _numbers(check: Check, observed: Mapping[str, Any]) -> Iterator[_Bounded]:
    number = check.main_number
    if number is not None and number.again == "share":
        yield from _shares(check, observed, number.key)
    elif number is not None and number.again == "number":
        yield from _number(check, observed)


def _shares(check: Check, observed: Mapping[str, Any], key: str) -> Iterator[_Bounded]:
    rows, counted = _exact(observed.get("rows")), observed.get(key)
    allowed = decimal(getattr(check, "max_ratio", None) or 0)
    for bad in counted.values() if isinstance(counted, Mapping) else (counted,):
        number = _exact(bad)
        if rows and number is not None:
            yield _Bounded(number / rows, None, allowed)


def _number(check: Check, observed: Mapping[str, Any]) -> Iterator[_Bounded]:
    limits = CheckNumber.of(check)
    number, baseline = _exact(limits.read(observed)), _exact(limits.baseline(observed))
    if number is None or getattr(check, "count", None) == "catalogue":
        return
    tolerance = decimal(getattr(check, "tolerance", 0) or 0)
    low, high = (None if limit is None else decimal(limit) for limit in (limits.low, limits.high))
    yield _Bounded(number, None if low is None else low - tolerance, None if high is None else high + tolerance)
    ratios = [getattr(check, name, None) for name in ("min_ratio", "max_ratio")] if check.type == "volume" else []
    away = getattr(check, "max_deviation", None)
    if baseline is not None and any(ratio is not None for ratio in ratios):
        at_least, at_most = (None if ratio is None else decimal(ratio) * baseline for ratio in ratios)
        yield _Bounded(number, at_least, at_most)
    if baseline is not None and away is not None:
        yield _Bounded(abs(number - baseline), None, decimal(away) * abs(baseline))


def _exact(value: object) -> Fraction | None:
    return Fraction(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
