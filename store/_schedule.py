"""Store when tables are due, which slots were left out, and the clock.

A writer has the store for itself on both databases, so that what it compared is still true when it sets. Every
statement here reads as many rows as it is asked for, however many tables there are: an index leads to them.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, exists, func, insert, literal_column, select, text, update

from store._columns import Mapped
from store._repository import Repository, any_of
from store._trusted_time import ClockRow
from store._work import Scheduled, Skip
from store._work_rows import ScheduleRow, SkipRow, SlotRow

BACKWARDS: Final = timedelta(seconds=2)
"""A clock that goes back by no more than this was only put right; further back is a step."""

QUICK: Final = timedelta(minutes=1)
"""A table that is done within this, from the moment it is claimed, does not count as waiting meanwhile."""

_SCHEDULE: Final = ScheduleRow.__table__
_SLOT: Final = SlotRow.__table__
_SKIP: Final = SkipRow.__table__
_CLOCK: Final = ClockRow.__table__
_SCHEDULED: Final = Mapped(ScheduleRow, Scheduled)
_SKIPPED: Final = Mapped(SkipRow, Skip)

IS_RUNNING: Final = _SLOT.c.state == literal_column("'running'")  # in the text, so that the partial indexes are used
IS_LOOKED_AT: Final = exists().where(_SLOT.c.table_name == _SCHEDULE.c.table_name, IS_RUNNING)


class ScheduleReader(Repository):
    """Queries about the schedule."""

    def clock(self, now: datetime) -> datetime:
        """Return the time that slots and leases go by: the server's on PostgreSQL, `now` on SQLite."""
        if self._on_sqlite:
            return now
        moment: datetime = self._connection.scalars(text("SELECT clock_timestamp()")).one()
        return moment.astimezone(now.tzinfo)

    def epoch(self) -> int:
        """Return how often the clock went back."""
        return self._connection.scalar(select(_CLOCK.c.epoch)) or 0

    def tables(self) -> list[Scheduled]:
        """Return when each table is due next, by table."""
        rows = self._connection.execute(select(*_SCHEDULED.columns).order_by(_SCHEDULE.c.table_name))
        return _SCHEDULED.values(rows)

    def get(self, table: str) -> Scheduled | None:
        """Return when a table is due next; None for one that no daemon has scheduled."""
        row = select(*_SCHEDULED.columns).where(_SCHEDULE.c.table_name == table)
        return _SCHEDULED.first(self._connection.execute(row))

    def due(self, now: datetime, limit: int, among: Iterable[str] | None = None) -> list[Scheduled]:
        """Return tables that are due and not being looked at, the one that waits longest first; all.

        Or only `among`.
        """
        statement = select(*_SCHEDULED.columns).where(_SCHEDULE.c.due_at <= now, ~IS_LOOKED_AT)
        if among is not None:
            statement = statement.where(_SCHEDULE.c.table_name.in_(any_of(self._connection, among, "among_name")))
        rows = self._connection.execute(statement.order_by(_SCHEDULE.c.due_at, _SCHEDULE.c.table_name).limit(limit))
        return _SCHEDULED.values(rows)

    def waiting(self, now: datetime, most: int) -> int:
        """Return how many tables are due and not being looked at; no more than `most` are counted."""
        waiting = select(_SCHEDULE.c.due_at).where(_SCHEDULE.c.due_at <= now, ~IS_LOOKED_AT)
        return len(self._connection.execute(waiting.limit(most)).all())

    def next_due(self) -> datetime | None:
        """Return when the next table is due that is not being looked at; this may be past. None without one."""
        statement = select(_SCHEDULE.c.due_at).where(~IS_LOOKED_AT)
        return self._connection.scalar(statement.order_by(_SCHEDULE.c.due_at, _SCHEDULE.c.table_name).limit(1))

    def upcoming(self, limit: int) -> list[Scheduled]:
        """Return the tables that are due next, also those that are due already, in the order in which they are."""
        following = select(*_SCHEDULED.columns).order_by(_SCHEDULE.c.due_at, _SCHEDULE.c.table_name)
        return _SCHEDULED.values(self._connection.execute(following.limit(limit)))

    def delayed(self) -> list[Scheduled]:
        """Return the tables that the daily limit of their source delays, by table."""
        rows = select(*_SCHEDULED.columns).where(_SCHEDULE.c.delayed_since.is_not(None))
        return _SCHEDULED.values(self._connection.execute(rows.order_by(_SCHEDULE.c.table_name)))

    def lag(self, now: datetime) -> datetime | None:
        """Return since when the table that waits longest has waited; None when none is late.

        A table that is due waits, and so does one that was claimed more than a minute ago and is not done with.
        """
        due = self.next_due()
        slow = select(func.min(_SLOT.c.started_at)).where(IS_RUNNING, _SLOT.c.started_at <= now - QUICK)
        since = [moment for moment in (due, self._connection.scalar(slow)) if moment is not None and moment <= now]
        return min(since, default=None)

    def skips(self, since: datetime, limit: int) -> list[Skip]:
        """Return what was left out since a moment, newest first."""
        rows = self._connection.execute(
            select(*_SKIPPED.columns)
            .where(_SKIP.c.last_at >= since)
            .order_by(_SKIP.c.last_at.desc(), _SKIP.c.id.desc())
            .limit(limit)
        )
        return _SKIPPED.values(rows)


class ScheduleWriter(ScheduleReader):
    """Statements that write the schedule."""

    def keep_time(self, now: datetime) -> int:
        """Save the latest time that was seen, and return the clock's epoch.

        A new epoch begins when `now` is more than 2 s before that: the clock went back, and slots come a second time.
        """
        stored = self._connection.execute(select(_CLOCK.c.epoch, _CLOCK.c.latest_at.label("latest_at"))).first()
        if stored is None:
            self._connection.execute(insert(_CLOCK).values(id=1, epoch=0, latest_at=now))
            return 0
        went_back = now < stored.latest_at - BACKWARDS
        epoch: int = stored.epoch + went_back
        if went_back or now > stored.latest_at:
            self._connection.execute(update(_CLOCK).values(epoch=epoch, latest_at=now))
        return epoch

    def replace(self, rows: Sequence[Scheduled], skips: Sequence[Skip] = ()) -> None:
        """Make the schedule what is given, and remember what is left out by that.

        A table whose `schedule` and `zone` are as they were keeps its times; a table that is not given is forgotten
        (a slot of it that runs may still be finished).
        """
        present = {row.table: (row.schedule, row.zone) for row in self.tables()}
        gone = any_of(self._connection, present.keys() - {row.table for row in rows}, "table_name")
        self._connection.execute(delete(_SCHEDULE).where(_SCHEDULE.c.table_name.in_(gone)))
        self._put([row for row in rows if present.get(row.table) != (row.schedule, row.zone)])
        self.add_skips(skips)

    def reschedule(self, rows: Sequence[Scheduled]) -> None:
        """Set when these tables are due, whatever was known."""
        self._put(rows)

    def add_skips(self, skips: Sequence[Skip]) -> None:
        """Save slots that are not run."""
        self._insert(_SKIP, [_SKIPPED.cells(skip) for skip in skips])

    def _put(self, rows: Sequence[Scheduled]) -> None:
        if not rows:
            return
        statement = self._upsert(_SCHEDULE)
        new = statement.excluded
        self._connection.execute(
            statement.on_conflict_do_update(
                index_elements=[_SCHEDULE.c.table_name],
                set_={column.key: new[column.key] for column in _SCHEDULE.c if not column.primary_key},
            ),
            [_SCHEDULED.cells(row) for row in rows],
        )
