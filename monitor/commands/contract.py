"""`tablewatch contract`: show whether promised service levels were kept."""

from typing import Annotated

import typer

from monitor.commands._options import window_between
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

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
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Start of the period: 2026-11-01, a time, or 7d. By default 28 days before its end.",
            envvar="TABLEWATCH_CONTRACT_SHOW_FROM",
        ),
    ] = None,
    to: Annotated[str | None, typer.Option(metavar="TIME", help="End of the period; by default now.")] = None,
) -> None:
    """Show promised and seen service levels of a period: kept, broken (by how much, by which incidents) or unknown.

    Exit code 1 when one is broken.

    Example: tablewatch contract show --from 2026-11-01 --to 2026-12-01
    """
    from checks import did_you_mean
    from monitor.config.project import Project
    from monitor.config.promised import promised_contracts
    from monitor.reporting.terminal_views.contracts import draw
    from monitor.summaries.service_levels import broken_levels, judge_contracts
    from monitor.triage.errors import explained
    from monitor.triage.time_parsing import TimeReader, TypedTimes

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    contracts = [promise.name for promise in promised_contracts(project.config)]
    if not contracts or (name is not None and name not in contracts):
        text = f"contract '{name}' is not configured{did_you_mean(name, contracts)}" if name else "no contracts"
        hint = "see 'contracts' and 'slo' in docs/configuration.md, or 'tablewatch import contract'"
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("contract.none", text, hint=None if contracts else hint))
    now = project.clock.now()
    window = window_between(
        TypedTimes(TimeReader(project.config.timezone, now), invocation.note), now, start=from_, end=to
    )
    with project.open_store() as store, explained(), store.reading() as tx:
        judged = [item for item in judge_contracts(project, tx, window, as_of=now) if name is None or item.name == name]
    result = {
        "schema": "tablewatch.contracts/1",
        "ok": not broken_levels(judged),
        "as_of": now.isoformat(),
        "contracts": [item.as_json() for item in judged],
    }
    invocation.emit(result, lambda console: draw(console, judged, zone=project.config.timezone))
    if broken_levels(judged):
        raise Stop(ExitCode.FAILED)
