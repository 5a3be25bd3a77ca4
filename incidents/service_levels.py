"""Judge promised service levels from the incident log: time to detect, notify and repair, and availability.

Every episode counts for itself; lengths of time are those of `incidents.downtime`, without planned maintenance. When
data went bad is known within bounds, so each figure has a low and a high end, and a level is kept or broken only if
both ends say so:

- high: data went bad right after the last run in which the limit held.
- low: at the moment that evidence names (the load time of a bad row, a missed arrival, a person); without evidence, at
  detection.

A detection is judged in the period in which it happened. Repairs and notifications are judged in the period in which
they happened if they were in time, and in every period in which they were overdue if not; one that may still be in
time is not judged yet. Availability is 1 - downtime / period; unobserved time is no downtime at one end,
and downtime at the other. `docs/contracts.md` tells this in plain words.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import floor

from checks.classes.arrays import np
from incidents._measure import Bools, MaintenanceSpans, TimeMeasure, dense, union
from incidents._model import to_us
from incidents.known_episodes import CountedWindow, is_downtime
from incidents.spans import OPEN_END, Ints, Spans, Window


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
    `judged` counts episodes (for availability, incidents), `kept` and `broken` those that kept a time and that broke
    it: of the others it is not known. `incidents` are those that broke it, `undecided` those of which it is not known,
    or not known yet.
    """

    level: Level
    promised: Fraction
    verdict: LevelVerdict
    seen: Fraction | None = None
    low: Fraction | None = None
    high: Fraction | None = None
    judged: int = 0
    kept: int = 0
    broken: int = 0
    incidents: tuple[int, ...] = ()
    undecided: tuple[int, ...] = ()

    @property
    def missed_by(self) -> Fraction | None:
        """Return by how much a broken level was missed: time, or share of availability; None for others."""
        if self.verdict is not LevelVerdict.BROKEN or self.seen is None:
            return None
        return abs(self.seen - self.promised)

    @property
    def is_time(self) -> bool:
        """Check whether it is a time that each episode keeps or breaks."""
        return self.level is not Level.AVAILABILITY

    @property
    def share_kept(self) -> tuple[Fraction, Fraction] | None:
        """Return which share of the episodes kept a time, at least and at most; None without one, or another level."""
        if not self.is_time:
            return None
        return share_kept(judged=self.judged, kept=self.kept, broken=self.broken)


def share_kept(*, judged: int, kept: int, broken: int) -> tuple[Fraction, Fraction] | None:
    """Return which share of so many episodes kept a time, at least and at most; None without any."""
    return (Fraction(kept, judged), 1 - Fraction(broken, judged)) if judged else None


@dataclass(frozen=True, slots=True)
class IncidentHistory:
    """What is known of tables about which something is promised.

    `spans`: the episodes of incidents that touch the period, and perhaps of others. `planned`: maintenance by table
    (microseconds). `notified`: when the first message about an episode was delivered, by incident and number of the
    episode (0 is the first); None if none was, and an episode is missing if that is not recorded. `unseen`: by table,
    unobserved time. `observed`: the tables of which anything was seen in the period; None is all.
    """

    spans: Spans
    planned: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    notified: Mapping[tuple[int, int], datetime | None] = field(default_factory=dict)
    unseen: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    observed: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class DownTime:
    """How long tables were down (microseconds): as seen, and the least and the most that it may have been."""

    seen: int
    low: int
    high: int


@dataclass(frozen=True, slots=True, eq=False)
class _Times:
    """How long each episode took in the light of a level, whether that is over, and recorded.

    `counts`: the period is about it.
    """

    seen: Ints
    low: Ints
    high: Ints
    done: Bools
    recorded: Bools
    counts: Bools

    def take(self, rows: Ints) -> "_Times":
        return _Times(*(getattr(self, name)[rows] for name in self.__slots__))


