"""The first pages: what is open, the list of incidents, and an incident with what can be done to it."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from checks import Severity
from incidents import State
from monitor.config.project import Project
from monitor.summaries.incident import incident_as_json, incident_figures, sheet_as_json
from monitor.triage.desk import read_incident_detail
from monitor.triage.errors import explained
from monitor.web.incident_verbs import IncidentNumber
from store import IncidentFilter, ReadTransaction

_SHOWN = 50
_LASTING = (State.OPEN, State.ACKNOWLEDGED)


class IncidentQuery(BaseModel):
    """Which incidents to list."""

    model_config = ConfigDict(extra="forbid")

    state: tuple[State, ...] = ()
    table: tuple[str, ...] = ()
    severity: tuple[Severity, ...] = ()


class Amount(BaseModel):
    """Money: null where no rate is configured."""

    amount: float | None
    currency: str


class IncidentSummary(BaseModel):
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
    ttr_h: float | None
    downtime_h: float
    maintenance_h: float
    cost: Amount
    available: list[str]


class IncidentPage(IncidentSummary):
    """`tablewatch.incident/1`: an incident with its episodes and its history."""

    schema_: str = Field(alias="schema")
    version: int
    fingerprint: str
    duplicates: list[int]
    episodes: list[dict[str, Any]]
    events: list[dict[str, Any]]


class IncidentListPage(BaseModel):
    """`tablewatch.incidents/1`: incidents, newest first."""

    schema_: str = Field("tablewatch.incidents/1", alias="schema")
    as_of: datetime
    incidents: list[IncidentSummary]
    more: bool
    tables: list[str] = Field(exclude=True)


def list_incidents(project: Project, tx: ReadTransaction, query: IncidentQuery, now: datetime) -> IncidentListPage:
    """Return the newest incidents that a query asks for."""
    asked = IncidentFilter(states=query.state, tables=query.table, severities=query.severity, limit=_SHOWN + 1)
    incidents = tx.incidents.matching(asked)
    figures = incident_figures(project, incidents[:_SHOWN], now)
    items = [incident_as_json(project, incident, figures[incident.id]) for incident in incidents[:_SHOWN]]
    return IncidentListPage.model_validate(
        {
            "schema": "tablewatch.incidents/1",
            "as_of": now,
            "incidents": items,
            "more": len(incidents) > _SHOWN,
            "tables": [table.name for table in project.config.tables],
        }
    )


def list_lasting(project: Project, tx: ReadTransaction, _: object, now: datetime) -> IncidentListPage:
    """Return the incidents that last."""
    return list_incidents(project, tx, IncidentQuery(state=_LASTING), now)


def read_incident(project: Project, tx: ReadTransaction, query: IncidentNumber, _: datetime) -> IncidentPage:
    """Return an incident.

    Raises:
        Stop: there is none of that number.
    """
    with explained(project.config.timezone):
        sheet = read_incident_detail(tx, query.id)
    return IncidentPage.model_validate(sheet_as_json(project, sheet))
