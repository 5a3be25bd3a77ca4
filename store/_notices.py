"""Values of notifications in the store: changes, decisions, deliveries."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from checks import Kind, Severity
from incidents import Change, Escalated, Flapped, Incident, Merged, Opened, Reopened, Resolved, State


class Changed(StrEnum):
    """Changes of an incident that may lead to notifications."""

    OPENED = "opened"
    REOPENED = "reopened"
    ESCALATED = "escalated"
    """Its severity changed, up or down."""
    RESOLVED = "resolved"
    FLAPPING = "flapping"
    SETTLED = "settled"
    """It stopped flapping."""
    MERGED = "merged"

    @classmethod
    def of(cls, before: Incident | None, change: Change) -> "Changed | None":  # noqa: PLR0911 - one line for each change
        """Return the kind of a change in notifications; None where it leads to none.

        Correcting the resolution of a resolved incident leads to none.
        """
        match change:
            case Opened():
                return cls.OPENED
            case Reopened():
                return cls.REOPENED
            case Escalated():
                return cls.ESCALATED
            case Resolved() if before is not None and before.state is not State.RESOLVED:
                return cls.RESOLVED
            case Flapped(flapping):
                return cls.FLAPPING if flapping else cls.SETTLED
            case Merged():
                return cls.MERGED
        return None


class MessageSubject(StrEnum):
    """What a message is about."""

    INCIDENTS = "incidents"
    REPORT = "report"
    OPERATIONS = "operations"
    """Tablewatch itself."""
    TEST = "test"


class DeliveryState(StrEnum):
    """How far a message is."""

    WAITING = "waiting"
    SENT = "sent"
    DEAD = "dead"


class Scope(StrEnum):
    """What a silence is about."""

    ALL = "all"
    DOMAIN = "domain"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of an incident, written in the transaction that made it, that waits until it is settled who hears of it.

    It is of an incident, or of a warning that began or ended (`warning_id`). It may be decided on from `not_before` on
    (None: at once). `decision` is the last one, also while it waits.
    """

    id: int
    incident_id: int | None
    change: Changed
    recorded_at: datetime
    table: str
    not_before: datetime | None = None
    decision: Mapping[str, Any] | None = None
    settled_at: datetime | None = None
    warning_id: int | None = None


class LastingIncident(NamedTuple):
    """Of an incident that lasts, what says who is to hear of it; the times are those of its present episode."""

    incident_id: int
    table: str
    severity: Severity
    kind: Kind
    episodes: int
    detected_at: datetime
    acknowledged_at: datetime | None
    flapping: bool
    assignee: str | None = None

    @classmethod
    def of(cls, incident: Incident) -> "LastingIncident":
        """Return it of an incident."""
        episode, episodes = incident.last, len(incident.episodes)
        facts = (incident.id, incident.table, incident.severity, incident.kind, episodes)
        return cls(*facts, episode.detected_at, episode.acknowledged_at, incident.flapping, incident.assignee)


@dataclass(frozen=True, slots=True)
class LastNotification:
    """The last notification of a channel about an incident: severity then, and number of the episode (1 = first)."""

    incident_id: int
    channel: str
    reason: str
    severity: Severity
    episodes: int
    told_at: datetime
    delivery_id: str


@dataclass(frozen=True, slots=True)
class ExternalItem:
    """An incident's item in a service that shows it: a page, a message or a ticket.

    `label` is ours, and written down before anything is sent: by it the service finds what it made, when its answer was
    lost. `target` is the service and the place in it. `begun_at`: when the last try began that may have made it. `item`
    is what the service calls it, None while that is not known; `status` is what a ticket was last read or set to.
    """

    incident_id: int
    channel: str
    target: str
    label: str
    begun_at: datetime
    item: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message to a channel. `id` never changes, however often it is tried; `error` is in our words, without secrets.

    `attempts` counts the tries that failed, and the one that did not. `about` is the table that a message on incidents
    is about, None for several: it is not sent before an earlier one of its channel, still waiting, that is about the
    same table or about several, so that "resolved" never overtakes the problem.
    """

    id: str
    channel: str
    subject: MessageSubject
    payload: Mapping[str, Any]
    created_at: datetime
    next_try_at: datetime
    state: DeliveryState = DeliveryState.WAITING
    attempts: int = 0
    sent_at: datetime | None = None
    buried_at: datetime | None = None
    error: str | None = None
    about: str | None = None


@dataclass(frozen=True, slots=True)
class Silence:
    """A time without notifications of its scope. It ends at `until`, or when a user ends it."""

    id: int
    scope: Scope
    name: str | None
    starts_at: datetime
    until: datetime
    reason: str
    by: str
    ended_at: datetime | None = None


class Disabled(NamedTuple):
    """A disabled channel: the reason, and since when."""

    why: str
    at: datetime
