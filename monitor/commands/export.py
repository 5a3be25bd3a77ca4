"""`tablewatch export`: write checks for other tools."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from monitor.commands._options import Force, reading, typed_times
from monitor.terminal.console import print_plain
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name
from monitor.terminal.redaction import json_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from checks.gx.suite import ExportedSuite
    from monitor.config import Config, Loaded, Table
    from monitor.config.project import Project
    from monitor.terminal.output_file import ProtectedFiles

_MOST_RUNS = 10_000

app = typer.Typer(help="Export to other tools.", no_args_is_help=True, rich_help_panel="Set up")


@app.callback()
def _group() -> None:
    """Export to other tools."""


@app.command()
def gx(
    ctx: typer.Context,
    table: Annotated[str | None, typer.Option(help="Table; by default all tables.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output file; for several tables, a folder with a file for each.")
    ] = None,
    force: Force = False,
) -> None:
    """Write checks as a Great Expectations 1.x suite, as JSON. Checks without an equivalent there are listed.

    Example: tablewatch export gx --table sales.orders --out gx/expectations/orders.json
    """
    from monitor.config import load_for
    from monitor.config.project import Project

    invocation: Invocation = ctx.obj
    loaded = load_for(invocation)
    tables = _tables(loaded.config, table)
    if out is None and len(tables) > 1:
        problem = Problem(
            "gx.several_tables",
            f"one suite fits on standard output, the configuration has {len(tables)} tables",
            hint="name one with --table, or a folder with --out",
        )
        raise Stop(ExitCode.USAGE, problem)
    exported = {table.name: _export(loaded, table, invocation) for table in tables}
    suites: dict[str, Any] = {name: invocation.redactor.value(item.suite) for name, item in exported.items()}
    if out is None:
        invocation.emit(next(iter(suites.values())))
        return
    protected = Project(loaded).protected_files
    files = _write(suites, out, to_folder=table is None, force=force, protected=protected)
    left_out = [
        {"check_id": f"{name}.{note.name}", "text": note.text}
        for name, item in exported.items()
        for note in item.left_out
    ]
    result = {
        "schema": "tablewatch.written/1",
        "ok": True,
        "files": [str(path) for path in files],
        "left_out": left_out,
    }
    invocation.emit(result, lambda console: console.print("\n".join(f"wrote {path}" for path in files)))


@app.command()
def contract(
    ctx: typer.Context,
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help="Configured tables.")],
    out: Annotated[Path | None, typer.Option(help="Output file; by default standard output.")] = None,
    force: Force = False,
) -> None:
    """Write tables as a data contract (ODCS 3.1): columns, checks as quality, promised service levels.

    Checks without words in the standard are listed. No row of a table is read.

    Example: tablewatch export contract orders --out orders.odcs.yaml
    """
    from monitor.config import load_for
    from monitor.config.project import Project
    from monitor.integrations.odcs_export import contract_of
    from monitor.terminal.output_file import write_text
    from sources import dialect_of

    invocation: Invocation = ctx.obj
    project = Project(load_for(invocation))
    chosen = [table for name in dict.fromkeys(tables) for table in _tables(project.config, name)]
    dialects = {table.source: dialect_of(project.source_spec(table.source)) for table in chosen}
    exported = contract_of(project.config, chosen, _columns(project, chosen, invocation), dialects)
    for item in exported.left_out:
        invocation.note(f"not exported: {item.name}: {item.reason}")
    document = invocation.redactor.value(exported.document)
    left_out = [{"name": item.name, "reason": item.reason} for item in exported.left_out]
    if out is None:
        result = {"schema": "tablewatch.export-contract/1", "ok": True, "contract": document, "left_out": left_out}
        invocation.emit(result, lambda console: print_plain(console, _yaml(document)))
        return
    write_text(out, _yaml(document), protected=project.protected_files, force=force)
    result = {"schema": "tablewatch.written/1", "ok": True, "files": [str(out)], "left_out": left_out}
    invocation.emit(result, lambda console: console.print(f"wrote {out}"))


def _yaml(document: Any) -> str:
    import yaml

    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)


def _columns(
    project: "Project", tables: "Sequence[Table]", invocation: Invocation
) -> "Mapping[str, Mapping[str, str | None]]":
    """Return the columns of tables with their types; of those that cannot be reached, none."""
    from sources import SourceError, open_source

    columns: dict[str, dict[str, str | None]] = {}
    for name in dict.fromkeys(table.source for table in tables):
        try:
            with open_source(project.source_spec(name)) as source:
                for table in (item for item in tables if item.source == name):
                    schema = source.table(table.table or table.name).schema()
                    columns[table.name] = {column: str(kind) for column, kind in schema.items()}
        except SourceError as error:
            invocation.note(f"note: columns of source '{name}' are those of its checks: {error}")
    return columns


@app.command()
def openlineage(
    ctx: typer.Context,
    since: Annotated[str, typer.Option(metavar="TIME", help="Runs that ended since then: a time, or 7d.")] = "1d",
    out: Annotated[Path | None, typer.Option(help="Output file; by default standard output.")] = None,
    force: Force = False,
) -> None:
    """Write stored runs as OpenLineage events, one a line: each check with its result, no value of a table.

    The same run has the same id in each export, so that a consumer takes it once.

    Example: tablewatch export openlineage --since 1h --out events.jsonl
    """
    from monitor.config.project import Project
    from monitor.integrations.openlineage import run_event
    from monitor.terminal.output_file import write_text

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    now = project.clock.now()
    begin = typed_times(project, invocation, now).bound("--since", since) or now
    with reading(project) as tx:
        runs = tx.results.runs_between(begin, now, most=_MOST_RUNS)
    if len(runs) == _MOST_RUNS:
        invocation.note(f"note: only the newest {_MOST_RUNS:,} runs are written; choose a later --since")
    events = [invocation.redactor.value(run_event(project, run, results)) for run, results in runs]
    text = "".join(f"{json_text(event, indent=None)}\n" for event in events)
    if out is not None:
        write_text(out, text, protected=project.protected_files, force=force)
        result = {"schema": "tablewatch.written/1", "ok": True, "files": [str(out)], "left_out": []}
        invocation.emit(result, lambda console: console.print(f"wrote {out}"))
        return
    result = {"schema": "tablewatch.openlineage/1", "ok": True, "events": events}
    invocation.emit(result, lambda console: print_plain(console, text))


def _tables(config: "Config", name: str | None) -> "Sequence[Table]":
    if name is None:
        if not config.tables:
            raise Stop(ExitCode.NOTHING_SELECTED, Problem("gx.no_tables", "the configuration has no tables"))
        return config.tables
    result = config.table(name)
    if result is None:
        names = (table.name for table in config.tables)
        problem = unknown_name("table", name, names, see="see 'tablewatch table list'", code="gx.no_table")
        raise Stop(ExitCode.NOTHING_SELECTED, problem)
    return (result,)


def _export(loaded: "Loaded", table: "Table", invocation: Invocation) -> "ExportedSuite":
    from checks import Zones
    from checks.gx.suite import to_suite

    source = loaded.config.sources[table.source]
    zones = Zones(source.timezone, table.timezones, calendar=loaded.config.timezone)
    exported = to_suite(table.name, table.checks, zones=zones, classified=table.columns)
    for note in exported.remarks:
        invocation.note(f"note: {table.name}.{note.name}: {note.text}")
    for note in exported.left_out:
        invocation.note(f"skipped: {table.name}.{note.name}: {note.text}")
    return exported


def _write(
    suites: "Mapping[str, dict[str, Any]]", out: Path, *, to_folder: bool, force: bool, protected: "ProtectedFiles"
) -> "Sequence[Path]":
    """Write a file for each suite; all places are checked before the first is written."""
    from monitor.terminal.output_file import check_target, write_text

    if to_folder or out.is_dir():
        paths = {name: out / f"{quote(name, safe='')}.json" for name in suites}
    else:
        paths = dict.fromkeys(suites, out)
    for path in paths.values():
        check_target(path, protected=protected, force=force, make_folder=True)
    for name, path in paths.items():
        text = json_text(suites[name]) + "\n"
        write_text(path, text, protected=protected, force=force)
    return list(paths.values())
