"""`tablewatch silence`: mute alerts for tables."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.commands._options import By, actor, check_table, read_number, reading, typed_times
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rich.console import Console

    from monitor.config.project import Project
    from store import Scope, Silence

app = typer.Typer(help="Mute alerts for tables.", no_args_is_help=True, rich_help_panel="Watch")


@app.callback()
def _group() -> None:
    """Mute alerts for tables: checks keep running and incidents are recorded, but no alerts are sent."""


@app.command()
def add(
    ctx: typer.Context,
    reason: Annotated[str, typer.Option(help="Reason; shown in 'alert log'.")],
    table: Annotated[str | None, typer.Option(help="Table.")] = None,
    domain: Annotated[str | None, typer.Option(help="Domain.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="All tables.")] = False,
    for_: Annotated[
        str | None,
        typer.Option("--for", metavar="LENGTH", help="Duration, such as 2h or 1d."),
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="End time.")] = None,
    by: By = None,
) -> None:
    """Mute alerts for tables until a given time. Incidents still open then are sent; resolutions are always sent.

    Example: tablewatch silence add --table sales.orders --for 4h --reason 'the loader is being moved'
    """
    from datetime import timedelta

    from monitor.config.project import Project
    from monitor.triage.create import tidy
    from monitor.triage.errors import explained

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    scope, name = _scope(project, table, domain, everything=all_)
    if not tidy(reason):
        raise Stop(ExitCode.USAGE, Problem("usage", "--reason is empty; write the reason"))
    if (for_ is None) == (until is None):
        raise Stop(ExitCode.USAGE, Problem("usage", "use either --for or --until", hint="--for 4h"))
    recorded = actor(by)
    with project.open_store() as store, explained(), store.writing() as tx:
        now = tx.schedule.clock(project.clock.now())
        times = typed_times(project, invocation, now)
        end = times.moment("--until", until) or now + times.length("--for", for_ or "")
        if end <= now:
            raise Stop(ExitCode.USAGE, Problem("usage", "a silence must end in the future"))
        if end - now > timedelta(days=365):
            raise Stop(ExitCode.USAGE, Problem("usage", "a silence lasts at most one year"))
        silence = tx.silences.add(scope=scope, name=name, starts_at=now, until=end, reason=tidy(reason), by=recorded)
    _present(invocation, project, silence, now)


@app.command("list")
def list_(
    ctx: typer.Context,
    ended: Annotated[bool, typer.Option("--ended", help="Include expired silences.")] = False,
) -> None:
    """List silences, newest first.

    Example: tablewatch silence list
    """
    from monitor.config.project import Project

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    now = project.clock.now()
    with reading(project) as tx:
        results = tx.silences.all(None if ended else now)
    result = {"schema": "tablewatch.silences/1", "silences": [_as_json(item, now) for item in results]}
    invocation.emit(result, lambda console: _draw(console, project, results, now))


@app.command()
def end(
    ctx: typer.Context,
    silence_id: Annotated[int, typer.Argument(metavar="ID", help="Silence number.", parser=read_number)],
) -> None:
    """End a silence early; incidents still open are sent.

    Example: tablewatch silence end 3
    """
    from monitor.alerts.reminders import decide_again
    from monitor.config.project import Project
    from monitor.triage.errors import explained
    from store import NotRecorded

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    with project.open_store(existing=True) as store, explained():
        try:
            with store.writing() as tx:
                now = tx.schedule.clock(project.clock.now())
                silence = tx.silences.end(silence_id, now)
        except NotRecorded as error:
            raise Stop(ExitCode.NOTHING_SELECTED, Problem("silence.not_found", str(error))) from None
        decide_again(store, now)
    _present(invocation, project, silence, now)


def _scope(
    project: "Project", table: str | None, domain: str | None, *, everything: bool
) -> "tuple[Scope, str | None]":
    """Return what is to be silent.

    Raises:
        Stop: nothing or several things were named, or one that is not configured.
    """
    from store import Scope

    if [table is not None, domain is not None, everything].count(True) != 1:
        raise Stop(ExitCode.USAGE, Problem("usage", "use one of --table, --domain and --all"))
    if table is not None:
        check_table(project.config, table)
        return Scope.TABLE, table
    if domain is not None:
        if domain not in project.config.domains:
            raise Stop(ExitCode.USAGE, unknown_name("domain", domain, project.config.domains))
        return Scope.DOMAIN, domain
    return Scope.ALL, None


def _present(invocation: Invocation, project: "Project", silence: "Silence", now: "datetime") -> None:
    result = {"schema": "tablewatch.silence/1", **_as_json(silence, now)}
    invocation.emit(result, lambda console: _draw(console, project, [silence], now))


def _as_json(silence: "Silence", now: "datetime") -> dict[str, Any]:
    return {
        "id": silence.id,
        "scope": silence.scope.value,
        "name": silence.name,
        "starts_at": silence.starts_at.isoformat(),
        "until": silence.until.isoformat(),
        "ended_at": None if silence.ended_at is None else silence.ended_at.isoformat(),
        "active": _is_active(silence, now),
        "reason": silence.reason,
        "by": silence.by,
    }


def _is_active(silence: "Silence", now: "datetime") -> bool:
    return silence.starts_at <= now < (silence.ended_at or silence.until)


def _draw(console: "Console", project: "Project", silences: "Sequence[Silence]", now: "datetime") -> None:
    from monitor.terminal.tables import draw_table
    from monitor.triage.time_parsing import format_time

    if not silences:
        console.print("no silences")
        return
    zone = project.config.timezone
    rows = [
        (
            str(silence.id),
            silence.scope.value if silence.name is None else f"{silence.scope.value} {silence.name}",
            format_time(silence.starts_at, zone),
            format_time(silence.ended_at or silence.until, zone),
            "yes" if _is_active(silence, now) else "over",
            silence.by,
            silence.reason,
        )
        for silence in silences
    ]
    draw_table(console, (">#", "~of", "from", "until", "active", "~by", "~why"), rows)
