"""Read episodes into columns, for reports: the one path on which a value for each row would be too dear.

Those that pages read again and again are kept until an incident changes: reading them takes longest.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import count
from threading import Lock
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from sqlalchemy import (
    Case,
    Column,
    Connection,
    CursorResult,
    Engine,
    Select,
    bindparam,
    case,
    func,
    literal,
    or_,
    select,
    type_coerce,
)

from checks import Kind, Severity
from checks.classes.arrays import np
from incidents import OPEN_END, Resolution, Spans
from incidents.spans import EVIDENCE, Ints
from store._columns import WHOLE, Line
from store._incidents import touching
from store._repository import any_of, batches
from store._rows import EpisodeRow, IncidentEventRow, IncidentRow

_I: Final = IncidentRow.__table__
_E: Final = EpisodeRow.__table__.c
_ROOT: Final = _I.alias("root")


def read_spans(connection: Connection, since_us: int, until_us: int) -> Spans:
    """Return all episodes of every incident of which one touches `[since, until]`.

    Also those outside: when an incident occurred and how long its repair took is a matter of the whole incident, and
    what lies outside a window is nothing once it is clipped.
    """
    return _read(connection.execute(_STATEMENT, {"since_us": since_us, "until_us": until_us}))


def read_spans_of(connection: Connection, tables: Sequence[str], since_us: int) -> Spans:
    """Return all episodes of the incidents of some tables that were not over before a moment."""
    lasted = or_(_I.c.ended_at.is_(None), type_coerce(_I.c.ended_at, WHOLE) >= since_us)
    names = any_of(connection, tables, "table_name")
    return _read(connection.execute(_columns().where(_I.c.table_name.in_(names), lasted)))


def _read(result: CursorResult[Any]) -> Spans:
    names: defaultdict[str | None, int] = defaultdict(count().__next__, {None: _NONE})
    blocks = [np.empty((_COLUMNS, 0), dtype=np.int64), *(_block(rows, names) for rows in batches(result))]
    numbers = np.concatenate(blocks, axis=1)
    del blocks  # as large again
    incident, occurred, detected = numbers[4], numbers[10], numbers[13]
    order = np.lexsort((detected, occurred, incident))
    # one after the other, so that the values of a column lie side by side: all at once would keep rows together
    table, check, root, cause, incident, severity, resolution, disclosure, answered, proven, *times = (
        column[order] for column in numbers
    )
    occurred, earliest, latest, detected, resolved, acknowledged = times
    return Spans(
        names=tuple(name for name in names if name is not None),
        incident=incident,
        table=table,
        check=check,
        root_table=np.where(root == _NONE, table, root),
        cause=cause,
        severity=severity,
        resolution=resolution,
        disclosure=disclosure == 1,
        answered=answered == 1,
        proven=proven == 1,
        occurred=occurred,
        earliest=earliest,
        latest=latest,
        detected=detected,
        resolved=resolved,
        acknowledged=acknowledged,
    )


def _block(rows: Sequence[Sequence[Any]], names: Mapping[str | None, int]) -> Ints:
    """Return rows as columns of whole numbers; the words in the first four become their places among the names."""
    columns = list(zip(*rows, strict=True))
    words = [list(map(names.__getitem__, column)) for column in columns[:_WORDS]]
    return np.array(words + columns[_WORDS:], dtype=np.int64)


def _place(column: Column[Any], words: type[StrEnum]) -> Case[int]:
    """Return the place of a word in its set, `_NONE` for no word: whole numbers arrive faster than text."""
    return case(
        {word: literal(place, WHOLE) for place, word in enumerate(words)}, value=column, else_=literal(_NONE, WHOLE)
    )


def _columns() -> Select[Any]:
    certain = (type_coerce(time, WHOLE) for time in (_E.occurred_at, _E.earliest_at, _E.latest_at, _E.detected_at))
    perhaps = (type_coerce(time, WHOLE) for time in (_E.resolved_at, _E.acknowledged_at))
    words = (_I.c.table_name, _I.c.check_id, type_coerce(_ROOT.c.table_name, Line()), _I.c.cause)
    numbers = (
        _E.incident_id,
        _place(_I.c.severity, Severity),
        _place(_I.c.resolution, Resolution),
        case((_I.c.kind == Kind.DISCLOSURE, literal(1, WHOLE)), else_=literal(0, WHOLE)),
        type_coerce(_I.c.answered, WHOLE),
        case((_E.method.in_(EVIDENCE), literal(1, WHOLE)), else_=literal(0, WHOLE)),
        *certain,
        *(func.coalesce(time, literal(OPEN_END, WHOLE)) for time in perhaps),
    )
    return (
        select(*words, *numbers)
        .join_from(EpisodeRow.__table__, _I, _I.c.id == _E.incident_id)
        .join(_ROOT, _ROOT.c.id == _I.c.root, isouter=True)
    )


_NONE: Final = -1
_WORDS: Final = 4
_COLUMNS: Final = 16
_SINCE, _UNTIL = (bindparam(name, type_=WHOLE) for name in ("since_us", "until_us"))
_STATEMENT: Final = _columns().where(_E.incident_id.in_(touching(_SINCE, _UNTIL)))


_MOST: Final = 4
"""Windows that are kept for a store."""
_DAY_US: Final = 86_400_000_000
_END_OF_TIME: Final = 2**62
_EVENT: Final = IncidentEventRow.__table__.c
_INCIDENT: Final = IncidentRow.__table__.c

_Key: TypeAlias = tuple[int, int, int]
_KEPT: Final[WeakKeyDictionary[Engine, OrderedDict[_Key, Spans]]] = WeakKeyDictionary()
_LOCK: Final = Lock()


def shared_spans(connection: Connection, since_us: int) -> Spans:
    """Return all episodes of every incident of which one was not over before a moment, or some hours more.

    The same arrays are given again while no event is written and retention takes no incident: do not change them.
    """
    day = since_us // _DAY_US
    key = (day, *_revision(connection))
    with _LOCK:
        kept = _KEPT.setdefault(connection.engine, OrderedDict())
        if key in kept:
            kept.move_to_end(key)
            return kept[key]
    spans = read_spans(connection, day * _DAY_US, _END_OF_TIME)
    with _LOCK:
        kept[key] = spans
        while len(kept) > _MOST:
            kept.popitem(last=False)
    return spans


def _revision(connection: Connection) -> tuple[int, int]:
    """Return what every change makes another: the last event, and the oldest incident, which retention moves."""
    last = connection.scalar(select(func.max(_EVENT.id))) or 0
    first = connection.scalar(select(func.min(_INCIDENT.id))) or 0
    return last, first