@dataclass(frozen=True, eq=False)
class LevelSurvey:
    """The counting episodes detected before the end of what is known of a period, measured once for all promises."""

    history: IncidentHistory
    spans: Spans
    number: Ints
    window: Window
    end_us: int
    is_over: bool
    """Whether the period is over; one that ends now goes on for what lasts."""
    _down: dict[int, Sequence[Mapping[str, TimeMeasure]]] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, history: IncidentHistory, window: Window, *, as_of_us: int) -> "LevelSurvey":
        """Return the survey of a period, as it is known at a moment; what happened later has not happened."""
        spans, end_us = history.spans, min(window.end_us, as_of_us)
        rows = np.flatnonzero(is_downtime(spans, disclosure=False) & (spans.detected < end_us))
        first = np.searchsorted(spans.incident, spans.incident)
        number = np.arange(spans.incident.size) - first
        return cls(history, spans.take(rows), number[rows], window, end_us, as_of_us > window.end_us)

    def judge(self, level: Level, limit: Fraction, tables: Collection[str] | None = None) -> LevelResult:
        """Judge a level that is promised for tables, by default for all.

        `limit`: the longest time (microseconds), or the least availability (0 to 1).
        """
        if self.end_us <= self.window.start_us:
            return LevelResult(level, limit, LevelVerdict.PENDING)
        rows = self._rows(tables)
        observed = self.history.observed
        seen = observed is None or any(name in observed for name in (observed if tables is None else tables))
        if level is Level.AVAILABILITY:
            return self._availability(limit, rows, tables, observed=seen)
        times = self._times(level)
        rows = rows[times.counts[rows]]
        return _judged(level, limit, times.take(rows), self.spans.incident[rows], observed=seen)

    def down_times(self, windows: Sequence[Window], tables: Collection[str] | None = None) -> Sequence[DownTime]:
        """Return how long any of some tables, by default of all, was down in parts of the time that is known."""
        moments = np.array([(window.start_us, min(window.end_us, self.end_us)) for window in windows], dtype=np.int64).T
        measures = [_any_of(times, tables) for times in self._down_since(int(moments[0].min()))]
        lengths = [(measure(moments[1]) - measure(moments[0])).tolist() for measure in measures]
        return [DownTime(*times) for times in zip(*lengths, strict=True)]

    def observed_us(self, tables: Collection[str]) -> int:
        """Return how much of the period, as far as it is known, every check of some tables saw (microseconds).

        Planned maintenance counts as seen.
        """
        if self.end_us <= self.window.start_us:
            return 0
        period = np.array([self.window.start_us, self.end_us], dtype=np.int64)
        start, end = _any_of(self._unseen, tables)(period).tolist()
        return int(self.end_us - self.window.start_us - (end - start))

    @property
    def touched(self) -> Collection[str]:
        """Return the tables that have any of the episodes."""
        return self._by_table.keys()

    def _rows(self, tables: Collection[str] | None) -> Ints:
        """Return the rows of tables, in their order."""
        if tables is None:
            return np.arange(self.spans.incident.size)
        parts = [self._by_table[name] for name in tables if name in self._by_table]
        if len(parts) == 1:
            return parts[0]
        return np.sort(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)

    @cached_property
    def _by_table(self) -> Mapping[str, Ints]:
        codes, which = dense(self.spans.table)
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(codes.size + 1)).tolist()
        return {
            self.spans.names[code]: order[bounds[place] : bounds[place + 1]]
            for place, code in enumerate(codes.tolist())
        }

    @cached_property
    def _at_latest(self) -> Ints:
        return np.where(self.spans.proven, self.spans.occurred, self.spans.latest)

    @cached_property
    def _counted_window(self) -> CountedWindow:
        maintenance = MaintenanceSpans.of(self.spans.names, self.history.planned) if self.history.planned else None
        return CountedWindow(self.window, self.end_us, maintenance)

    @cached_property
    def _real(self) -> Bools:
        """Return which episodes are more than planned maintenance from beginning to end."""
        spans = self.spans
        over = np.minimum(spans.resolved, self.end_us)
        lasted, repair = self._counted(spans.occurred, spans.detected), self._counted(spans.detected, over)
        return (over <= spans.occurred) | (lasted + repair > 0)

    def _counted(self, start: Ints, end: Ints) -> Ints:
        return self._counted_window.counted(self.spans.table, start, end)

    def _times(self, level: Level) -> _Times:
        if level is Level.TIME_TO_DETECT:
            return self._detections
        return self._repairs if level is Level.TIME_TO_REPAIR else self._notifications

    @cached_property
    def _detections(self) -> _Times:
        spans = self.spans
        seen, low, high = (
            self._counted(occurred, spans.detected) for occurred in (spans.occurred, self._at_latest, spans.earliest)
        )
        always = np.ones(seen.size, dtype=np.bool_)
        inside = spans.detected >= self.window.start_us
        return _Times(seen, low, high, always, always, inside & self._real)

    @cached_property
    def _notifications(self) -> _Times:
        """Return the episodes of which the notification, or waiting for it, falls into the period.

        The end of an episode ends the waiting, too.
        """
        spans, notified = self.spans, self.history.notified
        episodes = list(zip(spans.incident.tolist(), self.number.tolist(), strict=True))
        first = [notified.get(episode) for episode in episodes]
        at = np.array([OPEN_END if moment is None else to_us(moment) for moment in first], dtype=np.int64)
        recorded = np.array([episode in notified for episode in episodes], dtype=np.bool_)
        return self._waits(np.minimum(np.maximum(at, spans.detected), spans.resolved), recorded)

    @cached_property
    def _repairs(self) -> _Times:
        return self._waits(self.spans.resolved, np.ones(self.spans.resolved.size, dtype=np.bool_))

    def _waits(self, ends: Ints, recorded: Bools) -> _Times:
        """Return the episodes that waited in the period for something that ends at these moments.

        Of a period that is over, an episode that waits on is done: what it takes from then on belongs to the next one.
        """
        time = self._counted(self.spans.detected, np.minimum(ends, self.end_us))
        touches = np.where(recorded, ends, self.spans.detected) >= self.window.start_us
        return _Times(time, time, time, (ends < self.end_us) | self.is_over, recorded, touches & self._real)

    def _availability(
        self, limit: Fraction, rows: Ints, tables: Collection[str] | None, *, observed: bool
    ) -> LevelResult:
        over = self.end_us == self.window.end_us
        length = self.end_us - self.window.start_us
        (down,) = self.down_times([self.window], tables)
        seen, high, low = (1 - Fraction(time, length) for time in (down.seen, down.low, down.high))
        allowed = (1 - limit) * (self.window.end_us - self.window.start_us)
        verdict = (
            LevelVerdict.KEPT
            if over and down.high <= allowed
            else LevelVerdict.UNKNOWN
            if over
            else LevelVerdict.PENDING
        )
        touching = self._touching(rows)
        if down.low > allowed:
            verdict = LevelVerdict.BROKEN
        elif not observed and not touching:
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

    def _down_since(self, since_us: int) -> Sequence[Mapping[str, TimeMeasure]]:
        """Return when each table was down from a moment on: as seen, at least and at most; computed once a moment."""
        if since_us not in self._down:
            rows, unseen = np.flatnonzero(self.spans.resolved > since_us), self.history.unseen
            self._down[since_us] = (
                self._bad_times(rows, self.spans.occurred, {}),
                self._bad_times(rows, self._at_latest, {}),
                self._bad_times(rows, self.spans.earliest, unseen),
            )
        return self._down[since_us]

    @cached_property
    def _unseen(self) -> Mapping[str, TimeMeasure]:
        return self._bad_times(np.zeros(0, dtype=np.int64), self.spans.occurred, self.history.unseen)

    def _bad_times(
        self, rows: Ints, occurred: Ints, unseen: Mapping[str, Sequence[tuple[int, int]]]
    ) -> Mapping[str, TimeMeasure]:
        """Return when each table was down, or may have been in unobserved time, without planned maintenance."""
        codes = {name: code for code, name in enumerate(dict.fromkeys((*self.spans.names, *unseen)))}
        episodes = (self.spans.table[rows], occurred[rows], np.minimum(self.spans.resolved[rows], self.end_us))
        blind = [(codes[name], *times) for name, intervals in unseen.items() for times in intervals]
        columns = np.concatenate((episodes, np.array(blind, dtype=np.int64).reshape(-1, 3).T), axis=1)
        table, starts, ends = union(*columns)
        bounds = np.searchsorted(table, np.arange(len(codes) + 1)).tolist()
        return {
            name: self._unplanned(name, TimeMeasure.disjoint(starts[begin:end], ends[begin:end]))
            for name, (begin, end) in zip(codes, pairwise(bounds), strict=True)
            if end > begin
        }

    def _unplanned(self, table: str, measure: TimeMeasure) -> TimeMeasure:
        planned = self.history.planned.get(table)
        return measure.minus(TimeMeasure.of(planned)) if planned else measure

    def _touching(self, rows: Ints) -> tuple[int, ...]:
        """Return the incidents with any downtime in the period."""
        spans = self.spans
        touches = (spans.resolved[rows] > self.window.start_us) & (spans.earliest[rows] < self.end_us)
        return _distinct(spans.incident[rows][touches])


