"""Write the rows of incidents that are over or were only opened, without folding their events one by one.

An import writes a million incidents of one shape: `Opened`, then perhaps `Resolved`. Their rows, JSON texts and
checksums are written here from templates; a property test holds them to what `fold` and the column types write. What
has another shape is left to these.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from json.encoder import encode_basestring
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, Table, insert

from incidents import Episode, Opened, Resolved, State, to_us
from store._incidents import History, checksum_of
from store._rows import EpisodeRow, IncidentEventRow, IncidentRow

Cells: TypeAlias = tuple[str | int | None, ...]

_TABLES: Final = (IncidentRow.__table__, EpisodeRow.__table__, IncidentEventRow.__table__)
_EVENT: Final = IncidentEventRow.__table__
"""Its `id` is given by the database."""
_ROWS_AT_ONCE: Final = 100
"""Rows of one INSERT: half of the time of one by one; 21 columns of so many stay below every limit of parameters."""


class PastRows(NamedTuple):
    """The cells of an incident, of its episode and of its events."""

    fingerprint: str
    is_open: bool
    incident: Cells
    episode: Cells
    events: Sequence[Cells]


def past_rows(incident_id: int, history: History) -> PastRows | None:
    """Return the rows of an incident with one episode; None if its history has another shape."""
    if not history.changes:
        return None
    opened, *rest = history.changes
    if not isinstance(opened, Opened) or not _is_plain(opened) or len(rest) > 1:
        return None
    resolved = rest[0] if rest else None
    if resolved is not None and not (isinstance(resolved, Resolved) and _is_plain_end(resolved)):
        return None
    detected, occurred = to_us(opened.episode.detected_at), to_us(opened.episode.onset.at)
    ended = resolution = cause = None
    events = [_event(incident_id, 0, history, "opened", _opened_text(opened))]
    if resolved is not None:
        ended, resolution, cause = to_us(resolved.at), str(resolved.resolution), resolved.cause
        events.append(_event(incident_id, 1, history, "resolved", _resolved_text(resolved)))
    state = State.OPEN if resolved is None else State.RESOLVED
    incident: Cells = (
        *(incident_id, opened.fingerprint, opened.table, None, str(opened.incident_kind), str(opened.severity)),
        *(opened.title, "{}", str(opened.found_by), str(state), resolution, cause, detected, ended),
        *(None, None, None, 0, 0, None, None),
    )
    method = str(opened.episode.onset.method)
    episode = (incident_id, 0, occurred, occurred, occurred, method, None, detected, ended)
    return PastRows(opened.fingerprint, resolved is None, incident, episode, events)


def insert_past(connection: Connection, rows: Sequence[PastRows]) -> None:
    """Insert rows as they are; the driver is given the cells, no column type looks at them again."""
    if not rows:
        return
    cells = (
        [row.incident for row in rows],
        [row.episode for row in rows],
        [event for row in rows for event in row.events],
    )
    for table, values in zip(_TABLES, cells, strict=True):
        for start in range(0, len(values), _ROWS_AT_ONCE):
            part = values[start : start + _ROWS_AT_ONCE]
            parameters = tuple(chain.from_iterable(part))
            connection.exec_driver_sql(_statement(connection.dialect.name, table, len(part)), parameters)


@cache
def _statement(dialect: str, table: Table, rows: int) -> str:
    """Return an INSERT of so many rows with positional parameters, in the order of the table's columns."""
    keys = [column.key for column in table.c if table is not _EVENT or column.key != "id"]
    head, _ = str(insert(table).compile(column_keys=keys)).split(" VALUES ")
    row = ", ".join(["?" if dialect == "sqlite" else "%s"] * len(keys))
    return f"{head} VALUES {', '.join([f'({row})'] * rows)}"


def _is_plain(opened: Opened) -> bool:
    """Check whether the templates can write it: one moment of occurrence, UTC, printable text without values."""
    episode: Episode = opened.episode
    onset = episode.onset
    return (
        opened.check_id is None
        and not opened.title_values
        and onset.at is onset.earliest is onset.latest
        and onset.at.tzinfo is UTC
        and episode.detected_at.tzinfo is UTC
        and episode.resolved_at is None
        and episode.first_failed_at is None
        and opened.fingerprint.isprintable()
        and opened.table.isprintable()
        and opened.title.isprintable()
    )


def _is_plain_end(resolved: Resolved) -> bool:
    return resolved.at.tzinfo is UTC and (resolved.cause is None or resolved.cause.isprintable())


def _opened_text(opened: Opened) -> str:
    onset = opened.episode.onset
    occurred = _iso(onset.at)
    return (
        f'{{"check_id":null,"episode":{{"detected_at":"{_iso(opened.episode.detected_at)}","first_failed_at":null,'
        f'"onset":{{"at":"{occurred}","earliest":"{occurred}","latest":"{occurred}","method":"{onset.method}"}},'
        f'"resolved_at":null}},"fingerprint":{encode_basestring(opened.fingerprint)},"found_by":"{opened.found_by}",'
        f'"incident_kind":"{opened.incident_kind}","kind":"opened","severity":"{opened.severity}",'
        f'"table":{encode_basestring(opened.table)},"title":{encode_basestring(opened.title)},"title_values":{{}}}}'
    )


def _resolved_text(resolved: Resolved) -> str:
    cause = "null" if resolved.cause is None else encode_basestring(resolved.cause)
    return f'{{"at":"{_iso(resolved.at)}","cause":{cause},"kind":"resolved","resolution":"{resolved.resolution}"}}'


def _iso(moment: datetime) -> str:
    return moment.isoformat()[:-6] + "Z"


def _event(incident_id: int, number: int, history: History, kind: str, text: str) -> Cells:
    recorded_us = to_us(history.recorded_at)
    checksum = checksum_of(incident_id, number, recorded_us, history.actor, kind, text)
    return incident_id, number, recorded_us, history.actor, kind, text, checksum
