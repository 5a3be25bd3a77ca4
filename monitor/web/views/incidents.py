"""The list of incidents: a page of at most 100, filtered by state, owner, domain, severity and table."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from annotated_types import MaxLen
from pydantic import BaseModel, ConfigDict, Field

from checks import Severity
from incidents import Incident, State
from monitor.config import Config
from monitor.config.project import Project
from monitor.summaries.incident import incident_as_json, incident_figures
from monitor.web.views.paging import IncidentCursor, IncidentCursorText
from monitor.web.views.shapes import Amount, Name, Shape, Size
from store import IncidentFilter, IncidentPlace, ReadTransaction


class IncidentQuery(BaseModel):
    """Which incidents to list: those that meet every filter; of the values of one filter, any."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    state: Annotated[tuple[State, ...], MaxLen(10)] = ()
    severity: Annotated[tuple[Severity, ...], MaxLen(10)] = ()
    table: Annotated[tuple[Name, ...], MaxLen(50)] = ()
    owner: Annotated[tuple[Name, ...], MaxLen(50)] = ()
    domain: Annotated[tuple[Name, ...], MaxLen(50)] = ()
    cursor: IncidentCursorText | None = None
    size: Size = 50


class IncidentSummary(Shape):
    """An incident without its history."""

    id: int
    table: str
    check_id: str | None
    kind: str
    severity: Severity
    title: str
    state: State
    resolution: str | None
    cause: str | None
    found_by: str
    owner: str | None
    assignee: str | None
    occurred_at: datetime
    occurred_earliest: datetime
    occurred_latest: datetime
    occurrence_method: str
    detected_at: datetime
    acknowledged_at: datetime | None
    resolved_at: datetime | None
    snoozed_until: datetime | None
    regressed: bool
    flapping: bool
    root: int | None
    merged_into: int | None
    counts: bool
    ttd_h: float
    tta_h: float | None
    ttr_h: float | None
    downtime_h: float
    maintenance_h: float
    cost: Amount
    available: tuple[str, ...]


class IncidentListPage(Shape):
    """`tablewatch.incidents/1`: incidents, newest first.

    `newer` and `older` are the cursors of the pages beside, null where nothing is beyond. A page of a filter that few
    incidents meet may have less than `size` incidents, even none, and still an `older`: so far was searched.
    """

    schema_: Literal["tablewatch.incidents/1"] = Field("tablewatch.incidents/1", alias="schema")
    as_of: datetime
    last_change: int
    query: IncidentQuery
    incidents: tuple[IncidentSummary, ...]
    newer: str | None
    older: str | None


def list_incidents(project: Project, tx: ReadTransaction, query: IncidentQuery, now: datetime) -> IncidentListPage:
    """Return a page of the incidents that a query asks for."""
    asked = _filter_of(project.config, query)
    last_change = tx.incidents.last_change()
    if asked is None:
        return IncidentListPage(as_of=now, last_change=last_change, query=query, incidents=(), newer=None, older=None)
    cursor = None if query.cursor is None else IncidentCursor.parse(query.cursor)
    part = tx.incidents.page(
        asked,
        size=query.size,
        older_than=None if cursor is None or cursor.newer else cursor.place,
        newer_than=cursor.place if cursor is not None and cursor.newer else None,
    )
    return IncidentListPage(
        as_of=now,
        last_change=last_change,
        query=query,
        incidents=summaries_of(project, part.incidents, now),
        newer=_cursor(part.newer, newer=True),
        older=_cursor(part.older, newer=False),
    )


def summaries_of(project: Project, incidents: Sequence[Incident], now: datetime) -> tuple[IncidentSummary, ...]:
    """Return incidents in their order, each with its figures up to now."""
    figures = incident_figures(project, incidents, now)
    return tuple(
        IncidentSummary.model_validate(incident_as_json(project, incident, figures[incident.id]))
        for incident in incidents
    )


def _cursor(place: IncidentPlace | None, *, newer: bool) -> str | None:
    return None if place is None else str(IncidentCursor(place, newer))


def _filter_of(config: Config, query: IncidentQuery) -> IncidentFilter | None:
    """Return the filter of a query; None where no table can meet it."""
    tables: Sequence[str] = query.table
    if query.owner or query.domain:
        tables = [
            table.name
            for table in config.tables
            if _is_among(config.owner_of(table), query.owner)
            and _is_among(table.domain, query.domain)
            and _is_among(table.name, query.table)
        ]
        if not tables:
            return None
    return IncidentFilter(states=query.state, severities=query.severity, tables=tuple(tables))


def _is_among(name: str | None, names: Sequence[str]) -> bool:
    return not names or name in names
