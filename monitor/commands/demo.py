"""`tablewatch demo`: build a small shop with planted faults, watched for six weeks."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from monitor.clock import SystemClock
from monitor.commands._options import check_web_installed
from monitor.commands.run import run
from monitor.terminal.console import progress
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

app = typer.Typer(rich_help_panel="Set up")


@app.command()
def demo(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Option("--dir", help="Folder of the demo.")] = Path("tablewatch-demo"),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing demo in that folder.")] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Let the shop go on, with faults; run a daemon with pages until Ctrl-C.")
    ] = False,
) -> None:
    """Build a demo shop with planted faults, replay six weeks of checks, write the weekly report.

    Example: tablewatch demo --dir shop
    """
    from monitor.demo import DAYS, DemoError, LiveShop, build_demo, explained, tell

    invocation: Invocation = ctx.obj
    if live:
        check_web_installed()
    invocation.note(f"building a demo shop in {folder} and replaying six weeks of checks on a simulated clock")
    try:
        with explained(folder):
            with progress("replaying", DAYS) as advance:
                built = build_demo(folder, now=SystemClock().now(), replace=force, on_day=advance)
            story = tell(built)
            shop = LiveShop(built, SystemClock().now()) if live else None
    except DemoError as error:
        raise Stop(ExitCode.USAGE, Problem("demo.folder", str(error))) from None
    invocation.emit(story.as_json, lambda console: story.draw(console, _program()))
    if shop is not None:
        invocation.config_path = folder
        invocation.note("orders come every 10 s and are checked every minute; something breaks every 4 minutes")
        with shop.going_on(SystemClock()):
            run(ctx, once=False, serve=True)


def _program() -> str:
    """Return the words by which this shell can call Tablewatch: by its name only where that leads here."""
    called = Path(sys.argv[0])
    if called.stem != "tablewatch":
        return f"{shlex.quote(sys.executable)} -m monitor"
    known = shutil.which("tablewatch")
    return "tablewatch" if known and Path(known).resolve() == called.resolve() else shlex.quote(str(called))
