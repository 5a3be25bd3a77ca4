"""The central catalogue: who answers for a table, what feeds it, who uses it, how it is, and what its downtime cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal, Self

from pydantic import Field

from checks.classes.counts import ClosedPart
from incidents import Downtime, DowntimeCost, Spans, Window, measure_by, price_by, to_us
from monitor.config import Table
from monitor.config.project import Project
from monitor.summaries.health import TableState, TableStatus
from monitor.summaries.shapes import Moment, Money, Shape, as_hours

RECENT: Final = timedelta(days=28)


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


class LossPart(Shape):
    """The downtime of a table in a time: incidents, hours, and cost; null where no rate is configured."""

    n: int
    downtime_h: float
    cost: Money

    @classmethod
    def of(cls, project: Project, downtime: Downtime, cost: DowntimeCost | None) -> Self:
        """Return a loss as a model."""
        amount = project.currency.number(None if cost is None else cost.amount)
        return cls(n=downtime.n, downtime_h=as_hours(downtime.downtime), cost=amount)


class DowntimePeriods(Shape):
    """The downtime of a table in the last 28 days, and to date."""

    last_28_days: LossPart
    to_date: LossPart
    currency: str

    @classmethod
    def of(cls, project: Project, loss: Loss) -> Self:
        """Return a loss as a model."""
        return cls(
            last_28_days=LossPart.of(project, loss.recent, loss.recent_cost),
            to_date=LossPart.of(project, loss.whole, loss.whole_cost),
            currency=project.currency.code,
        )


class CataloguedTable(TableStatus):
    """A table in the catalogue: what feeds it, who uses it, how it is, and what its downtime cost."""

    source: str
    description: str | None
    schedule: str | None
    consumers: tuple[str, ...]
    products: tuple[str, ...]
    upstream: tuple[str, ...]
    downstream: tuple[str, ...]
    downtime: DowntimePeriods

    @classmethod
    def listed(cls, project: Project, state: TableState, loss: Loss, **more: Any) -> Self:
        """Return a table as a list has it; `more`: the fields that a wider model adds."""
        table = state.table
        return cls.at(
            state,
            project.clock.now(),
            source=table.source,
            description=table.description,
            schedule=None if table.schedule is None else str(table.schedule),
            consumers=tuple(str(use) for use in table.consumers),
            products=tuple(project.config.products_of(table.name)),
            upstream=table.upstream,
            downstream=project.config.lineage.downstream(table.name),
            downtime=DowntimePeriods.of(project, loss),
            **more,
        )


class TableList(Shape):
    """`tablewatch.tables/1`: the catalogue."""

    schema_: Literal["tablewatch.tables/1"] = Field("tablewatch.tables/1", alias="schema")
    as_of: Moment
    tables: tuple[CataloguedTable, ...]


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
