"""Reconstruct the last values of an imported incident's ticket, and which fields were changed here since.

Both are read from the events of the incident: an import records the changes that it applies and, for values that it
does not apply, `incidents.TicketSaid`. Nothing else is stored, so this works for all imported incidents.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from checks import OccurrenceMethod
from incidents import (
    Change,
    Corrected,
    Event,
    Incident,
    Opened,
    Reopened,
    Resolved,
    TicketSaid,
    apply,
)
from monitor.triage.create import tidy
from monitor.triage.ticket_fields import FIELDS

_BY_IMPORT: Final = " (import)"


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
    """Return the values of the ticket that led an import to a change, by field: those that the change has by name."""
    if isinstance(change, TicketSaid):
        return change.says
    values = {name: getattr(change, name) for name in FIELDS if hasattr(change, name)}
    match change:
        case Opened(episode=episode):
            began = None if episode.onset.method is OccurrenceMethod.FIRST_OBSERVATION else episode.onset.at
            values |= {"occurred": began, "detected": episode.detected_at}
            values |= dict.fromkeys(("resolved", "resolution", "cause"))
        case Corrected(episode, occurred, detected, resolved):
            times = {"occurred": None if episode else occurred, "detected": None if episode else detected}
            values |= times | {"resolved": resolved}
            values = {name: value for name, value in values.items() if value is not None}
        case Resolved(at):
            values["resolved"] = at
            if not change.cause:
                del values["cause"]
        case Reopened():
            values |= {"resolved": None, "resolution": None}
    return {name: as_text(tidy(value) if FIELDS[name].is_text and value else value) for name, value in values.items()}


def _changed(before: Incident | None, after: Incident) -> Iterator[str]:
    """Yield the fields that an event changed; `occurred` also if a person confirms the estimate."""
    if before is None:
        return
    if before.episodes[0].onset.method != after.episodes[0].onset.method:
        yield "occurred"
    yield from (name for name, item in FIELDS.items() if item.recorded(before) != item.recorded(after))
