"""Write the rows of incidents that are over or were only opened, without folding their events one by one.

An import writes a million incidents of one shape: `Opened`, then perhaps `Resolved`. Their rows, JSON texts and
checksums are written here from templates; a property test holds them to what `fold` and the column types write. Texts
that are not printable are left to these.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from json.encoder import encode_basestring
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, Table, insert

from checks import Kind, OccurrenceMethod
from incidents import AGENT, ReportedIncident, State, to_us
from store._incidents import checksum_of
from store._rows import EpisodeRow, IncidentEventRow, IncidentRow

Cells: TypeAlias = tuple[str | int | None, ...]

_TABLES: Final = (IncidentRow.__table__, EpisodeRow.__table__, IncidentEventRow.__table__)
_EVENT: Final = IncidentEventRow.__table__
"""Its `id` is given by the database."""
_KIND: Final = Kind.QUALITY.value
_OPEN: Final = State.OPEN.value
_RESOLVED: Final = State.RESOLVED.value
_OBSERVED: Final = OccurrenceMethod.FIRST_OBSERVATION.value
_BY_PERSON: Final = OccurrenceMethod.PERSON.value


class PastRows(NamedTuple):
    """The cells of an incident, of its episode and of its events."""

    fingerprint: str
    is_open: bool
    incident: Cells
    episode: Cells
    events: Sequence[Cells]


def past_rows(incident_id: int, incident: ReportedIncident, *, recorded_us: int, actor: str) -> PastRows | None:
    """Return the rows of an incident with one episode; None if the templates cannot write its texts or times."""
    if not _is_plain(incident):
        return None
    fingerprint, detected_at, resolved_at = str(incident.fingerprint), incident.detected_at, incident.resolved_at
    occurred_at = detected_at if incident.occurred_at is None else incident.occurred_at
    detected, occurred = to_us(detected_at), to_us(occurred_at)
    method = _OBSERVED if incident.occurred_at is None else _BY_PERSON
    severity, found_by = incident.severity.value, incident.found_by.value
    text = (
        f'{{"check_id":null,"episode":{{"acknowledged_at":null,"detected_at":"{_iso(detected_at)}",'
        f'"first_failed_at":null,"onset":{{"at":"{(began := _iso(occurred_at))}","earliest":"{began}",'
        f'"latest":"{began}","method":"{method}"}},"resolved_at":null}},"fingerprint":{encode_basestring(fingerprint)},'
        f'"found_by":"{found_by}","incident_kind":"{_KIND}","kind":"opened","severity":"{severity}",'
        f'"table":{encode_basestring(incident.table)},"title":{encode_basestring(incident.title)},"title_values":{{}}}}'
    )
    checksum = checksum_of(incident_id, 0, recorded_us, actor, "opened", text)
    events: list[Cells] = [(incident_id, 0, recorded_us, actor, "opened", text, checksum)]
    state, ended, resolution, cause = _OPEN, None, None, None
    if resolved_at is not None:
        state, ended, resolution, cause = _RESOLVED, to_us(resolved_at), incident.resolution.value, incident.cause
        text = (
            f'{{"at":"{_iso(resolved_at)}","cause":{"null" if cause is None else encode_basestring(cause)},'
            f'"kind":"resolved","resolution":"{resolution}"}}'
        )
        checksum = checksum_of(incident_id, 1, recorded_us, actor, "resolved", text)
        events.append((incident_id, 1, recorded_us, actor, "resolved", text, checksum))
    cells: Cells = (
        *(incident_id, fingerprint, incident.table, None, _KIND, severity),
        *(incident.title, "{}", found_by, state, resolution, cause, detected, ended),
        *(None, None, 0, 0, None, None, int(resolved_at is not None and actor != AGENT)),
    )
    episode = (incident_id, 0, occurred, occurred, occurred, method, None, detected, ended, None)
    return PastRows(fingerprint, resolved_at is None, cells, episode, events)


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
        connection.exec_driver_sql(_statement(connection.dialect.name, table), values)


@cache
def _statement(dialect: str, table: Table) -> str:
    """Return an INSERT with positional parameters, in the order of the table's columns."""
    keys = [column.key for column in table.c if table is not _EVENT or column.key != "id"]
    head, _ = str(insert(table).compile(column_keys=keys)).split(" VALUES ")
    return f"{head} VALUES ({', '.join(['?' if dialect == 'sqlite' else '%s'] * len(keys))})"


def _is_plain(incident: ReportedIncident) -> bool:
    """Check whether the templates can write it: printable texts, times in UTC."""
    return (
        incident.fingerprint is not None
        and incident.fingerprint.isprintable()
        and incident.table.isprintable()
        and incident.title.isprintable()
        and (incident.cause is None or incident.cause.isprintable())
        and incident.detected_at.tzinfo is UTC
        and (incident.occurred_at is None or incident.occurred_at.tzinfo is UTC)
        and (incident.resolved_at is None or incident.resolved_at.tzinfo is UTC)
    )


def _iso(moment: datetime) -> str:
    return moment.isoformat()[:-6] + "Z"
