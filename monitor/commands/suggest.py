"""`tablewatch suggest`: suggest checks for tables, with evidence."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Stop
from monitor.terminal.progress import activity

if TYPE_CHECKING:
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
) -> None:
    """Suggest checks for configured tables: what to check, why, how sure that is, and what it finds now.

    Reads the tables and stores nothing. Exits with 3 if a table could not be read.

    Example: tablewatch suggest sales.orders --show-values
    """
    from monitor.config.project import Project
    from monitor.reporting.terminal_views.suggestions import draw_suggestions
    from monitor.suggest.suggestion_json import SCHEMA, problems_of, settings_as_json, suggestions_as_json

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    results = _suggest(project, selector)
    tables, settings = suggestions_as_json(results, show_values=show_values), settings_as_json(results)
    result = {"schema": SCHEMA, "ok": not problems_of(results), "tables": tables, "settings": settings}
    invocation.emit(result, lambda console: draw_suggestions(console, tables, settings))
    raise Stop(ExitCode.NOT_EVALUATED if problems_of(results) else ExitCode.OK)


def _suggest(project: "Project", selector: list[str]) -> "dict[str, SourceSuggestions]":
    from monitor.config.selector import select
    from monitor.suggest.targets import suggest_for_project

    chosen = select(selector, project.config).tables
    with activity("reading tables"):
        return suggest_for_project(project, list(chosen))
