"""Compute data downtime, N x (TTD + TTR), of any window, exactly.

An incident is one or more episodes `[occurred, detected, resolved)`. In a window its undetected part is what lies
inside of `[occurred, detected)`, its repair part what lies inside of `[detected, resolved or as-of)`; planned
maintenance of its table is taken out. Downtime is the sum of both parts over all incidents that count, n the number of
incidents with any part, so `downtime = n x (undetected / n + repair / n)` holds for every window. Statistics of TTD,
TTA and TTR are about whole incidents and stand apart. All times are integer microseconds; nothing is rounded.
`docs/incidents.md` tells this in plain words.

TTD, TTR and TTA (time to acknowledge) of a single incident and of its episodes come from `durations` and
`episode_durations` here; every command, report and alert shows these values and subtracts no times itself.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from checks.classes.arrays import np
from incidents._measure import Bools, MaintenanceSpans, TimeMeasure, dense
from incidents._model import Incident
from incidents._per_group import (
    MAINTENANCE,
    Downtime,
    ExcludedCount,
    OpenIncident,
    Part,
    Statistics,
    per_group,
    table_time,
)
from incidents._rates import Lever, lever_of
from incidents.known_episodes import CountedWindow, first_rows, is_downtime, known_episodes, per_incident
from incidents.spans import HOUR_US, OPEN_END, Ints, Spans, Window

__all__ = [
    "HOUR_US",
    "MAINTENANCE",
    "Downtime",
    "Durations",
    "ExcludedCount",
    "Lever",
    "MaintenanceSpans",
    "OpenIncident",
    "Part",
    "Shares",
    "Statistics",
    "changes",
    "durations",
    "episode_durations",
    "hours",
    "lever",
    "measure",
    "measure_by",
    "response_times",
    "uncovered",
]


def measure(
    spans: Spans,
    window: Window,
    *,
    as_of_us: int,
    maintenance: MaintenanceSpans | None = None,
    disclosure: bool = False,
) -> Downtime:
    """Return the downtime of a window.

    Args:
        spans: the episodes of incidents; those of an incident stand together, in order.
        window: the time that it is about.
        as_of_us: the moment of knowing; what was detected later does not exist, what was resolved later lasts.
        maintenance: planned work, which does not count.
        disclosure: count disclosure incidents as downtime too.
    """
    group = np.zeros(spans.incident.size, dtype=np.int64)
    downtimes = measure_by(
        spans, window, as_of_us=as_of_us, group=group, maintenance=maintenance, disclosure=disclosure
    )
    return downtimes.get(0) or Downtime(window, as_of_us)


def measure_by(
    spans: Spans,
    window: Window,
    *,
    as_of_us: int,
    group: Ints,
    maintenance: MaintenanceSpans | None = None,
    disclosure: bool = False,
) -> dict[int, Downtime]:
    """Return the downtime of a window for each group of incidents.

    Args:
        spans: the episodes of incidents.
        window: the time that it is about.
        as_of_us: the moment of knowing.
        group: a whole number for each row of the spans, the same for all episodes of an incident: its table, check,
            owner, severity, or the incident itself.
        maintenance: planned work, which does not count.
        disclosure: count disclosure incidents as downtime too.

    Returns:
        By number of the group, in order; groups without any incident known in the window are left out.
    """
    rows = known_episodes(spans, window, as_of_us)
    if rows.size == 0:
        return {}
    part, counted_window = spans.take(rows), CountedWindow(window, as_of_us, maintenance)
    codes, group_of_row = dense(group[rows])
    incident = per_incident(part, counted_window, disclosure=disclosure)
    figures = per_group(incident, part, counted_window, group=group_of_row[incident.first], size=codes.size)
    down = np.flatnonzero(is_downtime(part, disclosure=disclosure))
    tables = table_time(part, counted_window, group=group_of_row, rows=down, size=codes.size)
    return {
        code: replace(figure, table_time=time)
        for code, figure, time in zip(codes.tolist(), figures, tables, strict=True)
    }


def response_times(
    spans: Spans, window: Window, *, as_of_us: int, maintenance: MaintenanceSpans | None = None
) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """Return the TTD of incidents detected in a window, the TTA of those acknowledged, the TTR of those resolved in it.

    By number, in microseconds, unclipped: the values of which `ttd`, `tta` and `ttr` of `Downtime` are the statistics.
    """
    rows = known_episodes(spans, window, as_of_us)
    if rows.size == 0:
        return {}, {}, {}
    part = spans.take(rows)
    incident = per_incident(part, CountedWindow(window, as_of_us, maintenance), disclosure=False)
    numbers = part.incident[incident.first]

    def by_number(values: Ints, which: Bools) -> dict[int, int]:
        return dict(zip(numbers[which].tolist(), values[which].tolist(), strict=True))

    return (
        by_number(incident.ttd, incident.detected),
        by_number(incident.tta, incident.acknowledged),
        by_number(incident.ttr, incident.resolved),
    )


@dataclass(frozen=True, slots=True)
class Durations:
    """How long an incident, or one of its episodes, took: microseconds, without planned maintenance.

    `ttr` is measured up to the moment of knowing while it lasts. `tta`: from the detection of the first episode that
    was acknowledged to that; None without one. `maintenance`: planned maintenance that lies in it and is in none
    of them.
    """

    ttd: int
    ttr: int
    tta: int | None
    maintenance: int
    lasts: bool

    @property
    def total(self) -> int:
        """TTD and TTR together."""
        return self.ttd + self.ttr


def durations(spans: Spans, *, as_of_us: int, maintenance: MaintenanceSpans | None = None) -> dict[int, Durations]:
    """Compute TTD and TTR of each incident, its episodes summed, by incident id.

    The healthy time between episodes is in neither. Whether an incident counts as downtime plays no part here.

    Args:
        spans: all episodes of the incidents; those of an incident stand together, in order.
        as_of_us: the moment of knowing; what was resolved later lasts.
        maintenance: planned work, which does not count.
    """
    current_durations = _durations(spans, as_of_us=as_of_us, maintenance=maintenance)
    return dict(zip(spans.incident[first_rows(spans)].tolist(), current_durations, strict=True))


def episode_durations(spans: Spans, *, as_of_us: int, maintenance: MaintenanceSpans | None = None) -> list[Durations]:
    """Compute TTD and TTR of each episode, in the order of the spans' rows; the arguments are those of `durations`."""
    alone = replace(spans, incident=np.arange(spans.incident.size, dtype=np.int64))
    return _durations(alone, as_of_us=as_of_us, maintenance=maintenance)


