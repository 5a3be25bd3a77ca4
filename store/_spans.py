"""Read episodes into columns, for reports: the one path on which a value for each row would be too dear.

Those that pages read again and again are kept until an incident changes: reading them takes longest.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import count
from threading import Lock
from typing import Any, Final, NamedTuple, Self
from weakref import WeakKeyDictionary

from sqlalchemy import (
    Case,
    Column,
    ColumnElement,
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
    window = {"since_us": since_us, "until_us": until_us}
    if _are_most(connection, window):
        return _read(connection.execute(_EVERY)).touching(since_us, until_us)
    return _read(connection.execute(_TOUCHING, window))


def read_spans_of(connection: Connection, tables: Sequence[str], since_us: int) -> Spans:
    """Return all episodes of the incidents of some tables that were not over before a moment."""
    lasted = or_(_I.c.ended_at.is_(None), type_coerce(_I.c.ended_at, WHOLE) >= since_us)
    names = any_of(connection, tables, "table_name")
    return _read(connection.execute(_columns().where(_I.c.table_name.in_(names), lasted)))


def _are_most(connection: Connection, window: Mapping[str, int]) -> bool:
    """Check whether most episodes end within a window: then it is faster to read all in order than to look them up."""
    first, last = connection.execute(select(func.min(_I.c.id), func.max(_I.c.id))).one()
    ended = connection.scalar(_ENDED, window) or 0
    return first is not None and ended > _MOST_PART * (last - first + 1)


def _read(result: CursorResult[Any]) -> Spans:
    names: defaultdict[str | None, int] = defaultdict(count().__next__, {None: _NONE})
    blocks = [np.empty((_COLUMNS, 0), dtype=np.int64), *(_block(rows, names) for rows in batches(result))]
    numbers = np.concatenate(blocks, axis=1)
    del blocks  # as large again
    incident, occurred, detected = numbers[4], numbers[6], numbers[9]
    order = np.lexsort((detected, occurred, incident))
    # one after the other, so that the values of a column lie side by side: all at once would keep rows together
    table, check, root, cause, incident, packed, *times = (column[order] for column in numbers)
    occurred, earliest, latest, detected, resolved, acknowledged = times
    return Spans(
        names=tuple(name for name in names if name is not None),
        incident=incident,
        table=table,
        check=check,
        root_table=np.where(root == _NONE, table, root),
        cause=cause,
        severity=packed % _RESOLVED,
        resolution=packed % _DISCLOSURE // _RESOLVED + _NONE,
        disclosure=packed & _DISCLOSURE > 0,
        answered=packed & _ANSWERED > 0,
        proven=packed & _PROVEN > 0,
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
    text_columns = [list(map(names.__getitem__, column)) for column in columns[:_WORDS]]
    return np.array(text_columns + columns[_WORDS:], dtype=np.int64)


def _packed() -> ColumnElement[int]:
    """Return severity, resolution and flags as one whole number: it arrives several times sooner than five columns."""
    return (
        _number({word: word.rank for word in Severity}, _I.c.severity)
        + _number({word: _RESOLVED * place for place, word in enumerate(Resolution, 1)}, _I.c.resolution)
        + _number({Kind.DISCLOSURE: _DISCLOSURE}, _I.c.kind)
        + _number(dict.fromkeys(EVIDENCE, _PROVEN), _E.method)
        + type_coerce(_I.c.answered, WHOLE) * literal(_ANSWERED, WHOLE)
    )


def _number(numbers: Mapping[StrEnum, int], column: Column[Any]) -> Case[int]:
    """Return the number of a word, 0 for others and for none."""
    return case(
        {word: literal(number, WHOLE) for word, number in numbers.items()}, value=column, else_=literal(0, WHOLE)
    )


def _columns() -> Select[Any]:
    certain = (type_coerce(time, WHOLE) for time in (_E.occurred_at, _E.earliest_at, _E.latest_at, _E.detected_at))
    perhaps = (type_coerce(time, WHOLE) for time in (_E.resolved_at, _E.acknowledged_at))
    text_columns = (_I.c.table_name, _I.c.check_id, type_coerce(_ROOT.c.table_name, Line()), _I.c.cause)
    numbers = (
        _E.incident_id,
        _packed(),
        *certain,
        *(func.coalesce(time, literal(OPEN_END, WHOLE)) for time in perhaps),
    )
    return (
        select(*text_columns, *numbers)
        .join_from(EpisodeRow.__table__, _I, _I.c.id == _E.incident_id)
        .join(_ROOT, _ROOT.c.id == _I.c.root, isouter=True)
    )


_NONE: Final = -1
_WORDS: Final = 4
_COLUMNS: Final = 12
_RESOLVED, _DISCLOSURE, _ANSWERED, _PROVEN = 16, 256, 512, 1024
"""Of the packed number: below 16 the severity, then sixteen times the place of the resolution, from 1 on, and flags."""
_SINCE, _UNTIL = (bindparam(name, type_=WHOLE) for name in ("since_us", "until_us"))
_TOUCHING: Final = _columns().where(_E.incident_id.in_(touching(_SINCE, _UNTIL)))
_EVERY: Final = _columns().order_by(_E.incident_id)
_ENDED: Final = select(func.count()).where(_E.resolved_at >= _SINCE, _E.resolved_at < _UNTIL)
_MOST_PART: Final = 0.7
"""The share of episodes from which on reading all of them in order is faster (measured over a million)."""


_MOST: Final = 4
"""Windows that are kept for a store."""
_MOST_NEW: Final = 2_000
"""New events from which on all is read again."""
_DAY_US: Final = 86_400_000_000
_END_OF_TIME: Final = 2**62
_EVENT: Final = IncidentEventRow.__table__.c
_INCIDENT: Final = IncidentRow.__table__.c


class _Revision(NamedTuple):
    """What every change makes another: the oldest incident, which retention moves, and the last event; of a window."""

    day: int
    first: int
    last: int

    @classmethod
    def of(cls, connection: Connection, day: int) -> Self:
        first = connection.scalar(select(func.min(_INCIDENT.id))) or 0
        return cls(day, first, connection.scalar(select(func.max(_EVENT.id))) or 0)

    def is_soon_after(self, earlier: Self) -> bool:
        """Check whether only a few events came since an earlier one."""
        return (self.day, self.first) == (earlier.day, earlier.first) and 0 < self.last - earlier.last <= _MOST_NEW


_CACHES: Final[WeakKeyDictionary[Engine, OrderedDict[_Revision, Spans]]] = WeakKeyDictionary()
_LOCK: Final = Lock()


def shared_spans(connection: Connection, since_us: int) -> Spans:
    """Return all episodes of every incident of which one was not over before a moment, or some hours more.

    The same arrays are given again while no event is written and retention takes no incident: do not change them. After
    a few events the incidents that they are about are read again.
    """
    now = _Revision.of(connection, since_us // _DAY_US)
    with _LOCK:
        cache = _CACHES.setdefault(connection.engine, OrderedDict())
        if now in cache:
            cache.move_to_end(now)
            return cache[now]
        before = max(filter(now.is_soon_after, cache), default=None)
        spans = None if before is None else cache[before]
    start = now.day * _DAY_US
    if before is None or spans is None:
        spans = read_spans(connection, start, _END_OF_TIME)
    else:
        spans = _with_changes(connection, spans, before.last, start)
    with _LOCK:
        cache[now] = spans
        while len(cache) > _MOST:
            cache.popitem(last=False)
    return spans


def _with_changes(connection: Connection, spans: Spans, last: int, since_us: int) -> Spans:
    """Return spans with the incidents that have events after the last one as they are now."""
    changed = connection.scalars(select(_EVENT.incident_id).where(_EVENT.id > last).distinct()).all()
    of_changed = _E.incident_id.in_(any_of(connection, changed, "incident_number"))
    new = _read(connection.execute(_columns().where(of_changed))).touching(since_us, _END_OF_TIME)
    same = np.flatnonzero(~np.isin(spans.incident, np.array(changed, dtype=np.int64)))
    return spans.take(same).joined(new)
