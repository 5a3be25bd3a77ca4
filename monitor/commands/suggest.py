"""`tablewatch suggest`: suggest checks for tables, with evidence."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.terminal.console import activity
from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Stop

if TYPE_CHECKING:
    from rich.console import Console

    from monitor.config.project import Project
    from monitor.suggest.suggest import SourceSuggestions

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
) -> None:
    """Suggest checks for configured tables: what to check, why, how sure that is, and what it finds now.

    Reads the tables and stores nothing. Exits with 3 if a table could not be read, with 2 if a file cannot be edited.

    Example: tablewatch suggest sales.orders --show-values
    """
    from monitor.config.project import Project
    from monitor.reporting.terminal_views.suggestions import draw_suggestions
    from monitor.suggest.suggestion_json import SCHEMA, problems_of, settings_as_json, suggestions_as_json
    from monitor.suggest.write import write_suggestions

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    results = _suggest(project, selector)
    tables, settings = suggestions_as_json(results, show_values=show_values), settings_as_json(results)
    written = write_suggestions(project, results, show_values=show_values) if write else ()
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


def _suggest(project: "Project", selector: list[str]) -> "dict[str, SourceSuggestions]":
    from monitor.config.selector import select
    from monitor.suggest.targets import suggest_for_project

    chosen = select(selector, project.config).tables
    with activity("reading tables"):
        return suggest_for_project(project, list(chosen))
