"""The time of tables on pages, drawn as in the report: which spans, days and gaps go into a timeline."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Annotated, Any, Final, TypeAlias
from zoneinfo import ZoneInfo

from pydantic import InstanceOf, PlainSerializer

from checks.classes.arrays import np
from incidents import Gap, Incident, Spans, Window, from_us, gaps_after, to_us
from monitor.config import Table
from monitor.config.prices import midnight
from monitor.config.project import Project
from monitor.reporting.period import PeriodPart
from monitor.reporting.timeline import MOST_HARMED, Lanes, Timeline, timeline
from monitor.summaries.coverage import MonitoringStart
from monitor.summaries.ranking import rank
from store import ReadTransaction

DrawnTime: TypeAlias = Annotated[InstanceOf[Timeline], PlainSerializer(Timeline.as_json, return_type=dict[str, Any])]
"""A timeline as a field of a model."""
_DAY: Final = timedelta(days=1)
_HOURS: Final = ((timedelta(hours=8), 1), (_DAY, 3), (3 * _DAY, 6))
"""Up to which length of time a picture has a tick every so many hours; beyond, every day."""
_MARGIN: Final = timedelta(minutes=30)


def day_edges(project: Project, now: datetime, days: int) -> tuple[Sequence[date], Sequence[int]]:
    """Return the last days of the project, the oldest first, and the midnights between and around them."""
    zone = project.config.timezone
    today = now.astimezone(ZoneInfo(zone)).date()
    dates = [today - timedelta(days=back) for back in reversed(range(days))]
    return dates, [to_us(midnight(day, zone)) for day in (*dates, today + timedelta(days=1))]


def gaps_of(tx: ReadTransaction, tables: Sequence[Table], *, since: datetime, now: datetime) -> Sequence[Gap]:
    """Return the times in which checks of some tables saw nothing, those that still last included."""
    ids = {table.check_id(check): (table, check) for table in tables for check in table.checks}
    gaps = tx.results.gaps(since, now, ids)
    for check_id, watch in tx.results.watches(ids).items():
        table, check = ids[check_id]
        gaps += gaps_after(watch, table=table.name, until=now, period=table.period_of(check))
    return gaps


def draw_days(
    project: Project,
    tx: ReadTransaction,
    spans: Spans,
    days: tuple[Sequence[date], Sequence[int]],
    now: datetime,
    lanes: Lanes = MOST_HARMED,
) -> Timeline:
    """Return some days, as `day_edges` has them, the tables with the most downtime first."""
    dates, edges = days
    moments = [from_us(edge) for edge in edges]
    parts = [PeriodPart(day, start, end) for day, (start, end) in zip(dates, pairwise(moments), strict=True)]
    return _draw(project, tx, spans, parts, now, lanes)


def draw_window(project: Project, tx: ReadTransaction, window: Window, now: datetime) -> Timeline:
    """Return the days of a window, of which the first and the last may be parts, with what was detected by a moment."""
    start, end = from_us(window.start_us), from_us(window.end_us)
    zone = ZoneInfo(project.config.timezone)
    days = (end.astimezone(zone).date() - start.astimezone(zone).date()).days
    dates = [start.astimezone(zone).date() + timedelta(days=number) for number in range(days + 1)]
    inner = [edge for day in dates[1:] if window.start_us < (edge := to_us(midnight(day, zone.key))) < window.end_us]
    edges = [window.start_us, *inner, window.end_us]
    spans = tx.incidents.shared_spans(window.start_us)
    return draw_days(project, tx, spans, (dates[: len(edges) - 1], edges), now)


def draw_incident(project: Project, tx: ReadTransaction, incident: Incident, now: datetime) -> Timeline:
    """Return the time around an incident, also of one that does not count."""
    spans = Spans.of([incident])
    counted = replace(spans, resolution=np.zeros_like(spans.resolution), disclosure=np.zeros_like(spans.disclosure))
    last = incident.last
    start = min(episode.onset.earliest for episode in incident.episodes)
    end = max(last.resolved_at or now, last.detected_at)
    margin = max((end - start) / 8, _MARGIN)
    parts = _parts(start - margin, end + margin, ZoneInfo(project.config.timezone))
    return _draw(project, tx, counted, parts, now, Lanes(always=(incident.table,)))


def _parts(start: datetime, end: datetime, zone: ZoneInfo) -> Sequence[PeriodPart]:
    """Return a time in whole hours or days of the project."""
    hours = next((hours for longest, hours in _HOURS if end - start <= longest), 24)
    at = start.astimezone(zone).replace(minute=0, second=0, microsecond=0)
    at -= timedelta(hours=at.hour % hours)
    edges = [at]
    while edges[-1] < end:
        edges.append(edges[-1] + timedelta(hours=hours))
    return [PeriodPart(begin.date(), begin, over) for begin, over in pairwise(edges)]


def _draw(
    project: Project, tx: ReadTransaction, spans: Spans, parts: Sequence[PeriodPart], now: datetime, lanes: Lanes
) -> Timeline:
    start = parts[0].start
    as_of_us, maintenance = to_us(now), project.maintenance(spans.names)

    def watching(names: Sequence[str]) -> tuple[MonitoringStart, Sequence[Gap]]:
        tables = [table for name in names if (table := project.config.table(name)) is not None]
        if not project.is_whole():  # which checks there are is not known, so nothing is drawn as monitored
            return MonitoringStart({}), ()
        ids = [table.check_id(check) for table in tables for check in table.checks]
        started = MonitoringStart.of(tx.results.watches(ids), now)
        if any(started.since.get(name, now) > start for name in names):  # checks that are gone may have run before
            started = MonitoringStart.of(tx.results.watches(), now)
        return started, gaps_of(tx, tables, since=start, now=now)

    window = Window.of(start, parts[-1].end)
    ranking = rank(spans, window, as_of_us=as_of_us, maintenance=maintenance, costs=None)
    return timeline(ranking, parts, as_of_us=as_of_us, config=project.config, watching_of=watching, lanes=lanes)
