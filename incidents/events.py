"""Changes and events of incidents: fold events into an incident, encode changes as JSON and decode them.

Events are only appended: a correction is an event too, so the past can be reconstructed as it was known at any time.
An incident is the fold of its events. Folding never fails on histories made by `incidents.verbs` and
`incidents.lifecycle`, which refuse invalid changes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, TypeAdapter
from pydantic_core import to_jsonable_python

from checks import Kind, OccurrenceMethod, Severity
from incidents._model import (
    AGENT,
    BrokenHistory,
    Episode,
    FoundBy,
    Incident,
    Onset,
    Resolution,
    State,
)


@dataclass(frozen=True, slots=True)
class Opened:
    """It was detected for the first time."""

    fingerprint: str
    table: str
    check_id: str | None
    incident_kind: Kind
    severity: Severity
    title: str
    title_values: Mapping[str, Any]
    found_by: FoundBy
    episode: Episode
    kind: Literal["opened"] = "opened"


@dataclass(frozen=True, slots=True)
class Escalated:
    """Its severity changed."""

    severity: Severity
    kind: Literal["escalated"] = "escalated"


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """It was acknowledged."""

    at: datetime
    kind: Literal["acknowledged"] = "acknowledged"


@dataclass(frozen=True, slots=True)
class Assigned:
    """It was assigned."""

    assignee: str
    kind: Literal["assigned"] = "assigned"


@dataclass(frozen=True, slots=True)
class Snoozed:
    """No alerts until then; downtime is still counted."""

    until: datetime
    kind: Literal["snoozed"] = "snoozed"


@dataclass(frozen=True, slots=True)
class Commented:
    """A comment was added, or the post-mortem was written."""

    text: str
    kind: Literal["commented", "post-mortem"] = "commented"


@dataclass(frozen=True, slots=True)
class Resolved:
    """Its last episode ended, or the resolution of a resolved one was corrected."""

    at: datetime
    resolution: Resolution
    cause: str | None = None
    kind: Literal["resolved"] = "resolved"


@dataclass(frozen=True, slots=True)
class Reopened:
    """A new episode of the same incident; the healthy gap before it is not counted."""

    episode: Episode
    regressed: bool = False
    kind: Literal["reopened"] = "reopened"


@dataclass(frozen=True, slots=True)
class Corrected:
    """Times of an episode (0 is the first, -1 the last) were corrected.

    None leaves a time as it is.
    """

    episode: int
    occurred_at: datetime | None = None
    detected_at: datetime | None = None
    resolved_at: datetime | None = None
    acknowledged_at: datetime | None = None
    kind: Literal["corrected"] = "corrected"


@dataclass(frozen=True, slots=True)
class Merged:
    """It is a duplicate of another incident."""

    into: int
    kind: Literal["merged"] = "merged"


@dataclass(frozen=True, slots=True)
class RootNamed:
    """The incident that caused this one was set, or removed (None)."""

    root: int | None
    kind: Literal["root-named"] = "root-named"


@dataclass(frozen=True, slots=True)
class Flapped:
    """It started or stopped flapping (Nagios' rule)."""

    flapping: bool
    kind: Literal["flapped"] = "flapped"


@dataclass(frozen=True, slots=True)
class TicketSaid:
    """Values of its ticket that an import did not apply.

    `says`: by field, times as ISO text, None if the ticket has no value any more. With it the next import does not take
    the same values for changes.
    """

    says: Mapping[str, str | None]
    kind: Literal["ticket-said"] = "ticket-said"


@dataclass(frozen=True, slots=True)
class Renamed:
    """Its table or check has another name."""

    table: str
    fingerprint: str
    check_id: str | None
    kind: Literal["renamed"] = "renamed"


Change: TypeAlias = (
    Opened
    | Escalated
    | Acknowledged
    | Assigned
    | Snoozed
    | Commented
    | Resolved
    | Reopened
    | Corrected
    | Merged
    | RootNamed
    | Flapped
    | TicketSaid
    | Renamed
)


@dataclass(frozen=True, slots=True)
class Event:
    """A change, when it was recorded, and the actor (`tablewatch` for the agent itself)."""

    incident_id: int
    recorded_at: datetime
    actor: str
    change: Change


_ANSWERS: Final = (Acknowledged, Assigned, Merged, Resolved)
"""Changes that show that a person has looked at the incident."""


def apply(incident: Incident | None, event: Event) -> Incident:
    """Return the incident after an event.

    Args:
        incident: before the event; None for the event that opens it.
        event: the next event of the same incident, in the order of recording.

    Raises:
        BrokenHistory: the first event does not open it, a later one opens it again, or the event is another incident's.
    """
    change = event.change
    if incident is None:
        if not isinstance(change, Opened):
            raise BrokenHistory(f"incident #{event.incident_id} begins with '{change.kind}', expected 'opened'")
        return _open(event.incident_id, change)
    if incident.id != event.incident_id:
        raise BrokenHistory(f"an event of incident #{event.incident_id} was applied to incident #{incident.id}")
    if isinstance(change, Opened):
        raise BrokenHistory(f"incident #{incident.id} is opened a second time, expected 'reopened'")
    changed = _change(incident, change, event.recorded_at)
    answers = isinstance(change, _ANSWERS) and event.actor != AGENT
    return replace(changed, answered=True) if answers else changed


def replay(events: Iterable[Event]) -> Incident:
    """Return the incident of all its events, in the order of recording.

    Raises:
        BrokenHistory: there is no event, or `apply` refuses one.
    """
    incident: Incident | None = None
    for event in events:
        incident = apply(incident, event)
    if incident is None:
        raise BrokenHistory("an incident without events; expected at least the one that opened it")
    return incident


def encode(change: Change) -> dict[str, Any]:
    """Return a change as plain JSON values, times as ISO text; the inverse of `decode`."""
    plain: dict[str, Any] = to_jsonable_python(change, fallback=dict)
    return plain


def decode(plain: Mapping[str, Any]) -> Change:
    """Return the change that `encode` wrote.

    Raises:
        pydantic.ValidationError: these are not the values of a change.
    """
    return _changes().validate_python(dict(plain))


@cache
def _changes() -> TypeAdapter[Change]:
    return TypeAdapter(Annotated[Change, Field(discriminator="kind")])


def _open(incident_id: int, change: Opened) -> Incident:
    return Incident(
        id=incident_id,
        fingerprint=change.fingerprint,
        table=change.table,
        check_id=change.check_id,
        kind=change.incident_kind,
        severity=change.severity,
        title=change.title,
        title_values=change.title_values,
        found_by=change.found_by,
        state=State.OPEN,
        episodes=(change.episode,),
    )


def _change(  # noqa: C901, PLR0911 - one line for each kind of change is the clearest form there is
    incident: Incident, change: Change, recorded_at: datetime
) -> Incident:
    match change:
        case Escalated():
            return _escalate(incident, change)
        case Acknowledged(at):
            newest = replace(incident.last, acknowledged_at=incident.last.acknowledged_at or at)
            return replace(incident, state=State.ACKNOWLEDGED, episodes=(*incident.episodes[:-1], newest))
        case Assigned(assignee):
            return replace(incident, assignee=assignee)
        case Snoozed(until):
            return replace(incident, snoozed_until=until)
        case Resolved(at, resolution, cause):
            return _end(incident, at, resolution, cause=cause)
        case Reopened():
            return _reopen(incident, change)
        case Corrected():
            return _correct(incident, change)
        case Merged(into):
            ended_at = incident.last.resolved_at or recorded_at
            return replace(_end(incident, ended_at, Resolution.DUPLICATE, cause=incident.cause), merged_into=into)
        case RootNamed(root):
            return replace(incident, root=root)
        case Flapped(flapping):
            return replace(incident, flapping=flapping)
        case Renamed(table, fingerprint, check_id):
            return replace(incident, table=table, fingerprint=fingerprint, check_id=check_id)
        case Commented() | TicketSaid() | Opened():
            return incident


def _escalate(incident: Incident, change: Escalated) -> Incident:
    # a higher severity ends a snooze, which was for the lower one
    worse = change.severity.rank > incident.severity.rank
    return replace(incident, severity=change.severity, snoozed_until=None if worse else incident.snoozed_until)


def _end(incident: Incident, at: datetime, resolution: Resolution, *, cause: str | None) -> Incident:
    return replace(
        incident,
        state=State.RESOLVED,
        episodes=(*incident.episodes[:-1], replace(incident.last, resolved_at=at)),
        resolution=resolution,
        cause=cause if cause is not None else incident.cause,
        snoozed_until=None,
    )


def _reopen(incident: Incident, change: Reopened) -> Incident:
    return replace(
        incident,
        state=State.OPEN,
        episodes=(*incident.episodes, change.episode),
        resolution=None,
        snoozed_until=None,
        regressed=incident.regressed or change.regressed,
        merged_into=None,
    )


def _correct(incident: Incident, change: Corrected) -> Incident:
    episodes = list(incident.episodes)
    corrected = corrected_episode(episodes[change.episode], change)
    episodes[change.episode] = corrected
    following = range(len(episodes))[change.episode] + 1
    if following < len(episodes) and corrected.resolved_at is not None:
        # a later end narrows the interval of the next onset: episodes never overlap
        after = episodes[following]
        narrowed = replace(after.onset, earliest=max(after.onset.earliest, corrected.resolved_at))
        episodes[following] = replace(after, onset=narrowed)
    return replace(incident, episodes=tuple(episodes))


def corrected_episode(episode: Episode, change: Corrected) -> Episode:
    """Return an episode with corrected times.

    A time of occurrence by a person has no interval. The interval of an estimate ends at the corrected detection.
    """
    detected_at = change.detected_at or episode.detected_at
    onset = episode.onset
    if change.occurred_at is not None:
        onset = Onset(change.occurred_at, change.occurred_at, change.occurred_at, OccurrenceMethod.PERSON)
    elif onset.method is not OccurrenceMethod.PERSON:
        at, earliest = min(onset.at, detected_at), min(onset.earliest, detected_at)
        onset = Onset(at, earliest, detected_at, onset.method)
    return replace(
        episode,
        onset=onset,
        detected_at=detected_at,
        resolved_at=change.resolved_at or episode.resolved_at,
        acknowledged_at=change.acknowledged_at or episode.acknowledged_at,
    )
