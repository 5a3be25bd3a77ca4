"""The verbs of incidents: the fields of each, and the change that it makes through `triage.IncidentEditor`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import Ge, Le
from pydantic import Field

from monitor.verbs.verb import Acting, Body, Length, Line, Lines, Name, Nothing, Number, Query, Time, Typed, Verb
from monitor.verbs.words import FoundByWord, ResolutionWord, SeverityWord

if TYPE_CHECKING:
    from datetime import datetime

    from incidents import Incident
    from monitor.triage.incident_editor import IncidentEditor


class IncidentNumber(Query):
    """The number of an incident."""

    id: Annotated[Number, Typed(metavar="ID")] = Field(description="Incident number.")


class VerbBody(Body):
    """The fields of every verb. With `if_version` it is refused (409) if the incident was changed since."""

    if_version: Annotated[int, Ge(0), Le(2**63 - 1)] | None = Field(
        None, description="The `version` on which the caller decided."
    )


class AssignBody(VerbBody):
    """Assign an incident to a user."""

    assignee: Annotated[Line, Typed(metavar="WHO", argument=True)] = Field(description="Assignee.")


class SnoozeBody(VerbBody):
    """Mute alerts of an incident for a while: one of `for` and `until`."""

    length: Length | None = Field(None, alias="for", description="Duration, such as 2h or 1d.")
    until: Time | None = Field(None, description="End time.")


class ResolveBody(VerbBody):
    """Resolve an incident, or correct its resolution."""

    resolution: Annotated[ResolutionWord, Typed(option="--as")] = Field(description="Resolution.")
    resolved: Time | None = Field(None, description="When the data was correct again; by default now.")
    cause: Line | None = Field(None, description="Root cause.")
    force: bool = Field(default=False, description="Resolve even if its check still fails.")


class ReopenBody(VerbBody):
    """Reopen an incident: a new episode begins."""

    occurred: Time | None = Field(None, description="When the problem started.")
    detected: Time | None = Field(None, description="When it was detected.")


class CorrectBody(ReopenBody):
    """Correct an incident's times."""

    resolved: Time | None = Field(None, description="When the data was correct again.")
    episode: Number | None = Field(None, description="Episode number, 1 is the first; by default the latest.")


class CommentBody(VerbBody):
    """Add a comment."""

    text: Annotated[Lines, Typed(argument=True)] = Field(description="Text of the comment, in Markdown.")
    post_mortem: bool = Field(default=False, description="Record it as the post-mortem; the last one counts.")


class MergeBody(VerbBody):
    """Mark an incident as a duplicate of another on its table."""

    into: Annotated[Number, Typed(metavar="INTO", argument=True)] = Field(description="The incident it duplicates.")
    force: bool = Field(
        default=False,
        description="Merge even if they did not overlap in time, or the other is resolved or not counted.",
    )


class RootBody(VerbBody):
    """Set the incident that caused this one; without one, remove it."""

    cause: Annotated[Number, Typed(metavar="CAUSE_ID", argument=True, removal="--none")] | None = Field(
        None, description="The incident that is its root cause."
    )


class OpenBody(Body):
    """Log an incident that no check found."""

    table: Name = Field(description="Table name in the configuration.")
    title: Line = Field(description="Short description of the problem.")
    occurred: Time | None = Field(None, description="When the problem started; by default the time of detection.")
    detected: Time | None = Field(None, description="When it was detected; by default now.")
    resolved: Time | None = Field(
        None, description="When the data was correct again, if already resolved; with a resolution."
    )
    resolution: Annotated[ResolutionWord, Typed(option="--as")] | None = Field(
        None, description="Resolution, if already resolved."
    )
    cause: Line | None = Field(None, description="Root cause, if already resolved.")
    severity: SeverityWord = Field(SeverityWord.ERROR, description="Severity.")
    found_by: FoundByWord = Field(FoundByWord.PERSON, description="How it was detected.")
    any_table: bool = Field(default=False, description="Allow a table that is not in the configuration.")


