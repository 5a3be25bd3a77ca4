"""The verbs of events around tables, such as deployments: log one, and record that one was logged by mistake."""

from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from monitor.verbs.verb import Acting, Body, Line, Name, Nothing, Number, Query, Time, Typed, Verb
from monitor.verbs.words import EventWord

if TYPE_CHECKING:
    from monitor.terminal.problem import Stop
    from store import LoggedEvent


class EventNumber(Query):
    """The number of an event."""

    id: Annotated[Number, Typed(metavar="ID")] = Field(description="Event number.")


class EventBody(Body):
    """Something that happened to a table, to the tables of a source, or (neither is given) to any table."""

    kind: Annotated[EventWord, Typed(metavar="KIND", argument=True)] = Field(description=", ".join(EventWord))
    note: Line = Field(description="What happened, in a line.")
    at: Time | None = Field(None, description="When it happened; by default now.")
    table: Name | None = Field(None, description="Table that it was about.")
    source: Name | None = Field(None, description="Source of tables that it was about; by default any table.")
    job: Line | None = Field(None, description="Name of the job that failed, where that is the event.")


def _add(acting: Acting, _: Nothing, body: EventBody) -> "tuple[LoggedEvent, bool]":
    from monitor.terminal.problem import ExitCode, Stop, unknown_name
    from monitor.triage.create import unknown_table
    from store import LoggedEvent, LoggedEventKind

    config = acting.project.config
    if body.table is not None and body.source is not None:
        raise _refused("an event is of a table or of a source, not of both")
    if body.table is not None and (problem := unknown_table(body.table, config)) is not None:
        raise Stop(ExitCode.USAGE, problem)
    if body.source is not None and body.source not in config.sources:
        raise Stop(ExitCode.USAGE, unknown_name("source", body.source, config.sources))
    _check_tables(acting, body.table, body.source)
    with acting.store.writing() as tx:
        now = tx.schedule.clock(acting.project.clock.now())
        at = acting.times(now).moment("at", body.at) or now
        if at > now:
            raise _refused("an event has happened: its time is in the future")
        kind = LoggedEventKind(body.kind)
        event = LoggedEvent(kind, at, body.table, body.source, body.note, acting.actor, now, job=body.job)
        return tx.logged_events.add(event)


def _remove(acting: Acting, target: EventNumber, _: Body) -> "LoggedEvent":
    from monitor.terminal.problem import ExitCode, Problem, Stop
    from store import NotRecorded

    try:
        with acting.store.writing() as tx:
            event = tx.logged_events.get(target.id)
            _check_tables(acting, event.table, event.source)
            now = tx.schedule.clock(acting.project.clock.now())
            return tx.logged_events.remove(target.id, actor=acting.actor, recorded_at=now)
    except NotRecorded as error:
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("event.not_found", str(error))) from None


def _check_tables(acting: Acting, table: str | None, source: str | None) -> None:
    """Check that the actor may act on each table that an event is about.

    Raises:
        Stop: the actor may not.
    """
    tables = [item.name for item in acting.project.config.tables if source in {None, item.source}]
    for name in tables if table is None else [table]:
        acting.check_table(name)


def _refused(message: str) -> "Stop":
    from monitor.terminal.problem import ExitCode, Problem, Stop

    return Stop(ExitCode.USAGE, Problem("event.refused", message))


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
