"""`tablewatch suggest`: suggest checks for tables, with evidence."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.commands._options import known_tables
from monitor.terminal.console import activity, progress_by_step
from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from rich.console import Console

    from monitor.config.project import Project
    from monitor.suggest.catalogue import TableEntry
    from monitor.suggest.sources import SourceLocation
    from monitor.suggest.suggest import SourceSuggestions
    from monitor.suggest.write import WrittenChecks

    NewTables: TypeAlias = Sequence[tuple[SourceLocation, Sequence[TableEntry]]]

app = typer.Typer(rich_help_panel="Set up")


@app.command()
def suggest(
    ctx: typer.Context,
    selector: Annotated[list[str], typer.Argument(metavar="TABLE...", help="sales.orders, domain:sales, !...")],
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Show values of the tables: lists of values, limits.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Append the sure ones to the configuration, the others as comments.")
    ] = False,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="ID", help="Append this proposal, however sure it is. Repeatable."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="NAME", help="The tables are of this source and not configured yet."),
    ] = None,
) -> None:
    """Suggest checks for configured tables: what to check, why, how sure that is, and what it finds now.

    Reads the tables and stores nothing. Exits with 3 if a table could not be read, with 2 if a file cannot be edited.

    Example: tablewatch suggest sales.orders --show-values
    """
    from monitor.config.project import Project
    from monitor.reporting.terminal_views.suggestions import draw_suggestions
    from monitor.suggest.suggestion_json import SCHEMA, problems_of, settings_as_json, suggestions_as_json
    from monitor.suggest.write import add_tables, write_suggestions

    invocation: Invocation = ctx.obj
    project = Project.refreshed(invocation, lambda: known_tables(invocation))
    new = None if source is None else _new_tables(project, source, selector)
    results = _suggest(project, selector) if new is None else _suggest_new(project, new)
    tables, settings = suggestions_as_json(results, show_values=show_values), settings_as_json(results)
    _check_ids(accept or (), tables)
    written: Sequence[WrittenChecks] = ()
    if new is not None and write:
        written = add_tables(project, new, results, show_values=show_values)
    elif write or accept:
        written = write_suggestions(project, results, show_values=show_values, accept=accept or ())
    refused = [item for item in written if item.problem is not None]
    result = {
        "schema": SCHEMA,
        "ok": not problems_of(results) and not refused,
        "tables": tables,
        "settings": settings,
        "written": [
            {
                "table": item.table,
                "file": str(item.file),
                "checks": item.checks,
                "comments": item.comments,
                "problem": item.problem,
            }
            for item in written
        ],
    }

    def draw(console: "Console") -> None:
        draw_suggestions(console, tables, settings)
        for item in written:
            what = f"{count(item.checks, 'check')} and {count(item.comments, 'comment line')} added"
            console.print(f"{item.file}: {item.table}: {item.problem or what}")
        if write and settings:
            console.print("settings of sources are not written; add them to the section of the source")

    invocation.emit(result, draw)
    if refused:
        raise Stop(ExitCode.USAGE)
    raise Stop(ExitCode.NOT_EVALUATED if problems_of(results) else ExitCode.OK)


def _new_tables(project: "Project", source: str, names: list[str]) -> "NewTables":
    """Return tables of a configured source that are not configured."""
    from monitor.suggest.sources import SourceLocation
    from monitor.suggest.targets import entries_of

    if source not in project.specs:
        raise Stop(ExitCode.USAGE, unknown_name("source", source, project.specs))
    present = {table.table or table.name for table in project.config.tables if table.source == source}
    if again := sorted(present.intersection(names)):
        problem = Problem("suggest.configured", f"{again[0]} of source '{source}' is configured; remove --source")
        raise Stop(ExitCode.USAGE, problem)
    spec = project.specs[source]
    return [(SourceLocation(source, {}, spec), entries_of(spec, names))]


def _suggest_new(project: "Project", tables: "NewTables") -> "dict[str, SourceSuggestions]":
    from monitor.suggest.targets import suggest_for_catalogues

    taken = [table.name for table in project.config.tables]
    with progress_by_step() as on_step:
        return suggest_for_catalogues(tables, project.clock, on_step, taken=taken)


def _check_ids(accept: "Sequence[str]", tables: "Sequence[Mapping[str, Any]]") -> None:
    """Check that each accepted proposal is there, and shows its values if it holds some.

    Raises:
        Stop: it is not.
    """
    from sources import did_you_mean

    proposals = {item["id"]: item for table in tables for item in table["proposals"] if item["id"] is not None}
    for name in accept:
        if name not in proposals:
            message = f"there is no proposal '{name}'{did_you_mean(name, list(proposals))}"
            raise Stop(ExitCode.NOTHING_SELECTED, Problem("suggest.unknown", message))
        if proposals[name]["hidden"]:
            problem = Problem("suggest.values", f"'{name}' holds values of the table", hint="add --show-values")
            raise Stop(ExitCode.USAGE, problem)


def _suggest(project: "Project", selector: list[str]) -> "dict[str, SourceSuggestions]":
    from monitor.config.selector import select
    from monitor.suggest.targets import suggest_for_project

    chosen = select(selector, project.config).tables
    with activity("reading tables"):
        return suggest_for_project(project, list(chosen))
