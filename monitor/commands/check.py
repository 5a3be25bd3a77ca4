"""`tablewatch check`: look at tables now."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from monitor._output import Invocation
from monitor._problem import ExitCode, Stop
from monitor._progress import progress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.text import Text


class FailOn(StrEnum):
    """The severities, again: importing those of the checks would cost `--help` a second."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


app = typer.Typer(rich_help_panel="Watch")


@app.command()
def check(
    ctx: typer.Context,
    selector: Annotated[
        list[str] | None, typer.Argument(help="sales.orders, domain:sales, type:freshness, !...")
    ] = None,
    fail_on: Annotated[FailOn, typer.Option(help="Least severity of a failure that sets exit code 1.")] = FailOn.INFO,
    only_failed: Annotated[bool, typer.Option("--only-failed", help="Leave out what passed.")] = False,
    show_rows: Annotated[int, typer.Option(min=0, help="Show up to N offending keys, on the terminal only.")] = 0,
    no_store: Annotated[
        bool, typer.Option("--no-store", help="Look only: remember nothing, open no incident.")
    ] = False,
) -> None:
    """Look at tables now: run their checks, open and resolve incidents.

    Example: tablewatch check domain:sales '!type:freshness' --fail-on error
    """
    from contextlib import nullcontext  # noqa: PLC0415 - `--help` must stay quick

    from checks import Severity  # noqa: PLC0415 - as above
    from monitor.look import look  # noqa: PLC0415 - as above
    from monitor.selector import select  # noqa: PLC0415 - as above
    from monitor.wiring import Project  # noqa: PLC0415 - as above

    invocation: Invocation = ctx.obj
    project = Project(invocation.load())
    selection = select(selector or [], project.config)
    with nullcontext() if no_store else project.open_store() as store, progress("checking", len(selection)) as advance:
        report = look(project, selection, store=store, fail_on=Severity(fail_on), on_table=lambda _: advance())
    invocation.emit(report.to_json(), lambda console: draw(console, report.lines(only_failed=only_failed)))
    raise Stop(ExitCode(report.exit_code))


def draw(console: "Console", lines: "Iterable[Text]") -> None:
    """Print lines one after the other."""
    for line in lines:
        console.print(line)
