"""A table: who answers for it, its lineage, its checks with their last numbers, its incidents, its last 90 days."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, Self

from pydantic import Field

from checks import Check
from incidents import to_us
from monitor.config import Table
from monitor.config.project import Project
from monitor.reporting.timeline import Lanes
from monitor.summaries.catalogue import CataloguedTable, IncrementalPart, losses_of, no_loss
from monitor.summaries.check_numbers import CheckNumber
from monitor.summaries.health import TableHealth, health_list, states_of
from monitor.summaries.incident import IncidentSummary, summaries_of
from monitor.summaries.lineage import Reach, reach_by_column
from monitor.summaries.logged_event import LoggedEventLine
from monitor.summaries.promises import MeasuredPromise, PromiseLine, promises_of
from monitor.summaries.scan_costs import ScanCostPart, TableCost
from monitor.summaries.service_levels import ContractLine, recent_contracts
from monitor.summaries.shapes import Moment, Money, Sentence, Shape
from monitor.summaries.status_address import StatusAddressLine
from monitor.verbs.verb import Query
from monitor.web.views.shapes import Name, not_there
from monitor.web.views.time_lanes import DrawnTime, day_edges, draw_days
from store import IncidentFilter, LoggedEvent, ReadTransaction, Result, StatusScope

STRIP_DAYS: Final = 90
_RECENT: Final = 10
_EVENT_DAYS: Final = timedelta(days=28)
_MOST_EVENTS: Final = 1_000
_NEIGHBOURS: Final = 50
"""Tables up and down the lineage that a page names, the nearest first."""


class TableQuery(Query):
    """The name of a table, in the path."""

    name: Name


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
    """`tablewatch.table/1`: everything about one table; `days` are the last 90 days."""

    schema_: Literal["tablewatch.table/1"] = Field("tablewatch.table/1", alias="schema")
    as_of: Moment
    upstream_all: tuple[str, ...]
    downstream_all: tuple[str, ...]
    next_run_at: Moment | None
    per_hour: Money
    check_results: tuple[CheckLine, ...]
    lineage: LineagePart
    reach: Reach
    reach_by_column: tuple[Reach, ...]
    releases: tuple[str, ...]
    incidents: tuple[IncidentSummary, ...]
    days: DrawnTime
    contracts: tuple[ContractLine, ...]
    events: tuple[LoggedEventLine, ...]
    scan_cost: ScanCostPart
    incremental: IncrementalPart | None
    status_addresses: tuple[StatusAddressLine, ...]


def show_table(project: Project, tx: ReadTransaction, query: TableQuery, now: datetime) -> TablePage:
    """Return a table.

    Raises:
        Stop: it is not configured.
    """
    table = project.config.table(query.name)
    if table is None:
        raise not_there("table.unknown", "there is no such table in the configuration")
    state = states_of(project, tx, [table])[0]
    above, below = project.config.lineage.above(table.name), project.config.lineage.below(table.name)
    near = [*list(above)[:_NEIGHBOURS], *list(below)[:_NEIGHBOURS]]
    health = health_list(project, tx, now, near).health if near else {}
    days = day_edges(project, now, STRIP_DAYS)
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
        upstream_all=tuple(above),
        downstream_all=tuple(below),
        next_run_at=None if scheduled is None else scheduled.due_at,
        per_hour=project.currency.number(rate),
        check_results=tuple(CheckLine.of(table, check, results, promises) for check in table.checks),
        lineage=LineagePart(upstream=_neighbours(above, health), downstream=_neighbours(below, health)),
        reach=Reach.of(project.config, table.name),
        reach_by_column=reach_by_column(project.config, table.name),
        releases=tuple(name for name, item in project.config.releases.items() if item.table == table.name),
        incidents=summaries_of(project, newest, now),
        days=draw_days(
            project, tx, tx.incidents.spans_of([table.name], days[1][0]), days, now, Lanes(always=(table.name,))
        ),
        contracts=tuple(ContractLine.of(contract) for contract in recent_contracts(project, tx, table.name)),
        events=tuple(LoggedEventLine.of(event) for event in _events(tx, table, now)),
        scan_cost=ScanCostPart.of(TableCost.of(project, tx, table.name, now)),
        incremental=IncrementalPart.of(table, tx.classes.closed_parts([table.name]).get(table.name)),
        status_addresses=tuple(map(StatusAddressLine.of, tx.status_addresses.valid(StatusScope.TABLE, table.name))),
    )


def check_line(tx: ReadTransaction, table: Table, check: Check, now: datetime) -> CheckLine:
    """Return a check as the page of its table has it."""
    results = tx.results.latest([table.check_id(check)])
    return CheckLine.of(table, check, results, _promises(tx, table, results, now))


def _events(tx: ReadTransaction, table: Table, now: datetime) -> Sequence[LoggedEvent]:
    """Return the newest logged events of the last 28 days that were of a table, of its source, or of any table."""
    events = tx.logged_events.between(now - _EVENT_DAYS, None, most=_MOST_EVENTS)
    of_any = (None, None)
    about = [item for item in events if (item.table, item.source) in {(table.name, None), (None, table.source), of_any}]
    return about[:_RECENT]


def _neighbours(steps: Mapping[str, int], health: Mapping[str, TableHealth]) -> tuple[LineageTable, ...]:
    return tuple(
        LineageTable(table=name, distance=distance, health=health.get(name))
        for name, distance in list(steps.items())[:_NEIGHBOURS]
    )


def _promises(
    tx: ReadTransaction, table: Table, results: Mapping[str, Result], now: datetime
) -> Mapping[str, MeasuredPromise]:
    """Return how the promises of a table's learned limits were kept, by check id."""
    ids = tuple(table.check_id(check) for check in table.checks if check.learned_numbers or check.is_pooled)
    if not ids:
        return {}
    incidents = tx.incidents.matching(IncidentFilter(check_ids=ids))
    return promises_of(table, incidents, tx.results.watches(ids), results, now=now)
