"""`tablewatch event`: log what happened around tables, such as deployments."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import reading, typed_times
from monitor.commands._verb_command import add_verbs
from monitor.terminal.output import Invocation
from monitor.verbs.event import ADD, REMOVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from monitor.config.project import Project
    from store import LoggedEvent, Store

app = typer.Typer(help="Log deployments and other events.", no_args_is_help=True, rich_help_panel="Incidents and cost")


@app.callback()
def _group() -> None:
    """Log deployments and other events: they are shown beside incidents that began soon after."""


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
    from monitor.summaries.logged_event import LoggedEventListPage

    invocation: Invocation = ctx.obj
    project = Project.of(invocation, lazily=True)
    times = typed_times(project, invocation, project.clock.now())
    start = times.bound("--since", since)
    with reading(project) as tx:
        events = tx.logged_events.between(start, None, most=limit + 1)
    shown, more = events[:limit], len(events) > limit
    invocation.emit(lambda: LoggedEventListPage.of(shown, more=more), lambda console: _draw(console, project, shown))
    if more and not invocation.as_json:
        invocation.note(f"note: there are more than {limit}; see --limit")


def _present_added(
    invocation: Invocation, project: "Project", store: "Store", added: "tuple[LoggedEvent, bool]"
) -> None:
    event, is_new = added
    if not is_new:
        invocation.note(f"note: already logged as event {event.id}; nothing was changed")
    _present(invocation, project, store, event)


def _present_removed(invocation: Invocation, project: "Project", store: "Store", event: "LoggedEvent") -> None:
    _present(invocation, project, store, event)
    invocation.note(f"note: event {event.id} was removed")


def _present(invocation: Invocation, project: "Project", _: "Store", event: "LoggedEvent") -> None:
    from monitor.summaries.logged_event import LoggedEventPage

    invocation.emit(lambda: LoggedEventPage.of(event), lambda console: _draw(console, project, [event]))


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
            event.kind.value if event.job is None else "failed job",
            event.table or (f"source {event.source}" if event.source else "any table"),
            event.actor,
            event.note if event.job is None else f"{event.job}: {event.note}",
        )
        for event in events
    ]
    draw_table(console, (">#", "at", "event", "~of", "~by", "~note"), rows)


add_verbs(app, "event", [ADD], _present_added)
add_verbs(app, "event", [REMOVE], _present_removed)
