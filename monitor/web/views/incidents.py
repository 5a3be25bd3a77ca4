"""One incident: its history, the results around its detection, its alerts and what may have caused it."""

from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from checks import Check, Message
from incidents import Incident
from monitor.config.project import Project
from monitor.summaries.causes import PossibleCause, causes_of
from monitor.summaries.incident import IncidentSheet
from monitor.summaries.lineage import Reach, columns_of
from monitor.summaries.shapes import CheckFinding, Moment, Shape
from monitor.triage.incident_editor import IncidentDetail, read_incident_detail, still_fails
from monitor.verbs.incident import IncidentNumber
from monitor.web.views.alert_log import AlertDecision, decisions_of
from monitor.web.views.shapes import not_there
from monitor.web.views.time_lanes import DrawnTime, draw_incident
from store import NotRecorded, ReadTransaction, Result

AROUND: Final = 5
"""Results of the check that are shown before, and from, the detection of an incident."""
_MOST_ALERTS: Final = 100


class IncidentRequest(IncidentNumber):
    """The number of an incident, in the path.

    `sql`: also the SELECT of the rows that break its check, for which the source is opened.
    """

    sql: bool = False


class ViolationsSql(Shape):
    """The SELECT of the rows or keys that break a check, which is not run here; or the reason why there is none."""

    sql: str | None = None
    reason: str | None = None


class ConfiguredCheck(Shape):
    """What the configuration says of the check that an incident is of; `runbook` is an address or Markdown."""

    type: str
    why: str | None
    runbook: str | None


class IncidentCheckResult(CheckFinding):
    """What the check found in a run."""

    run: str
    measured_at: Moment


class EvidencedCause(PossibleCause):
    """What may have caused an incident; `evidence` is its message as text and values."""

    evidence: Message


class IncidentPage(IncidentSheet):
    """`tablewatch.incident/1`: an incident with its history, its alerts and what may have caused it.

    `results` are those of its check around the detection of its last episode, in order of time. `violations` is there
    where it was asked for. `still_fails`: its check does, so that it is resolved only with `force`. `reach`: what is
    downstream of the columns of its check; null while the configuration has errors.
    """

    schema_: Literal["tablewatch.incident/1"] = Field("tablewatch.incident/1", alias="schema")
    as_of: Moment
    last_change: int
    check: ConfiguredCheck | None
    still_fails: bool
    time: DrawnTime
    results: tuple[IncidentCheckResult, ...]
    alerts: tuple[AlertDecision, ...]
    causes: tuple[EvidencedCause, ...]
    reach: Reach | None
    violations: ViolationsSql | None


def violations_of(project: Project, table: str, check: Check | None, now: datetime) -> ViolationsSql:
    """Return the SELECT of the rows that break a check, or why there is none, without secrets."""
    from monitor.scan.violations import NoRows, violations_sql  # most pages read the store alone

    try:
        return ViolationsSql(sql=project.loaded.redactor(violations_sql(project, table, check, now)))
    except NoRows as error:
        return ViolationsSql(reason=project.loaded.redactor(str(error)))


def show_incident(project: Project, tx: ReadTransaction, query: IncidentNumber, now: datetime) -> IncidentPage:
    """Return an incident.

    Raises:
        Stop: there is none of that number.
    """
    try:
        detail = read_incident_detail(tx, query.id)
    except NotRecorded as error:
        raise not_there("incident.not_found", str(error)) from None
    return incident_page(project, tx, detail, now, with_sql=isinstance(query, IncidentRequest) and query.sql)


def incident_page(
    project: Project, tx: ReadTransaction, detail: IncidentDetail, now: datetime, *, with_sql: bool = False
) -> IncidentPage:
    """Return all that there is to know of an incident that was read in this transaction."""
    incident = detail.incident
    return IncidentPage.read(
        project,
        detail,
        now,
        as_of=now,
        last_change=tx.incidents.last_change(),
        check=_configured_check(project, incident),
        still_fails=still_fails(project, tx, incident),
        time=draw_incident(project, tx, incident, now),
        results=_check_results(tx, incident),
        alerts=decisions_of(project, tx, tx.outbox.of_incident(incident.id, _MOST_ALERTS), now),
        causes=tuple(
            EvidencedCause.of(cause, evidence=cause.message) for cause in causes_of(project, tx, incident).causes
        ),
        reach=_reach(project, incident),
        violations=violations_of(project, incident.table, project.check_of(incident), now) if with_sql else None,
    )


def _reach(project: Project, incident: Incident) -> Reach | None:
    if not project.is_whole():  # which products name consumers is not known
        return None
    return Reach.of(project.config, incident.table, columns_of(project.check_of(incident)))


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
