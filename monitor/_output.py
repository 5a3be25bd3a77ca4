"""What a command says, and where: data on stdout, everything else on stderr.

With `--format json` the standard output holds exactly one JSON value: the result, or the errors in their envelope.
Rich honours NO_COLOR, FORCE_COLOR and pipes by itself. Nothing is ever read as markup, so a name like `[x]` is printed
as it is.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from monitor._problem import ExitCode, Problem, Stop, envelope
from monitor._redact import Redactor

if TYPE_CHECKING:
    from rich.console import Console

    from monitor.config import Loaded

_PIPE_WIDTH = 160


class Format(StrEnum):
    """For people or for programs."""

    HUMAN = "human"
    JSON = "json"


@dataclass(slots=True)
class Invocation:
    """How this command was called; every command finds it as `ctx.obj`.

    `config_path` and `format` come from the options every command has; `redactor` knows the secrets of the loaded
    configuration.
    """

    config_path: Path | None = None
    format: str = Format.HUMAN
    redactor: Redactor = field(default_factory=Redactor)

    @property
    def as_json(self) -> bool:
        """Say whether standard output belongs to a program."""
        return self.format == Format.JSON

    def load(self) -> "Loaded":
        """Load the configuration named by `--config`, else the one in the working folder, and learn its secrets.

        Raises:
            Stop: there is none, or it has errors.
        """
        from monitor.config import ConfigError, find, load  # noqa: PLC0415 - `--help` must not import the models

        try:
            loaded = load(self.config_path or find(Path.cwd()))
        except ConfigError as error:
            self.redactor = error.redactor
            raise Stop(ExitCode.USAGE, *error.problems) from None
        self.redactor = loaded.redactor
        return loaded

    def emit(self, result: Mapping[str, Any], human: Callable[["Console"], object] | None = None) -> None:
        """Show a result: as one JSON value, or as `human` draws it on the console of standard output.

        Without `human` the result is JSON for people too.
        """
        if self.as_json or human is None:
            print_json(self.redactor.value(result))
        else:
            human(out())

    def note(self, text: str) -> None:
        """Tell the person something beside the result, on stderr."""
        err().print(self.redactor(text))

    def show(self, problems: Sequence[Problem]) -> None:
        """Show errors: in their envelope on stdout for a program, on stderr for a person."""
        if self.as_json:
            print_json(self.redactor.value(envelope(problems)))
            return
        for problem in problems:
            draw_problem(err(), problem, self.redactor)


def remember_config(ctx: typer.Context, value: Path | None) -> None:
    """Note the configuration that was asked for; the place nearest to the command's own arguments wins."""
    if value is not None:
        ctx.obj.config_path = value


def remember_format(ctx: typer.Context, value: Any) -> Any:
    """Note the output format that was asked for; the callback of every `--format`."""
    if value is not None:
        ctx.obj.format = str(value)
    return value


@cache
def out() -> "Console":
    """Give the console of standard output."""
    return _console(stderr=False)


@cache
def err() -> "Console":
    """Give the console of standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> "Console":
    from rich.console import Console  # noqa: PLC0415 - costs a tenth of a second that JSON output need not pay

    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not console.is_terminal and "COLUMNS" not in console._environ:  # noqa: SLF001 - Rich has no public way to ask
        console.width = _PIPE_WIDTH
    return console


def count(number: int, thing: str) -> str:
    """Say how many of a thing there are: `1 table`, `12 tables`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def print_json(value: Any) -> None:
    """Write one JSON value to standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2) + "\n")
    sys.stdout.flush()


def draw_problem(console: "Console", problem: Problem, redact: Redactor) -> None:
    """Draw an error like a compiler does: message, place, the line with a caret, help."""
    from rich.text import Text  # noqa: PLC0415 - as above

    console.print(Text.assemble(("error: ", "bold red"), (redact(problem.message), "bold")))
    if problem.file is not None:
        place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part is not None)
        console.print(Text(f"  --> {redact(place)}", "dim"))
    if problem.excerpt is not None and problem.line is not None:
        gutter = " " * len(str(problem.line))
        console.print(Text(f"{gutter} |", "dim"))
        console.print(Text.assemble((f"{problem.line} |", "dim"), redact(problem.excerpt)))
        if problem.column is not None:
            blank = " " * _cells(problem.excerpt[: problem.column - 1])
            console.print(Text.assemble((f"{gutter} |", "dim"), blank, ("^", "bold red")))
    if problem.hint is not None:
        console.print(Text.assemble(("  = help: ", "dim"), redact(problem.hint)))
    console.print()


def _cells(text: str) -> int:
    from rich.cells import cell_len  # noqa: PLC0415 - as above

    return cell_len(text)
