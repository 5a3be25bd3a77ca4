"""A table: who answers for it, its lineage, its checks with their last numbers, its incidents, its last 90 days."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

from checks import Check
from incidents import Gap, Window, from_us, gaps_after, parts_between, to_us, unobserved
from monitor.config import Table
from monitor.config.prices import midnight
from monitor.config.project import Project
from monitor.summaries.catalogue import CataloguedTable, IncrementalPart, lineage_of, losses_of, no_loss
from monitor.summaries.check_numbers import CheckNumber
from monitor.summaries.health import TableHealth, health_list, states_of
from monitor.summaries.incident import IncidentSummary, summaries_of
from monitor.summaries.logged_event import LoggedEventLine
from monitor.summaries.promises import MeasuredPromise, PromiseLine, promises_of
from monitor.summaries.scan_costs import ScanCostPart, TableCost
from monitor.summaries.service_levels import ContractLine, recent_contracts
from monitor.summaries.shapes import Moment, Money, Sentence, Shape, as_hours
from monitor.web.views.shapes import Name, not_there
from store import IncidentFilter, LoggedEvent, ReadTransaction, Result

STRIP_DAYS: Final = 90
_RECENT: Final = 10
_EVENT_DAYS: Final = timedelta(days=28)
_MOST_EVENTS: Final = 1_000
_NEIGHBOURS: Final = 50
"""Tables up and down the lineage that a page names, the nearest first."""


class TableQuery(BaseModel):
    """The name of a table, in the path."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name


class DayState(StrEnum):
    """The state of a table on a day, the worst first."""

    DOWN = "down"
    UNOBSERVED = "unobserved"
    GOOD = "good"
    NOT_WATCHED = "not-watched"


class StripDay(Shape):
    """A day of a table: hours of its downtime before and after detection, and hours in which a check saw nothing."""

    date: date
    state: DayState
    undetected_h: float
    repair_h: float
    unobserved_h: float


class LineageTable(Shape):
    """A table up or down the lineage; `distance` 1 is directly. `health` is null if it is not configured."""

    table: str
    distance: int
    health: TableHealth | None


class LineagePart(Shape):
    """The tables next to a table, the nearest first, at most 50 on each side."""

    upstream: tuple[LineageTable, ...]
    downstream: tuple[LineageTable, ...]


class CheckLine(Shape):
    """A check with what it found last: `status`, or `not-yet-checked`; `number` stands for it, between its limits."""

    check_id: str
    type: str
    kind: str
    severity: str
    why: str | None
    runbook: str | None
    status: str
    reason: str | None
    message: Sentence | None
    measured_at: Moment | None
    number: float | None
    low: float | None
    high: float | None
    unit: str | None
    promise: PromiseLine | None

    @classmethod
    def of(
        cls, table: Table, check: Check, results: Mapping[str, Result], promises: Mapping[str, MeasuredPromise]
    ) -> Self:
        """Return a check with its newest result and how its promise was kept."""
        check_id, number = table.check_id(check), CheckNumber.of(check)
        result, promise = results.get(check_id), promises.get(check_id)
        return cls(
            check_id=check_id,
            type=check.type,
            kind=check.kind.value,
            severity=check.severity.value,
            why=check.why,
            runbook=check.runbook,
            status=TableHealth.NOT_YET_CHECKED.value if result is None else result.status.value,
            reason=None if result is None or result.reason is None else result.reason.value,
            message=None if result is None else result.message,
            measured_at=None if result is None else result.measured_at,
            number=None if result is None else number.read(result.observed),
            low=number.low,
            high=number.high,
            unit=number.unit,
            promise=None if promise is None else PromiseLine.measured(promise),
        )


class TablePage(CataloguedTable):
    """`tablewatch.table/1`: everything about one table; `strip` has the last 90 days, the oldest first."""

    schema_: Literal["tablewatch.table/1"] = Field("tablewatch.table/1", alias="schema")
    as_of: Moment
    upstream_all: tuple[str, ...]
    downstream_all: tuple[str, ...]
    next_run_at: Moment | None
    per_hour: Money
    check_results: tuple[CheckLine, ...]
    lineage: LineagePart
    releases: tuple[str, ...]
    incidents: tuple[IncidentSummary, ...]
    strip: tuple[StripDay, ...]
    contracts: tuple[ContractLine, ...]
    events: tuple[LoggedEventLine, ...]
    scan_cost: ScanCostPart
    incremental: IncrementalPart | None


