"""Reconstruct the last values of an imported incident's ticket, and which fields were changed here since.

Both are read from the events of the incident: an import records the changes that it applies and, for values that it
does not apply, `incidents.TicketSaid`. Nothing else is stored, so this works for all imported incidents.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from checks import OccurrenceMethod
from incidents import (
    Change,
    Corrected,
    Escalated,
    Event,
    Incident,
    Opened,
    Reopened,
    ReportedIncident,
    Resolved,
    TicketSaid,
    apply,
)
from monitor.triage.create import tidy

_BY_IMPORT: Final = " (import)"
TABLE: Final = "table"


class Field(NamedTuple):
    """A field of an incident and of a ticket; `stays`: why no event can change it; `text`: it is not shown."""

    name: str
    recorded: Callable[[Incident], Any]
    of_ticket: Callable[[ReportedIncident], Any]
    stays: str | None = None
    text: bool = False


FIELDS: Final = (
    Field(
        TABLE,
        lambda incident: incident.table,
        lambda reported: reported.table,
        "the table of an incident cannot be changed, so this row is not applied; log a new incident with 'incident "
        "open', and resolve this one with 'incident resolve {id} --as duplicate'",
    ),
    Field(
        "title",
        lambda incident: tidy(incident.title),
        lambda reported: reported.title,
        "the title of an incident cannot be changed",
        text=True,
    ),
    Field(
        "found_by",
        lambda incident: incident.found_by,
        lambda reported: reported.found_by,
        "the source of detection of an incident cannot be changed",
    ),
    Field("severity", lambda incident: incident.severity, lambda reported: reported.severity),
    Field("occurred", lambda incident: incident.episodes[0].onset.at, lambda reported: reported.occurred_at),
    Field("detected", lambda incident: incident.episodes[0].detected_at, lambda reported: reported.detected_at),
    Field("resolved", lambda incident: incident.last.resolved_at, lambda reported: reported.resolved_at),
    Field("resolution", lambda incident: incident.resolution, lambda reported: reported.resolution),
    Field("cause", lambda incident: tidy(incident.cause or "") or None, lambda reported: reported.cause, text=True),
)
"""The fields in which a ticket and its incident can differ."""


def importer(actor: str) -> str:
    """Return the actor of an import, to distinguish its changes from those that a person made here."""
    return actor + _BY_IMPORT


def as_text(value: datetime | str | None) -> str | None:
    """Return the value of a field as it is stored: a time as ISO text in UTC."""
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class TicketHistory:
    """The last values of a ticket, by field, and who changed fields here since."""

    ticket: Mapping[str, str | None]
    changed_by: Mapping[str, str]


def ticket_history_of(events: Sequence[Event]) -> TicketHistory:
    """Return the history of an imported incident by all its events, in the order of recording."""
    values: dict[str, str | None] = {}
    changed_by: dict[str, str] = {}
    incident: Incident | None = None
    for number, event in enumerate(events):
        before, incident = incident, apply(incident, event)
        by_import = _is_of_import(event, number, events[0])
        if by_import:
            values |= _ticket_values(event.change)
        for name in _changed(before, incident):
            if by_import:
                changed_by.pop(name, None)
            else:
                changed_by[name] = tidy(event.actor)
    return TicketHistory(values, changed_by)


def _is_of_import(event: Event, number: int, first: Event) -> bool:
    """Check whether an import made an event.

    Those of early versions have no mark: they open an incident, and resolve it at once.
    """
    if number == 0 or event.actor.endswith(_BY_IMPORT):
        return True
    at_once = (event.actor, event.recorded_at) == (first.actor, first.recorded_at)
    return number == 1 and at_once and isinstance(event.change, Resolved)


def _ticket_values(change: Change) -> Mapping[str, str | None]:
    """Return the values of the ticket that led an import to a change, by field."""
    match change:
        case Opened():
            onset = change.episode.onset
            began = None if onset.method is OccurrenceMethod.FIRST_OBSERVATION else onset.at
            values = {"occurred": began, "detected": change.episode.detected_at, "title": tidy(change.title)}
            values |= {"table": change.table, "severity": change.severity, "found_by": change.found_by}
            values |= {"resolved": None, "resolution": None, "cause": None}
        case Corrected(episode, occurred, detected, resolved):
            times = (
                {"resolved": resolved}
                if episode
                else {"occurred": occurred, "detected": detected, "resolved": resolved}
            )
            values = {name: at for name, at in times.items() if at is not None}
        case Resolved(at, resolution, cause):
            values = {"resolved": at, "resolution": resolution, **({"cause": tidy(cause)} if cause else {})}
        case Reopened():
            values = {"resolved": None, "resolution": None}
        case Escalated(severity):
            values = {"severity": severity}
        case TicketSaid(says):
            return says
        case _:
            values = {}
    return {name: as_text(value) for name, value in values.items()}


def _changed(before: Incident | None, after: Incident) -> Iterator[str]:
    """Yield the fields that an event changed; `occurred` also if a person confirms the estimate."""
    if before is None:
        return
    if before.episodes[0].onset.method != after.episodes[0].onset.method:
        yield "occurred"
    yield from (item.name for item in FIELDS if item.recorded(before) != item.recorded(after))
