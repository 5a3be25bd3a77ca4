"""The first page: one sentence, open incidents by table, what changed since yesterday, and behind links the rest."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from heapq import nsmallest
from itertools import islice
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, InstanceOf, PlainSerializer

from checks import Severity
from checks.classes.arrays import np
from incidents import OPEN_END, Downtime, Spans, Window, from_us, measure, price_by, to_us
from incidents.spans import Ints
from monitor.config.project import Project
from monitor.reporting.domains import DomainGrid
from monitor.reporting.period import Week
from monitor.summaries.coverage import kept_since
from monitor.summaries.daemons import DaemonState, DaemonStates
from monitor.summaries.health import HealthList, TableHealth, health_list
from monitor.summaries.incident import IncidentSummary, summaries_of
from monitor.summaries.monitoring import Monitoring
from monitor.summaries.shapes import Amount, Moment, Shape
from monitor.web.views.overview_pictures import domain_weeks, first_week, last_days
from monitor.web.views.shapes import DowntimeTotals, totals_of
from monitor.web.views.time_lanes import DrawnTime
from store import LastingIncident, ReadTransaction

SHOWN: Final = 20
"""Open incidents, tables and checks that the first page names; the pages behind it list all."""
SLOTS: Final = 10
TROUBLED: Final = 5
"""Tables with open incidents on the first screen."""
_NEWEST: Final = 3
"""Incidents that are named of those that opened, or ended, in the last 24 hours."""
_DAY_US: Final = 86_400_000_000


class OpenIncidents(Shape):
    """The incidents that last: how many, by severity (the worst first), and the worst and newest of them."""

    n: int
    by_severity: dict[Severity, int]
    worst: tuple[IncidentSummary, ...]


class OverviewState(Shape):
    """The state in one sentence: tables with a failing check or an open incident, since when, and who repairs.

    `since`: when the oldest open incident occurred. `cost_a_day`: what the open incidents cost in the next 24 hours.
    `unassigned`: open incidents without an assignee and unacknowledged.
    """

    bad: int
    since: Moment | None
    cost_a_day: Amount
    assignees: tuple[str, ...]
    unassigned: int


class OpenTable(Shape):
    """The open incidents of a table: how many, since when, the worst of them, and who repairs."""

    table: str
    n: int
    since: Moment
    worst: IncidentSummary
    assignees: tuple[str, ...]


class DayChanges(Shape):
    """The incidents that were detected and resolved in the last 24 hours: how many, and the newest."""

    since: Moment
    opened: int
    newest_opened: tuple[int, ...]
    resolved: int
    newest_resolved: tuple[int, ...]


class TroubledTable(Shape):
    """A table that is not healthy."""

    table: str
    health: TableHealth
    owner: str | None


class HealthCounts(Shape):
    """The number of tables by health, the worst first, and the worst tables."""

    n: int
    by_health: dict[TableHealth, int]
    worst: tuple[TroubledTable, ...]


class UnobservedCheck(Shape):
    """A check that sees nothing now: the reason of unknown, or `not-run`."""

    table: str
    check_id: str
    reason: str
    last_run_at: Moment


class UnobservedNow(Shape):
    """What is not observed now: the number of tables and checks, and the checks that are longest without a result."""

    tables: int
    checks: int
    longest: tuple[UnobservedCheck, ...]


class WeekComparison(Shape):
    """Downtime of this week so far, of the last week up to the same time of the week, and of the whole last week."""

    this: DowntimeTotals
    last_so_far: DowntimeTotals
    last: DowntimeTotals


class NextSlot(Shape):
    """When a table is due: its nominal slot, and the moment at which its turn comes."""

    table: str
    slot: Moment
    due_at: Moment


class OverviewPage(Shape):
    """`tablewatch.overview/1`."""

    schema_: Literal["tablewatch.overview/1"] = Field("tablewatch.overview/1", alias="schema")
    as_of: Moment
    last_change: int
    monitoring: Monitoring
    state: OverviewState
    open: OpenIncidents
    tables: tuple[OpenTable, ...]
    more_tables: int
    changes: DayChanges
    last_days: DrawnTime
    domains: Annotated[InstanceOf[DomainGrid], PlainSerializer(DomainGrid.as_json, return_type=dict[str, Any])]
    health: HealthCounts
    unobserved: UnobservedNow
    weeks: WeekComparison
    daemon: DaemonState
    next_slots: tuple[NextSlot, ...]


def show_overview(project: Project, tx: ReadTransaction, _query: BaseModel, now: datetime) -> OverviewPage:
    """Return the first page."""
    health, daemons = health_list(project, tx, now), DaemonStates.of(tx, now, None)
    spans = tx.incidents.shared_spans(to_us(first_week(project, now).start))
    lasting = tx.outbox.open_incidents()
    tables = _open_tables(project, tx, spans, lasting, now)
    return OverviewPage(
        as_of=now,
        last_change=tx.incidents.last_change(),
        monitoring=Monitoring.of(project, tx, daemons, health, now),
        state=_state(project, spans, lasting, health, now),
        open=_open(project, tx, lasting, now),
        tables=tables,
        more_tables=len({item.table for item in lasting}) - len(tables),
        changes=_changes(spans, now),
        last_days=last_days(project, tx, spans, now),
        domains=domain_weeks(project, tx, spans, now),
        health=_health(project, health),
        unobserved=_unobserved(health),
        weeks=compare_weeks(project, tx, spans, now),
        daemon=DaemonState.of(daemons),
        next_slots=tuple(
            NextSlot(table=due.table, slot=due.next_slot, due_at=due.due_at)
            for due in tx.schedule.upcoming(SLOTS)
            if ":" not in due.table  # a standing statistic
        ),
    )


def _open(project: Project, tx: ReadTransaction, lasting: Sequence[LastingIncident], now: datetime) -> OpenIncidents:
    counts = Counter(item.severity for item in lasting)
    worst = [item.incident_id for item in nsmallest(SHOWN, lasting, key=_worst_first)]
    incidents = tx.incidents.get_many(worst)
    return OpenIncidents(
        n=len(lasting),
        by_severity={severity: counts[severity] for severity in sorted(Severity, key=_rank, reverse=True)},
        worst=summaries_of(project, [incidents[number] for number in worst], now),
    )


def _state(
    project: Project, spans: Spans, lasting: Sequence[LastingIncident], health: HealthList, now: datetime
) -> OverviewState:
    open_rows = spans.take(np.flatnonzero(spans.resolved == OPEN_END))
    now_us = to_us(now)
    _, cost = _measured(project, open_rows, Window(now_us, now_us + _DAY_US), now_us + _DAY_US)
    return OverviewState(
        bad=sum(item is TableHealth.DEGRADED for item in health.health.values()),
        since=from_us(int(open_rows.occurred.min())) if open_rows.occurred.size else None,
        cost_a_day=Amount.of(project, cost),
        assignees=_assignees(lasting),
        unassigned=sum(item.assignee is None and item.acknowledged_at is None for item in lasting),
    )


def _assignees(lasting: Iterable[LastingIncident]) -> tuple[str, ...]:
    return tuple(sorted({item.assignee for item in lasting if item.assignee is not None}))


def _open_tables(
    project: Project, tx: ReadTransaction, spans: Spans, lasting: Sequence[LastingIncident], now: datetime
) -> tuple[OpenTable, ...]:
    """Return the tables with open incidents, those with the worst and newest first."""
    by_table: dict[str, list[LastingIncident]] = {}
    for item in sorted(lasting, key=_worst_first):
        by_table.setdefault(item.table, []).append(item)
    shown = dict(islice(by_table.items(), TROUBLED))
    found = tx.incidents.get_many(items[0].incident_id for items in shown.values())
    worst = summaries_of(project, [found[items[0].incident_id] for items in shown.values()], now)
    lasts = spans.resolved == OPEN_END
    return tuple(
        OpenTable(
            table=table,
            n=len(items),
            since=from_us(int(spans.occurred[lasts & (spans.table == spans.names.index(table))].min())),
            worst=summary,
            assignees=_assignees(items),
        )
        for (table, items), summary in zip(shown.items(), worst, strict=True)
    )


def _changes(spans: Spans, now: datetime) -> DayChanges:
    """Return what opened and ended in the last 24 hours; an episode that began again counts, too."""
    until = to_us(now)
    since = until - _DAY_US

    def newest(moments: Ints) -> tuple[int, tuple[int, ...]]:
        rows = np.flatnonzero((moments > since) & (moments <= until))
        numbers = dict.fromkeys(spans.incident[rows[np.argsort(-moments[rows], kind="stable")]].tolist())
        return len(numbers), tuple(numbers)[:_NEWEST]

    (opened, newest_opened), (resolved, newest_resolved) = newest(spans.detected), newest(spans.resolved)
    return DayChanges(
        since=from_us(since),
        opened=opened,
        newest_opened=newest_opened,
        resolved=resolved,
        newest_resolved=newest_resolved,
    )


def _worst_first(lasting: LastingIncident) -> tuple[int, int]:
    return -lasting.severity.rank, -lasting.incident_id


def _rank(severity: Severity) -> int:
    return severity.rank


def _health(project: Project, current: HealthList) -> HealthCounts:
    by_health: Mapping[TableHealth, list[str]] = {health: [] for health in TableHealth}
    for name, health in current.health.items():
        by_health[health].append(name)
    worst_first = (
        TroubledTable(table=name, health=health, owner=_owner(project, name))
        for health, names in by_health.items()
        if health is not TableHealth.HEALTHY
        for name in sorted(names)
    )
    return HealthCounts(
        n=len(current.health),
        by_health={health: len(names) for health, names in by_health.items()},
        worst=tuple(islice(worst_first, SHOWN)),
    )


def _owner(project: Project, name: str) -> str | None:
    table = project.config.table(name)
    return None if table is None else project.config.owner_of(table)


def _unobserved(current: HealthList) -> UnobservedNow:
    longest = nsmallest(SHOWN, current.silent, key=lambda check: (check.last_run_us, check.check_id))
    return UnobservedNow(
        tables=len({check.table for check in current.silent}),
        checks=len(current.silent),
        longest=tuple(
            UnobservedCheck(
                table=check.table,
                check_id=check.check_id,
                reason=check.reason,
                last_run_at=from_us(check.last_run_us),
            )
            for check in longest
        ),
    )


def compare_weeks(project: Project, tx: ReadTransaction, spans: Spans, now: datetime) -> WeekComparison:
    """Return the downtime of this week and of the last, as they are known now."""
    current = Week.containing(now, project.config.timezone)
    last = Window.of(current.back(1).start, current.start)
    start, as_of_us = to_us(current.start), to_us(now)
    passed = max(as_of_us - start, 1)

    def totals(window: Window, measured: tuple[Downtime, Fraction | None]) -> DowntimeTotals:
        downtime, cost = measured
        return totals_of(
            project, downtime, cost, is_known=downtime.is_reported or _was_watched(project, tx, window, now)
        )

    so_far = Window(start, start + passed)
    last_so_far = Window(last.start_us, min(last.start_us + passed, last.end_us))
    return WeekComparison(
        this=totals(so_far, _measured(project, spans, so_far, as_of_us)),
        last_so_far=totals(last_so_far, _measured(project, spans, last_so_far, as_of_us)),
        last=totals(last, _measured_before(project, spans, last, to_us(current.end))),
    )


def _measured(project: Project, spans: Spans, window: Window, as_of_us: int) -> tuple[Downtime, Fraction | None]:
    """Return the downtime of a window and its cost, None where nothing has a price."""
    maintenance = project.maintenance(spans.names)
    downtime = measure(spans, window, as_of_us=as_of_us, maintenance=maintenance)
    if not project.priced:
        return downtime, None
    group = np.zeros(spans.incident.size, dtype=np.int64)
    costs = price_by(
        spans,
        window,
        pricing=project.pricing,
        as_of_us=as_of_us,
        group=group,
        maintenance=maintenance,
        table_hours=False,
    )
    return downtime, costs[0].amount if costs else Fraction()


_measured_before = lru_cache(maxsize=2)(_measured)
"""A week that is over stays as it is while no incident changes, which makes other spans."""


def _was_watched(project: Project, tx: ReadTransaction, window: Window, now: datetime) -> bool:
    """Check whether a window without incidents is known: a check saw something in it, and incidents of it are kept."""
    start, end = from_us(window.start_us), from_us(window.end_us)
    return end > kept_since(project.config, now) and tx.results.any_evaluated(start - timedelta(days=1), end)
