"""`tablewatch import`: read results, incidents and checks of other tools."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.commands._import_gx import import_gx
from monitor.commands._import_incidents import import_incidents
from monitor.commands._options import Force, Page
from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Problem, Stop, not_read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from monitor.config.project import Project
    from monitor.integrations.openlineage import ImportedLineage
    from monitor.integrations.results import ExternalRun, FailedJob, IgnoredItem, ImportedRun

_SHOWN = 20
_WITHOUT_CONFIGURATION = ("config.not_found", "config.empty")  # `> tablewatch.yaml` makes an empty file first

Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File for the configuration; by default it is printed."),
]

app = typer.Typer(help="Import from other tools.", no_args_is_help=True, rich_help_panel="Set up")


@app.callback()
def _group() -> None:
    """Import from other tools."""


@app.command("contract")
def import_contract(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.odcs.yaml", help="Contract of ODCS 3, as YAML.")],
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Configured source of the tables; by default the server.")
    ] = None,
    out: Out = None,
    force: Force = False,
) -> None:
    """Print a data contract (ODCS 3.1) as configuration: sources, owner, tables, checks, service levels.

    With a configuration, print only what it does not have. What is not taken is listed with its line and the reason.

    Example: tablewatch import contract orders.odcs.yaml --out tablewatch.yaml
    """
    from monitor.integrations.odcs import propose_contract
    from monitor.integrations.odcs_document import UnreadableContract

    invocation: Invocation = ctx.obj
    page = _page(invocation, out, force=force)
    try:
        proposal = propose_contract(file, _present_project(invocation), source=source)
    except UnreadableContract as error:
        raise Stop(ExitCode.USAGE, error.problem) from None
    _note_not_taken(invocation, proposal.not_taken)
    new = f"{count(proposal.tables, 'table')}, {count(proposal.checks, 'check')}"
    invocation.note(f"new: {new}; {len(proposal.not_taken)} keys of the contract not taken")
    result = {
        "schema": "tablewatch.import-contract/1",
        "ok": True,
        "yaml": proposal.text,
        "tables": proposal.tables,
        "checks": proposal.checks,
        "not_taken": [{"name": item.name, "reason": item.reason} for item in proposal.not_taken],
    }

    _print_proposal(invocation, proposal.text, result, page)


def _page(invocation: Invocation, out: Path | None, *, force: bool) -> Page:
    """Return where proposed configuration goes; never to a file of the configuration that there is."""
    from monitor.terminal.output_file import ProtectedFiles

    project = _present_project(invocation)
    page = Page(out, force, ProtectedFiles() if project is None else project.protected_files, "import.out")
    page.check()
    return page


def _print_proposal(invocation: Invocation, text: str, result: dict[str, Any], page: Page) -> None:
    """Print proposed configuration, or write it to a file."""
    if page.out is not None:
        page.write(text, invocation)

    def draw(console: "Console") -> None:
        from monitor.terminal.console import print_plain

        if page.out is None:
            print_plain(console, text)

    invocation.emit(result, draw)


@app.command("dbt")
def import_dbt(
    ctx: typer.Context,
    target: Annotated[Path, typer.Argument(help="The target folder of a dbt project, or one of its result files.")],
    partial: Annotated[
        bool, typer.Option("--partial", help="Tests and sources without a result stay as they are.")
    ] = False,
    config: Annotated[
        bool, typer.Option("--config", help="Print tables, owners, lineage and checks as configuration instead.")
    ] = False,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --config, the configured source of the tables.")
    ] = None,
    out: Out = None,
    force: Force = False,
) -> None:
    """Import results of dbt tests and of source freshness. Importing a run again changes nothing.

    A run of everything leaves no test out: one without a result becomes unknown. With --config, print what to add to
    the configuration first, so that each test is a check.

    Example: tablewatch import dbt target
    """
    from monitor.integrations.dbt import UnreadableArtifact

    invocation: Invocation = ctx.obj
    try:
        if config:
            _print_configuration(invocation, target, source, _page(invocation, out, force=force))
        elif out is not None:
            raise Stop(ExitCode.USAGE, Problem("import.out", "--out is for the configuration; add --config"))
        else:
            _import_target(invocation, target, partial=partial)
    except UnreadableArtifact as error:
        raise Stop(ExitCode.USAGE, error.problem) from None


def _import_target(invocation: Invocation, target: Path, *, partial: bool) -> None:
    from monitor.config.project import Project
    from monitor.integrations.dbt import import_artifacts, read_artifacts
    from monitor.integrations.results import FutureRun

    project = Project.of(invocation)
    artifacts = read_artifacts(target, partial=partial)
    with project.open_store() as store:
        try:
            imported = import_artifacts(project, store, artifacts)
        except FutureRun as error:
            raise Stop(ExitCode.USAGE, error.problem) from None
    hint = f"print checks for them with 'tablewatch import dbt {target} --config'"
    _report(invocation, project, imported.runs, hint=hint, failed=imported.failed)


def _print_configuration(invocation: Invocation, target: Path, source: str | None, page: Page) -> None:
    from monitor.integrations.dbt_project import propose_configuration

    project = _present_project(invocation)
    proposal = propose_configuration(target, None if project is None else project.config, source=source)
    for note in proposal.notes:
        invocation.note(f"note: {note}")
    result = {
        "schema": "tablewatch.import-dbt-config/1",
        "ok": True,
        "yaml": proposal.text,
        "tables": proposal.tables,
        "checks": proposal.checks,
        "notes": list(proposal.notes),
    }
    _print_proposal(invocation, proposal.text, result, page)


app.command("gx")(import_gx)
app.command("incidents")(import_incidents)


@app.command("openlineage")
def import_openlineage(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="OpenLineage events: one a line, or a JSON list.")],
    results: Annotated[
        bool, typer.Option("--results", help="Record assertions and failed jobs instead of printing lineage.")
    ] = False,
) -> None:
    """Print what feeds the configured tables, by column where events say so, owners and checks, to add to them.

    Nothing is written. With --results, record the results of assertions for the checks that are configured, and failed
    runs as failed jobs. Importing an event again changes nothing.

    Example: tablewatch import openlineage events.jsonl
    """
    from monitor.config.project import Project
    from monitor.integrations.openlineage import UnreadableEvents, read_lineage

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    try:
        lineage = read_lineage(project, file)
    except UnreadableEvents as error:
        raise Stop(ExitCode.USAGE, error.problem) from None
    if results:
        _record_events(invocation, project, file, lineage)
        return
    _note_not_taken(invocation, lineage.not_taken)
    invocation.note(f"{count(len(lineage.upstream), 'table')} with lineage, {len(lineage.new)} with something new")
    result = {
        "schema": "tablewatch.import-openlineage/1",
        "ok": True,
        "tables": [
            {"table": name, "upstream": list(lineage.upstream.get(name, ())), "new": dict(lineage.new.get(name, {}))}
            for name in dict.fromkeys([*lineage.upstream, *lineage.new])
        ],
        "owners": dict(lineage.owners),
        "not_taken": [{"name": item.name, "reason": item.reason} for item in lineage.not_taken],
    }

    def draw(console: "Console") -> None:
        from monitor.integrations.proposal import in_one_line
        from monitor.terminal.console import print_plain

        if lineage.owners:
            print_plain(console, f"owners: {in_one_line(dict(lineage.owners))}\n")
        for name, entry in lineage.new.items():
            lines = "\n".join(f"{key}: {in_one_line(value)}" for key, value in entry.items())
            print_plain(console, f"# table {name}\n{lines}\n")

    invocation.emit(result, draw)


def _record_events(invocation: Invocation, project: "Project", file: Path, lineage: "ImportedLineage") -> None:
    from monitor.integrations.results import FutureRun, import_run, log_failed_jobs

    with project.open_store() as store:
        try:
            failed = log_failed_jobs(project, store, lineage.failed, actor="openlineage")
            runs = {f"{file.name}, {run.run_id}": import_run(project, store, run) for run in lineage.runs}
        except FutureRun as error:
            raise Stop(ExitCode.USAGE, error.problem) from None
    _report(invocation, project, runs, hint="add the checks that the command prints without --results", failed=failed)


@app.command("results")
def import_results(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.json", help="Results in the shape tablewatch.results/1.")],
) -> None:
    """Import results of another tool for checks of type external. Importing a run again changes nothing.

    Results open and resolve incidents like those of our own checks. Those of checks that are not configured are listed.

    Example: tablewatch import results results.json
    """
    from monitor.config.project import Project
    from monitor.integrations.results import FutureRun, import_run

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    run = _read_run(file)
    with project.open_store() as store:
        try:
            imported = import_run(project, store, run)
        except FutureRun as error:
            raise Stop(ExitCode.USAGE, error.problem) from None
    _report(invocation, project, {str(file): imported}, hint="add checks of type external with these references")


def _read_run(file: Path) -> "ExternalRun":
    from pydantic import ValidationError

    from checks.parameters.errors import describe_error
    from monitor.integrations.results import ExternalRun
    from monitor.terminal.input_bounds import read_text

    try:
        return ExternalRun.model_validate_json(read_text(file))
    except OSError as error:
        raise Stop(ExitCode.USAGE, not_read("results.not_read", file, error)) from None
    except UnicodeDecodeError:
        raise Stop(ExitCode.USAGE, Problem("results.not_read", f"{file} is not UTF-8 text")) from None
    except ValidationError as error:
        problems = [
            Problem("results.value", describe_error(item, whole="the file"), str(file))
            for item in error.errors(include_input=False, include_url=False)[:_SHOWN]
        ]
        raise Stop(ExitCode.USAGE, *problems) from None


def _report(
    invocation: Invocation,
    project: "Project",
    runs: "Mapping[str, ImportedRun]",
    *,
    hint: str,
    failed: "Sequence[FailedJob]" = (),
) -> None:
    from monitor.reporting.terminal_views.pass_report import result_as_json, result_lines

    def draw(console: "Console") -> None:
        for name, run in runs.items():
            for line in result_lines(run.results):
                console.print(line)
            console.print(_sum_up(name, run))
        for job in failed:
            console.print(f"failed job of {job.table}: {job.job} ({job.note})")

    for run in runs.values():
        _note_not_taken(invocation, run.not_taken)
    if not failed and not any(run.results or run.already_imported for run in runs.values()):
        message = "no result belongs to a configured check, so nothing was imported"
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("results.nothing", message, hint=hint))
    invocation.emit(
        lambda: {
            "schema": "tablewatch.import-results/1",
            "ok": True,
            "project": project.config.project,
            "runs": [_run_as_json(name, run, result_as_json) for name, run in runs.items()],
            "failed_jobs": [{"job": job.job, "table": job.table, "at": job.at.isoformat()} for job in failed],
        },
        draw,
    )


def _run_as_json(name: str, run: "ImportedRun", result_as_json: Any) -> dict[str, Any]:
    return {
        "file": name,
        "run_id": run.run_id,
        "already_imported": run.already_imported,
        "results": [result_as_json(item) for item in run.results],
        "not_taken": [{"name": item.name, "reason": item.reason} for item in run.not_taken],
    }


def _sum_up(name: str, run: "ImportedRun") -> str:
    if run.already_imported:
        return f"{name}: this run was imported before; nothing changed"
    opened = {item.incident for item in run.results if item.incident is not None}
    left = f", {count(len(run.not_taken), 'result')} not taken" if run.not_taken else ""
    return f"{name}: {count(len(run.results), 'result')} imported{left}; {count(len(opened), 'incident')} open"


def _note_not_taken(invocation: Invocation, items: "Sequence[IgnoredItem]") -> None:
    """Note what of another tool's file is not used, and why; of many, the first. JSON has all of it."""
    if invocation.as_json:
        return
    for item in items[:_SHOWN]:
        invocation.note(f"not taken: {item.name}: {item.reason}")
    if len(items) > _SHOWN:
        invocation.note(f"not taken: {len(items) - _SHOWN:,} more; --format json lists all")


def _present_project(invocation: Invocation) -> "Project | None":
    """Return the configured project; None where there is no configuration yet."""
    from monitor.config.project import Project

    try:
        return Project.of(invocation)
    except Stop as stop:
        if any(problem.code not in _WITHOUT_CONFIGURATION for problem in stop.problems):
            raise
        return None
