"""The first page: open incidents, pictures of days and weeks, how the tables are, this week against the last."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, PlainSerializer

from checks import Severity
from checks.classes.arrays import np
from incidents import Spans, Window, from_us, measure, price_by, to_us
from monitor.config.project import Project
from monitor.reporting.domains import DomainGrid
from monitor.reporting.period import Week
from monitor.reporting.timeline import Timeline
from monitor.summaries.coverage import kept_since
from monitor.summaries.daemons import DaemonStates
from monitor.summaries.health import TableHealth
from monitor.summaries.health_list import HealthList, health_list
from monitor.web.views.incidents import IncidentSummary, summaries_of
from monitor.web.views.overview_pictures import domain_weeks, first_week, last_days
from monitor.web.views.shapes import DowntimeTotals, Shape, totals_of
from store import LastingIncident, ReadTransaction

SHOWN: Final = 20
"""Open incidents, tables and checks that the first page names; the pages behind it list all."""
SLOTS: Final = 10


class NoQuery(BaseModel):
    """Nothing can be chosen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OpenIncidents(Shape):
    """The incidents that last: how many, by severity (the worst first), and the worst and newest of them."""

    n: int
    by_severity: dict[Severity, int]
    worst: tuple[IncidentSummary, ...]


class TroubledTable(Shape):
    """A table that is not healthy."""

    table: str
    health: TableHealth
    owner: str | None


class HealthCounts(Shape):
    """How many tables are how, the worst first, and the worst of them by name."""

    n: int
    by_health: dict[TableHealth, int]
    worst: tuple[TroubledTable, ...]


class UnobservedCheck(Shape):
    """A check that sees nothing now: the reason of unknown, or `not-run`."""

    table: str
    check_id: str
    reason: str
    last_run_at: datetime


class UnobservedNow(Shape):
    """What nobody sees now: how many tables and checks, and those that were silent longest."""

    tables: int
    checks: int
    longest: tuple[UnobservedCheck, ...]


class WeekComparison(Shape):
    """Downtime of this week so far, of the last week up to the same time of the week, and of the whole last week."""

    this: DowntimeTotals
    last_so_far: DowntimeTotals
    last: DowntimeTotals


class DaemonLine(Shape):
    """A process that runs checks: `running`, `silent` or `stopped`."""

    state: str
    host: str
    pid: int
    version: str
    started_at: datetime
    heartbeat_at: datetime
    stopped_at: datetime | None
    config_loaded_at: datetime
    config_error: str | None
    leads: bool


class QuarantinedCheck(Shape):
    """A check that ended its worker again and again, and until when it rests."""

    check_id: str
    crashes: int
    until: datetime | None


class DelayedTable(Shape):
    """A table that the daily limit of its source delays, and since when."""

    table: str
    since: datetime | None


class DaemonState(Shape):
    """The daemons, for how long the table that waits longest has waited (seconds), and the checks that rest.

    `delayed`: the tables that the daily limits of their sources delay.
    """

    daemons: tuple[DaemonLine, ...]
    lag_s: float | None
    quarantined: tuple[QuarantinedCheck, ...]
    delayed: tuple[DelayedTable, ...]


class NextSlot(Shape):
    """When a table is due: its nominal slot, and the moment at which its turn comes."""

    table: str
    slot: datetime
    due_at: datetime


class OverviewPage(Shape):
    """`tablewatch.overview/1`."""

    schema_: Literal["tablewatch.overview/1"] = Field("tablewatch.overview/1", alias="schema")
    as_of: datetime
    last_change: int
    open: OpenIncidents
    last_days: Annotated[InstanceOf[Timeline], PlainSerializer(Timeline.as_json, return_type=dict[str, Any])]
    domains: Annotated[InstanceOf[DomainGrid], PlainSerializer(DomainGrid.as_json, return_type=dict[str, Any])]
    health: HealthCounts
    unobserved: UnobservedNow
    weeks: WeekComparison
    daemon: DaemonState
    next_slots: tuple[NextSlot, ...]


