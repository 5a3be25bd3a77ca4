"""`tablewatch run`: the daemon."""

from typing import Annotated

import typer

from monitor.frame.output import Invocation
from monitor.frame.problem import ExitCode, Problem, Stop

app = typer.Typer(rich_help_panel="Watch")


@app.command()
def run(
    ctx: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Run what is due now, send alerts, leave.")] = False,
) -> None:
    """Watch for months: look at every table when it is due, and tell who has to hear of it.

    Stops on Ctrl-C or SIGTERM. Loads the configuration anew when its files change, or on SIGHUP; as long as the new one
    has errors, the old one stays in use.

    With --once, for cron or Airflow: leaves with 1 if a check failed, with 3 if one could not be evaluated.

    Example: tablewatch run
    """
    from pathlib import Path

    from monitor.config import find
    from monitor.daemon.daemon import Daemon
    from monitor.daemon.journal import keep_journal
    from monitor.daemon.metrics import AddressRefused
    from monitor.wiring import Project
    from store import StoreError, StoreHeld, daemon_lock

    invocation: Invocation = ctx.obj
    path = invocation.config_path or find(Path.cwd())
    project = Project.of(invocation)
    keep_journal(invocation.redactor, as_json=invocation.as_json)
    try:
        with daemon_lock(project.config.storage.url), project.open_store(alone=True) as store:
            daemon = Daemon(project, path, store, once=once)
            if not once:
                daemon.run()
                return
            failed, not_evaluated = daemon.run_once()
    except StoreHeld as error:
        raise Stop(ExitCode.NOT_EVALUATED, Problem("daemon.held", str(error))) from None
    except StoreError as error:
        raise Stop(ExitCode.NOT_EVALUATED, Problem("store", str(error))) from None
    except AddressRefused as error:
        raise Stop(ExitCode.USAGE, Problem("daemon.metrics", str(error))) from None
    raise Stop(ExitCode.FAILED if failed else ExitCode.NOT_EVALUATED if not_evaluated else ExitCode.OK)
