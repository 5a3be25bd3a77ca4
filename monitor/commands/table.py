"""`tablewatch table`: show the catalogue of watched tables."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import By, reading
from monitor.commands._rename import Merge, Write
from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from rich.console import Console

    from monitor.config import Table
    from monitor.config.project import Project
    from monitor.web.views.table import TablePage

app = typer.Typer(help="Show the catalogue of monitored tables.", no_args_is_help=True, rich_help_panel="Watch")


@app.callback()
def _group() -> None:
    """Show the catalogue of monitored tables."""


@app.command("list")
def list_(
    ctx: typer.Context,
    selector: Annotated[
        list[str] | None, typer.Argument(metavar="SELECTOR", help="sales.orders, domain:sales, tier:gold, !...")
    ] = None,
) -> None:
    """List tables with owner, health, and cost of downtime.

    Example: tablewatch table list domain:sales
    """
    from incidents import to_us
    from monitor.config.project import Project
    from monitor.config.selector import select
    from monitor.reporting.terminal_views.catalogue import draw_list
    from monitor.summaries.catalogue import CataloguedTable, TableList, losses_of, no_loss
    from monitor.summaries.health import states_of

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    chosen = select(selector or [], project.config).tables
    now = project.clock.now()
    with reading(project) as tx:
        states = states_of(project, tx, [table for table in project.config.tables if table.name in chosen])
        losses = losses_of(project, tx.incidents.spans(0, to_us(now)), now=now)
    none = no_loss(project, now=now)
    shown = [(state, losses.get(state.table.name, none)) for state in states]
    invocation.emit(
        lambda: TableList(as_of=now, tables=tuple(CataloguedTable.listed(project, *item) for item in shown)),
        lambda console: draw_list(console, project, shown),
    )


@app.command()
def refresh(ctx: typer.Context) -> None:
    """Read from catalogues which tables the patterns of `tables` stand for. Exits with 3 if a source has no answer.

    `check`, `suggest` and `run` do this, too.

    Example: tablewatch table refresh
    """
    from monitor.config import load_for
    from monitor.suggest.expansion import refresh_for

    invocation: Invocation = ctx.obj
    refreshed = refresh_for(invocation)
    if refreshed is None:
        load_for(invocation)  # reports what is wrong with it
        hint = "add an entry such as {match: 'sales.*', source: ...} under 'tables'"
        raise Stop(
            ExitCode.NOTHING_SELECTED, Problem("config.no_pattern", "no entry of 'tables' is a pattern", hint=hint)
        )
    lines = [line for _, _, line in refreshed.lines()]
    result = {
        "schema": "tablewatch.known-tables/1",
        "ok": not refreshed.problems,
        "file": str(refreshed.file),
        "tables": refreshed.tables,
        "joined": refreshed.joined,
        "gone": refreshed.gone,
        "back": refreshed.back,
        "suggested_checks": refreshed.suggested,
        "problems": [problem.as_json() for problem in refreshed.problems],
    }

    def draw(console: "Console") -> None:
        for line in lines:
            console.print(line, markup=False)
        console.print(f"{count(refreshed.tables, 'table')} known; {count(refreshed.suggested, 'check')} suggested")

    invocation.emit(result, draw)
    unreachable = any(problem.code == "source.unreachable" for problem in refreshed.problems)
    raise Stop(ExitCode.NOT_EVALUATED if unreachable else ExitCode.OK)


@app.command()
def rename(
    ctx: typer.Context,
    old: Annotated[str, typer.Argument(metavar="OLD", help="Name of the table in the configuration.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    write: Write = False,
    merge: Merge = False,
    keep_relation: Annotated[
        bool, typer.Option("--keep-relation", help="In its source the table keeps its name.")
    ] = False,
    by: By = None,
) -> None:
    """Rename a table in the configuration and the store; incidents, results, budgets and releases stay its own.

    Example: tablewatch table rename sales.orders sales.purchases --write
    """
    from monitor.commands._rename import rename as run

    run(ctx.obj, "table", old, new, write=write, merge=merge, by=by, keeps_relation=keep_relation)


@app.command()
def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="TABLE", help="Table name in the configuration.")],
) -> None:
    """Show a table: owner, tier, lineage, consumers, checks with their last result, incidents, downtime and cost.

    Example: tablewatch table show sales.orders
    """
    from monitor.config.project import Project
    from monitor.triage.create import unknown_table

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    table = project.config.table(name)
    if table is None:
        problem = unknown_table(name, project.config)
        raise Stop(ExitCode.NOTHING_SELECTED, *([] if problem is None else [problem]))

    def as_json() -> "TablePage":
        from monitor.web.views.table import TableQuery, show_table

        with reading(project) as tx:
            return show_table(project, tx, TableQuery.model_construct(name=name), project.clock.now())

    invocation.emit(as_json, lambda console: _draw(console, project, table))


def _draw(console: "Console", project: "Project", table: "Table") -> None:
    from incidents import Spans
    from monitor.reporting.terminal_views.catalogue import draw_incremental, draw_scan_cost, draw_sheet
    from monitor.reporting.terminal_views.contracts import draw as draw_contracts
    from monitor.summaries.catalogue import IncrementalPart, losses_of, no_loss
    from monitor.summaries.health import states_of
    from monitor.summaries.promises import promises_of
    from monitor.summaries.scan_costs import TableCost
    from monitor.summaries.service_levels import recent_contracts
    from store import IncidentFilter

    now, name = project.clock.now(), table.name
    with reading(project) as tx:
        state = states_of(project, tx, [table])[0]
        results = tx.results.latest([table.check_id(check) for check in table.checks])
        watches = tx.results.watches([table.check_id(check) for check in table.checks])
        incidents = tx.incidents.matching(IncidentFilter(tables=(name,)))
        contracts = recent_contracts(project, tx, name)
        scan_cost = TableCost.of(project, tx, name, now)
        part = IncrementalPart.of(table, tx.classes.closed_parts([name]).get(name))
    promises = promises_of(table, incidents, watches, results, now=now)
    loss = losses_of(project, Spans.of(incidents), now=now).get(name, no_loss(project, now=now))

    draw_sheet(console, project, state, loss=loss, results=results, promises=promises)
    draw_scan_cost(console, scan_cost, zone=project.config.timezone)
    draw_incremental(console, project, part)
    draw_contracts(console, contracts, zone=project.config.timezone)
