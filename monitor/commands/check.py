"""`tablewatch check`: look at tables now."""

from typing import Annotated

import typer

from monitor._output import Invocation
from monitor._problem import ExitCode, Stop
from monitor._progress import progress
from monitor.clock import SystemClock

app = typer.Typer(rich_help_panel="Watch")


@app.command()
def check(
    ctx: typer.Context,
    selector: Annotated[list[str] | None, typer.Argument(help="sales.orders, domain:sales, type:freshness, !...")] = None,
    fail_on: Annotated[
        str, typer.Option(metavar="SEVERITY", help="Least severity (info, warning, error, critical) that sets exit code 1.")
    ] = "info",
    only_failed: Annotated[bool, typer.Option("--only-failed", help="Leave out what passed.")] = False,
    show_rows: Annotated[int, typer.Option(min=0, help="Show up to N offending keys, on the terminal only.")] = 0,
    no_store: Annotated[bool, typer.Option("--no-store", help="Look only: remember nothing, open no incident.")] = False,
) -> None:
    """Look at tables now: run their checks, open and resolve incidents.

    Example: tablewatch check domain:sales '!type:freshness' --fail-on error
    """
    from monitor.look import look  # noqa: PLC0415 - `--help` must stay quick
    from monitor.wiring import Project  # noqa: PLC0415 - as above

    invocation: Invocation = ctx.obj
    project = Project(invocation.load(), clock=SystemClock())
    selection = project.select(selector or [])
    with progress("checking", len(selection)) as advance:
        report = look(project, selection, fail_on=fail_on, stored=not no_store, on_table=lambda _: advance())
    invocation.emit(report.to_json(), lambda console: [console.print(line) for line in report.lines(only_failed=only_failed)])
    if show_rows and not invocation.as_json:
        ...
    raise Stop(ExitCode(report.exit_code))
