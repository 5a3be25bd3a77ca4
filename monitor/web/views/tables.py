"""The list of tables: a page of at most 100 in the order of their names, filtered by health, owner, domain and tier."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Annotated, Literal

from annotated_types import MaxLen
from pydantic import Field

from checks.classes.arrays import np
from incidents import Downtime, Window, measure_by, price_by
from monitor.config import Table
from monitor.config.project import Project
from monitor.summaries.catalogue import RECENT
from monitor.summaries.health import TableHealth, TableLine, health_list, states_of
from monitor.summaries.shapes import Amount, Shape, as_hours
from monitor.web.views.shapes import Name, NameListPage, NameListQuery, page_of_names
from store import ReadTransaction


class TableListQuery(NameListQuery):
    """Which tables to list: those that meet every filter; `text` is a part of the name."""

    health: Annotated[tuple[TableHealth, ...], MaxLen(10)] = ()
    owner: Annotated[tuple[Name, ...], MaxLen(50)] = ()
    domain: Annotated[tuple[Name, ...], MaxLen(50)] = ()
    tier: Annotated[tuple[Name, ...], MaxLen(50)] = ()
    text: Name | None = None


class TableDowntime(Shape):
    """The downtime of a table in a time: incidents, hours, cost."""

    n: int
    downtime_h: float
    cost: Amount


class RecentTable(TableLine):
    """A table in a list; `recent`: its downtime of the last 28 days."""

    recent: TableDowntime


class TableListPage(NameListPage):
    """`tablewatch.tables-page/1`: tables by name, cursors of the pages beside; `n`: all that meet the query."""

    schema_: Literal["tablewatch.tables-page/1"] = Field("tablewatch.tables-page/1", alias="schema")
    query: TableListQuery
    tables: tuple[RecentTable, ...]


def list_tables(project: Project, tx: ReadTransaction, query: TableListQuery, now: datetime) -> TableListPage:
    """Return a page of the tables that a query asks for."""
    names = [table.name for table in project.config.tables if _is_asked_for(project, table, query)]
    if query.health:
        health = health_list(project, tx, now).health
        names = [name for name in names if health[name] in query.health]
    page = page_of_names(names, query.cursor, query.size)
    tables = [table for name in page.names if (table := project.config.table(name)) is not None]
    recent = downtime_of(project, tx, page.names, Window.of(now - RECENT, now))
    states = states_of(project, tx, tables) if tables else ()
    return TableListPage(
        as_of=now,
        query=query,
        n=len(names),
        tables=tuple(RecentTable.of(state, recent=recent[state.table.name]) for state in states),
        previous=page.previous,
        following=page.following,
    )


def _is_asked_for(project: Project, table: Table, query: TableListQuery) -> bool:
    chosen = (
        (query.owner, project.config.owner_of(table)),
        (query.domain, table.domain),
        (query.tier, table.tier),
    )
    matches = query.text is None or query.text.casefold() in table.name.casefold()
    return matches and all(not filters or value in filters for filters, value in chosen)


def downtime_of(
    project: Project, tx: ReadTransaction, names: Sequence[str], window: Window
) -> Mapping[str, TableDowntime]:
    """Return the downtime of some tables in a window that ends now; also of those that had none."""
    shared = tx.incidents.shared_spans(window.start_us)
    codes = {name: code for code, name in enumerate(shared.names)}
    spans = shared.take(np.flatnonzero(np.isin(shared.table, [codes[name] for name in names if name in codes])))
    maintenance = project.maintenance(spans.names)
    as_of_us = window.end_us
    downtimes = measure_by(spans, window, as_of_us=as_of_us, group=spans.table, maintenance=maintenance)
    costs = (
        price_by(spans, window, pricing=project.pricing, as_of_us=as_of_us, group=spans.table, maintenance=maintenance)
        if project.priced
        else None
    )
    nothing = Downtime(window, as_of_us)

    def of_table(code: int) -> TableDowntime:
        downtime = downtimes.get(code, nothing)
        cost = None if costs is None else costs[code].amount if code in costs else 0
        return TableDowntime(
            n=downtime.n,
            downtime_h=as_hours(downtime.downtime),
            cost=Amount.of(project, cost if cost is None else Fraction(cost)),
        )

    return {name: of_table(codes.get(name, -1)) for name in names}
