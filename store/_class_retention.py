"""Forget class counts and releases that nobody reads: those that were left, or never finished."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Column, Connection, and_, delete, literal, literal_column, or_, select, tuple_

from store._class_rows import ClassCountRow, ClassPartRow, ClassSizeRow, ClassStateRow, ReleasedRowRow, ReleaseRow

_BATCH: Final = 10_000
_PACKED: Final = 200
"""Rows that hold many counts each are larger."""
_UNFINISHED: Final = timedelta(days=1)
"""A state or a release that is not finished by then was left by a process that ended."""

_STATE: Final = ClassStateRow.__table__
_COUNT: Final = ClassCountRow.__table__
_RELEASE: Final = ReleaseRow.__table__
_RELEASED: Final = ReleasedRowRow.__table__


def prune_counts(connection: Connection, *, now: datetime) -> int:
    """Forget a batch; gives how many rows, 0 when nothing is left to forget."""
    before = now - _UNFINISHED
    return _prune_left(connection, before) or _prune_releases(connection, before)


def _prune_left(connection: Connection, before: datetime) -> int:
    was_current = _STATE.c.version > 0
    left = and_(_STATE.c.is_current == literal_column("0"), or_(was_current, _STATE.c.updated_at < before))
    state = connection.scalar(select(_STATE.c.id).where(left).limit(1))
    if state is None:
        return 0
    if count := _prune_first(connection, _COUNT.c.state, state, (_COUNT.c.part, _COUNT.c.shard), _PACKED):
        return count
    for table in (ClassPartRow.__table__, ClassSizeRow.__table__):
        connection.execute(delete(table).where(table.c.state == state))
    return connection.execute(delete(_STATE).where(_STATE.c.id == state)).rowcount


def _prune_releases(connection: Connection, before: datetime) -> int:
    half = select(_RELEASE.c.id).where(_RELEASE.c.is_whole == literal_column("0"), _RELEASE.c.released_at < before)
    release = connection.scalar(half.limit(1))
    if release is None:
        return 0
    key = (_RELEASED.c.person, _RELEASED.c.class_signature)
    return (
        _prune_first(connection, _RELEASED.c.release, release, key, _BATCH)
        or connection.execute(delete(_RELEASE).where(_RELEASE.c.id == release)).rowcount
    )


def _prune_first(connection: Connection, owner: Column[int], number: int, key: Sequence[Column[Any]], most: int) -> int:
    """Forget the first rows of an owner, in the order in which they lie."""
    ordered = select(*key).where(owner == number).order_by(*key)
    end = connection.execute(ordered.offset(most - 1).limit(1)).first()
    condition = [owner == number]
    if end is not None:
        condition.append(
            tuple_(*key) <= tuple_(*(literal(value, column.type) for column, value in zip(key, end, strict=True)))
        )
    return connection.execute(delete(owner.table).where(*condition)).rowcount
