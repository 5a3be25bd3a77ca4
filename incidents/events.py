"""What can happen to an incident: changes and events; fold events into an incident, write changes as JSON and back.

Events are only ever appended: a correction is an event too, so the past can be told as it was known at any time. The
events are the facts, the incident is what they amount to. Folding is total on histories that `incidents.verbs` and
`incidents.lifecycle` made: they refuse what cannot be, so that replaying never has to.
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
    """It was noticed for the first time."""

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
    """Somebody takes care of it."""

    at: datetime
    kind: Literal["acknowledged"] = "acknowledged"


@dataclass(frozen=True, slots=True)
class Assigned:
    """It was given to somebody."""

    assignee: str
    kind: Literal["assigned"] = "assigned"


@dataclass(frozen=True, slots=True)
class Snoozed:
    """Nobody wants to hear of it until then; downtime is still counted."""

    until: datetime
    kind: Literal["snoozed"] = "snoozed"


@dataclass(frozen=True, slots=True)
class Commented:
    """Somebody wrote something down."""

    text: str
    kind: Literal["commented"] = "commented"


@dataclass(frozen=True, slots=True)
class Resolved:
    """Its last episode ended, or, for a resolved one, how it ended was corrected."""

    at: datetime
    resolution: Resolution
    cause: str | None = None
    kind: Literal["resolved"] = "resolved"


@dataclass(frozen=True, slots=True)
class Reopened:
    """A new episode of the same thing; the healthy gap before it is never counted."""

    episode: Episode
    regressed: bool = False
    kind: Literal["reopened"] = "reopened"


@dataclass(frozen=True, slots=True)
class Corrected:
    """It is known better when an episode (0 is the first, -1 the last) began, was detected, acknowledged or ended.

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
    """It turned out to be the same thing as another incident."""

    into: int
    kind: Literal["merged"] = "merged"


@dataclass(frozen=True, slots=True)
class RootNamed:
    """The incident that caused this one was named (None takes that back)."""

    root: int | None
    kind: Literal["root-named"] = "root-named"


@dataclass(frozen=True, slots=True)
class Flapped:
    """It started or stopped to change its mind too often (Nagios' rule)."""

    flapping: bool
    kind: Literal["flapped"] = "flapped"


@dataclass(frozen=True, slots=True)
class TicketSaid:
    """The ticket that it was imported from says this by now, and nothing was changed by it.

    `says` is by field, times as ISO text, None where the ticket says nothing any more. It is kept so that the same word
    is not taken for news the next time.
    """

    says: Mapping[str, str | None]
    kind: Literal["ticket-said"] = "ticket-said"


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
)


@dataclass(frozen=True, slots=True)
class Event:
    """A change, when it was recorded and by whom (`tablewatch` for the agent itself)."""

    incident_id: int
    recorded_at: datetime
    actor: str
    change: Change


_ANSWERS: Final = (Acknowledged, Assigned, Merged, Resolved)
"""What a person does who has looked at an incident."""


def apply(incident: Incident | None, event: Event) -> Incident:
    """Return the incident as it stands after an event.

    Args:
        incident: as it stood before; None before the event that opened it.
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
    """Return the incident that its events, in the order of recording, amount to.

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
    """Return a change as plain JSON values; times as ISO text. `decode` gives the same change back."""
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
        case Commented() | TicketSaid() | Opened():
            return incident


def _escalate(incident: Incident, change: Escalated) -> Incident:
    # what gets worse ends a snooze: it was granted for the lesser thing
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
        # a later end narrows what is known of the next beginning: episodes never overlap
        after = episodes[following]
        narrowed = replace(after.onset, earliest=max(after.onset.earliest, corrected.resolved_at))
        episodes[following] = replace(after, onset=narrowed)
    return replace(incident, episodes=tuple(episodes))


def corrected_episode(episode: Episode, change: Corrected) -> Episode:
    """Return an episode with the times that a person corrected.

    A person's word on when it occurred leaves no interval. The interval of an estimate ends at detection, wherever that
    moves.
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
