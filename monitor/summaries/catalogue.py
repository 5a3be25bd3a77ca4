"""The central catalogue: who answers for a table, what feeds it, who uses it, how it is, and what its downtime cost."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, Literal

from checks.classes.counts import ClosedPart
from incidents import Downtime, DowntimeCost, Spans, Window, hours, measure_by, price_by, to_us
from monitor.clock import iso
from monitor.config import Config, Table
from monitor.config.project import Project
from monitor.summaries.health import TableHealth, TableState, state_as_json
from monitor.summaries.promises import MeasuredPromise
from monitor.summaries.shapes import Moment, Shape
from store import Result

RECENT: Final = timedelta(days=28)


@dataclass(frozen=True, slots=True)
class TableLineage:
    """What feeds a table and what it feeds: `near` directly, `far` through others. Names, in the order of discovery."""

    upstream: tuple[str, ...]
    upstream_all: tuple[str, ...]
    downstream: tuple[str, ...]
    downstream_all: tuple[str, ...]


def lineage_of(table: Table, config: Config) -> TableLineage:
    """Return the lineage of a table, as the configuration says; a circle ends where it began."""
    name, feeds = table.name, config.fed_by
    return TableLineage(
        table.upstream,
        _reach(name, lambda item: () if (fed := config.table(item)) is None else fed.upstream),
        feeds.get(name, ()),
        _reach(name, lambda item: feeds.get(item, ())),
    )


def _reach(name: str, following: Callable[[str], Sequence[str]]) -> tuple[str, ...]:
    visited = {name: None}
    waiting = deque(following(name))
    while waiting:
        item = waiting.popleft()
        if item not in visited:
            visited[item] = None
            waiting += following(item)
    return tuple(visited)[1:]


@dataclass(frozen=True, slots=True)
class Loss:
    """The downtime of a table in the last 28 days and to date; the costs are None where no rate is configured."""

    recent: Downtime
    recent_cost: DowntimeCost | None
    whole: Downtime
    whole_cost: DowntimeCost | None


def losses_of(project: Project, spans: Spans, *, now: datetime) -> Mapping[str, Loss]:
    """Return the downtime of each table that has any episode among the spans."""
    as_of_us = to_us(now)
    windows = (Window.of(now - RECENT, now), Window(0, as_of_us))
    maintenance = project.maintenance(spans.names)
    measured, priced = [], []
    for window in windows:
        downtimes = measure_by(spans, window, as_of_us=as_of_us, group=spans.table, maintenance=maintenance)
        cost: Mapping[int, DowntimeCost] = {}
        if project.priced:
            cost = price_by(
                spans,
                window,
                pricing=project.pricing,
                as_of_us=as_of_us,
                group=spans.table,
                maintenance=maintenance,
            )
        measured.append(downtimes)
        priced.append(cost)
    nothing = DowntimeCost() if project.priced else None
    return {
        spans.names[code]: Loss(
            measured[0].get(code, Downtime(windows[0], as_of_us)),
            priced[0].get(code, nothing),
            whole,
            priced[1].get(code, nothing),
        )
        for code, whole in measured[1].items()
    }


def no_loss(project: Project, *, now: datetime) -> Loss:
    """Return the loss of a table that never had an incident."""
    nothing = Downtime(Window.of(now - RECENT, now), to_us(now))
    cost = DowntimeCost() if project.priced else None
    return Loss(nothing, cost, nothing, cost)


def table_as_json(project: Project, state: TableState, loss: Loss) -> dict[str, Any]:
    """Return what a list of tables holds of one."""
    table = state.table
    return {
        "table": table.name,
        "source": table.source,
        "domain": table.domain,
        "owner": state.owner,
        "tier": table.tier,
        "description": table.description,
        "schedule": None if table.schedule is None else str(table.schedule),
        "consumers": list(table.consumers),
        "products": list(project.config.products_of(table.name)),
        "upstream": list(table.upstream),
        "downstream": list(lineage_of(table, project.config).downstream),
        **state_as_json(state, project.clock.now()),
        "downtime": _loss_as_json(project, loss),
    }


def sheet_as_json(
    project: Project,
    state: TableState,
    loss: Loss,
    results: Mapping[str, Result],
    promises: Mapping[str, MeasuredPromise] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the published shape `tablewatch.table/1`."""
    table, lineage = state.table, lineage_of(state.table, project.config)
    rate = project.pricing.per_hour(table.name, to_us(project.clock.now())) if project.priced else None
    return {
        "schema": "tablewatch.table/1",
        **table_as_json(project, state, loss),
        "upstream_all": list(lineage.upstream_all),
        "downstream_all": list(lineage.downstream_all),
        "per_hour": project.currency.number(rate),
        "check_results": [_check(table, check, results, promises) for check in table.checks],
    }


class IncrementalPart(Shape):
    """What the last run read of a table with `incremental`, and what its last full look found."""

    measured_at: Moment
    rows: int
    rows_read: int
    counted: Literal["changes", "all"]
    recounted_because: str | None
    full_at: Moment
    late: dict[str, int] | None
    in_full: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, closed: ClosedPart | None) -> "IncrementalPart | None":
        """Return it; None of a table without `incremental`, and before its first run."""
        if closed is None:
            return None
        return cls(
            measured_at=closed.looked_at,
            rows=closed.rows,
            rows_read=closed.read,
            counted="changes" if closed.why is None else "all",
            recounted_because=None if closed.why is None else closed.why.value,
            full_at=closed.full_at,
            late=None if closed.late is None else dict(closed.late),
            in_full=tuple(check.name for check in table.own_checks if table.check_id(check) not in closed.checks),
        )


def _check(
    table: Table, check: Any, results: Mapping[str, Result], promises: Mapping[str, MeasuredPromise]
) -> dict[str, Any]:
    promise = promises.get(table.check_id(check))
    result = results.get(table.check_id(check))
    return {
        "check_id": table.check_id(check),
        "type": check.type,
        "kind": check.kind.value,
        "severity": check.severity.value,
        "why": check.why,
        "runbook": check.runbook,
        "status": TableHealth.NOT_YET_CHECKED.value if result is None else result.status.value,
        "reason": None if result is None or result.reason is None else result.reason.value,
        "message": None if result is None else str(result.message),
        "measured_at": None if result is None else iso(result.measured_at),
        "promise": None if promise is None else promise.as_json(),
    }


def _loss_as_json(project: Project, loss: Loss) -> dict[str, Any]:
    def part(downtime: Downtime, cost: DowntimeCost | None) -> dict[str, Any]:
        return {
            "n": downtime.n,
            "downtime_h": float(hours(downtime.downtime)),
            "cost": project.currency.number(None if cost is None else cost.amount),
        }

    return {
        "last_28_days": part(loss.recent, loss.recent_cost),
        "to_date": part(loss.whole, loss.whole_cost),
        "currency": project.currency.code,
    }
