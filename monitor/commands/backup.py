"""`tablewatch backup`: copy the store, also while it is used."""

from pathlib import Path
from typing import Annotated

import typer

from monitor.terminal.output import Invocation, count

app = typer.Typer(rich_help_panel="Set up")


@app.command()
def backup(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="Path of the backup.", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Back up the store, also while the daemon runs, and verify the backup.

    The backup includes privacy budgets and their ledger, but not the ledger's anchor file or key files.

    For SQLite stores only; for PostgreSQL, use pg_dump.

    Example: tablewatch backup tablewatch-backup.db
    """
    from monitor.config.project import Project
    from monitor.terminal.output_file import check_target
    from store import backup as back_up_store

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    # whether it may be replaced is the store's question: only it knows what a copy is
    check_target(file, protected=project.protected_files, force=True, code="backup.file", database=True)
    copy = back_up_store(project.config.storage.url, file, force=force)
    result = {
        "schema": "tablewatch.backup/1",
        "ok": True,
        "file": str(copy.file),
        "project": copy.project,
        "revision": copy.revision,
        "size_bytes": copy.size_bytes,
        "rows": copy.rows,
        "ledger_anchor": str(project.ledger_anchor) if project.ledger_anchor.exists() else None,
    }
    invocation.emit(result, lambda console: console.print(f"wrote {copy.file}: {count(copy.rows, 'row')}, verified"))
    if project.ledger_anchor.exists():
        invocation.note(
            f"the anchor of privacy budgets, {project.ledger_anchor}, is not part of the backup: it stays in place "
            "so that restoring an old backup is detected"
        )
