"""`tablewatch event`: log what happened around tables, such as deployments."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import By, actor, read_number, reading, typed_times
from monitor.terminal.output import Invocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from monitor.config.project import Project
    from store import LoggedEvent

app = typer.Typer(help="Log deployments and other events.", no_args_is_help=True, rich_help_panel="Incidents and cost")


class EventWord(StrEnum):
    """Kinds of events."""

    DEPLOY = "deploy"
    MIGRATION = "migration"
    BACKFILL = "backfill"
    CONFIGURATION = "configuration"
    OTHER = "other"


@app.callback()
def _group() -> None:
    """Log deployments and other events: they are shown beside incidents that began soon after."""


@app.command()
def add(
    ctx: typer.Context,
    kind: Annotated[EventWord, typer.Argument(metavar="KIND", help=", ".join(EventWord))],
    note: Annotated[str, typer.Option(help="What happened, in a line.")],
    at: Annotated[str | None, typer.Option(metavar="TIME", help="When it happened; by default now.")] = None,
    table: Annotated[str | None, typer.Option(help="Table that it was about.")] = None,
    source: Annotated[
        str | None, typer.Option(help="Source of tables that it was about; by default any table.")
    ] = None,
    by: By = None,
) -> None:
    """Log an event. Logging the same event again returns the existing one.

    Example: tablewatch event add deploy --at 2026-11-11T09:30+09:00 --table sales.orders --note 'loader 2.3'
    """
    from monitor.config.project import Project
    from monitor.triage.errors import explained
    from monitor.triage.logged_events import EventForm, log_event
    from store import LoggedEventKind

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    times = typed_times(project, invocation, project.clock.now())
    form = EventForm(LoggedEventKind(kind), note, times.moment("--at", at), table, source)
    who = actor(by)
    with project.open_store() as store, explained():
        event, is_new = log_event(project, store, form, actor=who)
    if not is_new:
        invocation.note(f"note: already logged as event {event.id}; nothing was changed")
    _present(invocation, project, event)


@app.command("list")
def list_(
    ctx: typer.Context,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Happened since: 7d, 2026-11-01, or a time.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of entries, newest first.")] = 50,
) -> None:
    """List events, newest first.

    Example: tablewatch event list --since 7d
    """
    from monitor.config.project import Project
    from monitor.triage.logged_events import event_as_json

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    times = typed_times(project, invocation, project.clock.now())
    start = times.bound("--since", since)
    with reading(project) as tx:
        events = tx.logged_events.between(start, None, most=limit + 1)
    shown, more = events[:limit], len(events) > limit
    result = {"schema": "tablewatch.events/1", "events": [event_as_json(event) for event in shown], "more": more}
    invocation.emit(result, lambda console: _draw(console, project, shown))
    if more and not invocation.as_json:
        invocation.note(f"note: there are more than {limit}; see --limit")


@app.command()
def remove(
    ctx: typer.Context,
    event_id: Annotated[int, typer.Argument(metavar="ID", help="Event number.", parser=read_number)],
    by: By = None,
) -> None:
    """Remove an event that was logged by mistake. The store keeps both the event and its removal.

    Example: tablewatch event remove 3
    """
    from monitor.config.project import Project
    from monitor.triage.errors import explained
    from monitor.triage.logged_events import remove_event

    invocation: Invocation = ctx.obj
    who = actor(by)
    project = Project.of(invocation)
    with project.open_store(existing=True) as store, explained():
        event = remove_event(project, store, event_id, actor=who)
    _present(invocation, project, event)
    invocation.note(f"note: event {event.id} was removed")


def _present(invocation: Invocation, project: "Project", event: "LoggedEvent") -> None:
    from monitor.triage.logged_events import event_as_json

    result = {"schema": "tablewatch.event/1", **event_as_json(event)}
    invocation.emit(result, lambda console: _draw(console, project, [event]))


def _draw(console: "Console", project: "Project", events: "Sequence[LoggedEvent]") -> None:
    from monitor.terminal.tables import draw_table
    from monitor.triage.time_parsing import format_time

    if not events:
        console.print("no events")
        return
    rows = [
        (
            str(event.id),
            format_time(event.happened_at, project.config.timezone),
            event.kind.value,
            event.table or (f"source {event.source}" if event.source else "any table"),
            event.actor,
            event.note,
        )
        for event in events
    ]
    draw_table(console, (">#", "at", "event", "~of", "~by", "~note"), rows)