def _editor(acting: Acting, number: int, body: VerbBody) -> "IncidentEditor":
    from monitor.triage.incident_editor import IncidentEditor

    with acting.store.reading() as tx:
        acting.check_table(tx.incidents.get(number).table)
    return IncidentEditor(acting.project, acting.store, actor=acting.actor, if_version=body.if_version)


def _acknowledge(acting: Acting, target: IncidentNumber, body: VerbBody) -> "Incident":
    return _editor(acting, target.id, body).acknowledge(target.id)


def _assign(acting: Acting, target: IncidentNumber, body: AssignBody) -> "Incident":
    return _editor(acting, target.id, body).assign(target.id, body.assignee)


def _snooze(acting: Acting, target: IncidentNumber, body: SnoozeBody) -> "Incident":
    editor = _editor(acting, target.id, body)
    return editor.snooze(target.id, acting.end(editor.now, length=body.length, until=body.until))


def _resolve(acting: Acting, target: IncidentNumber, body: ResolveBody) -> "Incident":
    from incidents import Resolution

    editor = _editor(acting, target.id, body)
    at = acting.times(editor.now).moment("resolved", body.resolved)
    return editor.resolve(target.id, Resolution(body.resolution), at=at, cause=body.cause, force=body.force)


def _reopen(acting: Acting, target: IncidentNumber, body: ReopenBody) -> "Incident":
    editor = _editor(acting, target.id, body)
    times = acting.times(editor.now)
    occurred, detected = times.moment("occurred", body.occurred), times.moment("detected", body.detected)
    return editor.reopen(target.id, detected_at=detected or editor.now, occurred_at=occurred)


def _correct(acting: Acting, target: IncidentNumber, body: CorrectBody) -> "Incident":
    from incidents import Corrected

    editor = _editor(acting, target.id, body)
    times = acting.times(editor.now)
    change = Corrected(
        episode=-1 if body.episode is None else body.episode - 1,
        occurred_at=times.moment("occurred", body.occurred),
        detected_at=times.moment("detected", body.detected),
        resolved_at=times.moment("resolved", body.resolved),
    )
    return editor.correct(target.id, change)


def _comment(acting: Acting, target: IncidentNumber, body: CommentBody) -> "Incident":
    return _editor(acting, target.id, body).comment(target.id, body.text, post_mortem=body.post_mortem)


def _merge(acting: Acting, target: IncidentNumber, body: MergeBody) -> "Incident":
    from monitor.triage.time_parsing import format_hours

    incident, lost = _editor(acting, target.id, body).merge(target.id, body.into, force=body.force)
    if lost:
        uncovered = f"{format_hours(lost)} of #{target.id} are not covered by #{body.into}"
        acting.note(f"note: {uncovered} and are no longer counted")
    return incident


def _name_root(acting: Acting, target: IncidentNumber, body: RootBody) -> "Incident":
    return _editor(acting, target.id, body).name_root(target.id, body.cause)


def log_incident(acting: Acting, _: Nothing, body: OpenBody) -> "tuple[Incident, bool]":
    """Log a reported incident; return it, and whether it is new.

    Raises:
        Stop: its table is not configured, or its times or fields do not go together.
    """
    from checks import Severity
    from incidents import FoundBy, ReportedIncident, Resolution
    from monitor.terminal.problem import ExitCode, Stop
    from monitor.triage.create import listed_cause, unknown_table
    from monitor.triage.incident_editor import IncidentEditor

    config = acting.project.config
    problem = None if body.any_table else unknown_table(body.table, config)
    if problem is not None:
        raise Stop(ExitCode.USAGE, problem)
    acting.check_table(body.table)
    editor = IncidentEditor(acting.project, acting.store, actor=acting.actor)
    occurred, detected, resolved = _moments(acting, body, editor.now)
    return editor.log(
        ReportedIncident(
            table=body.table,
            title=body.title,
            detected_at=detected or editor.now,
            occurred_at=occurred,
            resolved_at=resolved,
            resolution=Resolution(body.resolution or Resolution.FIXED),
            severity=Severity(body.severity),
            found_by=FoundBy(body.found_by),
            cause=None if body.cause is None else listed_cause(config, body.cause),
        )
    )


