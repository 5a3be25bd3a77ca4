"""`tablewatch dev`: write the first files of a new check, alert channel or source, in a checkout."""

import keyword
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

app = typer.Typer(
    help="Write the first files of a new check, alert channel or source, in a checkout.",
    no_args_is_help=True,
    rich_help_panel="Set up",
)
_SKELETONS: Final = Path("examples", "skeletons")
_RECIPES: Final = Path("CONTRIBUTING.md")
_KINDS: Final = {
    "check": ("checks", "tests/checks", "A check."),
    "channel": ("monitor/channels", "tests/monitor/channels", "An alert channel."),
    "source": ("sources", "tests/sources", "A source."),
}
"""The folders of a module and of its test, and the title of the recipe in CONTRIBUTING.md, by kind."""
_NAME: Final = re.compile(r"(?=.{1,60}\Z)[a-z][a-z0-9]*(_[a-z0-9]+)*")


@app.callback()
def _group() -> None:
    """Write the first files of a new check, alert channel or source, in a checkout."""


def _writer(kind: str, example: str) -> Callable[..., None]:
    def write(
        ctx: typer.Context,
        name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the module, in lower case.")],
    ) -> None:
        _write(ctx.obj, kind, name)

    write.__doc__ = f"Write a {kind} that runs, and its test; show what remains to be changed.\n\nExample: {example}"
    return write


for _kind, _example in (("check", "parcel_weight"), ("channel", "pigeon_post"), ("source", "tape_store")):
    app.command(f"new-{_kind}")(_writer(_kind, f"tablewatch dev new-{_kind} {_example}"))


def _write(invocation: Invocation, kind: str, name: str) -> None:
    folder, tests, title = _KINDS[kind]
    files = {Path(folder, f"{name}.py"): f"{kind}.py", Path(tests, f"test_{name}.py"): f"test_{kind}.py"}
    if not (_SKELETONS.is_dir() and _RECIPES.is_file()):
        text = f"the current folder has no {_SKELETONS} and no {_RECIPES}; run this at the root of a checkout"
        raise Stop(ExitCode.USAGE, Problem("dev.checkout", text))
    if _NAME.fullmatch(name) is None or keyword.iskeyword(name):
        text = f"{name[:60]!r} is not a valid name; expected letters a to z, digits and single '_', at most 60"
        raise Stop(ExitCode.USAGE, Problem("dev.name", text))
    if existing := [str(file) for file in files if file.exists()]:
        raise Stop(ExitCode.USAGE, Problem("dev.exists", f"{existing[0]} exists; choose another name"))
    for file, skeleton in files.items():
        text = (_SKELETONS / skeleton).read_text(encoding="utf-8").replace("skeleton", name)
        file.write_text(text.replace("Skeleton", name.title().replace("_", "")), encoding="utf-8")
    recipe = _RECIPES.read_text(encoding="utf-8").partition(f"**{title}**")[2].partition("\n\n")[0]
    written, recipe = [str(file) for file in files], " ".join(recipe.split()).replace("NAME", name)
    lines = [*(f"wrote {file}" for file in written), f"next, as {_RECIPES} says: {recipe}"]
    invocation.emit({"written": written, "recipe": recipe}, lambda console: console.print(*lines, sep="\n"))