def _durations(spans: Spans, *, as_of_us: int, maintenance: MaintenanceSpans | None) -> list[Durations]:
    if spans.incident.size == 0:
        return []
    # an episode that is detected after the moment of knowing (a clock that was set back) has no repair time yet
    ended = replace(
        spans,
        resolved=np.minimum(spans.resolved, np.maximum(spans.detected, as_of_us)),
        acknowledged=np.where(spans.acknowledged <= as_of_us, spans.acknowledged, OPEN_END),
    )
    window = Window(int(spans.occurred.min()), int(ended.resolved.max()) + 1)
    sums = per_incident(ended, CountedWindow(window, OPEN_END, maintenance), disclosure=True)
    lasts = spans.resolved[sums.last] > as_of_us
    tta = [None if waited < 0 else waited for waited in sums.tta.tolist()]
    maintenance_time = (sums.raw - sums.ttd - sums.ttr).tolist()
    rows = zip(sums.ttd.tolist(), sums.ttr.tolist(), tta, maintenance_time, lasts.tolist(), strict=True)
    return [Durations(*row) for row in rows]


def uncovered(incident: Incident, into: Incident, *, as_of_us: int, maintenance: MaintenanceSpans | None = None) -> int:
    """Compute the downtime that a merge of one incident into another takes out of the figures, microseconds.

    That is the time in which it was bad and the other was not, without planned maintenance; 0 if it was not counted
    before, all of it if the other is not counted or is of a kind that is counted apart. Both are about one table.
    """
    if not incident.counts:
        return 0
    ours, theirs = (Spans.of([current_incident]) for current_incident in (incident, into))
    lost = _bad_time(ours, as_of_us)
    if into.counts and into.kind is incident.kind:
        lost = lost.minus(_bad_time(theirs, as_of_us))
    if maintenance is not None:
        for _, planned in maintenance.by_measure(ours.table[:1]):
            lost = lost.minus(planned)
    return int((lost.ends - lost.starts).sum())


def _bad_time(spans: Spans, as_of_us: int) -> TimeMeasure:
    ends = np.minimum(spans.resolved, np.maximum(spans.detected, as_of_us))
    return TimeMeasure.of(zip(spans.occurred.tolist(), ends.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Shares:
    """Why downtime changed: what is due to the number of incidents, to TTD and to TTR, in microseconds; exact."""

    n: Fraction
    ttd: Fraction
    ttr: Fraction

    @property
    def total(self) -> Fraction:
        """Return the whole change."""
        return self.n + self.ttd + self.ttr


def changes(last: Downtime, this: Downtime) -> Shares:
    """Return the shares of N, TTD and TTR in the change of downtime; they add up to it, whichever is looked at first.

    With T and R the parts per incident: dN x mean (T + R), mean N x dT, mean N x dR. If either window has no incident
    there is no T or R to compare, and all of it is the share of N.
    """
    if last.n == 0 or this.n == 0:
        return Shares(Fraction(this.downtime - last.downtime), Fraction(0), Fraction(0))
    mean_n = Fraction(last.n + this.n, 2)
    mean_each = (Fraction(last.downtime, last.n) + Fraction(this.downtime, this.n)) / 2
    return Shares(
        n=(this.n - last.n) * mean_each,
        ttd=mean_n * (Fraction(this.undetected, this.n) - Fraction(last.undetected, last.n)),
        ttr=mean_n * (Fraction(this.repair, this.n) - Fraction(last.repair, last.n)),
    )


def lever(downtime: Downtime) -> Lever:
    """Return what would help most, if that is the same for the latest and the earliest possible times of occurrence."""
    low = lever_of(downtime.undetected_low, downtime.repair)
    high = lever_of(downtime.undetected_high, downtime.repair)
    return low if low is high else Lever.NONE


def hours(microseconds: int | Fraction) -> Fraction:
    """Return a length of time in hours, exactly; round it only to show it."""
    return Fraction(microseconds) / HOUR_US
