"""Keep the episodes that pages read again and again, until an incident changes: reading them takes longest."""

from collections import OrderedDict
from threading import Lock
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, func, select

from incidents import Spans
from store._rows import IncidentEventRow, IncidentRow
from store._spans import read_spans

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
