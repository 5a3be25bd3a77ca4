"""`tablewatch run`: run the daemon."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.commands._options import check_web_installed
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    from checks import Status
    from monitor.config.project import Project

app = typer.Typer(rich_help_panel="Watch")


@app.command()
def run(
    ctx: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Run due checks once, send alerts, exit.")] = False,
    serve: Annotated[
        bool, typer.Option("--serve", help="Also run 'tablewatch serve', as a process of its own.")
    ] = False,
) -> None:
    """Run the daemon: check every table when it is due, and send alerts.

    Stops on Ctrl-C or SIGTERM. Reloads the configuration when its files change, or on SIGHUP; while the new one has
    errors, the previous one stays in use.

    With --once, for cron or Airflow: exits with 1 if a check failed, with 3 if one could not be evaluated; with
    --format json standard output is the count of check outcomes. Scheduled queries that are due run too: exits with
    3 if one could not be answered, but not if its budget is spent.

    Example: tablewatch run
    """
    from functools import partial
    from pathlib import Path

    from monitor.config import find
    from monitor.config.project import Project
    from monitor.config.team_fallback import load_apart_for
    from monitor.daemon.config_reload import rehearse
    from monitor.daemon.daemon import DaemonProcess, patiently
    from monitor.daemon.journal import keep_journal
    from monitor.daemon.metrics import MetricsAddressRefused
    from monitor.daemon.web_process import WebProcess, web_command
    from store import StoreError, StoreInUse, daemon_lock

    _check_system()
    _check_options(once=once, serve=serve)
    invocation: Invocation = ctx.obj
    _refresh_tables(invocation)
    project = Project(load_apart_for(invocation, rehearse))
    path = invocation.config_path or find(Path.cwd())
    keep_journal(invocation.redactor, as_json=invocation.as_json)
    if once:
        _check_has_work(project)
    try:
        connect = partial(project.connect_store, alone=True)
        with daemon_lock(project.config.storage.url) as lock, patiently(project, connect, once=once) as store:
            web = WebProcess(web_command(path, as_json=invocation.as_json)) if serve else None
            daemon = DaemonProcess(project, path, store, lock=lock, once=once)
            if not once:
                daemon.run(web)
                return
            counted = daemon.run_once()
            statistics = daemon.statistics
    except StoreInUse as error:
        raise Stop(ExitCode.NOT_EVALUATED, Problem("daemon.held", str(error))) from None
    except StoreError as error:
        raise Stop(ExitCode.NOT_EVALUATED, Problem("store", str(error))) from None
    except MetricsAddressRefused as error:
        raise Stop(ExitCode.USAGE, Problem("daemon.metrics", str(error))) from None
    _conclude(invocation, project.config.project, counted, statistics)


def _check_options(*, once: bool, serve: bool) -> None:
    """Check whether options go together, and the web application is installed where it is to run.

    Raises:
        Stop: they do not, or it is not.
    """
    if once and serve:
        raise Stop(ExitCode.USAGE, Problem("usage", "--serve goes with a daemon that runs on, --once ends"))
    if serve:
        check_web_installed()


def _refresh_tables(invocation: Invocation) -> None:
    """Read which tables patterns stand for, before the configuration is loaded."""
    from contextlib import suppress
    from pathlib import Path

    from monitor.config import ConfigError, find
    from monitor.config.load import load_sources
    from monitor.daemon.web_process import TableRefresh

    with suppress(ConfigError):  # reported when it is loaded
        path = invocation.config_path or find(Path.cwd())
        if load_sources(path).texts.expansion is not None:
            TableRefresh(path)()


def _check_system() -> None:
    """Check whether the system has what worker processes need.

    Raises:
        Stop: it has not.
    """
    from monitor.workers import missing_for_workers

    if missing := missing_for_workers():
        message = f"the daemon needs Linux: this system has no {', '.join(missing)}"
        hint = "run it in a container or WSL, or run 'tablewatch check' from the system's scheduler"
        raise Stop(ExitCode.NOT_EVALUATED, Problem("daemon.system", message, hint=hint))


def _check_has_work(project: "Project") -> None:
    """Check whether something can be due.

    Raises:
        Stop: no table has a check with a schedule, and there is no scheduled query.
    """
    from monitor.config.answer_series import AnswerSeries

    if AnswerSeries.configured(project.config):
        return
    checked = [table for table in project.config.tables if table.own_checks]
    if not checked and not any(table.checks for table in project.config.tables):
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("check.no_checks", "no table has a check; nothing to run"))
    if checked and all(table.schedule is None for table in checked):
        why = "no table has a schedule; add schedules, or use 'tablewatch check'"
        raise Stop(ExitCode.USAGE, Problem("run.no_schedule", why))


def _conclude(
    invocation: Invocation, project: str, counted: "Counter[Status]", statistics: "Mapping[str, int]"
) -> None:
    """Report what came out of one pass over what was due, and leave with its exit code."""
    from checks import Status

    failed, unknown = counted[Status.FAIL], counted[Status.UNKNOWN] + statistics["not_answered"]
    code = ExitCode.FAILED if failed else ExitCode.NOT_EVALUATED if unknown else ExitCode.OK
    result = {
        "schema": "tablewatch.run/1",
        "ok": code is ExitCode.OK,
        "exit_code": int(code),
        "project": project,
        "summary": {**{status.value: counted[status] for status in Status}, "total": counted.total()},
        "statistics": dict(statistics),
    }
    tally = "  ".join(f"{status.value.upper()} {counted[status]}" for status in Status)
    text = f"{tally}  of {counted.total()} due"
    if any(statistics.values()):
        text += f"; statistics: {statistics['answered']} answered, {statistics['not_answered']} not"
    invocation.emit(result, lambda console: console.print(text))
    raise Stop(code)
