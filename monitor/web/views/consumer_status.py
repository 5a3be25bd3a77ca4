"""What consumers see of a table or a data product without signing in: may the data be used now, and how it was.

No column, check, person or incident is named. `use` is the worst of the tables. Checks of disclosure say nothing of
whether data is right, so they are left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from pydantic import Field

from checks import Kind
from incidents import from_us, to_us
from monitor.config import Table
from monitor.config.prices import planned_work
from monitor.config.project import Project
from monitor.reporting.render import environment, masking, styled
from monitor.reporting.timeline import Lanes, Timeline
from monitor.summaries.health import TableHealth, TableState, states_of
from monitor.summaries.shapes import Moment, Shape
from monitor.terminal.localizer import Localizer
from monitor.web.views.shapes import not_there
from monitor.web.views.time_lanes import DrawnTime, day_edges, draw_days
from store import ReadTransaction, StatusScope

_DAYS: Final = 90
_LANES: Final = 12


class DataUse(StrEnum):
    """Whether data may be used, the worst first."""

    NOT_USABLE = "not-usable"
    MAINTENANCE = "maintenance"
    UNKNOWN = "unknown"
    NOT_MONITORED = "not-monitored"
    USABLE = "usable"


_USE: Final[Mapping[TableHealth, DataUse]] = {
    TableHealth.DEGRADED: DataUse.NOT_USABLE,
    TableHealth.UNKNOWN: DataUse.UNKNOWN,
    TableHealth.WARNING: DataUse.USABLE,
    TableHealth.NOT_YET_CHECKED: DataUse.NOT_MONITORED,
    TableHealth.NOT_MONITORED: DataUse.NOT_MONITORED,
    TableHealth.HEALTHY: DataUse.USABLE,
}
BADGES: Final[Mapping[DataUse, tuple[str, str]]] = {
    DataUse.NOT_USABLE: ("do not use", "#8f1d14"),
    DataUse.MAINTENANCE: ("maintenance", "#55606b"),
    DataUse.UNKNOWN: ("unknown", "#55606b"),
    DataUse.NOT_MONITORED: ("not monitored", "#55606b"),
    DataUse.USABLE: ("may be used", "#2b7a3d"),
}
"""The word and the colour of a badge."""


class ConsumerStatus(Shape):
    """`tablewatch.consumer-status/1`: `use` now, `since` when (null: not known), planned maintenance `until`.

    `update_due_at`: when the next update is due at the latest; null where no limit of age says it.
    """

    schema_: Literal["tablewatch.consumer-status/1"] = Field("tablewatch.consumer-status/1", alias="schema")
    as_of: Moment
    name: str
    scope: StatusScope
    use: DataUse
    since: Moment | None
    until: Moment | None
    update_due_at: Moment | None
    checked_at: Moment | None
    more_tables: int
    days: DrawnTime

    @property
    def is_overdue(self) -> bool:
        """Check whether the next update should have come."""
        return self.update_due_at is not None and self.update_due_at < self.as_of


def consumer_status(
    project: Project, tx: ReadTransaction, scope: StatusScope, name: str, now: datetime
) -> ConsumerStatus:
    """Return the status of a table or a data product.

    Raises:
        Stop: it is not configured any more.
    """
    tables = _tables(project, scope, name)
    states = states_of(project, tx, tables)
    names = [table.name for table in tables]
    ends = {table: _end_of_work(spans, to_us(now)) for table, spans in planned_work(project.config, names).items()}
    uses = {state.table.name: DataUse.MAINTENANCE if ends[state.table.name] else _USE[state.health] for state in states}
    use = min(uses.values(), key=list(DataUse).index, default=DataUse.NOT_MONITORED)
    days = day_edges(project, now, _DAYS)
    spans = tx.incidents.spans_of(names, days[1][0])
    drawn = _anonymous(draw_days(project, tx, spans, days, now, Lanes(most=_LANES, always=names[:_LANES])))
    troubled = [state for state in states if uses[state.table.name] is use]
    product = project.config.products.get(name) if scope is StatusScope.PRODUCT else None
    last_runs = [state.last_run_at for state in states if state.last_run_at is not None]
    return ConsumerStatus(
        as_of=now,
        name=name if product is None else product.title or name,
        scope=scope,
        use=use,
        since=_since(use, troubled, drawn),
        until=max((end for state in troubled if (end := ends[state.table.name])), default=None),
        update_due_at=min(_due(project, tx, tables), default=None),
        checked_at=min(last_runs, default=None) if len(last_runs) == len(states) else None,
        more_tables=len(names) - len(drawn.lanes),
        days=drawn,
    )


def _tables(project: Project, scope: StatusScope, name: str) -> Sequence[Table]:
    config = project.config
    names = (name,) if scope is StatusScope.TABLE else config.product_tables.get(name, ())
    tables = [table for item in names if (table := config.table(item)) is not None]
    if not tables:
        raise not_there("status_page.gone", "there is no status at this address")
    quality = ([check for check in table.checks if check.kind is Kind.QUALITY] for table in tables)
    return [table.model_copy(update={"checks": tuple(checks)}) for table, checks in zip(tables, quality, strict=True)]


def _end_of_work(spans: Iterable[tuple[int, int]], now_us: int) -> datetime | None:
    """Return when planned work ends that goes on now."""
    end = max((end for start, end in spans if start <= now_us < end), default=None)
    return None if end is None else from_us(end)


def _since(use: DataUse, states: Sequence[TableState], drawn: Timeline) -> datetime | None:
    """Return since when the data is bad, by the figures of incidents, or unknown, by the drawing."""
    if use is DataUse.NOT_USABLE:
        lasting = [item for state in states for item in state.incidents if item.kind is Kind.QUALITY]
        return min((incident.last.onset.at for incident in lasting), default=None)
    if use is DataUse.UNKNOWN:
        names = {state.table.name for state in states}
        lanes = (lane.unobserved.stretches for lane in drawn.lanes if lane.table in names and lane.unobserved.stretches)
        return min((stretches[-1].began_at for stretches in lanes), default=None)
    return None


def _due(project: Project, tx: ReadTransaction, tables: Sequence[Table]) -> Iterable[datetime]:
    """Yield until when each check that expects newer data expects it."""
    checks = {table.check_id(check): check for table in tables for check in table.checks if check.type == "freshness"}
    results = tx.results.latest(checks) if checks else {}
    for check_id, result in results.items():
        due = checks[check_id].next_due(result.observed, project.config.timezone)
        if due is not None:
            yield due


def _anonymous(drawn: Timeline) -> Timeline:
    """Return a drawing that names no incident: what stays are the states of each moment."""
    return replace(drawn, lanes=tuple(replace(lane, bars=(), more=0) for lane in drawn.lanes), more_tables=0)


def status_html(project: Project, status: ConsumerStatus, language: str) -> tuple[str, str]:
    """Return a status as one self-contained page, without a script, and the hash by which a policy allows its style."""
    localizer = Localizer(language, project.config.timezone)
    env = environment(localizer, project.currency.code, masking(project.loaded.redactor))
    style = styled("report/report.css", "web/static/web.css")
    template = env.get_template("web/consumer_status.html.j2")
    text = template.render(page=status, language=language, zone=project.config.timezone, **style)
    return text, style["style_hash"]
