"""`tablewatch check`: run checks now."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from monitor.commands._options import CheckFormat, Force, Page, known_tables, typed_times
from monitor.terminal.console import out, progress
from monitor.terminal.output import Invocation, count, remember_format
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.verbs.words import SeverityWord

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from rich.console import Console

    from monitor.config.project import Project
    from monitor.config.selector import Selection
    from monitor.scan.results import PassResult
    from monitor.workers import WorkerCalls

_BY_SUFFIX: Final = {".xml": CheckFormat.JUNIT, ".json": CheckFormat.JSON}

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
    only_failed: Annotated[
        bool | None,
        typer.Option(
            "--only-failed/--all",
            help="Hide or list passed checks; by default, those of up to 20 are listed.",
            show_default=False,
        ),
    ] = None,
    show_rows: Annotated[
        int, typer.Option(min=0, help="Show up to N rows or keys that break each check, on a terminal only.")
    ] = 0,
    show_sql: Annotated[
        bool, typer.Option("--show-sql", help="Show the SELECT of the rows or keys that break each check.")
    ] = False,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="See tables as of a past time, by 'loaded_at'; store nothing.")
    ] = None,
    no_store: Annotated[bool, typer.Option("--no-store", help="Dry run: store nothing, open no incident.")] = False,
    output_format: Annotated[
        CheckFormat | None,
        typer.Option("--format", help="Output format.", callback=remember_format, show_default="human"),
    ] = None,
    out_file: Annotated[
        Path | None,
        typer.Option("--out", help="Also write the results to this file: .xml (JUnit) or .json."),
    ] = None,
    force: Force = False,
) -> None:
    """Run checks now; open and resolve incidents.

    Example: tablewatch check domain:sales '!type:freshness' --fail-on error
    """
    from monitor.config.project import Project
    from monitor.config.selector import select

    invocation: Invocation = ctx.obj
    project = Project.refreshed(invocation, lambda: known_tables(invocation, write=not no_store))
    selection = select(selector or [], project.config)
    _refuse_nothing(project, selection, invocation, named=bool(selector))
    page = None if out_file is None else Page(out_file, force, project.protected_files, "check.out")
    written = None if out_file is None else _file_format(out_file)
    if page is not None:
        page.check()
    past = None if as_of is None else _past(project, as_of, invocation)
    report = _run(project, selection, fail_on, past=past, stores=not no_store)
    if report.retired:
        invocation.note(f"note: {count(report.retired, 'incident')} closed: the check is no longer configured")
    if report.pruned is not None:
        invocation.note(f"note: {report.pruned}")
    if page is not None and written is not None:
        page.write(_document(report, written, project, invocation), invocation)
    if invocation.format in {CheckFormat.JUNIT, CheckFormat.GITHUB}:
        invocation.write(_document(report, CheckFormat(invocation.format), project, invocation))
    else:
        _show(report, project, invocation, only_failed=only_failed, show_rows=show_rows, show_sql=show_sql)
    if show_rows and (output_format not in {None, CheckFormat.HUMAN} or not out().is_terminal):
        invocation.note("--show-rows works on a terminal only; rows are not shown")
    if report.exit_code:
        raise Stop(ExitCode(report.exit_code))


def _run(
    project: "Project", selection: "Selection", fail_on: SeverityWord, *, past: "datetime | None", stores: bool
) -> "PassResult":
    """Run the selected checks, of a past time where one is given; without a store nothing is recorded."""
    from contextlib import nullcontext

    from checks import Severity
    from monitor.scan.run import check_past, run_checks

    store_or_none = project.open_store() if stores else nullcontext()
    with store_or_none as store, _caller(project, selection) as caller, progress("checking", len(selection)) as advance:
        how: dict[str, Any] = {"store": store, "fail_on": Severity(fail_on), "on_table": lambda _: advance()}
        if past is None:
            return run_checks(project, selection, caller=caller, **how)
        return check_past(project, selection, past, **how)


def _file_format(out: Path) -> CheckFormat:
    """Return the format that the name of a file asks for.

    Raises:
        Stop: its ending is of no format.
    """
    written = _BY_SUFFIX.get(out.suffix.lower())
    if written is None:
        message = f"{out} ends in '{out.suffix}', expected .xml (JUnit) or .json"
        raise Stop(ExitCode.USAGE, Problem("check.out", message))
    return written


def _refuse_nothing(project: "Project", selection: "Selection", invocation: Invocation, *, named: bool) -> None:
    """Note the chosen tables without checks; stop where there is no other."""
    own = {table.name: {check.name for check in table.own_checks} for table in project.config.tables}
    unchecked = [name for name, names in selection.tables.items() if own[name].isdisjoint(names)]
    if len(unchecked) == len(selection):
        external = any(names for names in selection.tables.values())
        raise Stop(ExitCode.NOTHING_SELECTED, _no_checks(unchecked, external=external))
    if unchecked and named:
        invocation.note(f"note: no checks to run are configured for {', '.join(unchecked)}")


def _caller(project: "Project", selection: "Selection") -> "AbstractContextManager[WorkerCalls | None]":
    """Return what calls Great Expectations in a worker process; None where no selected check is an expectation."""
    from contextlib import nullcontext

    tables = (table for table in project.config.tables if table.name in selection.tables)
    selected = (check for table in tables for check in table.checks if check.name in selection.tables[table.name])
    if not any(check.type == "expectation" for check in selected):
        return nullcontext()
    from checks.gx.caller import PRELOAD
    from monitor.workers import WorkerCalls

    return WorkerCalls(PRELOAD)


def _document(report: "PassResult", written: CheckFormat, project: "Project", invocation: Invocation) -> str:
    from monitor.integrations.github import as_annotations, repository
    from monitor.integrations.junit import as_junit
    from monitor.reporting.terminal_views.pass_report import pass_as_json
    from monitor.terminal.redaction import json_text

    redact = invocation.redactor
    match written:
        case CheckFormat.JUNIT:
            return as_junit(report, redact=redact)
        case CheckFormat.GITHUB:
            return as_annotations(report, project.loaded.check_places(), root=repository(), redact=redact)
        case _:
            return json_text(redact.value(pass_as_json(report))) + "\n"


def _show(
    report: "PassResult",
    project: "Project",
    invocation: Invocation,
    *,
    only_failed: bool | None,
    show_rows: int,
    show_sql: bool,
) -> None:
    """Show the results as JSON, or to a person."""
    from monitor.reporting.terminal_views.pass_report import pass_as_json, pass_lines, violation_lines

    def draw(console: "Console") -> None:
        for line in pass_lines(report, only_failed=only_failed):
            console.print(line)
        for part in violation_lines(
            project, report.results, rows=show_rows if console.is_terminal else 0, sql=show_sql
        ):
            console.print(part)

    invocation.emit(lambda: pass_as_json(report), draw)
    _note_proposals(project, invocation)
    if report.problem is not None and not invocation.as_json:
        invocation.show([Problem("store", report.problem)])


def _note_proposals(project: "Project", invocation: Invocation) -> None:
    """Note how many proposed checks wait in comments because they failed when they were written."""
    from monitor.suggest import FAILS

    lines = [line for file in project.loaded.files for line in file.read_text("utf-8").splitlines() if FAILS in line]
    failing = sum(line.lstrip().startswith("#") for line in lines)
    if failing and not invocation.as_json:
        what = count(failing, "proposed check")
        invocation.note(f"note: {what} in comments failed when written; see 'tablewatch suggest'")


def _past(project: "Project", text: str, invocation: Invocation) -> "datetime | None":

    now = project.clock.now()
    moment = typed_times(project, invocation, now).bound("--as-of", text)
    if moment is not None and moment > now:
        raise Stop(ExitCode.USAGE, Problem("check.as_of", "--as-of lies in the future; a past time is expected"))
    return moment


def _no_checks(tables: "Sequence[str]", *, external: bool) -> Problem:
    if external:
        hint = "import their results with 'tablewatch import results' or 'tablewatch import dbt'"
        message = "every selected check is external: another tool evaluates it, so nothing was checked"
        return Problem("check.external", message, hint=hint)
    where = f"table '{tables[0]}' has no checks" if len(tables) == 1 else f"none of {len(tables)} tables has a check"
    hint = "add checks under 'checks' of a table, such as {type: not_null, columns: [id]}"
    return Problem("check.no_checks", f"{where}, so nothing was checked", hint=hint)