def show_overview(project: Project, tx: ReadTransaction, _query: BaseModel, now: datetime) -> OverviewPage:
    """Return the first page."""
    health = health_list(project, tx, now)
    spans = tx.incidents.shared_spans(to_us(first_week(project, now).start))
    return OverviewPage(
        as_of=now,
        last_change=tx.incidents.last_change(),
        open=_open(project, tx, now),
        last_days=last_days(project, tx, spans, now),
        domains=domain_weeks(project, tx, spans, now),
        health=_health(project, health),
        unobserved=_unobserved(health),
        weeks=compare_weeks(project, tx, spans, now),
        daemon=DaemonState.model_validate(DaemonStates.of(tx, now, None).to_json()),
        next_slots=tuple(
            NextSlot(table=due.table, slot=due.next_slot, due_at=due.due_at)
            for due in tx.schedule.upcoming(SLOTS)
            if ":" not in due.table  # a standing statistic
        ),
    )


def _open(project: Project, tx: ReadTransaction, now: datetime) -> OpenIncidents:
    lasting = tx.outbox.open_incidents()
    counts = Counter(item.severity for item in lasting)
    worst = [item.incident_id for item in sorted(lasting, key=_worst_first)[:SHOWN]]
    incidents = tx.incidents.get_many(worst)
    return OpenIncidents(
        n=len(lasting),
        by_severity={severity: counts[severity] for severity in sorted(Severity, key=_rank, reverse=True)},
        worst=summaries_of(project, [incidents[number] for number in worst], now),
    )


def _worst_first(lasting: LastingIncident) -> tuple[int, int]:
    return -lasting.severity.rank, -lasting.incident_id


def _rank(severity: Severity) -> int:
    return severity.rank


def _health(project: Project, current: HealthList) -> HealthCounts:
    counts = Counter(current.health.values())
    by_rank = sorted(
        (name for name, health in current.health.items() if health is not TableHealth.HEALTHY),
        key=lambda name: (current.health[name].rank, name),
    )
    return HealthCounts(
        n=len(current.health),
        by_health={health: counts[health] for health in TableHealth},
        worst=tuple(
            TroubledTable(table=name, health=current.health[name], owner=_owner(project, name))
            for name in by_rank[:SHOWN]
        ),
    )


def _owner(project: Project, name: str) -> str | None:
    table = project.config.table(name)
    return None if table is None else project.config.owner_of(table)


def _unobserved(current: HealthList) -> UnobservedNow:
    longest = sorted(current.silent, key=lambda check: (check.last_run_us, check.check_id))
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
            for check in longest[:SHOWN]
        ),
    )


def compare_weeks(project: Project, tx: ReadTransaction, spans: Spans, now: datetime) -> WeekComparison:
    """Return the downtime of this week and of the last, as they are known now."""
    this = Week.containing(now, project.config.timezone)
    last = this.back(1)
    start, passed = to_us(this.start), max(to_us(now) - to_us(this.start), 1)
    last_start, last_end = to_us(last.start), to_us(last.end)
    windows = (
        Window(start, start + passed),
        Window(last_start, min(last_start + passed, last_end)),
        Window(last_start, last_end),
    )
    known: dict[str, Any] = {"as_of_us": to_us(now), "maintenance": project.maintenance(spans.names)}
    totals: Sequence[DowntimeTotals] = [
        totals_of(
            project,
            downtime := measure(spans, window, **known),
            _cost(project, spans, window, known),
            known=downtime.n > 0 or _was_watched(project, tx, window, now),
        )
        for window in windows
    ]
    return WeekComparison(this=totals[0], last_so_far=totals[1], last=totals[2])


def _cost(project: Project, spans: Spans, window: Window, known: Mapping[str, Any]) -> Fraction | None:
    if not project.priced:
        return None
    group = np.zeros(spans.incident.size, dtype=np.int64)
    costs = price_by(spans, window, pricing=project.pricing, group=group, table_hours=False, **known)
    return costs[0].amount if costs else Fraction()


def _was_watched(project: Project, tx: ReadTransaction, window: Window, now: datetime) -> bool:
    """Check whether a window without incidents is known: a check saw something in it, and incidents of it are kept."""
    start, end = from_us(window.start_us), from_us(window.end_us)
    return end > kept_since(project.config, now) and tx.results.any_evaluated(start - timedelta(days=1), end)
