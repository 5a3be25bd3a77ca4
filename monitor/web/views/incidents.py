"""Incidents by state, owner, domain, severity and table; one incident, the results around its detection, its alerts."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from annotated_types import MaxLen
from pydantic import BaseModel, ConfigDict, Field

from checks import Message, Severity
from incidents import Incident, State
from monitor.clock import iso
from monitor.config import Config
from monitor.config.project import Project
from monitor.reporting.sentences import title_of
from monitor.summaries.causes import cause_as_json, causes_of
from monitor.summaries.incident import incident_as_json, incident_figures, sheet_as_json
from monitor.triage.incident_editor import read_incident_detail
from monitor.web.views.alert_log import AlertDecision, decisions_of
from monitor.web.views.shapes import (
    Amount,
    IncidentCursor,
    IncidentCursorText,
    Name,
    Number,
    Sentence,
    Shape,
    Size,
    Title,
    not_there,
)
from store import IncidentFilter, IncidentPlace, NotRecorded, ReadTransaction, Result

AROUND: Final = 5
"""Results of the check that are shown before, and from, the detection of an incident."""
_MOST_ALERTS: Final = 100


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
    title: Title
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
    incident_filter = _filter_of(project.config, query)
    last_change = tx.incidents.last_change()
    if incident_filter is None:
        return IncidentListPage(as_of=now, last_change=last_change, query=query, incidents=(), newer=None, older=None)
    cursor = None if query.cursor is None else IncidentCursor.parse(query.cursor)
    part = tx.incidents.page(
        incident_filter,
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
        IncidentSummary.model_validate(
            {**incident_as_json(project, incident, figures[incident.id]), "title": title_of(incident)}
        )
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


class IncidentNumber(BaseModel):
    """The number of an incident, in the path."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Number


class IncidentEpisode(Shape):
    """An episode: its times, the lengths (null: it lasts, or nobody acknowledged it), and what it cost."""

    occurred_at: datetime
    occurred_earliest: datetime
    occurred_latest: datetime
    occurrence_method: str
    first_failed_at: datetime | None
    detected_at: datetime
    acknowledged_at: datetime | None
    resolved_at: datetime | None
    ttd_h: float
    tta_h: float | None
    ttr_h: float | None
    cost: float | None


class IncidentEvent(Shape):
    """Something that happened to it; `change` as the store keeps it."""

    recorded_at: datetime
    actor: str
    kind: str
    change: dict[str, Any]


class ExternalItemLine(Shape):
    """What it is in a service that shows it: a ticket with its status, a page or a message.

    `item` is what the service calls it, null until its answer is known; `url` where people see it, null if that cannot
    be told.
    """

    channel: str
    service: str
    item: str | None
    status: str | None
    url: str | None


class ConfiguredCheck(Shape):
    """What the configuration says of the check that an incident is of; `runbook` is an address or Markdown."""

    type: str
    why: str | None
    runbook: str | None


class IncidentCheckResult(Shape):
    """What the check found in a run."""

    run: str
    measured_at: datetime
    status: str
    reason: str | None
    message: Sentence


class ScorePartsShape(Shape):
    """The parts of a score, each between 0 and 1; the score is their product."""

    prior: float
    time: float
    lineage: float
    strength: float
    rarity: float


class PossibleCause(Shape):
    """What may have caused an incident; nothing says that it did.

    `message` is in English, `evidence` the same as text and values. `table` is null for what is about no table,
    `distance` how many steps it is upstream; `since` and `until` are null for what has no time of its own.
    """

    kind: str
    likelihood: str
    score: float
    parts: ScorePartsShape
    table: str | None
    distance: int
    since: datetime | None
    until: datetime | None
    check_id: str | None
    incident: int | None
    event: int | None
    comments: tuple[str, ...]
    message: str
    evidence: Message


class IncidentPage(IncidentSummary):
    """`tablewatch.incident/1`: an incident with its history; `version` counts its events.

    `results` are those of its check around the detection of its last episode, in order of time.
    """

    schema_: Literal["tablewatch.incident/1"] = Field("tablewatch.incident/1", alias="schema")
    as_of: datetime
    last_change: int
    version: int
    fingerprint: str
    duplicates: tuple[int, ...]
    external_items: tuple[ExternalItemLine, ...]
    episodes: tuple[IncidentEpisode, ...]
    events: tuple[IncidentEvent, ...]
    check: ConfiguredCheck | None
    results: tuple[IncidentCheckResult, ...]
    alerts: tuple[AlertDecision, ...]
    causes: tuple[PossibleCause, ...]


def show_incident(project: Project, tx: ReadTransaction, query: IncidentNumber, now: datetime) -> IncidentPage:
    """Return an incident.

    Raises:
        Stop: there is none of that number.
    """
    try:
        sheet = read_incident_detail(tx, query.id)
    except NotRecorded as error:
        raise not_there("incident.not_found", str(error)) from None
    incident = sheet.incident
    return IncidentPage.model_validate(
        {
            **sheet_as_json(project, sheet, now),
            "title": title_of(incident),
            "as_of": iso(now),
            "last_change": tx.incidents.last_change(),
            "version": len(sheet.events),
            "check": _configured_check(project, incident),
            "results": _check_results(tx, incident),
            "alerts": decisions_of(tx, tx.outbox.of_incident(incident.id, _MOST_ALERTS)),
            "causes": [
                {**cause_as_json(cause), "evidence": cause.message} for cause in causes_of(project, tx, incident).causes
            ],
        }
    )


def _configured_check(project: Project, incident: Incident) -> ConfiguredCheck | None:
    check = project.check_of(incident)
    return None if check is None else ConfiguredCheck(type=check.type, why=check.why, runbook=project.runbook(check))


def _check_results(tx: ReadTransaction, incident: Incident) -> tuple[IncidentCheckResult, ...]:
    if incident.series is None:
        return ()
    around = tx.results.around(incident.series, incident.last.detected_at, before=AROUND, after=AROUND)
    return tuple(result_of(result) for result in around)


def result_of(result: Result) -> IncidentCheckResult:
    """Return a result; its message holds numbers and names."""
    return IncidentCheckResult(
        run=result.run_id,
        measured_at=result.measured_at,
        status=result.status.value,
        reason=None if result.reason is None else result.reason.value,
        message=result.message,
    )
