"""`tablewatch init`: write a first configuration."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from monitor.terminal.console import progress_by_step
from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from monitor.config.project import Project
    from monitor.suggest.catalogue import TableEntry
    from monitor.suggest.sources import SourceLocation, SourceLocations
    from monitor.suggest.suggest import SourceSuggestions

app = typer.Typer(rich_help_panel="Set up")


@app.command()
def init(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder for tablewatch.yaml.", show_default="here")] = Path(),
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL|FILES",
            help="postgresql://..., sqlite:///shop.db, a file, a folder, 'data/*.csv'. Repeatable.",
        ),
    ] = None,
    add: Annotated[
        bool, typer.Option("--add", help="Add the sources and their tables to the configuration that is there.")
    ] = False,
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
    from monitor.suggest.starter import write_yaml
    from monitor.suggest.targets import suggest_for_catalogues
    from monitor.suggest.write import add_tables

    invocation: Invocation = ctx.obj
    existing = _existing(invocation, folder) if add else None
    if existing is None:
        _refuse_overwriting(folder, force=force)
    places = _places(source, folder if existing is None else existing.loaded.home)
    known = places.locations if existing is None else _as_configured(places.locations, existing)
    tables, unreadable = _catalogues(known)
    left_out = [*places.left_out, *unreadable, *places.not_searched]
    if not tables:
        raise _nothing(places, left_out)
    tables = tables if existing is None else _not_configured(tables, existing)
    taken = () if existing is None else [table.name for table in existing.config.tables]
    with progress_by_step() as on_step:
        suggestions = suggest_for_catalogues(tables, SystemClock(), on_step, taken=taken)
    if existing is None:
        path, schema = folder / "tablewatch.yaml", folder / ".tablewatch" / "schema.json"
        files = [path, schema]
        project = folder.resolve().name or "tables"
        text = write_yaml(tables, suggestions, project=project, show_values=show_values)
        _write(path, schema, text, force=force)
    else:
        written = add_tables(existing, tables, suggestions, show_values=show_values)
        files = [*dict.fromkeys(item.file for item in written)]
    where = files[0] if existing is None else existing.loaded.path
    next_ = "" if where.resolve().parent == Path.cwd() else f" -c {where}"
    _report(invocation, _Written(files, tables, suggestions, left_out), next_, show_values=show_values)


class _Written(NamedTuple):
    """What was written, of which tables, and what was left out."""

    files: "Sequence[Path]"
    tables: "Sequence[tuple[SourceLocation, Sequence[TableEntry]]]"
    suggestions: "Mapping[str, SourceSuggestions]"
    left_out: "Sequence[str]"


def _report(invocation: Invocation, written: _Written, where: str, *, show_values: bool) -> None:
    """Print what was written, and what to do next with the option `where`."""
    from monitor.reporting.terminal_views.suggestions import draw_overview
    from monitor.suggest.suggestion_json import settings_as_json, suggestions_as_json

    suggestions, tables, left_out = written.suggestions, written.tables, written.left_out
    every = [table for _, results in tables for table in results]
    keyed = sum(bool(table.key) for table in every)
    variables = [place.variable for place, _ in tables if place.variable is not None]
    shown, settings = suggestions_as_json(suggestions, show_values=show_values), settings_as_json(suggestions)
    result = {
        "schema": "tablewatch.init/1",
        "ok": True,
        "files": [str(file) for file in written.files],
        "sources": len(tables),
        "tables": len(every),
        "declared_keys": keyed,
        "variables": variables,
        "left_out": left_out,
        "suggestions": shown,
        "settings": settings,
    }
    lines = [f"wrote {written.files[0]}: {count(len(every), 'table')}, {keyed} with a declared key"]
    lines += [f"skipped: {item}" for item in left_out]
    lines += [f"set {variable} first: the password was not written to the file" for variable in variables]
    trials = [proposal for table in shown for proposal in table["proposals"] if not proposal["active"]]
    if any(proposal["now"] is not None and proposal["now"]["status"] == "fail" for proposal in trials):
        lines.append("what fails now is a comment there, so it opens no incident: remove its # where it should hold")
    lines.append(f"next: tablewatch check{where}")
    lines.append(f"then add a schedule to tables and start the daemon: tablewatch run{where}")

    def draw(console: "Console") -> None:
        draw_overview(console, shown, settings)
        console.print("\n".join(lines))

    invocation.emit(result, draw)


def _existing(invocation: Invocation, folder: Path) -> "Project":
    """Return the project of the configuration in a folder, or of `--config`."""
    from monitor.config.project import Project

    invocation.config_path = invocation.config_path or (None if folder == Path() else folder / "tablewatch.yaml")
    return Project.of(invocation)


def _as_configured(places: "Sequence[SourceLocation]", project: "Project") -> "Sequence[SourceLocation]":
    """Return sources under the names that they have in a configuration, new ones under names that are free."""
    from dataclasses import replace

    from monitor.suggest.sources import named_apart

    known: list[SourceLocation] = []
    new: list[SourceLocation] = []
    for place in places:
        key, text = next(iter(place.entry.items()))
        names = [
            name
            for name, source in project.config.sources.items()
            if getattr(source, key) in {text, getattr(place.spec, key)}
        ]
        (known if names else new).append(replace(place, name=names[0]) if names else place)
    return [*known, *named_apart(new, taken=project.config.sources)]


def _not_configured(
    tables: "Sequence[tuple[SourceLocation, Sequence[TableEntry]]]", project: "Project"
) -> "Sequence[tuple[SourceLocation, Sequence[TableEntry]]]":
    """Return the tables that a configuration does not have.

    Raises:
        Stop: it has all of them.
    """
    present = {(table.source, table.table or table.name) for table in project.config.tables}
    wanted = [(place, [item for item in items if (place.name, item.name) not in present]) for place, items in tables]
    if not any(items for _, items in wanted):
        problem = Problem("init.nothing_new", "all tables are in the configuration already")
        raise Stop(ExitCode.NOTHING_SELECTED, problem)
    return [(place, items) for place, items in wanted if items]


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


def _places(sources: "Sequence[str] | None", folder: Path) -> "SourceLocations":
    from monitor.suggest.sources import SourceLocations, SourceNotFound, named_apart, source_locations

    typed: Sequence[str | None] = sources or [None]
    source = None
    try:
        places = [source_locations(source := text, folder.resolve(), Path.cwd()) for text in typed]
        locations = named_apart([location for place in places for location in place.locations])
        left_out = [item for place in places for item in place.left_out]
        not_searched = [item for place in places for item in place.not_searched]
        return SourceLocations(locations, tuple(left_out), tuple(not_searched))
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


def _nothing(places: "SourceLocations", left_out: "Sequence[str]") -> Stop:
    """Return that there is nothing to watch: a source that cannot be read is not one that holds nothing."""
    empty = {f"source '{place.name}' has no tables" for place in places.locations} | {*places.not_searched}
    unreadable = [Problem("source.unreachable", name) for name in left_out if name not in empty]
    if unreadable:
        return Stop(ExitCode.NOT_EVALUATED, *unreadable)
    return Stop(ExitCode.USAGE, *(Problem("init.no_tables", name) for name in left_out))


def _write(path: Path, schema: Path, text: str, *, force: bool) -> None:
    from monitor.config.schema import schema_text
    from monitor.terminal.output_file import ProtectedFiles, write_text

    write_text(path, text, protected=ProtectedFiles(), force=force)  # the configuration is what is to be written
    if force or not schema.exists():
        write_text(schema, schema_text(), protected=ProtectedFiles(), force=force)
