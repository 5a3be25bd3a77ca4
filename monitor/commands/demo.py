"""`tablewatch demo`: build a small shop with planted faults, watched for six weeks."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from monitor.clock import SystemClock
from monitor.terminal.console import progress
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

app = typer.Typer(rich_help_panel="Set up")


@app.command()
def demo(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Option("--dir", help="Folder of the demo.")] = Path("tablewatch-demo"),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing demo in that folder.")] = False,
) -> None:
    """Build a demo shop with planted faults, replay six weeks of checks, write the weekly report.

    Example: tablewatch demo --dir shop
    """
    from monitor.demo import DAYS, DemoError, build_demo, explained, tell

    invocation: Invocation = ctx.obj
    invocation.note(f"building a demo shop in {folder} and replaying six weeks of checks on a simulated clock")
    try:
        with explained(folder):
            with progress("replaying", DAYS) as advance:
                built = build_demo(folder, now=SystemClock().now(), replace=force, on_day=advance)
            story = tell(built)
    except DemoError as error:
        raise Stop(ExitCode.USAGE, Problem("demo.folder", str(error))) from None
    invocation.emit(story.as_json, lambda console: story.draw(console, _program()))


def _program() -> str:
    """Return the words by which this shell can call Tablewatch: by its name only where that leads here."""
    called = Path(sys.argv[0])
    if called.stem != "tablewatch":
        return f"{shlex.quote(sys.executable)} -m monitor"
    known = shutil.which("tablewatch")
    return "tablewatch" if known and Path(known).resolve() == called.resolve() else shlex.quote(str(called))
