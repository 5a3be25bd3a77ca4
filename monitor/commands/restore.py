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
    file: Annotated[Path, typer.Argument(help="File written by 'tablewatch backup'.", show_default=False)],
) -> None:
    """Verify and restore a backup of the store; stop everything that uses the store first.

    The current store is kept beside it. Budget spent since the backup is charged again by
    'tablewatch privacy budget resume'; until then queries are blocked. A backup of an older Tablewatch is migrated; the
    backup file itself is not changed.

    Example: tablewatch restore tablewatch-backup.db
    """
    from monitor.config.project import Project
    from store import restore as restore_store

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    config = project.config
    restored = restore_store(config.storage.url, file, now=SystemClock().now(), project=config.project)
    result = {
        "schema": "tablewatch.restored/1",
        "ok": True,
        "file": str(restored.backup.file),
        "project": restored.backup.project,
        "revision": restored.backup.revision,
        "rows": restored.backup.rows,
        "kept": None if restored.kept is None else str(restored.kept),
    }
    for flaw in _flaws(project):
        invocation.note(
            f"{flaw}: queries are blocked; review 'tablewatch privacy budget verify', then run "
            "'tablewatch privacy budget resume --reason ...', which charges again what the anchor recorded as spent"
        )
    invocation.emit(result, lambda console: _draw(console, restored))


def _flaws(project: "Project") -> "Sequence[str]":
    """Describe how the ledger of privacy budgets that was brought back does not fit its anchor."""
    if not project.config.budgets and not project.ledger_anchor.exists():
        return []
    with project.open_store(existing=True) as store:
        return [flaw.problem for flaw in project.release_ledger(store).verify().flaws]


def _draw(console: "Console", restored: "Restored") -> None:
    console.print(f"restored {restored.backup.file}: {count(restored.backup.rows, 'row')}")
    if restored.kept is not None:
        console.print(f"the previous store is kept as {restored.kept}")
