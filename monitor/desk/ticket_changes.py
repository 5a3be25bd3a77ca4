"""Compare a ticket with the incident that was imported from it, and make the changes that bring the incident up to it.

Three things stay as they are recorded, each with its reason: what no event can change (title, table, who noticed), what
somebody put right here after the import, and times that cannot follow one another. Texts are compared, never told.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

from incidents import (
    Change,
    Corrected,
    Escalated,
    Event,
    ImpossibleOrder,
    Incident,
    Merged,
    NotAllowed,
    Reopened,
    Resolved,
    State,
    apply,
    verbs,
)
from incidents.verbs import Ending
from monitor.desk.refusals import in_zone
from monitor.desk.reported import Reported, tidy
from monitor.desk.tickets import Ticket

_BY_IMPORT: Final = " (import)"


def importer(actor: str) -> str:
    """Name whoever imports: what an import said is told from what somebody put right here."""
    return actor + _BY_IMPORT


@dataclass(frozen=True, slots=True)
class Difference:
    """A field of which ticket and incident say different things; None where nothing is said, and for texts.

    `stays` is why the incident keeps what is recorded; None if it can follow the ticket.
    """

    field: str
    recorded: datetime | str | None
    told: datetime | str | None
    stays: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a ticket says otherwise than its incident, and the changes that apply what can be applied."""

    line: int
    incident: Incident
    differences: Sequence[Difference]
    changes: Sequence[Change] = ()


class _Field(NamedTuple):
    """How a field is read on both sides; `stays` if no event can change it, `text` if it is not to be shown."""

    name: str
    recorded: Callable[[Incident], Any]
    told: Callable[[Reported], Any]
    stays: str | None = None
    text: bool = False


_TABLE: Final = "table"
_FIELDS: Final = (
    _Field(
        _TABLE,
        lambda incident: incident.table,
        lambda told: told.table,
        "an incident keeps its table, so nothing of this row is applied; log it on the other one with 'incident open', "
        "and end this one with 'incident resolve {id} --as duplicate'",
    ),
    _Field(
        "title",
        lambda incident: tidy(incident.title),
        lambda told: told.title,
        "an incident keeps the title it was opened with",
        text=True,
    ),
    _Field(
        "found_by",
        lambda incident: incident.found_by,
        lambda told: told.found_by,
        "an incident keeps who noticed it",
    ),
    _Field("severity", lambda incident: incident.severity, lambda told: told.severity),
    _Field("occurred", lambda incident: incident.episodes[0].onset.at, lambda told: told.occurred_at),
    _Field("detected", lambda incident: incident.episodes[0].detected_at, lambda told: told.detected_at),
    _Field("resolved", lambda incident: incident.last.resolved_at, lambda told: told.resolved_at),
    _Field("resolution", lambda incident: incident.resolution, lambda told: told.resolution),
    _Field("cause", lambda incident: tidy(incident.cause or "") or None, lambda told: told.cause, text=True),
)


def compare(
    ticket: Ticket, incident: Incident, history: Callable[[int], Iterable[Event]], *, now: datetime, zone: str
) -> Comparison:
    """Give what a ticket says otherwise than its incident; only what the file says something about is compared.

    Args:
        ticket: the row.
        incident: what is recorded of it.
        history: gives an incident's events; asked only when something differs.
        now: the present.
        zone: the IANA zone in which reasons tell times.
    """
    found = [one for one in (_difference(one, ticket, incident) for one in _FIELDS) if one is not None]
    if not found or found[0].field == _TABLE:
        return Comparison(ticket.line, incident, found[:1])
    here = _put_right_here(history(incident.id))
    found = [replace(one, stays=one.stays or here.get(one.field)) for one in found]
    fields = frozenset(one.field for one in found if one.stays is None)
    try:
        changes = _changes(incident, ticket.told, fields, now)
    except (ImpossibleOrder, NotAllowed) as error:
        reason = in_zone(str(error), zone)
        return Comparison(ticket.line, incident, [replace(one, stays=one.stays or reason) for one in found])
    return Comparison(ticket.line, incident, found, changes)


