"""`tablewatch coverage`: show which tables and columns no check is of."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import known_tables, reading
from monitor.terminal.output import Invocation

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from monitor.config.project import Project
    from monitor.summaries.coverage import CatalogueContents

app = typer.Typer(rich_help_panel="Watch")


@app.command()
def coverage(
    ctx: typer.Context,
    selector: Annotated[
        list[str] | None, typer.Argument(metavar="SELECTOR", help="sales.orders, domain:sales, tier:gold, !...")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of tables, the worst first.")] = 50,
    no_source: Annotated[
        bool, typer.Option("--no-source", help="Open no source: columns are those that were seen last.")
    ] = False,
) -> None:
    """Show what no check is of: tables, columns, checks that never ran, and what an hour of it would cost.

    Tables without any check that ran come first, of these the dearest, then those with most consumers and rows.

    Example: tablewatch coverage tier:gold
    """
    from monitor.config.project import Project
    from monitor.config.selector import select
    from monitor.reporting.terminal_views.coverage import draw_coverage
    from monitor.summaries.coverage import check_coverage

    invocation: Invocation = ctx.obj
    project = Project.refreshed(invocation, lambda: None if no_source else known_tables(invocation))
    names = select(selector or [], project.config).tables
    contents = None if no_source else _contents(project, names, invocation)
    with reading(project) as tx:
        result = check_coverage(project, tx, project.clock.now(), names=names, most=limit, contents=contents)
    invocation.emit(result, lambda console: draw_coverage(console, project, result))


def _is_in(relations: "Collection[str]", relation: str, _schema: str | None) -> bool:
    return relation in relations


def _contents(project: "Project", names: "Collection[str]", invocation: Invocation) -> "CatalogueContents":
    """Return what the catalogues of sources with configured tables say now; of one that is away, nothing."""
    from monitor.suggest.catalogue import list_tables
    from monitor.summaries.coverage import CatalogueContents
    from sources import SourceError

    columns: dict[str, Sequence[str]] = {}
    unlisted: dict[str, Sequence[str]] = {}
    for source, relations in project.relations.items():
        wanted = {relation for name, relation in relations.items() if name in names}
        if project.config.sources[source].external or not relations:
            continue
        try:
            listed = list_tables(project.specs[source], partial(_is_in, wanted))
        except SourceError as error:
            invocation.note(f"note: {error}")
            continue
        there = {f"{table.schema}.{relation}": relation for relation, table in listed.items() if table.schema}
        there |= {relation: relation for relation in listed}
        here = {name: there[relation] for name, relation in relations.items() if relation in there}
        columns |= {name: found for name, relation in here.items() if (found := listed[relation].columns) is not None}
        unlisted[source] = [relation for relation in listed if relation not in here.values()]
    return CatalogueContents(columns, unlisted)
