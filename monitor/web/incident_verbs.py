"""The verbs of incidents over HTTP: each body is validated here, and decided and recorded by `monitor.triage`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Field

from checks import Severity
from incidents import Corrected, FoundBy, Incident, ReportedIncident, Resolution
from incidents.verbs import available
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.triage.create import tidy, unknown_table
from monitor.triage.errors import explained
from monitor.triage.incident_editor import IncidentEditor
from monitor.triage.time_parsing import TimeReader, TypedTimes
from monitor.web.access import may_act_on
from monitor.web.call import Call
from monitor.web.problems import WebError, of_stop
from monitor.web.views.shapes import Number

_HOW_TO_FORCE: Final = "tick the box that begins with 'even if'; programs send 'force': true"
Line = Annotated[str, MinLen(1), MaxLen(500)]
Time = Annotated[str, MaxLen(60), Field(description="ISO 8601, a local time of the project, or '2h ago'.")]
_OFFERED: Final = 1_000
"""Tables whose names the form suggests; with more tables there are no suggestions."""


class VerbBody(BaseModel):
    """The fields of every verb. With `if_version` it is refused (409) if the incident was changed since."""

    model_config = ConfigDict(extra="forbid")

    if_version: Annotated[int, Ge(0), Le(2**63 - 1)] | None = Field(
        None, description="The `version` on which the caller decided."
    )


class AssignBody(VerbBody):
    """Assign an incident to somebody."""

    assignee: Line


class SnoozeBody(VerbBody):
    """Mute alerts of an incident for a while: one of `for` and `until`."""

    length: Annotated[str, MaxLen(20)] | None = Field(None, alias="for", description="Such as 2h or 1d.")
    until: Time | None = None


class ResolveBody(VerbBody):
    """Resolve an incident, or correct its resolution."""

    resolution: Resolution
    resolved: Time | None = Field(None, description="When good data was there again; by default now.")
    cause: Line | None = None
    force: bool = Field(default=False, description="Also while its check still fails.")


class ReopenBody(VerbBody):
    """Reopen an incident: a new episode begins."""

    occurred: Time | None = None
    detected: Time | None = None


class CorrectBody(VerbBody):
    """Correct an incident's times."""

    occurred: Time | None = None
    detected: Time | None = None
    resolved: Time | None = None
    episode: Number | None = Field(None, description="1 is the first; by default the newest.")


class CommentBody(VerbBody):
    """Add a comment."""

    text: Annotated[str, MinLen(1), MaxLen(10_000)]


class MergeBody(VerbBody):
    """Mark an incident as a duplicate of another on its table."""

    into: Number
    force: bool = False


class RootBody(VerbBody):
    """Set the incident that caused this one; without one, remove it."""

    cause: Number | None = None


