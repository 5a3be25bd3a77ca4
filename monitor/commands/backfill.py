"""`tablewatch backfill`: evaluate checks as of past times."""

from typing import Annotated

import typer

from monitor.commands._options import typed_times
from monitor.terminal.console import progress
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

app = typer.Typer(rich_help_panel="Watch")

_MOST_TIMES = 20_000


@app.command()
def backfill(
    ctx: typer.Context,
    begin: Annotated[
        str,
        typer.Option("--from", help="First past time: a date, a time, or an age such as 90d."),
    ],
    selector: Annotated[list[str] | None, typer.Argument(help="sales.orders, domain:sales, type:volume, !...")] = None,
    end: Annotated[
        str | None,
        typer.Option("--to", help="End of the past times, excluded; by default now."),
    ] = None,
    every: Annotated[str, typer.Option(help="Time between two past times.")] = "1d",
    incidents: Annotated[bool, typer.Option("--incidents", help="Open and resolve incidents of the past.")] = False,
) -> None:
    """Evaluate checks as of past times, so that learned limits have a history at once. No alert is sent.

    A table is seen as of a past time by its `loaded_at`: rows that arrived later do not count. That is right if rows
    are not changed or removed after they are loaded. What cannot be evaluated as of a past time is unknown.

    Example: tablewatch backfill sales.orders --from 90d --every 1d
    """
    from monitor.config.project import Project
    from monitor.config.selector import select
    from monitor.scan.backfill import backfill as run_backfill
    from monitor.scan.backfill import past_times
    from monitor.triage.errors import explained

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    selection = select(selector or [], project.config)
    now = project.clock.now()
    typed = typed_times(project, invocation, now)
    step = typed.length("--every", every)
    if not step:
        raise Stop(ExitCode.USAGE, Problem("backfill.every", "--every: a duration longer than 0s, such as 1d"))
    first, last = typed.bound("--from", begin) or now, typed.bound("--to", end) or now
    times = past_times(first, min(last, now), step)
    if not times or len(times) > _MOST_TIMES:
        raise Stop(ExitCode.USAGE, _no_times(len(times)))
    with project.open_store() as store, explained(), progress("backfilling", len(times)) as advance:
        done = run_backfill(
            project,
            selection,
            times,
            store=store,
            opens_incidents=incidents,
            on_table=lambda _: advance(),
        )
    answer = {
        "schema": "tablewatch.backfill/1",
        "ok": True,
        "from": times[0].isoformat(),
        "to": times[-1].isoformat(),
        "times": len(times),
        "results": {status.value: number for status, number in done.results.items()},
        "there_before": done.there_before,
        "incidents": done.incidents,
        "not_evaluated": dict(done.problems),
    }
    counts = ", ".join(f"{number:,} {status}" for status, number in done.results.items() if number) or "nothing new"
    lines = [f"{len(times):,} past times: {counts}; {done.there_before:,} were there already"]
    lines += [f"  {check_id}: {problem}" for check_id, problem in done.problems.items()]
    invocation.emit(answer, lambda console: console.print("\n".join(lines), markup=False))


def _no_times(count: int) -> Problem:
    if not count:
        return Problem("backfill.times", "no past time lies between --from and --to", hint="--from 90d --every 1d")
    return Problem("backfill.times", f"{count:,} past times, at most {_MOST_TIMES:,}", hint="a longer --every")
