"""Forget class counts that nobody reads any more: of states that were left or never finished, and rows of no count."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Column, Connection, LargeBinary, and_, delete, literal, literal_column, or_, select, tuple_

from store._class_rows import ClassCountRow, ClassPartRow, ClassSizeRow, ClassStateRow, ReleasedRowRow, ReleaseRow

_BATCH: Final = 10_000
_UNFINISHED: Final = timedelta(days=1)
"""A state or a release that is not finished by then was left by a process that ended."""

_STATE: Final = ClassStateRow.__table__
_COUNT: Final = ClassCountRow.__table__
_RELEASE: Final = ReleaseRow.__table__
_RELEASED: Final = ReleasedRowRow.__table__
_KEY: Final = (_COUNT.c.state, _COUNT.c.part, _COUNT.c.signature)


def prune_counts(connection: Connection, *, now: datetime) -> int:
    """Forget a batch; gives how many rows, 0 when nothing is left to forget."""
    return (
        _prune_left(connection, now - _UNFINISHED)
        or _prune_zeros(connection)
        or _prune_releases(connection, now - _UNFINISHED)
    )


def _prune_left(connection: Connection, before: datetime) -> int:
    was_current = _STATE.c.version > 0
    left = and_(_STATE.c.is_current == literal_column("0"), or_(was_current, _STATE.c.updated_at < before))
    state = connection.scalar(select(_STATE.c.id).where(left).limit(1))
    if state is None:
        return 0
    if gone := _prune_first(connection, _COUNT.c.state, state, (_COUNT.c.part, _COUNT.c.signature)):
        return gone
    for table in (ClassPartRow.__table__, ClassSizeRow.__table__):
        connection.execute(delete(table).where(table.c.state == state))
    return connection.execute(delete(_STATE).where(_STATE.c.id == state)).rowcount


def _prune_zeros(connection: Connection) -> int:
    """Forget classes that have gone, where what their rows say holds."""
    holds = and_(_STATE.c.is_current == literal_column("1"), _STATE.c.aborted == "", _COUNT.c.draft <= _STATE.c.version)
    zero = select(*_KEY).join(_STATE, _STATE.c.id == _COUNT.c.state).where(_COUNT.c.next == 0, holds).limit(_BATCH)
    return connection.execute(delete(_COUNT).where(tuple_(*_KEY).in_(zero))).rowcount


def _prune_releases(connection: Connection, before: datetime) -> int:
    half = select(_RELEASE.c.id).where(_RELEASE.c.is_whole == literal_column("0"), _RELEASE.c.released_at < before)
    release = connection.scalar(half.limit(1))
    if release is None:
        return 0
    key = (_RELEASED.c.person, _RELEASED.c.class_signature)
    return (
        _prune_first(connection, _RELEASED.c.release, release, key)
        or connection.execute(delete(_RELEASE).where(_RELEASE.c.id == release)).rowcount
    )


def _prune_first(connection: Connection, owner: Column[int], number: int, key: Sequence[Column[bytes]]) -> int:
    """Forget the first rows of an owner, in the order in which they lie."""
    ordered = select(*key).where(owner == number).order_by(*key)
    end = connection.execute(ordered.offset(_BATCH - 1).limit(1)).first()
    condition = [owner == number]
    if end is not None:
        condition.append(tuple_(*key) <= tuple_(*(literal(value, LargeBinary) for value in end)))
    return connection.execute(delete(owner.table).where(*condition)).rowcount
