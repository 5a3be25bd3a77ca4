"""The verbs of events around tables, such as deployments: log one, and record that one was logged by mistake."""

from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from monitor.verbs.verb import Acting, Body, Line, Name, Nothing, Number, Time, Typed, Verb
from monitor.verbs.words import EventWord

if TYPE_CHECKING:
    from store import LoggedEvent


class EventNumber(BaseModel):
    """The number of an event."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[Number, Typed(metavar="ID")] = Field(description="Event number.")


class EventBody(Body):
    """Something that happened to a table, to the tables of a source, or (neither is given) to any table."""

    kind: Annotated[EventWord, Typed(metavar="KIND", argument=True)] = Field(description=", ".join(EventWord))
    note: Line = Field(description="What happened, in a line.")
    at: Time | None = Field(None, description="When it happened; by default now.")
    table: Name | None = Field(None, description="Table that it was about.")
    source: Name | None = Field(None, description="Source of tables that it was about; by default any table.")


def _add(acting: Acting, _: Nothing, body: EventBody) -> "tuple[LoggedEvent, bool]":
    from monitor.triage.logged_events import EventForm, check_event, log_event
    from store import LoggedEventKind

    project = acting.project
    at = acting.times(project.clock.now()).moment("at", body.at)
    form = EventForm(LoggedEventKind(body.kind), body.note, at, body.table, body.source)
    check_event(project, form)
    tables = [table.name for table in project.config.tables if body.source in {None, table.source}]
    for table in tables if body.table is None else [body.table]:
        acting.check_table(table)
    return log_event(project, acting.store, form, actor=acting.actor)


def _remove(acting: Acting, target: EventNumber, _: Body) -> "LoggedEvent":
    from monitor.triage.logged_events import remove_event

    return remove_event(acting.project, acting.store, target.id, actor=acting.actor)


ADD: Final = Verb(
    "add",
    Nothing,
    EventBody,
    _add,
    "Log a deployment or another event",
    "deploy --at 2026-11-11T09:30+09:00 --table sales.orders --note 'loader 2.3'",
    "Logging the same event again returns the existing one.",
    creates=True,
)
REMOVE: Final = Verb(
    "remove",
    EventNumber,
    Body,
    _remove,
    "Remove an event that was logged by mistake",
    "3",
    "The store keeps both the event and its removal.",
)