def show_table(project: Project, tx: ReadTransaction, query: TableQuery, now: datetime) -> TablePage:
    """Return a table.

    Raises:
        Stop: it is not configured.
    """
    table = project.config.table(query.name)
    if table is None:
        raise not_there("table.unknown", "there is no such table in the configuration")
    state = states_of(project, tx, [table])[0]
    lineage = lineage_of(table, project.config)
    near = [*_nearest(lineage.upstream, lineage.upstream_all), *_nearest(lineage.downstream, lineage.downstream_all)]
    health = health_list(project, tx, now, near).health if near else {}
    spans = tx.incidents.spans_of([table.name], 0)
    loss = losses_of(project, spans, now=now).get(table.name) or no_loss(project, now=now)
    newest = tx.incidents.page(IncidentFilter(tables=(table.name,)), size=_RECENT).incidents
    results = tx.results.latest(table.check_id(check) for check in table.checks)
    promises = _promises(tx, table, results, now)
    rate = project.pricing.per_hour(table.name, to_us(now)) if project.priced else None
    scheduled = tx.schedule.get(table.name)
    return TablePage.listed(
        project,
        state,
        loss,
        as_of=now,
        upstream_all=lineage.upstream_all,
        downstream_all=lineage.downstream_all,
        next_run_at=None if scheduled is None else scheduled.due_at,
        per_hour=project.currency.number(rate),
        check_results=tuple(CheckLine.of(table, check, results, promises) for check in table.checks),
        lineage=LineagePart(
            upstream=_neighbours(lineage.upstream, lineage.upstream_all, health),
            downstream=_neighbours(lineage.downstream, lineage.downstream_all, health),
        ),
        releases=tuple(name for name, item in project.config.releases.items() if item.table == table.name),
        incidents=summaries_of(project, newest, now),
        strip=strip_of(project, tx, table, now),
        contracts=tuple(ContractLine.of(contract) for contract in recent_contracts(project, tx, table.name)),
        events=tuple(LoggedEventLine.of(event) for event in _events(tx, table, now)),
        scan_cost=ScanCostPart.of(TableCost.of(project, tx, table.name, now)),
        incremental=IncrementalPart.of(table, tx.classes.closed_parts([table.name]).get(table.name)),
    )


def _events(tx: ReadTransaction, table: Table, now: datetime) -> Sequence[LoggedEvent]:
    """Return the newest logged events of the last 28 days that were of a table, of its source, or of any table."""
    events = tx.logged_events.between(now - _EVENT_DAYS, None, most=_MOST_EVENTS)
    of_any = (None, None)
    about = [item for item in events if (item.table, item.source) in {(table.name, None), (None, table.source), of_any}]
    return about[:_RECENT]


def _neighbours(
    near: Sequence[str], reached: Sequence[str], health: Mapping[str, TableHealth]
) -> tuple[LineageTable, ...]:
    """Return tables of the lineage; what is not direct is given distance 2, however far it is."""
    direct = set(near)
    return tuple(
        LineageTable(table=name, distance=1 if name in direct else 2, health=health.get(name))
        for name in _nearest(near, reached)
    )


def _nearest(near: Sequence[str], reached: Sequence[str]) -> Sequence[str]:
    direct = set(near)
    return [*near, *(name for name in reached if name not in direct)][:_NEIGHBOURS]


def _promises(
    tx: ReadTransaction, table: Table, results: Mapping[str, Result], now: datetime
) -> Mapping[str, MeasuredPromise]:
    """Return how the promises of a table's learned limits were kept, by check id."""
    ids = tuple(table.check_id(check) for check in table.checks if check.learned_numbers)
    if not ids:
        return {}
    incidents = tx.incidents.matching(IncidentFilter(check_ids=ids))
    return promises_of(table, incidents, tx.results.watches(ids), results, now=now)


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


def strip_of(project: Project, tx: ReadTransaction, table: Table, now: datetime) -> tuple[StripDay, ...]:
    """Return how a table was on each of the last 90 days."""
    dates, edges = day_edges(project, now, STRIP_DAYS)
    spans = tx.incidents.spans_of([table.name], edges[0])
    parts = parts_between(
        spans, edges, as_of_us=to_us(now), group=spans.table, maintenance=project.maintenance(spans.names)
    )
    day_parts = parts.get(spans.names.index(table.name)) if table.name in spans.names else None
    gaps = gaps_of(tx, [table], since=from_us(edges[0]), now=now)
    watches = tx.results.watches(table.check_id(check) for check in table.checks).values()
    since_us = min((to_us(watch.monitored_since) for watch in watches), default=None)
    days = []
    for at, day in enumerate(dates):
        window = Window(edges[at], min(edges[at + 1], max(to_us(now), edges[at] + 1)))
        undetected, repair = (0, 0) if day_parts is None else (day_parts.undetected[at], day_parts.repair[at])
        gap = unobserved(gaps, window).get(table.name)
        unseen = 0 if gap is None else gap.time
        state = DayState.GOOD
        if undetected + repair:
            state = DayState.DOWN
        elif since_us is None or since_us >= window.end_us:
            state = DayState.NOT_WATCHED
        elif unseen:
            state = DayState.UNOBSERVED
        days.append(
            StripDay(
                date=day,
                state=state,
                undetected_h=as_hours(undetected),
                repair_h=as_hours(repair),
                unobserved_h=as_hours(unseen),
            )
        )
    return tuple(days)
