"""An incident: its episodes and events, its figures so far, what its check found before and after, and its alerts."""

from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from checks import Message
from incidents import Incident
from monitor.clock import iso
from monitor.config.project import Project
from monitor.summaries.causes import cause_as_json, causes_of
from monitor.summaries.incident import sheet_as_json
from monitor.triage.incident_editor import read_incident_detail
from monitor.web.views.alert_log import AlertDecision, decisions_of
from monitor.web.views.incidents import IncidentSummary
from monitor.web.views.shapes import Number, Shape, not_there
from store import NotRecorded, ReadTransaction, Result

AROUND: Final = 5
"""Results of the check that are shown before, and from, the detection of an incident."""
_MOST_ALERTS: Final = 100


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
    message: str


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
            "as_of": iso(now),
            "last_change": tx.incidents.last_change(),
            "version": len(sheet.events),
            "check": _check(project, incident),
            "results": _results(tx, incident),
            "alerts": decisions_of(tx, tx.outbox.of_incident(incident.id, _MOST_ALERTS)),
            "causes": [
                {**cause_as_json(cause), "evidence": cause.message} for cause in causes_of(project, tx, incident).causes
            ],
        }
    )


def _check(project: Project, incident: Incident) -> ConfiguredCheck | None:
    check = project.check_of(incident)
    return None if check is None else ConfiguredCheck(type=check.type, why=check.why, runbook=project.runbook(check))


def _results(tx: ReadTransaction, incident: Incident) -> tuple[IncidentCheckResult, ...]:
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
        message=str(result.message),
    )
