"""`tablewatch plan`: propose schedules that cost least downtime within a budget of seconds a day."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import reading
from monitor.terminal.console import activity
from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(rich_help_panel="Incidents and cost")


@app.command()
def plan(
    ctx: typer.Context,
    selector: Annotated[
        list[str] | None, typer.Argument(metavar="TABLE...", help="Tables to plan; by default all.")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, max=1e9, help="Seconds of runs a day; by default what they cost now."),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the schedules into the configuration.")] = False,
) -> None:
    """Propose schedules within a budget, from what runs cost, how often tables fail, and what downtime costs.

    Nothing is run or stored. Without --write the change of the configuration is shown only. Exits with 2 if a schedule
    cannot be written.

    Example: tablewatch plan --budget 3600
    """
    from monitor.config.project import Project
    from monitor.config.selector import select
    from monitor.simulation.run import TooManySlots
    from monitor.simulation.schedules import Unplannable, plan_schedules
    from monitor.simulation.schedules_view import as_json, draw
    from monitor.suggest.write import ScheduleDrafts

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    tables = select(selector or [], project.config).tables
    with reading(project) as tx, activity(f"planning {count(len(tables), 'table')}"):
        try:
            result = plan_schedules(project, tx, tables=tables, budget=budget, now=project.clock.now())
        except (TooManySlots, Unplannable) as error:
            raise Stop(ExitCode.USAGE, Problem("plan", str(error))) from None
    changes = {item.table.name: (item.menu[0], item.menu[item.chosen]) for item in result.tables if item.chosen}
    drafts = ScheduleDrafts.of(project, changes)
    if write:
        drafts.write()
    value = as_json(project, result) | {
        "diff": drafts.diff,
        "written": [str(file) for file in drafts.files] if write else [],
        "not_editable": [{"table": name, "reason": reason} for name, reason in drafts.refused.items()],
    }

    def show(console: "Console") -> None:
        draw(console, project, result)
        lines = [*drafts.diff.splitlines(), "", "add --write to write this"] if drafts.diff else []
        lines = [f"{file}: written" for file in drafts.files] if write else lines
        for line in ["", *lines, *(f"{name}: {reason}" for name, reason in drafts.refused.items())]:
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    invocation.emit(value, show)
    if write and drafts.refused:
        raise Stop(ExitCode.USAGE)