def _judged(level: Level, limit: Fraction, times: _Times, incident: Ints, *, observed: bool) -> LevelResult:
    """Judge a promised time of episodes."""
    longest = floor(limit)  # as good as the limit: times are whole microseconds
    broken = times.recorded & (times.low > longest)
    pending = times.recorded & ~broken & ~times.done
    kept = times.recorded & times.done & (times.high <= longest)
    unknown = ~(broken | pending | kept)
    verdict = LevelVerdict.KEPT if observed else LevelVerdict.UNKNOWN
    for word, flags in (
        (LevelVerdict.PENDING, pending),
        (LevelVerdict.UNKNOWN, unknown),
        (LevelVerdict.BROKEN, broken),
    ):
        verdict = word if flags.any() else verdict
    return LevelResult(
        level,
        limit,
        verdict,
        seen=_most(times.seen[times.recorded]),
        low=_most(times.low[times.recorded]),
        high=_most(times.high[times.recorded]),
        judged=int((~pending).sum()),
        kept=int(kept.sum()),
        broken=int(broken.sum()),
        incidents=_distinct(incident[broken]),
        undecided=_distinct(incident[pending | unknown]),
    )


def _any_of(times: Mapping[str, TimeMeasure], tables: Collection[str] | None) -> TimeMeasure:
    """Return the times of any of some tables, by default of all."""
    return TimeMeasure.any_of([times[name] for name in (times if tables is None else tables) if name in times])


def _most(values: Ints) -> Fraction | None:
    return Fraction(int(values.max())) if values.size else None


def _distinct(incidents: Ints) -> tuple[int, ...]:
    return tuple(dict.fromkeys(incidents.tolist()))
