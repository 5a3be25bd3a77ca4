"""`tablewatch store`: move the store to another database."""

from typing import Annotated

import typer

from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Problem, Stop

app = typer.Typer(help="Move the store to another database.", no_args_is_help=True, rich_help_panel="Set up")


@app.callback()
def _group() -> None:
    """Move the store to another database."""


@app.command()
def copy(
    ctx: typer.Context,
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="The new place: postgresql://USER@HOST/DATABASE.")
    ] = None,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Give up an incomplete copy, and use the store again.")
    ] = False,
) -> None:
    """Move a SQLite store to PostgreSQL: copy all rows and compare each; stop everything that uses the store first.

    The store is marked first and cannot be used any more; run the command again to go on after an interruption. When
    all rows are compared, the copy can be used, and the old file says where the store went. The ledger's anchor goes
    along.

    Example: tablewatch store copy postgresql://tablewatch@db.example.com/tablewatch
    """
    from monitor.config.project import Project
    from monitor.terminal.console import progress
    from store import COPY_STEPS, cancel_copy, copy_store

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    storage = project.config.storage
    if (url is None) is not cancel:
        raise Stop(ExitCode.USAGE, Problem("store.copy", "give the URL of the new place, or --cancel"))
    if url is None:
        place = cancel_copy(storage.url)
        invocation.emit(
            {"schema": "tablewatch.store-copy-cancelled/1", "ok": True, "place": place},
            lambda console: console.print(
                f"cancelled: the store is used here again; remove the incomplete copy at {place}"
            ),
        )
        return
    with progress("copying tables", COPY_STEPS) as advance:
        copied = copy_store(
            storage.url,
            url,
            anchor=project.ledger_anchor if storage.ledger_anchor is not None else None,
            on_table=advance,
        )
    result = {
        "schema": "tablewatch.store-copied/1",
        "ok": True,
        "place": copied.place,
        "rows": copied.rows,
        "rows_before": copied.rows_before,
        "ledger_anchor": None if copied.anchor is None else str(copied.anchor),
    }
    invocation.emit(
        result, lambda console: console.print(f"copied to {copied.place}: {count(copied.rows, 'row')}, compared")
    )
    invocation.note("set storage.url to the new place")
    if storage.signature_key is None:
        invocation.note(
            "if there is a key file beside the old store, keep its key: storage.signature_key: hex:${file:FILE.key}"
        )
