"""`tablewatch downtime`: show data downtime, N x (TTD + TTR), and its cost."""

from enum import StrEnum
from typing import Annotated

import typer

from monitor.commands._options import From, To, typed_times, window_between
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop


class GroupedBy(StrEnum):
    """Groupings of downtime; a test compares them with those of the summaries."""

    TABLE = "table"
    DOMAIN = "domain"
    OWNER = "owner"
    CHECK = "check"
    SEVERITY = "severity"
    CAUSE = "cause"
    DAY = "day"
    ROOT_OWNER = "root-owner"


_CURRENCY = "JPY"
_DRAWN = 62 * 86_400_000_000
"""The longest window (microseconds) whose days fit into a row of signs."""

app = typer.Typer(invoke_without_command=True, rich_help_panel="Incidents and cost")


@app.callback()
def downtime(
    ctx: typer.Context,
    from_: From = None,
    to: To = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Count incidents detected by this time, as they stand today; by default now."
        ),
    ] = None,
    by: Annotated[GroupedBy, typer.Option(help="Grouping.")] = GroupedBy.TABLE,
) -> None:
    """Show data downtime, N x (TTD + TTR), and its cost, in a window.

    A date starts at midnight in the project's time zone; --to is not part of the window.

    Example: tablewatch downtime --from 2026-11-01 --to 2026-12-01 --by owner
    """
    if ctx.invoked_subcommand is not None:
        return
    from incidents import to_us
    from monitor.config.project import Project
    from monitor.reporting.terminal_views.downtime import draw
    from monitor.summaries.downtime import DAY, MOST_DAYS, DowntimeReport, measure_downtime
    from monitor.triage.errors import explained
    from monitor.web.views.time_lanes import draw_window

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    now = project.clock.now()
    times = typed_times(project, invocation, now)
    known_at = times.bound("--as-of", as_of) or now
    if known_at > now:
        raise Stop(ExitCode.USAGE, Problem("usage", "--as-of is in the future"))
    window = window_between(times, now, start=from_, end=to)
    if by == DAY and window.end_us - window.start_us > MOST_DAYS * 86_400_000_000:
        raise Stop(
            ExitCode.USAGE, Problem("usage", f"--by day takes at most {MOST_DAYS} days; choose a shorter window")
        )
    if window.start_us >= to_us(known_at):
        invocation.note("note: the window starts after the latest recorded time; it has no data yet")
    with project.open_store(existing=True) as store, explained(), store.reading() as tx:
        downtime_figures = measure_downtime(project, tx, window=window, as_of_us=to_us(known_at), by=by)
        is_drawn = by == DAY and window.end_us - window.start_us <= _DRAWN
        drawn = draw_window(project, tx, window, known_at) if is_drawn else None
    if not downtime_figures.ever_checked:
        invocation.note(f"note: no check has run yet with the store {store.name}; run 'tablewatch check'")
    invocation.emit(
        lambda: DowntimeReport.published(project, downtime_figures),
        lambda console: draw(console, project, downtime_figures, drawn),
    )


@app.command()
def estimate(
    ctx: typer.Context,
    tables: Annotated[int, typer.Option(min=1, help="Number of tables.")],
    incidents_per_table_year: Annotated[
        str, typer.Option(metavar="NUMBER", help="Incidents per table and year, such as 1/15.")
    ] = "1/15",
    ttd: Annotated[str, typer.Option(metavar="LENGTH", help="Mean time to detection (TTD).")] = "4h",
    ttr: Annotated[str, typer.Option(metavar="LENGTH", help="Mean time to resolution (TTR).")] = "9h",
    role: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:HEADCOUNT:HOURLY:SHARE",
            help="Role affected by downtime, such as engineer:2:4000:0.25; repeatable.",
        ),
    ] = None,
    loss_per_hour: Annotated[str, typer.Option(metavar="NUMBER", help="Business loss per hour of downtime.")] = "0",
    improve: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Target reduction of downtime: 20%, 1/5.")
    ] = None,
    currency: Annotated[
        str | None,
        typer.Option(
            help=f"Currency of all amounts; by default the configured one, else {_CURRENCY}.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Estimate a year of data downtime and its cost before any incident is recorded. Needs no configuration.

    The defaults are those of Data Quality Fundamentals (Moses, Gavish, Vorwerck): one incident a year for every 15
    tables, a TTD of four hours, a TTR of nine.

    Example: tablewatch downtime estimate --tables 1000 --role engineer:2:4000:0.25 --role analyst:10:5000:0.2
    """
    from monitor.reporting.planning import PlanningFigure, PlanningInput

    invocation: Invocation = ctx.obj
    if currency is None:
        currency = _configured_currency(invocation)
    typed = PlanningInput(
        tables=tables,
        incidents_per_table_year=incidents_per_table_year,
        ttd=ttd,
        ttr=ttr,
        roles=role or (),
        loss_per_hour=loss_per_hour,
        improve=improve,
        currency=currency,
    )
    figure = PlanningFigure.of(typed)
    invocation.emit(figure.to_json, figure.draw)


def _configured_currency(invocation: Invocation) -> str:
    """Return the currency of the configuration that was named or lies here, else the default one.

    Raises:
        Stop: a configuration was named and has errors.
    """
    from monitor.releases.disclosure.table_ref import project_of

    try:
        project = project_of(invocation)
    except Stop:
        if invocation.config_path is not None:
            raise
        invocation.note(f"note: the configuration here has errors, so amounts are in {_CURRENCY}; see --currency")
        return _CURRENCY
    return _CURRENCY if project is None else project.config.cost.currency
