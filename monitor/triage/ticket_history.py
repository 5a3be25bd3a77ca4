"""What became of an imported incident: what its ticket said last, and what somebody here decided since.

Both are read from the incident's events: every import leaves those that it made and, for what it did not apply, what
the ticket said (`incidents.TicketSaid`). Nothing else is kept, so incidents that were imported before tickets could be
followed tell it too.
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
    """How a field is read on both sides; `stays` if no event can change it, `text` if it is not to be shown."""

    name: str
    recorded: Callable[[Incident], Any]
    told: Callable[[ReportedIncident], Any]
    stays: str | None = None
    text: bool = False


FIELDS: Final = (
    Field(
        TABLE,
        lambda incident: incident.table,
        lambda told: told.table,
        "the table of an incident cannot be changed, so this row is not applied; log a new incident with 'incident "
        "open', and resolve this one with 'incident resolve {id} --as duplicate'",
    ),
    Field(
        "title",
        lambda incident: tidy(incident.title),
        lambda told: told.title,
        "the title of an incident cannot be changed",
        text=True,
    ),
    Field(
        "found_by",
        lambda incident: incident.found_by,
        lambda told: told.found_by,
        "the source of detection of an incident cannot be changed",
    ),
    Field("severity", lambda incident: incident.severity, lambda told: told.severity),
    Field("occurred", lambda incident: incident.episodes[0].onset.at, lambda told: told.occurred_at),
    Field("detected", lambda incident: incident.episodes[0].detected_at, lambda told: told.detected_at),
    Field("resolved", lambda incident: incident.last.resolved_at, lambda told: told.resolved_at),
    Field("resolution", lambda incident: incident.resolution, lambda told: told.resolution),
    Field("cause", lambda incident: tidy(incident.cause or "") or None, lambda told: told.cause, text=True),
)
"""What a ticket and its incident can say different things about."""


def importer(actor: str) -> str:
    """Name whoever imports: what an import said is told from what somebody put right here."""
    return actor + _BY_IMPORT


def as_text(value: datetime | str | None) -> str | None:
    """Return a field's value as it is kept: a time as ISO text in UTC."""
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class TicketHistory:
    """What a ticket said last, by field, and whose word it is where somebody here said otherwise since."""

    said: Mapping[str, str | None]
    here: Mapping[str, str]


def ticket_history_of(events: Sequence[Event]) -> TicketHistory:
    """Read what became of an imported incident from all its events, in the order of recording."""
    texts: dict[str, str | None] = {}
    here: dict[str, str] = {}
    incident: Incident | None = None
    for number, event in enumerate(events):
        before, incident = incident, apply(incident, event)
        by_import = _is_of_import(event, number, events[0])
        if by_import:
            texts |= _words(event.change)
        for name in _changed(before, incident):
            if by_import:
                here.pop(name, None)
            else:
                here[name] = tidy(event.actor)
    return TicketHistory(texts, here)


def _is_of_import(event: Event, number: int, first: Event) -> bool:
    """Check whether an import made an event.

    The first ones signed like a person, and ended what they opened at once.
    """
    if number == 0 or event.actor.endswith(_BY_IMPORT):
        return True
    at_once = (event.actor, event.recorded_at) == (first.actor, first.recorded_at)
    return number == 1 and at_once and isinstance(event.change, Resolved)


def _words(change: Change) -> Mapping[str, str | None]:
    """Return what a ticket must have said, by field, for an import to make this change."""
    match change:
        case Opened():
            onset = change.episode.onset
            began = None if onset.method is OccurrenceMethod.FIRST_OBSERVATION else onset.at
            told = {"occurred": began, "detected": change.episode.detected_at, "title": tidy(change.title)}
            told |= {"table": change.table, "severity": change.severity, "found_by": change.found_by}
            told |= {"resolved": None, "resolution": None, "cause": None}
        case Corrected(episode, occurred, detected, resolved):
            times = (
                {"resolved": resolved}
                if episode
                else {"occurred": occurred, "detected": detected, "resolved": resolved}
            )
            told = {name: at for name, at in times.items() if at is not None}
        case Resolved(at, resolution, cause):
            told = {"resolved": at, "resolution": resolution, **({"cause": tidy(cause)} if cause else {})}
        case Reopened():
            told = {"resolved": None, "resolution": None}
        case Escalated(severity):
            told = {"severity": severity}
        case TicketSaid(says):
            return says
        case _:
            told = {}
    return {name: as_text(value) for name, value in told.items()}


def _changed(before: Incident | None, after: Incident) -> Iterator[str]:
    """Name the fields that an event changed; a person's word on when it began is one whatever it was before."""
    if before is None:
        return
    if before.episodes[0].onset.method != after.episodes[0].onset.method:
        yield "occurred"
    yield from (item.name for item in FIELDS if item.recorded(before) != item.recorded(after))
