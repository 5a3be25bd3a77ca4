"""`tablewatch doctor`: look whether everything is in order."""

from typing import TYPE_CHECKING

import typer

from monitor.clock import SystemClock
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from monitor.doctor.finding import Finding

app = typer.Typer(rich_help_panel="Set up")

_STYLES = {"ok": "green", "warning": "yellow", "error": "red", "unknown": "magenta"}


@app.command()
def doctor(ctx: typer.Context) -> None:
    """Look whether the installation, the configuration, the store and the sources are in order.

    Leaves with 1 when something is wrong, with 3 when something could not be told and nothing is wrong.

    Example: tablewatch doctor -c tablewatch.yaml
    """
    from monitor.doctor.diagnosis import examine
    from monitor.doctor.finding import FindingStatus

    invocation: Invocation = ctx.obj
    findings = examine(invocation, SystemClock().now())
    verdicts = {finding.verdict for finding in findings}
    code = ExitCode.OK
    if FindingStatus.ERROR in verdicts:
        code = ExitCode.FAILED
    elif FindingStatus.UNKNOWN in verdicts:
        code = ExitCode.NOT_EVALUATED
    result = {
        "schema": "tablewatch.doctor/1",
        "ok": code is ExitCode.OK,
        "exit_code": int(code),
        "findings": [
            {"subject": one.subject, "verdict": one.verdict, "message": one.message, "hint": one.hint}
            for one in findings
        ],
    }
    invocation.emit(result, lambda console: _draw(console, findings))
    raise Stop(code)


def _draw(console: "Console", findings: "Sequence[Finding]") -> None:
    from rich.text import Text

    width = max(len(one.subject) for one in findings)
    for one in findings:
        word = Text(f"{one.verdict.upper():8}", _STYLES[one.verdict])
        console.print(Text.assemble(word, f"{one.subject:{width}}  ", one.message))
        if one.hint is not None:
            console.print(" " * (width + 10) + one.hint)
