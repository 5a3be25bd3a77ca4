"""Time as a picture, one for reports, pages and terminals: a lane for each table, in which every moment has one state.

What is not known is never drawn as good. Bars show the episodes of incidents on that ground.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final

from checks.classes.arrays import np
from incidents import NOT_RUN, OPEN_END, Gap, TimeMeasure, from_us, to_us
from monitor.config import Config
from monitor.config.prices import planned_work
from monitor.reporting.period import PeriodPart
from monitor.summaries.coverage import MonitoringStart
from monitor.summaries.ranking import Ranking


class TimeState(StrEnum):
    """What is known of a table at a moment, in the order of the legend.

    Bad data is distinguished before and after its detection. `NOT_MONITORED`: before the first run of a check, or
    between runs that were missed. `NOT_YET`: after the moment of knowing.
    """

    GOOD = "good"
    UNDETECTED = "undetected"
    REPAIR = "repair"
    UNKNOWN = "unknown"
    NOT_MONITORED = "not-monitored"
    MAINTENANCE = "maintenance"
    NOT_YET = "not-yet"


_FIRST: Final = (
    TimeState.UNDETECTED,
    TimeState.REPAIR,
    TimeState.UNKNOWN,
    TimeState.NOT_MONITORED,
    TimeState.MAINTENANCE,
    TimeState.GOOD,
    TimeState.NOT_YET,
)


@dataclass(frozen=True, slots=True)
class TimelineBar:
    """An episode in the period. Times are shares of the period, 0 to 1, clipped to what is over of it.

    `earliest` to `latest` is when the data may have gone bad, `occurred` the moment from which the figures count.
    """

    incident: int
    earliest: float
    latest: float
    occurred: float
    detected: float
    end: float
    began_before: bool
    continues: bool
    began_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class TimelineStretch:
    """A time of the period, as shares of it, and when it was; one that lasts ends at the moment of the report."""

    start: float
    end: float
    began_at: datetime
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class TimelineBand:
    """The intervals in which something was true of a table, in order, and their total (microseconds)."""

    stretches: tuple[TimelineStretch, ...] = ()
    length_us: int = 0

    @property
    def edges(self) -> Iterator[float]:
        """Yield where its stretches begin and end."""
        for stretch in self.stretches:
            yield from (stretch.start, stretch.end)

    def covers(self, share: float) -> bool:
        """Check whether a moment lies in one of its stretches, which are in order."""
        at = bisect_right(self.stretches, share, key=lambda stretch: stretch.start) - 1
        return at >= 0 and share < self.stretches[at].end


@dataclass(frozen=True, slots=True)
class TimelineLane:
    """The episodes of a table, each with its row (from 0); `more` counts incidents that are not drawn.

    `unobserved`: when some check of the table, that had run, saw nothing; `not_run`: the part of it in which it should
    have run; `maintenance`: when work on it was planned; `unwatched`: the time before any check of the table ran, first
    at `since`; None where none ever did. `undetected` and `repair`: when its data was bad, by all its incidents.
    """

    table: str
    bars: tuple[tuple[TimelineBar, int], ...]
    more: int
    unobserved: TimelineBand = TimelineBand()
    maintenance: TimelineBand = TimelineBand()
    unwatched: TimelineBand = TimelineBand()
    since: datetime | None = None
    not_run: TimelineBand = TimelineBand()
    undetected: TimelineBand = TimelineBand()
    repair: TimelineBand = TimelineBand()

    def states(self, now: float = 1.0) -> Sequence[tuple[float, float, TimeState]]:
        """Return the state of each moment as stretches in order, in shares of the period; `now` ends what is known.

        Of what holds at once, the last here counts: good, unknown, not monitored, bad, bad and detected, maintenance.
        """
        layers = (
            (TimeState.UNKNOWN, self.unobserved),
            (TimeState.NOT_MONITORED, self.not_run),
            (TimeState.NOT_MONITORED, self.unwatched),
            (TimeState.UNDETECTED, self.undetected),
            (TimeState.REPAIR, self.repair),
            (TimeState.MAINTENANCE, self.maintenance),
        )
        edges = sorted({0.0, now, 1.0, *(edge for _, band in layers for edge in band.edges)})
        states: list[tuple[float, float, TimeState]] = []
        for start, end in pairwise(edges):
            middle = (start + end) / 2
            holding = [state for state, band in layers if band.covers(middle)]
            state = TimeState.NOT_YET if middle > now else holding[-1] if holding else TimeState.GOOD
            if states and states[-1][2] is state:
                states[-1] = (states[-1][0], end, state)
            else:
                states.append((start, end, state))
        return states

    def cells(self, edges: Sequence[float], now: float = 1.0) -> Sequence[TimeState]:
        """Return one state for each time between edges, where a picture has room for one: the first that holds in it.

        Bad data counts before what is not known, and that before what is good.
        """
        states = self.states(now)
        return [
            min((state for start, end, state in states if start < after and end > before), key=_FIRST.index)
            for before, after in pairwise(edges)
        ]


@dataclass(frozen=True, slots=True)
class TimelinePart:
    """The start and end of a day, a week or some hours, as shares of the period; clocks may change in it."""

    date: date
    start: float
    end: float
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The period as a picture; `more_tables` counts tables that are not drawn, `incidents` all incidents.

    `now`: the moment of knowing as a share of the period, 1 where that is over.
    """

    lanes: tuple[TimelineLane, ...]
    parts: tuple[TimelinePart, ...]
    more_tables: int
    incidents: int
    now: float = 1.0

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON value: the episodes that are drawn, by table, and how long which state lasted."""
        shown = [_shown(lane, self.now) for lane in self.lanes]
        return {"shown": shown, "more": self.more_tables, "incidents": self.incidents}


def _shown(lane: TimelineLane, now: float) -> dict[str, Any]:
    return {
        "table": lane.table,
        "watched_since": None if lane.since is None else lane.since.isoformat(),
        "episodes": _episodes(lane),
        "more": lane.more,
        "states": [[round(start, 6), round(end, 6), state.value] for start, end, state in lane.states(now)],
    }


def _episodes(lane: TimelineLane) -> list[dict[str, Any]]:
    return [
        {
            "incident": bar.incident,
            "occurred_at": bar.began_at.isoformat(),
            "resolved_at": None if bar.ended_at is None else bar.ended_at.isoformat(),
        }
        for bar, _ in lane.bars
    ]


@dataclass(frozen=True, slots=True)
class _Span:
    """The period, and how much of it is over; microseconds."""

    start_us: int
    end_us: int
    as_of_us: int

    @property
    def now_us(self) -> int:
        """Return the end of what can be drawn."""
        return min(self.end_us, self.as_of_us)

    def share(self, moment: int) -> float:
        """Return where a moment lies in the period, 0 to 1; what is beyond is clipped."""
        inside = min(max(moment, self.start_us), self.now_us)
        return (inside - self.start_us) / (self.end_us - self.start_us)


@dataclass(frozen=True, slots=True)
class Lanes:
    """The tables that are drawn: `most` with the heaviest incidents; those of `always` without an incident, too."""

    most: int = 12
    always: Sequence[str] = ()


MOST_HARMED: Final = Lanes()

_ROWS: Final = 3
"""Bars of one table above each other, where they overlap."""
_BARS: Final = 100
"""Rows of bars of one table; more would not be legible."""
_APART: Final = 0.004
"""Share of the period that bars in one row are apart at least."""
_UNSEEN: Final = 0.001
"""Share of the period below which the time between two stretches could not be seen (ten minutes of a week)."""


def timeline(
    ranking: Ranking | None,
    calendar: Sequence[PeriodPart],
    *,
    as_of_us: int,
    config: Config,
    watching_of: Callable[[Sequence[str]], tuple[MonitoringStart, Iterable[Gap]]],
    lanes: Lanes = MOST_HARMED,
) -> Timeline:
    """Return the episodes of a period's incidents by table, clipped to it, and to now while it goes on.

    Args:
        ranking: the incidents of the period; None without any.
        calendar: the days or weeks of the period.
        as_of_us: the moment of knowing.
        config: knows what work is planned on which table.
        watching_of: returns since when the tables that are drawn, by their names, are watched, and their unobserved
            time; of others, too.
        lanes: which tables are drawn.
    """
    span = _Span(to_us(calendar[0].start), to_us(calendar[-1].end), as_of_us)
    length = span.end_us - span.start_us
    starts = [(to_us(part.start) - span.start_us) / length for part in calendar]
    parts = tuple(
        TimelinePart(part.date, start, end, part.start)
        for part, start, end in zip(calendar, starts, [*starts[1:], 1.0], strict=True)
    )
    by_table = {} if ranking is None else _places_by_table(ranking)
    drawn = [] if ranking is None else [_lane(ranking, *item, span) for item in list(by_table.items())[: lanes.most]]
    drawn += [TimelineLane(name, (), 0) for name in lanes.always if name not in {lane.table for lane in drawn}]
    names = [lane.table for lane in drawn]
    watching, gaps = watching_of(names) if names else (MonitoringStart({}), ())
    unseen, planned = _unseen(list(gaps), names), planned_work(config, names)
    marked = (
        replace(
            lane,
            unobserved=_band((interval for _, interval in unseen[lane.table]), span),
            not_run=_band((interval for reason, interval in unseen[lane.table] if reason == NOT_RUN), span),
            maintenance=_band(planned[lane.table], span),
            unwatched=_unwatched(watching.since.get(lane.table), span),
            since=watching.since.get(lane.table),
        )
        for lane in drawn
    )
    incidents = 0 if ranking is None else len(ranking)
    now = min(max((as_of_us - span.start_us) / length, 0.0), 1.0)
    return Timeline(tuple(marked), parts, max(len(by_table) - lanes.most, 0), incidents, now)


def _unseen(gaps: Iterable[Gap], names: Sequence[str]) -> Mapping[str, Sequence[tuple[str, tuple[int, int]]]]:
    """Return why and when some check of each table saw nothing (microseconds)."""
    unseen: Mapping[str, list[tuple[str, tuple[int, int]]]] = {name: [] for name in names}
    for gap in gaps:
        if gap.table in unseen:
            unseen[gap.table].append((gap.reason, (to_us(gap.start), to_us(gap.end))))
    return unseen


def _unwatched(since: datetime | None, span: _Span) -> TimelineBand:
    """Return the time of the period before a table was watched; all of it where it never was."""
    end = span.now_us if since is None else to_us(since)
    return _band([(span.start_us, end)] if end > span.start_us else (), span)


def _band(intervals: Iterable[tuple[int, int]], span: _Span) -> TimelineBand:
    """Return the union of intervals within the period; those between which nothing could be seen are one stretch."""
    measure = TimeMeasure.of(intervals).within(span.start_us, span.now_us)
    stretches: list[TimelineStretch] = []
    for start, end in zip(measure.starts.tolist(), measure.ends.tolist(), strict=True):
        stretch = TimelineStretch(span.share(start), span.share(end), from_us(start), from_us(end))
        if stretches and stretch.start < stretches[-1].end + _UNSEEN:
            stretches[-1] = replace(stretches[-1], end=stretch.end, ended_at=stretch.ended_at)
        else:
            stretches.append(stretch)
    return TimelineBand(tuple(stretches), int(measure(np.array([span.now_us]))[0]))


def _places_by_table(ranking: Ranking) -> Mapping[int, list[int]]:
    """Return the places of incidents by table, tables and incidents in the order of the ranking."""
    results: dict[int, list[int]] = {}
    for place, table in zip(ranking.places.tolist(), ranking.table_of(ranking.places).tolist(), strict=True):
        results.setdefault(table, []).append(place)
    return results


def _lane(ranking: Ranking, table: int, places: Sequence[int], span: _Span) -> TimelineLane:
    bars = [bar for place in places[:_BARS] for bar in _bars(ranking, place, span)]
    rows = _rows_without_overlap(bars)
    visible = tuple((bar, row) for bar, row in zip(bars, rows, strict=True) if row < _ROWS)
    shown = {bar.incident for bar, _ in visible}
    part, item = ranking.part, ranking.each
    episodes = [row for place in places for row in range(int(item.first[place]), int(item.last[place]) + 1)]
    return TimelineLane(
        part.names[table],
        visible,
        len(places) - len(shown),
        undetected=_band(((int(part.occurred[row]), int(part.detected[row])) for row in episodes), span),
        repair=_band(((int(part.detected[row]), int(part.resolved[row])) for row in episodes), span),
    )


def _rows_without_overlap(bars: Sequence[TimelineBar]) -> Sequence[int]:
    """Return for each bar the first row, from 0, in which it overlaps none before it in the sequence."""
    rows: list[list[TimelineBar]] = []
    results = []
    for bar in bars:
        row = next((at for at, taken in enumerate(rows) if not any(_overlap(bar, item) for item in taken)), len(rows))
        if row == len(rows):
            rows.append([])
        rows[row].append(bar)
        results.append(row)
    return results


def _overlap(first: TimelineBar, second: TimelineBar) -> bool:
    return first.earliest < second.end + _APART and second.earliest < first.end + _APART


def _bars(ranking: Ranking, place: int, span: _Span) -> Iterator[TimelineBar]:
    """Yield the episodes of an incident that lie in the period, with times as shares of it."""
    part, item, share = ranking.part, ranking.each, span.share
    for row in range(int(item.first[place]), int(item.last[place]) + 1):
        occurred, resolved = int(part.occurred[row]), int(part.resolved[row])
        if resolved <= span.start_us or occurred >= span.now_us:
            continue
        yield TimelineBar(
            incident=int(part.incident[row]),
            earliest=share(int(part.earliest[row])),
            latest=share(int(part.latest[row])),
            occurred=share(occurred),
            detected=share(int(part.detected[row])),
            end=share(resolved),
            began_before=occurred < span.start_us,
            continues=resolved > span.now_us,
            began_at=from_us(occurred),
            ended_at=None if resolved == OPEN_END else from_us(resolved),
        )
