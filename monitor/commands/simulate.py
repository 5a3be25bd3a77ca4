"""`tablewatch simulate`: replay the stored history under another schedule, rules, limits or routes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import From, To, reading, typed_times, window_between
from monitor.terminal.console import activity
from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from datetime import timedelta

    from monitor.config.cron import Schedule
    from monitor.config.project import Project

app = typer.Typer(rich_help_panel="Incidents and cost")


@app.command()
def simulate(
    ctx: typer.Context,
    check: Annotated[
        list[str] | None,
        typer.Option(metavar="TABLE.CHECK", help="Checks, or tables with all of theirs; by default all."),
    ] = None,
    schedule: Annotated[str | None, typer.Option(help="When the checks run: 'every 1h', 'cron: 0 6 * * *'.")] = None,
    open_after: Annotated[int | None, typer.Option(min=1, help="Failing runs in a row that open an incident.")] = None,
    resolve_after: Annotated[int | None, typer.Option(min=1, help="Passing runs in a row that resolve it.")] = None,
    confirm: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="A fail is confirmed by another so much later.")
    ] = None,
    with_: Annotated[
        Path | None,
        typer.Option(
            "--with",
            metavar="FILE",
            help="Another configuration: only what differs is replayed.",
        ),
    ] = None,
    from_: From = None,
    to: To = None,
) -> None:
    """Show what another configuration would have noticed when, which alerts it would have sent, and what that costs.

    Nothing is run, stored or sent. What stored results cannot tell is bounded, not guessed.

    Example: tablewatch simulate --schedule 'every 1h' --check sales.orders
    """
    from incidents import to_us
    from monitor.config.project import Project
    from monitor.simulation.compare import simulate as simulated
    from monitor.simulation.plan import RuleProposal, changes_of
    from monitor.simulation.run import TooManySlots
    from monitor.simulation.view import as_json, draw

    invocation: Invocation = ctx.obj
    if confirm is not None and open_after is not None:
        raise Stop(ExitCode.USAGE, Problem("usage", "either --confirm or --open-after decides when an incident opens"))
    proposal = RuleProposal(_schedule(schedule), open_after, resolve_after, _length(confirm))
    if with_ is None and proposal.is_empty:
        hint = "give --schedule, --open-after, --resolve-after, --confirm or --with"
        raise Stop(ExitCode.USAGE, Problem("usage", "nothing to simulate", hint=hint))
    running = Project.of(invocation)
    now = running.clock.now()
    window = window_between(typed_times(running, invocation, now), now, start=from_, end=to)
    if window.start_us >= to_us(now):
        raise Stop(ExitCode.USAGE, Problem("usage", "the window has not begun: there is nothing to replay"))
    other = running if with_ is None else _other(invocation, with_, running)
    chosen = _chosen(running, check) | (set() if with_ is None else _chosen(other, check, must=False))
    proposed = proposal.applied(other, chosen)
    changes = changes_of(running, proposed, chosen, schedule=proposal.schedule)
    if not changes:
        invocation.note("note: the proposal changes none of these checks")
    with reading(running) as tx, activity(f"replaying {count(len(changes), 'check')}"):
        try:
            result = simulated(running, proposed, tx, changes=changes, window=window, as_of=now)
        except TooManySlots as error:
            raise Stop(ExitCode.USAGE, Problem("usage", str(error))) from None
    invocation.emit(lambda: as_json(running, result), lambda console: draw(console, running, result))


def _schedule(text: str | None) -> "Schedule | None":
    from monitor.config.cron import Schedule

    if text is None:
        return None
    try:
        return Schedule.parse(text)
    except ValueError as error:
        raise Stop(ExitCode.USAGE, Problem("usage", f"--schedule: expected {error}")) from None


def _length(text: str | None) -> "timedelta | None":
    from checks.parameters.scalars import parse_duration

    if text is None:
        return None
    try:
        length = parse_duration(text)
    except ValueError as error:
        raise Stop(ExitCode.USAGE, Problem("usage", f"--confirm: {error}")) from None
    if not length:
        raise Stop(ExitCode.USAGE, Problem("usage", "--confirm: expected a length of time above 0, such as 5m"))
    return length


def _other(invocation: Invocation, path: Path, running: "Project") -> "Project":
    """Return a proposed configuration.

    Raises:
        Stop: it cannot be read.
    """
    from monitor.config import ConfigError, load
    from monitor.config.project import Project

    try:
        return Project(load(path), running.clock)
    except ConfigError as error:
        invocation.redactor = error.redactor
        raise Stop(ExitCode.USAGE, *error.problems) from None


def _chosen(project: "Project", words: list[str] | None, *, must: bool = True) -> set[str]:
    """Return the ids of the checks that words choose; where they need not, none if they choose none."""
    from monitor.config.selector import select

    try:
        tables = select(words or [], project.config).tables
    except Stop:
        if must:
            raise
        return set()
    return {f"{table}.{name}" for table, names in tables.items() for name in names}
