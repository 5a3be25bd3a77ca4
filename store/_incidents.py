"""Read incidents, and fold their histories: rows of the projection with their episodes become core values."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Row,
    Text,
    case,
    func,
    or_,
    select,
    type_coerce,
    union_all,
)

from incidents import BrokenHistory, Change, Episode, Event, Incident, Onset, State, to_us
from incidents.events import apply, decode, encode
from store._columns import Mapped
from store._errors import NotRecorded
from store._json import from_text, to_text
from store._notices import Changed
from store._repository import any_of
from store._rows import EpisodeRow, IncidentEventRow, IncidentRow
from store._values import IncidentFilter

_I: Final = IncidentRow.__table__.c
_E: Final = EpisodeRow.__table__.c
_V: Final = IncidentEventRow.__table__.c
_INCIDENT: Final = Mapped(IncidentRow, Incident)
_EPISODE: Final = Mapped(EpisodeRow, Episode)
_ONSET: Final = Mapped(EpisodeRow, Onset, at="occurred_at")
_INCIDENTS: Final = select(*_INCIDENT.columns).order_by(_I.id)
_EPISODES: Final = select(*_EPISODE.columns, *_ONSET.columns, _E.incident_id).order_by(_E.incident_id, _E.number)
_EVENTS: Final = select(_V.incident_id, _V.recorded_at.label("recorded_at"), _V.actor, _V.body).order_by(
    _V.incident_id, _V.number
)
_CHECKED: Final = "\0".join(["%s"] * 6)
"""The columns of an event of which its checksum is made."""


def load(connection: Connection, ids: Iterable[int]) -> dict[int, Incident]:
    """Return incidents with all their episodes, in the order of their ids."""
    batch = any_of(connection, ids, "incident_number")
    episodes: dict[int, list[Episode]] = {}
    for row in connection.execute(_EPISODES.where(_E.incident_id.in_(batch))).all():
        onset = _ONSET.value(row[len(_EPISODE.columns) :])
        episodes.setdefault(row.incident_id, []).append(_EPISODE.value(row, onset=onset))
    rows = connection.execute(_INCIDENTS.where(_I.id.in_(batch))).all()
    return {row.id: _INCIDENT.value(row, episodes=tuple(episodes.get(row.id, ()))) for row in rows}


def load_one(connection: Connection, incident_id: int) -> Incident:
    """Return one incident.

    Raises:
        NotRecorded: there is none of that number.
    """
    result = load(connection, [incident_id])
    if incident_id not in result:
        raise NotRecorded(
            f"incident #{incident_id} is not in the store; 'tablewatch incident list' shows those that are"
        )
    return result[incident_id]


def latest(connection: Connection, fingerprints: Iterable[str]) -> dict[str, Incident]:
    """Return of each fingerprint the incident that is open, else the one that ended last."""
    is_open = case((_I.state == State.RESOLVED, 0), else_=1)
    place = func.row_number().over(
        partition_by=_I.fingerprint, order_by=(is_open.desc(), _I.ended_at.desc(), _I.id.desc())
    )
    ranked = (
        select(_I.id, place.label("place"))
        .where(_I.fingerprint.in_(any_of(connection, fingerprints, "fingerprint")))
        .subquery()
    )
    ids = connection.scalars(select(ranked.c.id).where(ranked.c.place == 1)).all()
    return {incident.fingerprint: incident for incident in load(connection, ids).values()}


def matching(connection: Connection, incident_filter: IncidentFilter) -> list[Incident]:
    """Return the incidents that a filter asks for, newest detection first."""
    statement = (
        select(_I.id).where(*conditions(connection, incident_filter)).order_by(_I.detected_at.desc(), _I.id.desc())
    )
    ids = connection.scalars(statement.limit(incident_filter.limit)).all()
    result = load(connection, ids)
    return [result[incident_id] for incident_id in ids]


def events(connection: Connection, incident_id: int) -> list[Event]:
    """Return what happened to an incident, in the order of recording."""
    return [event_of(row) for row in connection.execute(_EVENTS.where(_V.incident_id == incident_id))]


def histories(connection: Connection, ids: Iterable[int], *, until: datetime | None = None) -> dict[int, list[Event]]:
    """Return what happened to incidents, each in the order of recording, by id; `until`: what was recorded by then."""
    batch = any_of(connection, ids, "incident_number")
    statement = _EVENTS.where(_V.incident_id.in_(batch))
    if until is not None:
        statement = statement.where(_V.recorded_at <= until)
    results: dict[int, list[Event]] = {}
    for row in connection.execute(statement):
        results.setdefault(row.incident_id, []).append(event_of(row))
    return results


def event_of(row: Row[*tuple[Any, ...]]) -> Event:
    """Return an event as it was recorded."""
    return Event(row.incident_id, row.recorded_at, row.actor, decode(row.body))


def row_of(incident: Incident) -> Mapping[str, Any]:
    """Return an incident's own columns."""
    ended_at = incident.last.resolved_at if incident.state is State.RESOLVED else None
    return _INCIDENT.cells(incident, detected_at=incident.episodes[0].detected_at, ended_at=ended_at)