class OpenBody(BaseModel):
    """Log an incident that no check found."""

    model_config = ConfigDict(extra="forbid")

    table: Line
    title: Line
    occurred: Time | None = Field(None, description="When the problem started; by default when it was detected.")
    detected: Time | None = Field(None, description="When it was detected; by default now.")
    severity: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: the body it takes, and the change it makes."""

    body: type[VerbBody]
    act: Callable[[IncidentEditor, TypedTimes, int, Any], Incident]
    summary: str


def _snooze(editor: IncidentEditor, times: TypedTimes, number: int, body: SnoozeBody) -> Incident:
    if (body.length is None) == (body.until is None):
        raise Stop(ExitCode.USAGE, Problem("request.invalid", "one of 'for' and 'until' is needed", hint="for: 2h"))
    until = times.moment("until", body.until)
    return editor.snooze(number, until or editor.now + times.length("for", body.length or ""))


def _resolve(editor: IncidentEditor, times: TypedTimes, number: int, body: ResolveBody) -> Incident:
    cause = None if body.cause is None else _tidy("cause", body.cause)
    at = times.moment("resolved", body.resolved)
    return editor.resolve(number, body.resolution, at=at, cause=cause, force=body.force)


def _reopen(editor: IncidentEditor, times: TypedTimes, number: int, body: ReopenBody) -> Incident:
    detected = times.moment("detected", body.detected) or editor.now
    return editor.reopen(number, detected_at=detected, occurred_at=times.moment("occurred", body.occurred))


def _correct(editor: IncidentEditor, times: TypedTimes, number: int, body: CorrectBody) -> Incident:
    change = Corrected(
        episode=-1 if body.episode is None else body.episode - 1,
        occurred_at=times.moment("occurred", body.occurred),
        detected_at=times.moment("detected", body.detected),
        resolved_at=times.moment("resolved", body.resolved),
    )
    return editor.correct(number, change)


VERBS: Final[Mapping[str, Verb]] = {
    "ack": Verb(VerbBody, lambda editor, _, number, __: editor.acknowledge(number), "Acknowledge an incident"),
    "assign": Verb(
        AssignBody,
        lambda editor, _, number, body: editor.assign(number, _tidy("assignee", body.assignee)),
        "Assign an incident to somebody",
    ),
    "snooze": Verb(SnoozeBody, _snooze, "Mute alerts of an incident for a while"),
    "resolve": Verb(ResolveBody, _resolve, "Resolve an incident, or correct its resolution"),
    "reopen": Verb(ReopenBody, _reopen, "Reopen an incident"),
    "correct": Verb(CorrectBody, _correct, "Correct an incident's times"),
    "comment": Verb(
        CommentBody,
        lambda editor, _, number, body: editor.comment(number, _tidy("text", body.text)),
        "Add a comment to an incident",
    ),
    "merge": Verb(
        MergeBody,
        lambda editor, _, number, body: editor.merge(number, body.into, force=body.force)[0],
        "Mark an incident as a duplicate of another",
    ),
    "root": Verb(
        RootBody,
        lambda editor, _, number, body: editor.name_root(number, body.cause),
        "Name the incident that caused another",
    ),
}


def perform(call: Call, verb: Verb) -> Incident:
    """Apply a verb on behalf of the caller.

    Raises:
        WebError: 404 for no such incident, 403 for a table of others, 409 with what is possible now where the
            incident does not allow it or was changed meanwhile, 422 for what cannot be.
    """
    principal, number = call.require_principal(), call.query.id
    zone = call.project.config.timezone
    editor = IncidentEditor(call.project, call.store, actor=principal.actor, if_version=call.body.if_version)
    with explained(zone), call.store.reading() as tx:
        table = tx.incidents.get(number).table
    check_may_act(call, table)
    try:
        with explained(zone, how_to_force=_HOW_TO_FORCE):
            return verb.act(editor, _times(call, editor), number, call.body)
    except Stop as stop:
        refused = of_stop(stop)
        if refused.status == 409:
            raise _conflict(call, number, refused) from None
        raise refused from None


def open_incident(call: Call) -> tuple[Incident, bool]:
    """Log an incident on behalf of the caller; return it, and whether it is new.

    Raises:
        WebError: 422 for a table that is not configured or times that cannot be, 403 for a table of others.
    """
    body: OpenBody = call.body
    problem = unknown_table(body.table, call.project.config)
    if problem is not None:
        raise WebError(422, problem)
    check_may_act(call, body.table)
    editor = IncidentEditor(call.project, call.store, actor=call.require_principal().actor)
    with explained(call.project.config.timezone):
        return log_reported(editor, _times(call, editor), body)


def log_reported(editor: IncidentEditor, times: TypedTimes, body: OpenBody) -> tuple[Incident, bool]:
    """Log a reported incident; return it, and whether it is new.

    Raises:
        Stop: the title is empty, or the times cannot be.
    """
    reported = ReportedIncident(
        table=body.table,
        title=_tidy("title", body.title),
        detected_at=times.moment("detected", body.detected) or editor.now,
        occurred_at=times.moment("occurred", body.occurred),
        severity=body.severity,
        found_by=FoundBy.PERSON,
    )
    return editor.log(reported)


class LogFormQuery(BaseModel):
    """The table that the form begins with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: Annotated[str, MaxLen(500)] | None = None


class LogForm(BaseModel):
    """The form: the table it begins with, and those that the person may name."""

    table: str | None
    tables: tuple[str, ...]


def show_log_form(call: Call) -> LogForm:
    """Return the form."""
    grant = call.require_principal().grant
    names = [table.name for table in call.project.config.tables if may_act_on(grant, call.project.config, table.name)]
    return LogForm(table=call.query.table, tables=tuple(names[:_OFFERED]))


def check_may_act(call: Call, table: str) -> None:
    """Check that who calls may act on a table.

    Raises:
        WebError: 403.
    """
    if not may_act_on(call.require_principal().grant, call.project.config, table):
        raise WebError(403, Problem("access.table", f"your role does not act on table {table}"))


def _times(call: Call, editor: IncidentEditor) -> TypedTimes:
    return TypedTimes(TimeReader(call.project.config.timezone, editor.now), lambda _: None)


def _conflict(call: Call, number: int, refused: WebError) -> WebError:
    with call.store.reading() as tx:
        incident, version = tx.incidents.get(number), tx.incidents.version(number)
    more = {
        "incident": number,
        "status": incident.state.value,
        "version": version,
        "available": list(available(incident)),
    }
    return WebError(409, *refused.problems, more=more)


def _tidy(field: str, text: str) -> str:
    tidied = tidy(text)
    if not tidied:
        raise Stop(ExitCode.USAGE, Problem("request.invalid", f"{field} is empty"))
    return tidied
