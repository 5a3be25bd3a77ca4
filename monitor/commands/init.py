"""`tablewatch init`: write a first configuration."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.terminal.console import progress
from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from monitor.suggest.catalogue import TableEntry
    from monitor.suggest.sources import SourceLocation, SourceLocations

app = typer.Typer(rich_help_panel="Set up")


@app.command()
def init(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder for tablewatch.yaml.", show_default="here")] = Path(),
    source: Annotated[
        str | None,
        typer.Option(metavar="URL|FILES", help="postgresql://..., sqlite:///shop.db, a file, a folder, 'data/*.csv'."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Write and show checks that hold values of the tables.")
    ] = False,
) -> None:
    """Write a starter tablewatch.yaml for the tables of a source, and a JSON Schema for your editor.

    Reads each table once. What is sure and passes now becomes a check, the rest a comment.

    Example: tablewatch init --source sqlite:///shop.db
    """
    from monitor.clock import SystemClock
    from monitor.reporting.terminal_views.suggestions import draw_overview
    from monitor.suggest.starter import write_yaml
    from monitor.suggest.suggestion_json import settings_as_json, suggestions_as_json
    from monitor.suggest.targets import suggest_for_catalogues

    invocation: Invocation = ctx.obj
    path, schema = folder / "tablewatch.yaml", folder / ".tablewatch" / "schema.json"
    _refuse_overwriting(folder, force=force)
    places = _places(source, folder)
    tables, unreadable = _catalogues(places.locations)
    left_out = [*places.left_out, *unreadable]
    if not tables:
        raise _nothing(places.locations, left_out)
    with progress("reading", len(tables)) as advance:
        suggestions = suggest_for_catalogues(tables, SystemClock(), advance)
    project = folder.resolve().name or "tables"
    text = write_yaml(tables, suggestions, project=project, show_values=show_values)
    _write(path, text, schema, force=force)
    every = [table for _, results in tables for table in results]
    keyed = sum(bool(table.key) for table in every)
    variables = [place.variable for place, _ in tables if place.variable is not None]
    shown, settings = suggestions_as_json(suggestions, show_values=show_values), settings_as_json(suggestions)
    result = {
        "schema": "tablewatch.init/1",
        "ok": True,
        "files": [str(path), str(schema)],
        "sources": len(tables),
        "tables": len(every),
        "declared_keys": keyed,
        "variables": variables,
        "left_out": left_out,
        "suggestions": shown,
        "settings": settings,
    }
    lines = [f"wrote {path}: {count(len(every), 'table')}, {keyed} with a declared key"]
    lines += [f"skipped: {item}" for item in left_out]
    lines += [f"set {variable} first: the password was not written to the file" for variable in variables]
    trials = [proposal for table in shown for proposal in table["proposals"] if not proposal["active"]]
    if any(proposal["now"] is not None and proposal["now"]["status"] == "fail" for proposal in trials):
        lines.append("what fails now is a comment there, so it opens no incident: remove its # where it should hold")
    where = "" if folder == Path() else f" -c {path}"
    lines.append(f"next: tablewatch check{where}")
    lines.append(f"then add a schedule to tables and start the daemon: tablewatch run{where}")

    def draw(console: "Console") -> None:
        draw_overview(console, shown, settings)
        console.print("\n".join(lines))

    invocation.emit(result, draw)


def _refuse_overwriting(folder: Path, *, force: bool) -> None:
    from monitor.config import ConfigError, find

    try:
        path = folder / find(folder)
    except ConfigError as error:
        if error.problems[0].code == "config.not_found":
            return
        raise Stop(ExitCode.USAGE, *error.problems) from None
    if path.name != "tablewatch.yaml":
        raise Stop(ExitCode.USAGE, Problem("init.exists", f"{path} exists; two configurations would be ambiguous"))
    if not force:
        raise Stop(ExitCode.USAGE, Problem("init.exists", f"{path} already exists", hint="--force overwrites it"))


def _places(source: str | None, folder: Path) -> "SourceLocations":
    from monitor.suggest.sources import SourceNotFound, source_locations

    try:
        return source_locations(source, folder.resolve(), Path.cwd())
    except SourceNotFound:
        text = folder.resolve() if source is None else source
        hint = "name them: --source postgresql://..., --source sqlite:///shop.db, --source 'data/*.csv'"
        problem = Problem("init.no_source", f"no CSV, Parquet, SQLite or DuckDB file in {text}", hint=hint)
        raise Stop(ExitCode.USAGE, problem) from None


def _catalogues(
    places: "Sequence[SourceLocation]",
) -> "tuple[Sequence[tuple[SourceLocation, Sequence[TableEntry]]], Sequence[str]]":
    """Return the tables of each source that has some that can be read, and what cannot be read and why."""
    from monitor.suggest.catalogue import read_catalogue
    from sources import SourceError

    tables, left_out = [], []
    for place in places:
        try:
            every = read_catalogue(place.spec)
        except SourceError as error:
            left_out.append(str(error))
            continue
        left_out += [table.problem for table in every if table.problem is not None]
        if table_entries := [table for table in every if table.problem is None]:
            tables.append((place, table_entries))
        elif not every:
            left_out.append(f"source '{place.name}' has no tables")
    return tables, left_out


def _nothing(places: "Sequence[SourceLocation]", left_out: "Sequence[str]") -> Stop:
    """Return that there is nothing to watch: a source that cannot be read is not one that holds nothing."""
    empty = {f"source '{place.name}' has no tables" for place in places}
    unreadable = [Problem("source.unreachable", name) for name in left_out if name not in empty]
    if unreadable:
        return Stop(ExitCode.NOT_EVALUATED, *unreadable)
    return Stop(ExitCode.USAGE, *(Problem("init.no_tables", name) for name in left_out))


def _write(path: Path, text: str, schema: Path, *, force: bool) -> None:
    from monitor.config.schema import schema_text
    from monitor.terminal.output_file import ProtectedFiles, write_text

    write_text(path, text, protected=ProtectedFiles(), force=force)  # the configuration is what is to be written
    if force or not schema.exists():
        write_text(schema, schema_text(), protected=ProtectedFiles(), force=force)
