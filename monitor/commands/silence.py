"""`tablewatch silence`: mute alerts for tables."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import reading
from monitor.commands._verb_command import add_verbs
from monitor.terminal.output import Invocation
from monitor.verbs.silence import ADD, END

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from monitor.config.project import Project
    from monitor.summaries.silence import SilenceLine
    from store import Silence, Store

app = typer.Typer(help="Mute alerts for tables.", no_args_is_help=True, rich_help_panel="Watch")


@app.callback()
def _group() -> None:
    """Mute alerts for tables: checks keep running and incidents are recorded, but no alerts are sent."""


@app.command("list")
def list_(
    ctx: typer.Context,
    ended: Annotated[bool, typer.Option("--ended", help="Include expired silences.")] = False,
) -> None:
    """List silences, newest first.

    Example: tablewatch silence list
    """
    from monitor.config.project import Project
    from monitor.summaries.silence import SilenceListPage

    invocation: Invocation = ctx.obj
    project = Project.of(invocation, lazily=True)
    now = project.clock.now()
    with reading(project) as tx:
        page = SilenceListPage.of(tx.silences.all(None if ended else now), now)
    invocation.emit(page, lambda console: _draw(console, project, page.silences))


def _present(invocation: Invocation, project: "Project", _: "Store", silence: "Silence") -> None:
    from monitor.summaries.silence import SilencePage

    page = SilencePage.of(silence, project.clock.now())
    invocation.emit(page, lambda console: _draw(console, project, [page]))


def _draw(console: "Console", project: "Project", silences: "Sequence[SilenceLine]") -> None:
    from monitor.terminal.tables import draw_table
    from monitor.triage.time_parsing import format_time

    if not silences:
        console.print("no silences")
        return
    zone = project.config.timezone
    rows = [
        (
            str(silence.id),
            silence.scope.value if silence.name is None else f"{silence.scope.value} {silence.name}",
            format_time(silence.starts_at, zone),
            format_time(silence.ended_at or silence.until, zone),
            "yes" if silence.active else "over",
            silence.by,
            silence.reason,
        )
        for silence in silences
    ]
    draw_table(console, (">#", "~of", "from", "until", "active", "~by", "~why"), rows)


add_verbs(app, "silence", [ADD, END], _present)
