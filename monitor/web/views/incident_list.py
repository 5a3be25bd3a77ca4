"""Incidents by state, owner, domain, severity and table: a page of a list, or all that meet a query."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from annotated_types import MaxLen
from pydantic import Field

from checks import Severity
from incidents import State
from monitor.config import Config
from monitor.config.project import Project
from monitor.summaries.incident import IncidentSummary, summaries_of
from monitor.summaries.shapes import Moment, Shape
from monitor.verbs.verb import Query
from monitor.web.views.shapes import IncidentCursor, IncidentCursorText, Name, Since, Size
from store import IncidentFilter, IncidentPlace, IncidentSlice, ReadTransaction


class IncidentQuery(Query):
    """Which incidents to list: those that meet every filter; of the values of one filter, any.

    `since` and `until`: an episode began before `until` and did not end before `since`.
    """

    state: Annotated[tuple[State, ...], MaxLen(10)] = ()
    severity: Annotated[tuple[Severity, ...], MaxLen(10)] = ()
    table: Annotated[tuple[Name, ...], MaxLen(50)] = ()
    owner: Annotated[tuple[Name, ...], MaxLen(50)] = ()
    domain: Annotated[tuple[Name, ...], MaxLen(50)] = ()
    check: Annotated[tuple[Name, ...], MaxLen(50)] = ()
    cause: Annotated[tuple[Name, ...], MaxLen(50)] = ()
    since: Since | None = None
    until: Since | None = None
    cursor: IncidentCursorText | None = None
    size: Size = 50


class IncidentListPage(Shape):
    """`tablewatch.incidents/1`: incidents, newest first.

    `newer` and `older` are the cursors of the pages beside, null where nothing is beyond; `more`: whether there is an
    `older`. A page of a filter that few incidents meet may have less than `size` incidents, even none, and still an
    `older`: so far was searched.
    """

    schema_: Literal["tablewatch.incidents/1"] = Field("tablewatch.incidents/1", alias="schema")
    as_of: Moment
    last_change: int
    query: IncidentQuery
    incidents: tuple[IncidentSummary, ...]
    more: bool
    newer: str | None
    older: str | None

    @classmethod
    def of(
        cls, project: Project, tx: ReadTransaction, query: IncidentQuery, part: IncidentSlice, now: datetime
    ) -> "IncidentListPage":
        """Return incidents that were read in this transaction."""
        return cls(
            as_of=now,
            last_change=tx.incidents.last_change(),
            query=query,
            incidents=summaries_of(project, part.incidents, now),
            more=part.older is not None,
            newer=_cursor(part.newer, newer=True),
            older=_cursor(part.older, newer=False),
        )


def list_incidents(project: Project, tx: ReadTransaction, query: IncidentQuery, now: datetime) -> IncidentListPage:
    """Return a page of the incidents that a query asks for."""
    incident_filter = filter_of(project.config, query)
    if incident_filter is None:
        return IncidentListPage.of(project, tx, query, IncidentSlice([], None, None), now)
    cursor = None if query.cursor is None else IncidentCursor.parse(query.cursor)
    part = tx.incidents.page(
        incident_filter,
        size=query.size,
        older_than=None if cursor is None or cursor.newer else cursor.place,
        newer_than=cursor.place if cursor is not None and cursor.newer else None,
    )
    return IncidentListPage.of(project, tx, query, part, now)


def _cursor(place: IncidentPlace | None, *, newer: bool) -> str | None:
    return None if place is None else str(IncidentCursor(place, newer))


def filter_of(config: Config, query: IncidentQuery) -> IncidentFilter | None:
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
    return IncidentFilter(
        states=query.state,
        severities=query.severity,
        tables=tuple(tables),
        check_ids=query.check,
        causes=query.cause,
        since=query.since,
        until=query.until,
    )


def _is_among(name: str | None, names: Sequence[str]) -> bool:
    return not names or name in names