def episode_rows(incident: Incident) -> Sequence[Mapping[str, Any]]:
    """Return the rows of an incident's episodes."""
    return [
        _EPISODE.cells(episode, incident_id=incident.id, number=number, **_ONSET.cells(episode.onset))
        for number, episode in enumerate(incident.episodes)
    ]


def conditions(connection: Connection, incident_filter: IncidentFilter) -> Sequence[ColumnElement[bool]]:
    """Return what an incident has to meet to be among those that a filter asks for."""
    filters = (
        (_I.state, incident_filter.states),
        (_I.table_name, incident_filter.tables),
        (_I.check_id, incident_filter.check_ids),
        (_I.severity, incident_filter.severities),
        (_I.kind, incident_filter.kinds),
        (_I.assignee, incident_filter.assignees),
        (_I.cause, incident_filter.causes),
    )
    results: list[ColumnElement[bool]] = [
        column.in_(any_of(connection, choices, "word")) for column, choices in filters if choices
    ]
    if incident_filter.merged_into is not None:
        results.append(_I.merged_into == incident_filter.merged_into)
    if incident_filter.since is not None or incident_filter.until is not None:
        results.append(_I.id.in_(touching(incident_filter.since, incident_filter.until)))
    if incident_filter.text is not None:
        places = (_I.table_name, _I.check_id, _I.title, type_coerce(_I.title_values, Text))
        results.append(or_(*(place.icontains(incident_filter.text, autoescape=True) for place in places)))
    return results


def touching(since: Any, until: Any) -> CompoundSelect[Any]:
    """Return the ids of incidents of which an episode begins before `until` and does not end before `since`.

    Two questions instead of one OR, so that an index answers both. The bounds are times, parameters or None.
    """
    begins = [] if until is None else [or_(_E.earliest_at < until, _E.occurred_at < until)]
    ends = [_E.resolved_at.is_not(None) if since is None else _E.resolved_at >= since]
    return union_all(
        select(_E.incident_id).where(*ends, *begins), select(_E.incident_id).where(_E.resolved_at.is_(None), *begins)
    )


def checksum_of(*cells: object) -> str:
    """Return the checksum of an event's columns: number of the incident, number, microseconds, actor, kind, body."""
    return sha256((_CHECKED % cells).encode("utf-8", "surrogatepass")).hexdigest()[:32]


class History(NamedTuple):
    """A whole incident to write down at once: what opened it, then what followed."""

    changes: Sequence[Change]
    recorded_at: datetime
    actor: str


class Folded(NamedTuple):
    """An incident after changes, the rows of the events, and their transitions."""

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
        heard_of = Changed.of(incident, change)
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
