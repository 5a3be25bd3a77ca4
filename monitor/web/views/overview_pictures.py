"""The pictures of the first page, made as those of the report: the last seven days, the domains over twelve weeks."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final

from incidents import Downtime, Spans, to_us
from incidents.spans import Ints
from monitor.config.project import Project
from monitor.reporting.domains import (
    DomainAndPeriod,
    DomainGrid,
    domain_grid,
    domains_seen,
    downtime_by_domain,
    has_incident,
    measure_domains,
)
from monitor.reporting.period import Week
from monitor.reporting.timeline import Timeline
from monitor.summaries.coverage import Observed, kept_since
from monitor.summaries.grouping import Labels, by_domain
from monitor.web.views.time_lanes import day_edges, draw_days, gaps_of
from store import ReadTransaction

DAYS: Final = 7
"""Days of the timeline, today is the last."""


def last_days(project: Project, tx: ReadTransaction, spans: Spans, now: datetime) -> Timeline:
    """Return the timeline of today and the six days before, the tables with the most downtime first."""
    return draw_days(project, tx, spans, day_edges(project, now, DAYS), now)


def domain_weeks(project: Project, tx: ReadTransaction, spans: Spans, now: datetime) -> DomainGrid:
    """Return the domains over this week and those before. `spans` reach back to `first_week`."""
    domains = {table.domain for table in project.config.tables}
    if not any(domains):
        return DomainGrid()
    weeks, as_of_us = _weeks(project, now), to_us(now)
    measured = [
        *_measured(project, spans, weeks[:1], as_of_us),
        *_measured_before(project, spans, weeks[1:], to_us(weeks[0].end)),
    ]
    quiet = {
        (name, week)
        for week, parts in zip(weeks, measured, strict=True)
        if (without := [name for name in domains if not has_incident(parts.get(name))])
        and _is_known(project, tx, week, now)
        for name in without
    }
    evaluated = _evaluated_weeks(project)
    if unsure := quiet - evaluated:
        observed = _observed(project, tx, {name for name, _ in unsure}, weeks[-1].start, now)
        evaluated |= domains_seen(observed, weeks) & unsure
    downtimes = downtime_by_domain(measured, weeks, config=project.config, as_of_us=as_of_us, seen=evaluated & quiet)
    return domain_grid(project.config, weeks, downtimes)


def first_week(project: Project, now: datetime) -> Week:
    """Return the oldest week that is shown."""
    return _weeks(project, now)[-1]


def _weeks(project: Project, now: datetime) -> tuple[Week, ...]:
    current = Week.containing(now, project.config.timezone)
    return tuple(current.back(count) for count in range(Week.trend))


def _measured(
    project: Project, spans: Spans, weeks: Sequence[Week], as_of_us: int
) -> Sequence[Mapping[str | None, Downtime]]:
    maintenance, grouped = project.maintenance(spans.names), _grouped(project, spans)
    return measure_domains(spans, weeks, as_of_us=as_of_us, grouped=grouped, maintenance=maintenance)


@lru_cache(maxsize=2)
def _grouped(project: Project, spans: Spans) -> tuple[Labels, Ints]:
    return by_domain(spans, project.config)


_measured_before = lru_cache(maxsize=2)(_measured)
"""Weeks that are over stay as they are while no incident changes, which makes other spans."""


@lru_cache(maxsize=4)
def _evaluated_weeks(_: Project) -> set[DomainAndPeriod]:
    """Return the domains and weeks that were seen, a set to add to: what was seen once, whatever comes later, was."""
    return set()


def _is_known(project: Project, tx: ReadTransaction, week: Week, now: datetime) -> bool:
    """Check whether a week without incidents may have been good: they are kept, and some check could be evaluated."""
    if week.end <= kept_since(project.config, now):
        return False
    is_retained = week.start >= now - project.config.storage.keep_measurements
    return not is_retained or tx.results.any_evaluated(week.start, week.end)


def _observed(
    project: Project, tx: ReadTransaction, domains: Collection[str | None], since: datetime, now: datetime
) -> Mapping[str | None, Observed]:
    """Return when anything was seen of some domains."""
    tables = {table.name: table for table in project.config.tables if table.domain in domains}
    gaps = gaps_of(tx, list(tables.values()), since=since, now=now)
    watches = tx.results.watches(table.check_id(check) for table in tables.values() for check in table.checks)
    return Observed.by_group(watches, gaps, project.config, now, group_of=lambda name: tables[name].domain)
