"""Compute unobserved time: when a table's checks were `unknown` or not run.

What a run found holds until the next one. So a run that could not be evaluated leaves the time after it unobserved, for
its reason; and a scheduled check whose next run is overdue leaves the time from when it was due unobserved, as
`not-run`. A check without a schedule is never overdue. Before the first run there is nothing to observe yet.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from incidents._measure import TimeMeasure
from incidents._model import Watch, to_us
from incidents.spans import Window

NOT_RUN: Final = "not-run"
"""The reason of a gap in which a scheduled check did not run. The others are the reasons of `unknown`."""

_SLACK: Final = 10
_MOST_SLACK: Final = timedelta(minutes=65)


@dataclass(frozen=True, slots=True)
class Gap:
    """A time `[start, end)` in which a check saw nothing, and why: an `UnknownReason`, or `not-run`."""

    check_id: str
    table: str
    start: datetime
    end: datetime
    reason: str

    def joined(self, later: "Gap") -> "Gap | None":
        """Return both as one gap if the later one goes on where this one ends, for the same reason; else None."""
        same = (self.check_id, self.reason) == (later.check_id, later.reason)
        return replace(self, end=max(self.end, later.end)) if same and self.start <= later.start <= self.end else None


def overdue_after(period: timedelta) -> timedelta:
    """Return how long after its last run a check counts as missed, by the longest time between two of its slots."""
    return period + min(period / _SLACK, _MOST_SLACK)


def gaps_after(watch: Watch | None, *, table: str, until: datetime, period: timedelta | None) -> tuple[Gap, ...]:
    """Return the unobserved time between the last known run of a check and a moment: its next run, or now.

    A run counts as missed when it is overdue by more than a tenth of the period, at most 65 minutes: neither a queue
    nor the end of summer time looks like a missed run.

    Args:
        watch: what was known of the check before that moment; None before its first run.
        table: the table that it looks at.
        until: when it ran next, or now.
        period: the longest time between two scheduled runs; None without a schedule.

    Returns:
        At most two gaps, in order: unknown, then not run.
    """
    if watch is None or until <= watch.last_run_at:
        return ()
    last, reason = watch.last_run_at, watch.last_unknown
    overdue = period is not None and until - last > overdue_after(period)
    due = last + period if period is not None and overdue else until
    gaps = []
    if reason is not None:
        gaps.append(Gap(watch.check_id, table, last, due, reason.value))
    if overdue:
        gaps.append(Gap(watch.check_id, table, due, until, NOT_RUN))
    return tuple(gaps)


@dataclass(frozen=True, slots=True)
class Unobserved:
    """How long some check of a table saw nothing, in microseconds.

    `by_reason` may add up to more than `time`: one check may be unknown while another does not run.
    """

    time: int
    by_reason: Mapping[str, int]


def unobserved(gaps: Iterable[Gap], window: Window) -> Mapping[str, Unobserved]:
    """Return the unobserved time in a window of each table that has any: the union over its checks."""
    intervals: dict[str, dict[str, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for gap in gaps:
        start, end = max(to_us(gap.start), window.start_us), min(to_us(gap.end), window.end_us)
        if start < end:
            intervals[gap.table][gap.reason].append((start, end))
    return MappingProxyType({table: _of_table(by_reason) for table, by_reason in sorted(intervals.items())})


def _of_table(by_reason: Mapping[str, list[tuple[int, int]]]) -> Unobserved:
    everything = [interval for intervals in by_reason.values() for interval in intervals]
    return Unobserved(
        _length(everything), MappingProxyType({reason: _length(some) for reason, some in sorted(by_reason.items())})
    )


def _length(intervals: Iterable[tuple[int, int]]) -> int:
    measure = TimeMeasure.of(intervals)
    return int((measure.ends - measure.starts).sum())