def _difference(compared: _Field, ticket: Ticket, incident: Incident) -> Difference | None:
    recorded, told = compared.recorded(incident), compared.told(ticket.told)
    if compared.name not in ticket.said or recorded == told:
        return None
    if compared.text:
        recorded = told = None
    stays = None if compared.stays is None else compared.stays.format(id=incident.id)
    return Difference(compared.name, recorded, told, stays)


def _put_right_here(events: Iterable[Event]) -> dict[str, str]:
    """Give the fields whose last word was somebody's here and no import's, with the reason that this is."""
    here: dict[str, str] = {}
    for event in events:
        for name in _decided(event.change):
            if event.actor.endswith(_BY_IMPORT):
                here.pop(name, None)
            else:
                here[name] = f"{tidy(event.actor)} put it right here"
    return here


def _decided(change: Change) -> Sequence[str]:
    match change:
        case Corrected():
            times = {"occurred": change.occurred_at, "detected": change.detected_at, "resolved": change.resolved_at}
            return [name for name, at in times.items() if at is not None]
        case Resolved(cause=cause):
            return ["resolved", "resolution", *(["cause"] if cause else [])]
        case Reopened() | Merged():
            return ["resolved", "resolution"]
        case Escalated():
            return ["severity"]
        case _:
            return []


def _changes(incident: Incident, told: Reported, fields: frozenset[str], now: datetime) -> Sequence[Change]:
    """Give the changes that apply some fields, each decided on the incident as the one before leaves it.

    Raises:
        incidents.ImpossibleOrder: the times cannot follow one another.
        incidents.NotAllowed: its state does not allow one of them.
    """
    made: list[Change] = []
    for decide in (_begin, _end, _reopen, _resolve):
        change = decide(incident, told, fields, now)
        if change is not None:
            made.append(change)
            incident = apply(incident, Event(incident.id, now, "", change))
    return [*made, Escalated(told.severity)] if "severity" in fields else made


def _begin(incident: Incident, told: Reported, fields: frozenset[str], now: datetime) -> Change | None:
    if not fields & {"occurred", "detected"}:
        return None
    detected = told.detected_at if "detected" in fields else None
    occurred = told.occurred_at if "occurred" in fields else None
    first = incident.episodes[0]
    if told.occurred_at is None and first.onset.at == first.detected_at:
        occurred = detected  # nobody says when it began: as on opening, when it was noticed
    # all times of one episode at once: moved one by one they could be in an impossible order on the way
    whole = len(incident.episodes) == 1 and incident.state is State.RESOLVED and "resolved" in fields
    change = Corrected(0, occurred, detected, told.resolved_at if whole else None)
    return verbs.correct(incident, change, now=now)


def _end(incident: Incident, told: Reported, fields: frozenset[str], now: datetime) -> Change | None:
    if "resolved" not in fields or told.resolved_at is None or incident.last.resolved_at in {None, told.resolved_at}:
        return None
    return verbs.correct(incident, Corrected(-1, resolved_at=told.resolved_at), now=now)


def _reopen(incident: Incident, told: Reported, fields: frozenset[str], now: datetime) -> Change | None:
    """Go on from the end that was recorded: by the ticket, the data was bad all the time."""
    ended_at = incident.last.resolved_at
    if "resolved" not in fields or told.resolved_at is not None or ended_at is None:
        return None
    return verbs.reopen(incident, detected_at=ended_at, occurred_at=ended_at, now=now)


def _resolve(incident: Incident, told: Reported, fields: frozenset[str], now: datetime) -> Change | None:
    ends = "resolved" in fields and incident.last.resolved_at is None
    at = told.resolved_at if "resolved" in fields else incident.last.resolved_at
    if at is None or not (ends or fields & {"resolution", "cause"}):
        return None
    resolution = told.resolution if incident.resolution is None or "resolution" in fields else incident.resolution
    return verbs.resolve(incident, Ending(at, resolution, told.cause if "cause" in fields else None), now=now)