def _moments(acting: Acting, body: OpenBody, now: "datetime") -> "Sequence[datetime | None]":
    """Return when it occurred, was detected and was resolved.

    Raises:
        Stop: one is no time, or an incident that is over was reported in part.
    """
    from monitor.terminal.problem import ExitCode, Problem, Stop

    times = acting.times(now)
    moments = [times.moment(name, getattr(body, name)) for name in ("occurred", "detected", "resolved")]
    named = acting.named
    if (moments[2] is None) != (body.resolution is None):
        message = f"{named('resolved')} and {named('resolution')} go together: when the data was correct again, and why"
        hint = f"{named('resolution')} takes {', '.join(ResolutionWord)}"
        raise Stop(ExitCode.USAGE, Problem("usage", message, hint=hint))
    if moments[2] is not None and moments[1] is None:
        message = f"{named('resolved')} needs {named('detected')}, the time of detection"
        raise Stop(ExitCode.USAGE, Problem("usage", message))
    if body.cause is not None and moments[2] is None:
        hint = "use 'tablewatch incident comment' for notes on an open incident"
        message = f"{named('cause')} goes with {named('resolved')} and {named('resolution')}"
        raise Stop(ExitCode.USAGE, Problem("usage", message, hint=hint))
    return moments


OPEN: Final = Verb(
    "open",
    Nothing,
    OpenBody,
    log_incident,
    "Log an incident that no check detected",
    "--table sales.orders --title 'amounts x100' --occurred 2026-11-11T10:10+09:00",
    "Logging the same table, title and time of detection again returns the existing incident.\n\n"
    "Times are ISO 8601 with an offset (2026-11-11T10:10+09:00), without one in the project's local time, or '2h ago'.",
    tool="open_incident",
    creates=True,
)
VERBS: Final = (
    Verb("ack", IncidentNumber, VerbBody, _acknowledge, "Acknowledge an incident", "41", tool="acknowledge_incident"),
    Verb("assign", IncidentNumber, AssignBody, _assign, "Assign an incident to a user", "41 s.sato"),
    Verb(
        "snooze",
        IncidentNumber,
        SnoozeBody,
        _snooze,
        "Mute alerts of an incident for a time, or until its severity rises",
        "41 --for 2h",
        "Its downtime still counts.",
    ),
    Verb(
        "resolve",
        IncidentNumber,
        ResolveBody,
        _resolve,
        "Resolve an incident, or correct its resolution",
        "41 --as fixed --resolved 2026-11-11T16:28+09:00 --cause 'unit of amounts'",
        "`fixed` and `no-action` count as downtime; `expected`, `false-positive` and `duplicate` do not.",
    ),
    Verb(
        "reopen",
        IncidentNumber,
        ReopenBody,
        _reopen,
        "Reopen an incident: a new episode begins",
        "41 --occurred 2026-11-12T09:00+09:00",
        "The time in between is healthy and not counted.",
    ),
    Verb(
        "correct",
        IncidentNumber,
        CorrectBody,
        _correct,
        "Correct an incident's timestamps",
        "41 --occurred 2026-11-11T09:40+09:00",
        "Past figures change with them; the history keeps the earlier values.",
    ),
    Verb(
        "comment",
        IncidentNumber,
        CommentBody,
        _comment,
        "Add a comment to an incident",
        "41 'the supplier changed the unit'",
        tool="comment_on_incident",
    ),
    Verb(
        "merge",
        IncidentNumber,
        MergeBody,
        _merge,
        "Mark an incident as a duplicate of another on its table: it is resolved, the other one continues",
        "42 41",
    ),
    Verb(
        "root",
        IncidentNumber,
        RootBody,
        _name_root,
        "Set the root cause of an incident: downtime is then also shown by owner of the root cause",
        "42 41",
    ),
)
"""The verbs on an incident, in the order of the help."""
