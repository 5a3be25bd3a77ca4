"""Find what changed in a series of measurements: columns, figures, and which segment has most of the violations.

In: results of one check, oldest first, or of the segments of one run. Out: numbers and names, no value of a row.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any, Final

from checks import Status
from store import Result

_NAMED: Final = 5
_ENOUGH: Final = 5
"""Figures that are needed before the usual one is known."""
_LEAST_SHIFT: Final = math.log2(1.2)
_SPREADS: Final = 4
_LEAST_SPREAD: Final = 0.02
_HALVED: Final = 1.0
"""A figure that halved or doubled has strength 1."""
_MOST_SHARE, _BEYOND = 0.5, 0.2
_LEAST_SEGMENTS: Final = 2


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """What changed between two measurements, how strongly (0 to 1), and the figures of it.

    `columns`: those that are gone or of another type; None where it is no change of columns. `ended_at`: the first
    measurement that was as usual again; None while it lasts.
    """

    since: datetime
    until: datetime
    strength: float
    evidence: Mapping[str, Any]
    columns: frozenset[str] | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LargestShare:
    """The segment that has most of the violations of a run."""

    strength: float
    evidence: Mapping[str, Any]


def column_changes(results: Iterable[Result]) -> Sequence[MeasuredChange]:
    """Return when the columns of a table changed between two results of its schema check."""
    columns = ((result.measured_at, result.observed.get("columns")) for result in results)
    seen = [(at, names) for at, names in columns if isinstance(names, Mapping)]
    return [
        MeasuredChange(since, until, 1.0, _drift(before, after), _lost(before, after))
        for (since, before), (until, after) in pairwise(seen)
        if before != after
    ]


def _lost(before: Mapping[str, Any], after: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(name.casefold() for name in before if name not in after or before[name] != after[name])


def _drift(before: Mapping[str, Any], after: Mapping[str, Any]) -> Mapping[str, Any]:
    missing = [name for name in before if name not in after]
    extra = [name for name in after if name not in before]
    changed = [name for name in before if name in after and before[name] != after[name]]
    names = [*missing, *extra, *changed]
    more = len(names) - _NAMED
    text = ", ".join(names[:_NAMED]) + (f" … (+{more})" if more > 0 else "")
    return {"missing": len(missing), "extra": len(extra), "changed": len(changed), "names": text}


def value_shifts(results: Iterable[Result]) -> Sequence[MeasuredChange]:
    """Return when the figure of a volume or metric check left what is usual.

    It is compared with the baseline that the check had, or without one with the median of the figures before. A shift
    is more than a fifth, and more than four times the usual spread (the median of the distances before, on a scale of
    logarithms). Of several in a row the first one.
    """
    shifts: list[MeasuredChange] = []
    steady: list[tuple[float, float | None]] = []
    previous: datetime | None = None
    is_shifted = False
    for result in results:
        figure, usual = _figure(result, "rows", "value"), _figure(result, "baseline")
        if figure is None:
            continue
        was_shifted, is_shifted = is_shifted, False
        if len(steady) >= _ENOUGH:
            now = median(past for past, _ in steady) if usual is None else usual
            distance = _distance(figure, now)
            is_shifted = _is_shift(
                distance, [_distance(past, now if baseline is None else baseline) for past, baseline in steady]
            )
            if is_shifted and not was_shifted and previous is not None:
                strength = min(1.0, abs(distance) / _HALVED)
                shifts.append(MeasuredChange(previous, result.measured_at, strength, {"value": figure, "usual": now}))
        if was_shifted and not is_shifted and shifts:
            shifts[-1] = replace(shifts[-1], ended_at=result.measured_at)
        if not is_shifted:
            steady.append((figure, usual))
        previous = result.measured_at
    return shifts


def _distance(figure: float, usual: float) -> float:
    return math.log2((1 + abs(figure)) / (1 + abs(usual)))


def _is_shift(distance: float, before: Sequence[float]) -> bool:
    middle = median(before)
    spread = max(_LEAST_SPREAD, 1.4826 * median(abs(item - middle) for item in before))
    return abs(distance) >= _LEAST_SHIFT and abs(distance - middle) >= _SPREADS * spread


def _figure(result: Result, *names: str) -> float | None:
    for name in names:
        value = result.observed.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    return None


def largest_share(whole: Result, segments: Sequence[Result]) -> LargestShare | None:
    """Return the followed segment that has most of the violations of a run; None where none stands out.

    It has at least half of the violations in the segments that are followed, and its share of them is larger by a fifth
    than its share of all rows.

    Args:
        whole: what the check found over all its segments.
        segments: what it found in those that it follows.
    """
    counted = [(result, _violations(result)) for result in segments]
    violations, rows = sum(count for _, count in counted), _figure(whole, "rows")
    number, failing = (_figure(whole, name) or 0.0 for name in ("segments", "failing"))
    if number < _LEAST_SEGMENTS or not violations:
        return None
    worst, most = max(counted, key=lambda item: item[1])
    share, of_rows = most / violations, (_figure(worst, "rows") or 0.0) / rows if rows else 0.0
    if share < _MOST_SHARE or share - of_rows < _BEYOND:
        return None
    title = worst.message.segment or worst.check_id
    evidence = {"segment": title, "share": share, "rows": of_rows, "failing": int(failing), "segments": int(number)}
    return LargestShare(share - of_rows, evidence)


def _violations(result: Result) -> float:
    """Return how much a segment contributes: rows in violation, rows too many or too few, or that it fails."""
    nulls = result.observed.get("nulls")
    if isinstance(nulls, Mapping):
        return float(sum(count for count in nulls.values() if isinstance(count, int)))
    if (violations := _figure(result, "violations")) is not None:
        return violations
    if result.status is not Status.FAIL:
        return 0.0
    figure, baseline = _figure(result, "rows", "value"), _figure(result, "baseline")
    return 1.0 if figure is None or baseline is None else abs(figure - baseline)
