"""`tablewatch contract`: show whether promised service levels were kept."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import From, To, reading, typed_times, window_between
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name

if TYPE_CHECKING:
    from monitor.config.project import Project


class LevelsBy(StrEnum):
    """Groupings of the service levels of tables."""

    TABLE = "table"
    OWNER = "owner"
    DOMAIN = "domain"
    TIER = "tier"


app = typer.Typer(
    help="Show whether promised service levels were kept.", no_args_is_help=True, rich_help_panel="Incidents and cost"
)


@app.callback()
def _group() -> None:
    """Show whether promised service levels were kept."""


@app.command()
def show(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="CONTRACT", help="Name under `contracts`, slo:TABLE, product:NAME; by default all."),
    ] = None,
    from_: From = None,
    to: To = None,
    by: Annotated[
        LevelsBy | None, typer.Option(help="Count what `slo` promises of tables by this; by default each is shown.")
    ] = None,
) -> None:
    """Show promised and seen service levels of a window: kept, broken (by how much, by which incidents) or unknown.

    Exit code 1 when one is broken.

    Example: tablewatch contract show --from 2026-11-01 --to 2026-12-01 --by owner
    """
    from monitor.config.project import Project
    from monitor.reporting.terminal_views.contracts import draw, draw_groups
    from monitor.summaries.level_groups import level_groups
    from monitor.summaries.service_levels import ContractLine, broken_levels, judge_contracts

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    names = _promised(project, name, only_of_tables=by is not None)
    now = project.clock.now()
    times = typed_times(project, invocation, now)
    window = window_between(times, now, start=from_, end=to)
    with reading(project) as tx:
        judged = [item for item in judge_contracts(project, tx, window, as_of=now) if item.name in names]
    groups = [] if by is None else level_groups(judged, by)
    zone = project.config.timezone
    invocation.emit(
        lambda: {
            "schema": "tablewatch.contracts/1",
            "ok": not broken_levels(judged),
            "as_of": now.isoformat(),
            "contracts": [ContractLine.of(item).plain() for item in judged],
            "by": by,
            "groups": [group.as_json() for group in groups],
        },
        lambda console: draw_groups(console, groups) if by else draw(console, judged, zone=zone),
    )
    if broken_levels(judged):
        raise Stop(ExitCode.FAILED)


def _promised(project: "Project", name: str | None, *, only_of_tables: bool) -> set[str]:
    """Return the names of the contracts to be shown: one, or all.

    Raises:
        Stop: there is none.
    """
    from monitor.config.promised import promised_contracts

    names = [item.name for item in promised_contracts(project.config) if item.labels or not only_of_tables]
    if name in names:
        return {name}
    if name is not None and names:
        problem = unknown_name("contract", name, names, see="see 'tablewatch contract show'", code="contract.none")
        raise Stop(ExitCode.NOTHING_SELECTED, problem)
    if not names:
        hint = "see 'contracts' and 'slo' in docs/configuration.md, or 'tablewatch import contract'"
        text = "no service levels of tables: 'slo' promises nothing" if only_of_tables else "no contracts"
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("contract.none", text, hint=hint))
    return set(names)
