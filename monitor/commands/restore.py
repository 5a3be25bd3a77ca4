"""`tablewatch restore`: restore a copy of the store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.clock import SystemClock
from monitor.terminal.output import Invocation, count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from monitor.config.project import Project
    from store import Restored

app = typer.Typer(rich_help_panel="Set up")


@app.command()
def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="What 'tablewatch backup' wrote.", show_default=False)],
) -> None:
    """Restore a copy of the store, after it was verified; nobody may use the store meanwhile.

    The present store is kept beside it. Privacy budgets that were spent since the copy was made are charged again by
    'tablewatch budget resume'; until then no question is answered. A copy by an older Tablewatch is brought up to
    date; the copy itself is not changed.

    Example: tablewatch restore tablewatch-backup.db
    """
    from monitor.config.project import Project
    from store import restore as bring_back

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    config = project.config
    done = bring_back(config.storage.url, file, now=SystemClock().now(), project=config.project)
    result = {
        "schema": "tablewatch.restored/1",
        "ok": True,
        "file": str(done.backup.file),
        "project": done.backup.project,
        "revision": done.backup.revision,
        "rows": done.backup.rows,
        "kept": None if done.kept is None else str(done.kept),
    }
    for flaw in _flaws(project):
        invocation.note(
            f"{flaw}: no question is answered until 'tablewatch budget verify' was looked at, and 'tablewatch budget "
            "resume --reason ...' has charged again what the anchor knows to be spent"
        )
    invocation.emit(result, lambda console: _draw(console, done))


def _flaws(project: "Project") -> "Sequence[str]":
    """Describe how the ledger of privacy budgets that was brought back does not fit its anchor."""
    if not project.config.budgets and not project.ledger_anchor.exists():
        return []
    with project.open_store() as store:
        return [flaw.problem for flaw in project.release_ledger(store).verify().flaws]


def _draw(console: "Console", done: "Restored") -> None:
    console.print(f"restored {done.backup.file}: {count(done.backup.rows, 'row')}")
    if done.kept is not None:
        console.print(f"the store that was there is kept as {done.kept}")
