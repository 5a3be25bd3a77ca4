"""`tablewatch check`: run checks now."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import SeverityWord
from monitor.terminal.console import out
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.terminal.progress import progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

app = typer.Typer(rich_help_panel="Watch")


@app.command()
def check(
    ctx: typer.Context,
    selector: Annotated[
        list[str] | None, typer.Argument(help="sales.orders, domain:sales, type:freshness, !...")
    ] = None,
    fail_on: Annotated[
        SeverityWord, typer.Option(help="Minimum severity of a failure that sets exit code 1.")
    ] = SeverityWord.INFO,
    only_failed: Annotated[bool, typer.Option("--only-failed", help="Hide passed checks.")] = False,
    show_rows: Annotated[int, typer.Option(min=0, help="Show up to N failing keys, on a terminal only.")] = 0,
    no_store: Annotated[bool, typer.Option("--no-store", help="Dry run: store nothing, open no incident.")] = False,
) -> None:
    """Run checks now; open and resolve incidents.

    Example: tablewatch check domain:sales '!type:freshness' --fail-on error
    """
    from contextlib import nullcontext

    from checks import Severity
    from monitor.config.project import Project
    from monitor.config.selector import select
    from monitor.reporting.terminal_views.pass_report import pass_as_json, pass_lines
    from monitor.scan.run import run_checks

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    selection = select(selector or [], project.config)
    own = {table.name: {check.name for check in table.own_checks} for table in project.config.tables}
    unchecked = [name for name, names in selection.tables.items() if own[name].isdisjoint(names)]
    if len(unchecked) == len(selection):
        external = any(names for names in selection.tables.values())
        raise Stop(ExitCode.NOTHING_SELECTED, _no_checks(unchecked, external=external))
    if unchecked and selector:
        invocation.note(f"note: no checks to run are configured for {', '.join(unchecked)}")
    store_or_none = nullcontext() if no_store else project.open_store()
    with store_or_none as store, progress("checking", len(selection)) as advance:
        report = run_checks(project, selection, store=store, fail_on=Severity(fail_on), on_table=lambda _: advance())

    def draw(console: "Console") -> None:
        for line in pass_lines(report, only_failed=only_failed):
            console.print(line)
        if show_rows and console.is_terminal:
            from monitor.reporting.terminal_views.failing_rows import shown_keys

            for table in shown_keys(project, report.results, limit=show_rows):
                console.print(table)

    invocation.emit(pass_as_json(report), draw)
    if report.problem is not None and not invocation.as_json:
        invocation.show([Problem("store", report.problem)])
    if show_rows and (invocation.as_json or not out().is_terminal):
        invocation.note("--show-rows works on a terminal only; keys are not shown")
    raise Stop(ExitCode(report.exit_code))


def _no_checks(tables: "Sequence[str]", *, external: bool) -> Problem:
    if external:
        hint = "import their results with 'tablewatch import results' or 'tablewatch import dbt'"
        message = "every selected check is external: another tool evaluates it, so nothing was checked"
        return Problem("check.external", message, hint=hint)
    where = f"table '{tables[0]}' has no checks" if len(tables) == 1 else f"none of {len(tables)} tables has a check"
    hint = "add checks under 'checks' of a table, such as {type: not_null, columns: [id]}"
    return Problem("check.no_checks", f"{where}, so nothing was checked", hint=hint)
