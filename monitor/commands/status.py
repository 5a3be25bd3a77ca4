"""`tablewatch status`: show table health."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import typer

from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import Stop, envelope

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rich.console import Console

    from monitor.config.project import Project
    from monitor.releases.overview import ReleaseState
    from monitor.summaries.daemons import DaemonStates
    from monitor.summaries.health import TableState
    from monitor.summaries.scheduled_queries import StatisticState
    from store import ReadTransaction

_ALL = 40
"""Up to so many tables, the healthy ones are listed too."""
_MOST = 200
"""No more tables, or checks that were not evaluated, are listed."""

app = typer.Typer(rich_help_panel="Watch")


@app.command()
def status(ctx: typer.Context) -> None:
    """Show table health: last run, open incidents, failed evaluations, releases, scheduled queries.

    Exits with 0 regardless of table health; use 'tablewatch check' as a gate. Exits with 2 if the configuration on
    disk has errors: shows the stored state of the tables that a daemon keeps monitoring, then the errors.

    Example: tablewatch status
    """
    from monitor.config.project import Project
    from monitor.summaries.daemons import DaemonStates
    from monitor.summaries.health import states_of
    from monitor.summaries.scheduled_queries import statistics_of
    from monitor.terminal.console import print_plain
    from monitor.triage.errors import explained
    from store import lock_holder

    invocation: Invocation = ctx.obj
    try:
        project = Project.of(invocation)
    except Stop as stop:
        _without_configuration(invocation, stop)
        raise
    with project.open_store(existing=True) as store, explained(), store.reading() as tx:
        states = states_of(project, tx, project.config.tables)
        releases = _releases(project, tx, states) if project.config.releases else ()
        statistics = statistics_of(project, tx)
        daemon_states = DaemonStates.of(tx, project.clock.now(), lock_holder(project.config.storage.url))
        lasting = sorted(tx.outbox.open_incidents(), key=lambda item: item.incident_id)
    elsewhere = [item for item in lasting if project.config.table(item.table) is None]
    now = project.clock.now()

    def as_json() -> dict[str, Any]:
        from monitor.releases.overview import ReleaseEntry

        return {
            **_summary(project, store.name, states, daemon_states),
            "incidents_elsewhere": [{"incident": item.incident_id, "table": item.table} for item in elsewhere],
            "releases": [ReleaseEntry.of(release).plain() for release in releases],
            "statistics": [statistic.to_json() for statistic in statistics],
        }

    def draw(console: "Console") -> None:
        _draw(console, project, states, now)
        if elsewhere:
            named = ", ".join(f"#{item.incident_id} on {item.table}" for item in elsewhere[:_ALL])
            more = ", ..." if len(elsewhere) > _ALL else ""
            print_plain(console, f"\nopen on tables that are not in the configuration: {named}{more}\n")
        if releases:
            _draw_releases(console, releases, now)
        if statistics:
            _draw_statistics(console, statistics)
        console.print()
        for line in daemon_states.lines():
            console.print(line)

    invocation.emit(as_json, draw)


def _releases(project: "Project", tx: "ReadTransaction", states: "Sequence[TableState]") -> "Sequence[ReleaseState]":
    from monitor.releases.overview import releases_of

    return releases_of(project, tx, states)


def _without_configuration(invocation: Invocation, stop: Stop) -> None:
    """Show what the store knows of the tables, where the configuration on disk has errors but names the store.

    As JSON the errors stand in the same value, and the command leaves; else the caller shows them.
    """
    from pathlib import Path

    from monitor.config import ConfigError, find, load_readable
    from monitor.config.project import Project
    from monitor.summaries.daemons import DaemonStates
    from monitor.summaries.health import states_in_store
    from store import StoreError, lock_holder, open_store, store_file

    try:
        loaded = load_readable(invocation.config_path or find(Path.cwd()))
    except ConfigError:
        return
    if loaded is None:
        return
    url, project = loaded.config.storage.url, Project(loaded)
    now = project.clock.now()
    try:
        file = store_file(url)
        if file is not None and not file.is_file():
            return
        with open_store(url) as store, store.reading() as tx:
            name, daemon_states = store.name, DaemonStates.of(tx, now, lock_holder(url))
            running = [daemon for daemon in daemon_states.daemons if daemon_states.word(daemon) == "running"]
            loaded_at = max((current_daemon.config_loaded_at for current_daemon in running), default=None)
            states = states_in_store(tx, loaded_at)
    except StoreError:
        return
    result = {
        **_summary(project, name, states, daemon_states),
        "incidents_elsewhere": [],
        "releases": [],
        "statistics": [],
        "config_loaded_at": None if loaded_at is None else loaded_at.isoformat(),
    }

    def draw(console: "Console") -> None:
        if loaded_at is None:
            console.print("the configuration on disk has errors; showing the last recorded runs")
        else:
            console.print(
                f"the configuration on disk has errors; a daemon keeps using the one it loaded at "
                f"{loaded_at:%Y-%m-%d %H:%M} UTC"
            )
        _draw(console, project, states, now)
        console.print()
        for line in daemon_states.lines():
            console.print(line)
        console.print()

    if invocation.as_json:
        invocation.emit({**loaded.redactor.value(result), **envelope(stop.problems)})
        raise Stop(stop.code)
    of_errors, invocation.redactor = invocation.redactor, loaded.redactor
    invocation.emit(result, draw)
    invocation.redactor = of_errors


def _summary(
    project: "Project", store: str, states: "Sequence[TableState]", daemon_states: "DaemonStates"
) -> dict[str, Any]:
    from monitor.summaries.daemons import DaemonState
    from monitor.summaries.health import TableHealth, TableStatus

    now = project.clock.now()
    counted = Counter(state.health for state in states)
    last_run_at = max((state.last_run_at for state in states if state.last_run_at is not None), default=None)
    return {
        "schema": "tablewatch.status/1",
        "project": project.config.project,
        "as_of": now.isoformat(),
        "store": store,
        "summary": {**{health.value: counted[health] for health in TableHealth}, "total": len(states)},
        "last_run_at": None if last_run_at is None else last_run_at.isoformat(),
        "last_run_age_s": None if last_run_at is None else (now - last_run_at).total_seconds(),
        "open_incidents": sum(len(state.incidents) for state in states),
        "not_evaluated": sum(len(state.not_evaluated) for state in states),
        **DaemonState.of(daemon_states).plain(),
        "tables": [TableStatus.at(state, now).plain() for state in states],
    }


def _draw(console: "Console", project: "Project", states: "Sequence[TableState]", now: "datetime") -> None:
    from checks import Status, format_duration
    from monitor.summaries.health import TableHealth, worst_first
    from monitor.terminal.tables import draw_table

    counted = Counter(state.health for state in states)
    text = ", ".join(f"{counted[health]} {health.value}" for health in TableHealth if counted[health])
    console.print(f"{project.config.project}  {count(len(states), 'table')}: {text or 'none'}", style="bold")
    listed = [state for state in worst_first(states) if len(states) <= _ALL or state.health is not TableHealth.HEALTHY]
    table_states = listed[:_MOST]
    rows = [
        (
            state.table.name,
            state.health.value,
            ", ".join(
                f"{state.results[not_evaluated]} {not_evaluated.value}"
                for not_evaluated in Status
                if state.results.get(not_evaluated)
            ),
            None if state.last_run_at is None else f"{format_duration(now - state.last_run_at)} ago",
            ", ".join(f"#{incident.id}" for incident in state.incidents),
            state.owner,
        )
        for state in table_states
    ]
    draw_table(console, ("~table", "health", "~checks", "last run", "~open", "~owner"), rows)
    left_out = {"more": len(listed) - len(table_states), "healthy": len(states) - len(listed)}
    if any(left_out.values()):
        text = " and ".join(f"{number:,} {word} tables" for word, number in left_out.items() if number)
        console.print(f"and {text}; --format json has all")
    silent = [not_evaluated for state in table_states for not_evaluated in state.not_evaluated]
    if silent:
        console.print("\nnot evaluated", style="bold")
    for not_evaluated in silent[:_MOST]:
        console.print(f"  {not_evaluated.check_id}  {not_evaluated.reason}: {not_evaluated.message}")
    if len(silent) > _MOST:
        console.print(f"  and {len(silent) - _MOST:,} more checks")


def _draw_releases(console: "Console", releases: "Sequence[ReleaseState]", now: "datetime") -> None:
    from rich.text import Text

    from checks import format_duration
    from monitor.terminal.tables import draw_table

    rows = [
        (
            release.name,
            release.release.table,
            release.word.value,
            None if release.since is None else f"{format_duration(now - release.since)} ago",
            release.summary,
        )
        for release in releases
    ]
    console.print()
    draw_table(console, ("~release", "~table", "state", "since", "~on hold by"), rows)
    console.print(Text("clear: passes the configured limits; neither proof of anonymity nor legal advice", "dim"))


def _draw_statistics(console: "Console", statistics: "Sequence[StatisticState]") -> None:
    from monitor.terminal.tables import draw_table

    def shown_time(moment: "datetime | None") -> str | None:
        return None if moment is None else f"{moment:%Y-%m-%d %H:%MZ}"

    rows = [
        (
            str(statistic.series),
            statistic.word.value,
            None if statistic.slot is None else shown_time(statistic.slot.slot),
            shown_time(statistic.next_slot),
            None if statistic.left is None else f"{statistic.left:,}",
        )
        for statistic in statistics
    ]
    console.print()
    draw_table(console, ("~statistic", "state", "last slot", "next slot", ">answers left"), rows)
