"""Judge promised service levels from the incident log: time to detect, notify and repair, and availability.

Every episode counts for itself; lengths of time are those of `incidents.downtime`, without planned maintenance. When
data went bad is known within bounds, so each figure has a low and a high end, and a level is kept or broken only if
both ends say so:

- high: data went bad right after the last run in which the limit held.
- low: at the moment that evidence names (the load time of a bad row, a missed arrival, a person); without evidence, at
  detection.

A detection is judged in the period in which it happened. Repairs and notifications are judged in the period in which
they happened if they were in time, and in every period in which they were overdue if not; one that may still be in
time is not judged yet. Availability is 1 - downtime / period; time in which nobody looked is no downtime at one end,
and downtime at the other. `docs/contracts.md` tells this in plain words.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Final

from checks import OccurrenceMethod
from checks.classes.arrays import np
from incidents._measure import MaintenanceSpans, TimeMeasure
from incidents._model import Incident
from incidents.downtime import episode_durations
from incidents.known_episodes import is_downtime
from incidents.spans import OPEN_END, Ints, Spans, Window, to_us

_EVIDENCE: Final = frozenset({OccurrenceMethod.BAD_ROWS, OccurrenceMethod.FRESHNESS_DEADLINE, OccurrenceMethod.PERSON})
"""Methods that name a moment at which data was bad; the others assume one."""


class Level(StrEnum):
    """What can be promised about incidents."""

    TIME_TO_DETECT = "time-to-detect"
    TIME_TO_NOTIFY = "time-to-notify"
    TIME_TO_REPAIR = "time-to-repair"
    AVAILABILITY = "availability"


class LevelVerdict(StrEnum):
    """Whether a promise was kept; `pending`: it may still be kept."""

    KEPT = "kept"
    PENDING = "pending"
    UNKNOWN = "unknown"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class LevelResult:
    """A promised level in a period, and what was seen.

    Times are microseconds, availability is a share (0 to 1), both exact; `seen` is the worst of the period, between
    `low` and `high` (for availability: the least it may have been is `low`). None where there was nothing to see.
    `judged` counts episodes (for availability, incidents), `incidents` are those that broke it, `undecided` those of
    which it is not known, or not known yet.
    """

    level: Level
    promised: Fraction
    verdict: LevelVerdict
    seen: Fraction | None = None
    low: Fraction | None = None
    high: Fraction | None = None
    judged: int = 0
    incidents: tuple[int, ...] = ()
    undecided: tuple[int, ...] = ()

    @property
    def missed_by(self) -> Fraction | None:
        """Return by how much a broken level was missed: time, or share of availability; None for others."""
        if self.verdict is not LevelVerdict.BROKEN or self.seen is None:
            return None
        return abs(self.seen - self.promised)


@dataclass(frozen=True, slots=True)
class IncidentHistory:
    """What is known of the tables of a contract.

    `incidents`: those that touch the period. `planned`: maintenance by table (microseconds). `notified`: when the
    first message about an episode was delivered, by incident and number of the episode (0 is the first); None if none
    was, and an episode is missing if that is not recorded. `unseen`: by table, when nobody looked. `observed`: whether
    anything was seen in the period.
    """

    incidents: Sequence[Incident]
    planned: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    notified: Mapping[tuple[int, int], datetime | None] = field(default_factory=dict)
    unseen: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    observed: bool = True


def judge_levels(
    promised: Mapping[Level, Fraction], history: IncidentHistory, window: Window, *, as_of_us: int
) -> Sequence[LevelResult]:
    """Judge promised levels in a period, as it is known at a moment.

    Args:
        promised: the longest time (microseconds), or the least availability (0 to 1).
        history: the incidents and what was seen of their tables.
        window: the period.
        as_of_us: the moment of knowing; what happened later has not happened.
    """
    if as_of_us <= window.start_us:
        return [LevelResult(level, limit, LevelVerdict.PENDING) for level, limit in promised.items()]
    survey = _Survey.of(history, window, min(window.end_us, as_of_us))
    return [survey.judge(level, limit) for level, limit in promised.items()]


@dataclass(frozen=True, slots=True)
class DownTime:
    """How long tables were down (microseconds): as seen, and the least and the most that it may have been."""

    seen: int
    low: int
    high: int


def down_time(history: IncidentHistory, window: Window, *, as_of_us: int) -> DownTime:
    """Return how long any of the tables was down in a period, as it is known at a moment of it or later."""
    return _Survey.of(history, window, min(window.end_us, as_of_us)).down_time()


@dataclass(frozen=True, slots=True)
class _Row:
    """An episode in the light of a level: how long it took, whether that is over, and known."""

    incident: int
    seen: int
    low: int
    high: int
    done: bool = True
    recorded: bool = True

    def verdict(self, limit: Fraction) -> LevelVerdict:
        if not self.recorded:
            return LevelVerdict.UNKNOWN
        if self.low > limit:
            return LevelVerdict.BROKEN
        if not self.done:
            return LevelVerdict.PENDING
        return LevelVerdict.KEPT if self.high <= limit else LevelVerdict.UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class _Survey:
    """The counting episodes detected before the end of what is known of a period."""

    history: IncidentHistory
    spans: Spans
    at_latest: Ints
    notified: Ints
    recorded: Sequence[bool]
    window: Window
    end_us: int

    @classmethod
    def of(cls, history: IncidentHistory, window: Window, end_us: int) -> "_Survey":
        ordered = sorted(history.incidents, key=lambda incident: incident.id)
        episodes = [
            (incident.id, number, item) for incident in ordered for number, item in enumerate(incident.episodes)
        ]
        spans = Spans.of(ordered)
        proven = [item.onset.method in _EVIDENCE for _, _, item in episodes]
        first = [history.notified.get((incident, number)) for incident, number, _ in episodes]
        at_latest = np.where(proven, spans.occurred, spans.latest)
        notified = np.array([OPEN_END if at is None else to_us(at) for at in first], dtype=np.int64)
        rows = np.flatnonzero(is_downtime(spans, disclosure=False) & (spans.detected < end_us))
        recorded = [(incident, number) in history.notified for incident, number, _ in episodes]
        return cls(
            history,
            spans.take(rows),
            at_latest[rows],
            np.maximum(notified[rows], spans.detected[rows]),
            [recorded[row] for row in rows.tolist()],
            window,
            end_us,
        )

    def judge(self, level: Level, limit: Fraction) -> LevelResult:
        if level is Level.AVAILABILITY:
            return self._availability(limit)
        rows = {
            Level.TIME_TO_DETECT: self._detections,
            Level.TIME_TO_NOTIFY: self._notifications,
            Level.TIME_TO_REPAIR: self._repairs,
        }[level]()
        verdicts = [row.verdict(limit) for row in rows]
        return LevelResult(
            level,
            limit,
            self._worst(verdicts),
            seen=_most(row.seen for row in rows if row.recorded),
            low=_most(row.low for row in rows if row.recorded),
            high=_most(row.high for row in rows if row.recorded),
            judged=sum(verdict is not LevelVerdict.PENDING for verdict in verdicts),
            incidents=_with(rows, verdicts, LevelVerdict.BROKEN),
            undecided=_with(rows, verdicts, LevelVerdict.UNKNOWN, LevelVerdict.PENDING),
        )

    def _worst(self, verdicts: Sequence[LevelVerdict]) -> LevelVerdict:
        for verdict in (LevelVerdict.BROKEN, LevelVerdict.UNKNOWN, LevelVerdict.PENDING):
            if verdict in verdicts:
                return verdict
        return LevelVerdict.KEPT if self.history.observed else LevelVerdict.UNKNOWN

    def _durations(self, occurred: Ints, resolved: Ints) -> Sequence[tuple[int, int]]:
        """Return TTD and TTR of each episode."""
        spans = replace(self.spans, occurred=occurred, resolved=resolved)
        maintenance = MaintenanceSpans.of(spans.names, self.history.planned)
        measured = episode_durations(spans, as_of_us=self.end_us, maintenance=maintenance)
        return [(item.ttd, item.ttr) for item in measured]

    def _real(self) -> Sequence[bool]:
        """Return which episodes are more than planned maintenance from beginning to end."""
        spans = self.spans
        lasted = (np.minimum(spans.resolved, self.end_us) > spans.occurred).tolist()
        sums = self._durations(spans.occurred, spans.resolved)
        return [not long or ttd + ttr > 0 for long, (ttd, ttr) in zip(lasted, sums, strict=True)]

    def _detections(self) -> Sequence[_Row]:
        spans = self.spans
        seen, low, high = (
            self._durations(occurred, spans.resolved) for occurred in (spans.occurred, self.at_latest, spans.earliest)
        )
        inside, real = spans.detected >= self.window.start_us, self._real()
        return [
            _Row(incident, seen[row][0], low[row][0], high[row][0])
            for row, incident in enumerate(spans.incident.tolist())
            if inside[row] and real[row]
        ]

    def _notifications(self) -> Sequence[_Row]:
        """Return the episodes of which the notification, or waiting for it, falls into the period.

        The end of an episode ends the waiting, too.
        """
        return self._waits(np.minimum(self.notified, self.spans.resolved), self.recorded)

    def _repairs(self) -> Sequence[_Row]:
        return self._waits(self.spans.resolved, [True] * len(self.recorded))

    def _waits(self, ends: Ints, recorded: Sequence[bool]) -> Sequence[_Row]:
        """Return the episodes that waited in the period for something that ends at these moments."""
        spans, real = self.spans, self._real()
        times = self._durations(spans.occurred, ends)
        rows = []
        for row, (incident, end) in enumerate(zip(spans.incident.tolist(), ends.tolist(), strict=True)):
            touches = end >= self.window.start_us if recorded[row] else spans.detected[row] >= self.window.start_us
            if touches and real[row]:
                time = times[row][1]
                rows.append(_Row(incident, time, time, time, done=end < self.end_us, recorded=recorded[row]))
        return rows

    def _availability(self, limit: Fraction) -> LevelResult:
        over = self.end_us == self.window.end_us
        length = self.end_us - self.window.start_us
        down = self.down_time()
        least, most = down.low, down.high
        seen, high, low = (1 - Fraction(time, length) for time in (down.seen, least, most))
        allowed = (1 - limit) * (self.window.end_us - self.window.start_us)
        verdict = (
            LevelVerdict.KEPT if over and most <= allowed else LevelVerdict.UNKNOWN if over else LevelVerdict.PENDING
        )
        touching = self._touching()
        if least > allowed:
            verdict = LevelVerdict.BROKEN
        elif not self.history.observed and not touching:
            return LevelResult(Level.AVAILABILITY, limit, LevelVerdict.UNKNOWN)
        broken = verdict is LevelVerdict.BROKEN
        return LevelResult(
            Level.AVAILABILITY,
            limit,
            verdict,
            seen=seen,
            low=low,
            high=high,
            judged=len(touching),
            incidents=touching if broken else (),
            undecided=() if broken or verdict is LevelVerdict.KEPT else touching,
        )

    def down_time(self) -> DownTime:
        """Return how long any of the tables was down in the period."""
        spans = self.spans
        return DownTime(
            self._down(spans.occurred, unseen=False),
            self._down(self.at_latest, unseen=False),
            self._down(spans.earliest, unseen=True),
        )

    def _down(self, occurred: Ints, *, unseen: bool) -> int:
        """Return how long any of the tables was down in the period, or may have been where nobody looked."""
        spans = self.spans
        begins = occurred.tolist()
        by_table: dict[str, list[tuple[int, int]]] = {}
        for row, (code, end) in enumerate(zip(spans.table.tolist(), spans.resolved.tolist(), strict=True)):
            by_table.setdefault(spans.names[code], []).append((begins[row], min(end, self.end_us)))
        if unseen:
            for table, intervals in self.history.unseen.items():
                by_table.setdefault(table, []).extend(intervals)
        down = [
            interval
            for table, intervals in by_table.items()
            for interval in _intervals(self._unplanned(table, TimeMeasure.of(intervals)))
        ]
        measure = TimeMeasure.of(down).within(self.window.start_us, self.end_us)
        return int((measure.ends - measure.starts).sum())

    def _unplanned(self, table: str, measure: TimeMeasure) -> TimeMeasure:
        planned = TimeMeasure.of(self.history.planned.get(table, ()))
        return measure.minus(planned) if planned.starts.size else measure

    def _touching(self) -> tuple[int, ...]:
        """Return the incidents with any downtime in the period."""
        spans = self.spans
        touches = (spans.resolved > self.window.start_us) & (spans.earliest < self.end_us)
        return tuple(dict.fromkeys(spans.incident[np.flatnonzero(touches)].tolist()))


def _intervals(measure: TimeMeasure) -> Iterable[tuple[int, int]]:
    return zip(measure.starts.tolist(), measure.ends.tolist(), strict=True)


def _most(values: Iterable[int]) -> Fraction | None:
    largest = max(values, default=None)
    return None if largest is None else Fraction(largest)


def _with(rows: Sequence[_Row], verdicts: Sequence[LevelVerdict], *wanted: LevelVerdict) -> tuple[int, ...]:
    chosen = (row.incident for row, verdict in zip(rows, verdicts, strict=True) if verdict in wanted)
    return tuple(dict.fromkeys(chosen))
