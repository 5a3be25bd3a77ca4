"""Events around tables, such as deployments, as they are published: by the command, the API and pages."""

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field

from monitor.summaries.shapes import Moment, Shape
from store import LoggedEvent, LoggedEventKind


class LoggedEventLine(Shape):
    """What happened, when, to which table or the tables of which source, and who logged it. `job`: one that failed."""

    id: int
    kind: LoggedEventKind
    happened_at: Moment
    table: str | None
    source: str | None
    note: str
    job: str | None
    by: str
    recorded_at: Moment

    @classmethod
    def of(cls, event: LoggedEvent) -> Self:
        """Return an event as a model."""
        return cls(
            id=event.id,
            kind=event.kind,
            happened_at=event.happened_at,
            table=event.table,
            source=event.source,
            note=event.note,
            job=event.job,
            by=event.actor,
            recorded_at=event.recorded_at,
        )


class LoggedEventPage(LoggedEventLine):
    """`tablewatch.event/1`: an event as it is recorded."""

    schema_: Literal["tablewatch.event/1"] = Field("tablewatch.event/1", alias="schema")


class LoggedEventListPage(Shape):
    """`tablewatch.events/1`: events, newest first. `more`: whether there are older ones."""

    schema_: Literal["tablewatch.events/1"] = Field("tablewatch.events/1", alias="schema")
    events: tuple[LoggedEventLine, ...]
    more: bool

    @classmethod
    def of(cls, events: Sequence[LoggedEvent], *, more: bool) -> Self:
        """Return events as models."""
        return cls(events=tuple(map(LoggedEventLine.of, events)), more=more)
