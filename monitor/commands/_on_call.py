"""`tablewatch alert on-call`: show who is on call."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from monitor.terminal.output import Invocation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from monitor.config.project import Project


def on_call(ctx: typer.Context) -> None:
    """Show who is on call now for each channel that asks a calendar, until when, and where messages go.

    Example: tablewatch alert on-call
    """
    from monitor.alerts.on_call import duty_of
    from monitor.config.project import Project

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    now = project.clock.now()
    duties = {name: duty_of(project, name, now) for name in project.config.alerts.channels}
    rows = [
        {
            "channel": name,
            "person": duty.person,
            "until": None if duty.until is None else duty.until.astimezone(UTC).isoformat(),
            "to": duty.channel,
            "problem": duty.problem,
        }
        for name, duty in duties.items()
        if duty is not None
    ]
    result = {"schema": "tablewatch.alert-on-call/1", "at": now.isoformat(), "channels": rows}
    invocation.emit(result, lambda console: _draw_duties(console, project, rows))


def _draw_duties(console: "Console", project: "Project", rows: "Sequence[Mapping[str, Any]]") -> None:
    from monitor.terminal.tables import draw_table
    from monitor.triage.time_parsing import format_time

    if not rows:
        console.print("no channel asks a calendar (alerts.channels.NAME.on_call)")
        return
    zone = project.config.timezone
    cells = [
        (
            row["channel"],
            row["person"],
            None if row["until"] is None else format_time(datetime.fromisoformat(row["until"]), zone),
            row["to"],
            row["problem"],
        )
        for row in rows
    ]
    draw_table(console, ("~channel", "~on call", "until", "~messages to", "~problem"), cells)
