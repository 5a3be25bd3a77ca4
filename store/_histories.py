"""Fold changes into incidents, with the rows of their events and the news they are."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from incidents import BrokenHistory, Change, Event, Incident, to_us
from incidents.events import apply, decode, encode
from store._json import from_text, to_text
from store._notices import Changed
from store._outbox import to_hear_of


def checksum_of(*cells: object) -> str:
    """Return the checksum of an event's columns: number of the incident, number, microseconds, actor, kind, body."""
    return sha256("\0".join([str(cell) for cell in cells]).encode("utf-8", "surrogatepass")).hexdigest()[:32]


class History(NamedTuple):
    """A whole incident to write down at once: what opened it, then what followed."""

    changes: Sequence[Change]
    recorded_at: datetime
    actor: str


class Folded(NamedTuple):
    """An incident after changes, the rows of the events, and what of them somebody may have to hear of."""

    incident: Incident
    rows: Sequence[Mapping[str, Any]]
    news: Sequence[Changed]
    recorded_at: datetime


def fold(incident: Incident | None, incident_id: int, history: History, *, first_number: int) -> Folded:
    """Fold changes into an incident.

    Each is folded as it will be read back, so that the projection is what a replay gives.
    """
    rows, news = [], []
    for number, change in enumerate(history.changes, start=first_number):
        text = to_text(encode(change))
        body = from_text(text)
        heard_of = to_hear_of(incident, change)
        incident = apply(incident, Event(incident_id, history.recorded_at, history.actor, decode(body)))
        news += [] if heard_of is None else [heard_of]
        rows.append(
            {
                "incident_id": incident_id,
                "number": number,
                "recorded_at": history.recorded_at,
                "actor": history.actor,
                "kind": change.kind,
                "body": body,
                "checksum": checksum_of(
                    incident_id, number, to_us(history.recorded_at), history.actor, change.kind, text
                ),
            }
        )
    if incident is None:
        raise BrokenHistory("a history without changes; expected at least the one that opened the incident")
    return Folded(incident, rows, news, history.recorded_at)
