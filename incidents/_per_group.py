"""Compute the downtime of each group of incidents: the figures of a window, and what they leave out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from checks import Severity
from checks.classes.arrays import np
from incidents._measure import Bools, order_by, totals
from incidents._measure import counts as count
from incidents._model import Resolution
from incidents.known_episodes import CountedWindow, PerIncident, by_table
from incidents.spans import Ints, Spans, Window


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of the durations of whole incidents, in microseconds; p90 and median by linear interpolation."""

    min: int | Fraction
    mean: Fraction
    median: Fraction
    p90: Fraction
    max: int | Fraction


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the downtime."""

    n: int = 0
    undetected: int = 0
    repair: int = 0

    @property
    def downtime(self) -> int:
        """Return the sum of both parts."""
        return self.undetected + self.repair


@dataclass(frozen=True, slots=True)
class ExcludedCount:
    """The number of incidents, and their time in the window (microseconds)."""

    n: int = 0
    time: int = 0


@dataclass(frozen=True, slots=True)
class OpenIncident:
    """An unresolved incident: times of the present episode, and its age as of the moment of the report."""

    id: int
    occurred_us: int
    detected_us: int
    age: int


@dataclass(frozen=True, slots=True)
class Downtime:
    """The downtime in a window. Times in microseconds.

    `n`: incidents with any time in the window. `n_occurred`: those that occurred in it, which adds up over windows.
    `undetected_low` and `undetected_high`: the undetected part if every incident had occurred as late, or as early, as
    possible. `ttd`: over incidents detected in the window, `ttr`: over those resolved in it, `tta`: over the
    `n_acknowledged` first acknowledged in it; None without any. `n_unacknowledged` were resolved in it without
    an acknowledgement.
    `table_time`: time in which a table was down, however many incidents it had at once, summed over tables.
    `by_severity`: parts of those that have any. `excluded`: time that does not count, by resolution or `maintenance`.
    `exposure`: disclosure incidents, which are no downtime. `open`: those unresolved as of `as_of_us`.
    """

    window: Window
    as_of_us: int
    n: int = 0
    n_occurred: int = 0
    undetected: int = 0
    repair: int = 0
    undetected_low: int = 0
    undetected_high: int = 0
    ttd: Statistics | None = None
    ttr: Statistics | None = None
    tta: Statistics | None = None
    n_acknowledged: int = 0
    n_unacknowledged: int = 0
    table_time: int = 0
    by_severity: Mapping[Severity, Part] = field(default_factory=lambda: MappingProxyType({}))
    excluded: Mapping[str, ExcludedCount] = field(default_factory=lambda: MappingProxyType({}))
    exposure: ExcludedCount = ExcludedCount()
    open: tuple[OpenIncident, ...] = ()

    @property
    def is_reported(self) -> bool:
        """Check whether any incident counts in the window; one that ended as it began is only in `n_occurred`."""
        return bool(self.n or self.n_occurred)

    @property
    def downtime(self) -> int:
        """Return the sum of the undetected and the repair part."""
        return self.undetected + self.repair

    @property
    def low(self) -> int:
        """Return the downtime if every incident had occurred as late as possible."""
        return self.undetected_low + self.repair

    @property
    def high(self) -> int:
        """Return the downtime if every incident had occurred as early as possible."""
        return self.undetected_high + self.repair


MAINTENANCE: Final = "maintenance"
"""The key of planned maintenance in `Downtime.excluded`."""

_SEVERITIES: Final = tuple(Severity)
_RESOLUTIONS: Final = tuple(Resolution)


def per_group(
    per_incident: PerIncident, part: Spans, counted_window: CountedWindow, *, group: Ints, size: int
) -> list[Downtime]:
    """Return the downtime of each of the groups 0 to `size` - 1, all but its table time; `group` is by incident."""

    def total(values: Ints) -> list[int]:
        return totals(np.where(per_incident.down, values, 0), group, size)

    touches = per_incident.down & (per_incident.undetected + per_incident.repair > 0)
    columns = {
        "n": count(group[touches], size),
        "n_occurred": count(group[per_incident.occurred], size),
        "undetected": total(per_incident.undetected),
        "repair": total(per_incident.repair),
        "undetected_low": total(per_incident.undetected_low),
        "undetected_high": total(per_incident.undetected_high),
        "ttd": _statistics(per_incident.ttd[per_incident.detected], group[per_incident.detected], size),
        "ttr": _statistics(per_incident.ttr[per_incident.resolved], group[per_incident.resolved], size),
        "tta": _statistics(per_incident.tta[per_incident.acknowledged], group[per_incident.acknowledged], size),
        "n_acknowledged": count(group[per_incident.acknowledged], size),
        "n_unacknowledged": count(group[per_incident.unacknowledged], size),
        "by_severity": _by_severity(per_incident, part, touches, group=group, size=size),
        "excluded": _excluded(per_incident, part, group=group, size=size),
        "exposure": _tallies(per_incident.raw, per_incident.exposed, group, size),
        "open": _open(per_incident, part, counted_window, group=group, size=size),
    }
    return [
        Downtime(counted_window.window, counted_window.as_of_us, **dict(zip(columns, values, strict=True)))
        for values in zip(*columns.values(), strict=True)
    ]


def table_time(spans: Spans, counted_window: CountedWindow, *, group: Ints, rows: Ints, size: int) -> list[int]:
    """Return, for each group, how long its tables were down in the episodes of some rows, summed over tables."""
    of_group, table, start, end = by_table(spans, counted_window, group, rows)
    return totals(counted_window.counted(table, start, end), of_group, size)


def _statistics(values: Ints, group: Ints, size: int) -> list[Statistics | None]:
    sums, numbers = totals(values, group, size), count(group, size)
    values = values[order_by(group)]
    result: list[Statistics | None] = []
    begin = 0
    for n, total in zip(numbers, sums, strict=True):
        result.append(_statistics_of(values[begin : begin + n], total) if n else None)
        begin += n
    return result


def _statistics_of(values: Ints, total: int) -> Statistics:
    return Statistics(
        min=int(values.min()),
        mean=Fraction(total, values.size),
        median=_quantile(values, Fraction(1, 2)),
        p90=_quantile(values, Fraction(9, 10)),
        max=int(values.max()),
    )


def _quantile(values: Ints, share: Fraction) -> Fraction:
    """Return a quantile by linear interpolation: position share x (n - 1), counted from 0; the values change places."""
    position = share * (values.size - 1)
    below = position.numerator // position.denominator
    above = min(below + 1, values.size - 1)
    values.partition((below, above))
    low, high = int(values[below]), int(values[above])
    return low + (high - low) * (position - below)


def _by_severity(
    per_incident: PerIncident, part: Spans, touches: Bools, *, group: Ints, size: int
) -> list[Mapping[Severity, Part]]:
    cell, cells = group * len(_SEVERITIES) + part.severity[per_incident.first], size * len(_SEVERITIES)
    numbers = count(cell[touches], cells)
    undetected, repair = (
        totals(values[touches], cell[touches], cells) for values in (per_incident.undetected, per_incident.repair)
    )
    parts = [Part(*values) for values in zip(numbers, undetected, repair, strict=True)]
    return [
        MappingProxyType(
            {severity: parts[at + severity.rank] for severity in _SEVERITIES if parts[at + severity.rank].n}
        )
        for at in range(0, cells, len(_SEVERITIES))
    ]


def _excluded(per_incident: PerIncident, part: Spans, *, group: Ints, size: int) -> list[Mapping[str, ExcludedCount]]:
    by_name = {
        MAINTENANCE: _tallies(
            per_incident.raw - per_incident.undetected - per_incident.repair, per_incident.down, group, size
        )
    }
    for number, resolution in enumerate(_RESOLUTIONS):
        if not resolution.counts:
            ended_so = per_incident.excluded & (part.resolution[per_incident.first] == number)
            by_name[resolution.value] = _tallies(per_incident.raw, ended_so, group, size)
    return [
        MappingProxyType({name: tallies[at] for name, tallies in by_name.items() if tallies[at].n})
        for at in range(size)
    ]


def _tallies(times: Ints, which: Bools, group: Ints, size: int) -> list[ExcludedCount]:
    chosen = which & (times > 0)
    numbers, sums = count(group[chosen], size), totals(times[chosen], group[chosen], size)
    return [ExcludedCount(n, time) for n, time in zip(numbers, sums, strict=True)]


def _open(
    per_incident: PerIncident, part: Spans, counted_window: CountedWindow, *, group: Ints, size: int
) -> list[tuple[OpenIncident, ...]]:
    result: list[list[OpenIncident]] = [[] for _ in range(size)]
    rows = per_incident.last[per_incident.lasts]
    columns = (group[per_incident.lasts], part.incident[rows], part.occurred[rows], part.detected[rows])
    for of_group, number, occurred, detected in zip(*(column.tolist() for column in columns), strict=True):
        result[of_group].append(OpenIncident(number, occurred, detected, age=counted_window.as_of_us - occurred))
    return [tuple(some) for some in result]
