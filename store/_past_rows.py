"""Write the rows of incidents that are over or were only opened, without folding their events one by one.

An import writes a million incidents of few shapes: the same words, the same texts and times given. The first of each
shape is folded and encoded in the ordinary way, with marks for its texts and times; in the rows and JSON texts of the
others these are replaced. A property test holds them to what `fold` and the column types write. Texts that are not
printable are left to these.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from json.encoder import encode_basestring
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, Table, insert

from incidents import ReportedIncident, State, from_us, to_us
from store._incidents import History, checksum_of, episode_rows, fold, row_of
from store._json import to_text
from store._rows import EpisodeRow, IncidentEventRow, IncidentRow

Cells: TypeAlias = tuple[str | int | None, ...]

_TABLES: Final = (IncidentRow.__table__, EpisodeRow.__table__, IncidentEventRow.__table__)
_EVENT: Final = IncidentEventRow.__table__
"""Its `id` is given by the database."""
_ORDER: Final = ("occurred_at", "detected_at", "resolved_at")
_NUMBER: Final = 2**40
"""The id of an incident with marks."""


class PastRows(NamedTuple):
    """The cells of an incident, of its episode and of its events."""

    fingerprint: str
    is_open: bool
    incident: Cells
    episode: Cells
    events: Sequence[Cells]


class _Template(NamedTuple):
    """The rows of incidents of one shape.

    `incident` and `episode` take their cells from the id, the values of the report and `constants`, one after the
    other. Each event has its kind, its JSON text with `%s` for values, and what takes these from the report.
    """

    is_open: bool
    incident: Callable[[Sequence[str | int | None]], Cells]
    episode: Callable[[Sequence[str | int | None]], Cells]
    constants: Cells
    events: Sequence[tuple[str, str, Callable[[Sequence[str | None]], tuple[str, ...]]]]


def past_rows(incident_id: int, incident: ReportedIncident, *, recorded_us: int, actor: str) -> PastRows | None:
    """Return the rows of an incident with one episode; None if no template can write its texts or times."""
    shape: list[object] = []
    cells: list[str | int | None] = [incident_id]
    texts: list[str | None] = []
    value: Any
    for value in incident:
        kind: object = type(value)
        cell, text = value, None
        if kind is str:
            if not value.isprintable():
                return None
            text = encode_basestring(value)[1:-1]
        elif kind is datetime:
            if value.tzinfo is not UTC:
                return None
            cell, text = to_us(value), _iso(value)
        else:
            kind = value
        shape.append(kind)
        cells.append(cell)
        texts.append(text)
    if incident.fingerprint is None:
        return None
    template = _template(tuple(shape), actor)
    cells += template.constants
    events: list[Cells] = []
    for number, (change, form, values) in enumerate(template.events):
        body = form % values(texts)
        checksum = checksum_of(incident_id, number, recorded_us, actor, change, body)
        events.append((incident_id, number, recorded_us, actor, change, body, checksum))
    return PastRows(incident.fingerprint, template.is_open, template.incident(cells), template.episode(cells), events)


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


@cache
def _template(shape: tuple[object, ...], actor: str) -> _Template:
    """Return the template of a shape: the words of a report, and for each text and time its type."""
    marked = ReportedIncident(*map(_mark, ReportedIncident._fields, shape))
    history = History(marked.changes(_moment(len(_ORDER))), _moment(len(_ORDER)), actor)
    folded = fold(None, _NUMBER, history, first_number=0)
    (episode,) = episode_rows(folded.incident)
    rows = _cells(IncidentRow.__table__, row_of(folded.incident)), _cells(EpisodeRow.__table__, episode)
    marks: dict[int, Any] = {place: value for place, value in enumerate(marked) if shape[place] in {str, datetime}}
    places: dict[Any, int] = {_NUMBER: 0}
    places |= {to_us(mark) if shape[place] is datetime else mark: 1 + place for place, mark in marks.items()}
    constants = tuple(dict.fromkeys(cell for row in rows for cell in row if cell not in places))
    places |= {cell: 1 + len(marked) + place for place, cell in enumerate(constants)}
    incident, of_episode = (itemgetter(*(places[cell] for cell in row)) for row in rows)
    texts = {_iso(mark) if shape[place] is datetime else mark: place for place, mark in marks.items()}
    is_mark = re.compile("|".join(map(re.escape, texts)))
    events = []
    for row in folded.rows:
        body = to_text(row["body"])
        values = itemgetter(*(texts[mark] for mark in is_mark.findall(body)))
        events.append((row["kind"], is_mark.sub("%s", body.replace("%", "%%")), values))
    return _Template(folded.incident.state is State.OPEN, incident, of_episode, constants, events)


def _cells(table: Table, row: Mapping[str, Any]) -> Cells:
    """Return the cells of a row as its column types give them to the driver."""
    types = {column.key: getattr(column.type, "process_bind_param", None) for column in table.c}
    return tuple(row[key] if bind is None else bind(row[key], None) for key, bind in types.items())


def _mark(name: str, kind: object) -> Any:
    if kind is datetime:
        return _moment(_ORDER.index(name))
    return f"\N{REFERENCE MARK}{name}\N{REFERENCE MARK}" if kind is str else kind


def _moment(number: int) -> datetime:
    return from_us(_NUMBER + 1 + number)


def _iso(moment: datetime) -> str:
    return moment.isoformat()[:-6] + "Z"
