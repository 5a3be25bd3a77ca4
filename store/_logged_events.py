"""Store events that people and programs log about tables: deployments, migrations, backfills.

Facts in the order of recording. Nothing is changed: what was logged by mistake is removed by one more fact, and both
stay until retention takes them.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import CheckConstraint, Index, Select, UniqueConstraint, insert, select

from store._columns import STRICT, Mapped, Row, key, line, one_of, time, whole, word
from store._errors import NotRecorded
from store._names import NameReader
from store._repository import Repository
from store._values import LoggedEvent, LoggedEventKind, current_name


class LoggedEventRow(Row, table=True):
    """Something that happened. Append-only: triggers refuse to change it; only retention removes it."""

    __tablename__ = "logged_event"
    __table_args__ = (
        UniqueConstraint("removes"),
        Index(None, "happened_at"),
        one_of("kind", LoggedEventKind),
        CheckConstraint("(kind = 'removal') = (removes IS NOT NULL)", name="removes_iff_removal"),
        CheckConstraint("table_name IS NULL OR source IS NULL", name="scope"),
        {**STRICT, "sqlite_autoincrement": True},  # a number that people have quoted is never given again
    )

    id: int = key()
    kind: LoggedEventKind = word(LoggedEventKind)
    happened_at: datetime = time("happened_us", "happened_at")
    table_name: str | None = line(optional=True)
    source: str | None = line(optional=True)
    note: str = line()
    actor: str = line()
    recorded_at: datetime = time("recorded_us", "recorded_at")
    removes: int | None = whole(optional=True)
    job: str | None = line(optional=True)


_EVENT: Final = LoggedEventRow.__table__
_LOGGED: Final = Mapped(LoggedEventRow, LoggedEvent)
_REMOVAL: Final = _EVENT.alias("removal")


class LoggedEventReader(Repository):
    """Queries about logged events."""

    def between(self, since: datetime | None, until: datetime | None, *, most: int) -> list[LoggedEvent]:
        """Return at most so many events that happened in `[since, until)`, newest first, without those removed."""
        statement = _standing().order_by(_EVENT.c.happened_at.desc(), _EVENT.c.id.desc()).limit(most)
        if since is not None:
            statement = statement.where(_EVENT.c.happened_at >= since)
        if until is not None:
            statement = statement.where(_EVENT.c.happened_at < until)
        return self._named(_LOGGED.values(self._connection.execute(statement)))

    def get(self, number: int) -> LoggedEvent:
        """Return an event that was not removed.

        Raises:
            NotRecorded: there is none of that number.
        """
        event = _LOGGED.first(self._connection.execute(_standing().where(_EVENT.c.id == number)))
        if event is None:
            raise NotRecorded(f"event {number} is not in the store; 'tablewatch event list' shows those that are")
        return self._named([event])[0]

    def _named(self, events: list[LoggedEvent]) -> list[LoggedEvent]:
        """Return events with the present names of their tables."""
        changes = NameReader(self._connection).changes(min((event.recorded_at for event in events), default=None))
        if not changes:
            return events
        return [
            event
            if event.table is None
            else replace(
                event,
                table=current_name(event.table, (item for item in changes if item.recorded_at >= event.recorded_at)),
            )
            for event in events
        ]


class LoggedEventWriter(LoggedEventReader):
    """Statements that write logged events."""

    def add(self, event: LoggedEvent) -> tuple[LoggedEvent, bool]:
        """Write an event, unless the same was logged before; return it with its number, and whether it is new."""
        same = (
            _EVENT.c.happened_at == event.happened_at,
            _EVENT.c.kind == event.kind,
            _EVENT.c.table_name.is_not_distinct_from(event.table),
            _EVENT.c.source.is_not_distinct_from(event.source),
            _EVENT.c.note == event.note,
            _EVENT.c.job.is_not_distinct_from(event.job),
        )
        known = _LOGGED.first(self._connection.execute(_standing().where(*same).limit(1)))
        if known is not None:
            return known, False
        return self.get(self._write(event)), True

    def remove(self, number: int, *, actor: str, recorded_at: datetime) -> LoggedEvent:
        """Write that an event was logged by mistake; return it.

        Raises:
            NotRecorded: there is none of that number, or it was removed before.
        """
        event = self.get(number)
        removal = LoggedEvent(LoggedEventKind.REMOVAL, recorded_at, None, None, "", actor, recorded_at)
        self._write(removal, removes=number)
        return event

    def _write(self, event: LoggedEvent, *, removes: int | None = None) -> int:
        row = _LOGGED.cells(event, removes=removes)
        del row["id"]
        return int(self._connection.scalars(insert(_EVENT).values(row).returning(_EVENT.c.id)).one())


def _standing() -> Select[Any]:
    """Return a SELECT of the events that were not removed."""
    removed = select(_REMOVAL.c.id).where(_REMOVAL.c.removes == _EVENT.c.id).exists()
    is_event = _EVENT.c.kind != LoggedEventKind.REMOVAL  # not by the index of `removes`, which knows no order
    return select(*_LOGGED.columns).where(is_event, ~removed)
