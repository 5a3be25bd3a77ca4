"""`tablewatch diff`: compare the rows of two tables by a key."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import names_in
from monitor.terminal.console import activity, out
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from rich.console import Console

    from checks.diff import Diff
    from monitor.scan.results import Target

app = typer.Typer(rich_help_panel="Watch")

_PLACE = "A configured table, 'source.table', or a CSV or Parquet file."


@app.command()
def diff(
    ctx: typer.Context,
    left: Annotated[str, typer.Argument(metavar="LEFT", help=_PLACE)],
    right: Annotated[str, typer.Argument(metavar="RIGHT", help="The table to compare with.")],
    key: Annotated[str, typer.Option(help="Columns that identify a row in both tables: id, or shop,number.")],
    columns: Annotated[
        str | None, typer.Option(help="Columns to compare; by default all of both tables.", show_default=False)
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="Rows of both tables to compare: a boolean SQL expression over their columns.")
    ] = None,
    at_most: Annotated[int, typer.Option(min=0, help="Number of differing rows that is no failure.")] = 0,
    show_rows: Annotated[
        int, typer.Option(min=0, help="Show up to N differing rows of each kind, on a terminal only.")
    ] = 0,
) -> None:
    """Compare the rows of two tables by a key, also of two engines; checksums are compared, and nothing is stored.

    Example: tablewatch diff orders warehouse.orders --key id
    """
    from monitor.clock import SystemClock
    from monitor.reporting.terminal_views.diff_report import draw_diff, draw_rows
    from monitor.reporting.terminal_views.pass_report import pass_as_json
    from monitor.scan.two_tables import diff_tables

    invocation: Invocation = ctx.obj
    one, other = _target(left, invocation), _target(right, invocation)
    check = _check(right, key, columns, where, at_most)
    clock = SystemClock()
    with activity(f"comparing {left} with {right}"):
        report = diff_tables(one, other, check, clock)

    def draw(console: "Console") -> None:
        draw_diff(console, report)
        if show_rows and console.is_terminal:
            draw_rows(console, one, other, check, clock.now(), limit=show_rows)

    invocation.emit(lambda: pass_as_json(report), draw)
    if show_rows and (invocation.as_json or not out().is_terminal):
        invocation.note("--show-rows works on a terminal only; rows are not shown")
    if report.exit_code:
        raise Stop(ExitCode(report.exit_code))


def _check(right: str, key: str, columns: str | None, where: str | None, at_most: int) -> "Diff":
    from pydantic import ValidationError

    from checks.diff import Diff
    from checks.parameters.errors import describe_error

    wanted = None if columns is None else tuple(names_in(columns))
    try:
        return Diff(against=right, key=tuple(names_in(key)), columns=wanted, where=where, at_most=at_most)
    except ValidationError as error:
        problem = error.errors()[-1]  # of a key, which may be one text, that of the list
        text = describe_error({**problem, "loc": problem["loc"][:1]})
        raise Stop(ExitCode.USAGE, Problem("usage", text)) from None


def _target(text: str, invocation: Invocation) -> "Target":
    """Find a table: `source.table` of a configured source, else as the commands about risk do.

    Raises:
        Stop: there is none; the user may only ask for noisy answers about it; or the configuration has errors.
    """
    from checks import Zones
    from monitor.commands.privacy.budget import refuse_analysts
    from monitor.releases.disclosure.table_ref import project_of, table_ref_of
    from monitor.scan.results import Subject, Target

    source, _, relation = text.partition(".")
    project = project_of(invocation)
    if (
        project is None
        or project.config.table(text) is not None
        or source not in project.config.sources
        or not relation
    ):
        target = table_ref_of(text, invocation).target
    else:
        zones = Zones(project.config.sources[source].timezone)
        target = Target(Subject(text, relation, (), zones), project.specs[source])
    if project is not None:
        refuse_analysts(project, target)
    return target
