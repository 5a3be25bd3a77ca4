"""`tablewatch doctor`: diagnose the installation."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.clock import SystemClock
from monitor.terminal.console import activity
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from monitor.doctor.finding import Finding

app = typer.Typer(rich_help_panel="Set up")

_STYLES = {"ok": "green", "warning": "yellow", "error": "red", "unknown": "magenta"}


@app.command()
def doctor(
    ctx: typer.Context,
    confirm_clock: Annotated[
        bool, typer.Option("--confirm-clock", help="Confirm that the system clock is right: data is deleted by age.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Check every incident and page of a store, however large it is.")
    ] = False,
) -> None:
    """Diagnose the installation, the configuration, the store and the sources.

    Exits with 1 if a problem is found, with 3 if something could not be checked and no problem is found.

    Data is deleted by age only while the clock is within a day of a time that was recorded before; --confirm-clock
    lets it be deleted after a longer pause.

    Of a store with more than 20,000 events only incidents that changed since the last comparison without a fault are
    compared with their events, and all of them every 30 days or with --full.

    Example: tablewatch doctor -c tablewatch.yaml
    """
    from monitor.doctor.diagnosis import confirm_clock as confirm
    from monitor.doctor.diagnosis import examine
    from monitor.doctor.finding import DoctorPage

    invocation: Invocation = ctx.obj
    now = SystemClock().now()
    if confirm_clock:
        confirm(invocation, now)
    with activity("checking the store and the sources"):
        findings = examine(invocation, now, everything=full)
    page = DoctorPage.of(findings)
    invocation.emit(page, lambda console: _draw(console, findings))
    raise Stop(ExitCode(page.exit_code))


def _draw(console: "Console", findings: "Sequence[Finding]") -> None:
    from rich.text import Text

    width = max(len(finding.subject) for finding in findings)
    for finding in findings:
        word = Text(f"{finding.verdict.upper():8}", _STYLES[finding.verdict])
        console.print(Text.assemble(word, f"{finding.subject:{width}}  ", finding.message))
        if finding.hint is not None:
            console.print(" " * (width + 10) + finding.hint)
