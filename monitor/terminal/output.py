"""What a command says, and where: data on stdout, everything else on stderr.

With `--format json` the standard output holds exactly one JSON value: the result, or the errors in their envelope.
Everything is masked by the redactor of the loaded configuration.
"""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from monitor.terminal.console import discard_stdout, draw_problem, make_console, print_json
from monitor.terminal.problem import Problem, envelope
from monitor.terminal.redaction import Redactor

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console


_SHOWN: Final = 20
"""Problems that a person is shown at once."""


class Format(StrEnum):
    """Output format: text or JSON."""

    HUMAN = "human"
    JSON = "json"


@dataclass(slots=True)
class Invocation:
    """The invocation of a command, `ctx.obj` of every command.

    `config_path` and `format` come from the options every command has; `redactor` knows the secrets of the loaded
    configuration.
    """

    config_path: Path | None = None
    format: str = Format.HUMAN
    redactor: Redactor = field(default_factory=Redactor)

    @property
    def as_json(self) -> bool:
        """Check whether standard output belongs to a program."""
        return self.format == Format.JSON

    def typed(self, command: str) -> str:
        """Return a command as it has to be typed here: with the configuration that this one was given."""
        if self.config_path is None:
            return command
        return command.replace("tablewatch ", f"tablewatch -c {shlex.quote(str(self.config_path))} ", 1)

    def emit(
        self,
        result: "Mapping[str, Any] | BaseModel | Callable[[], Mapping[str, Any] | BaseModel]",
        human: Callable[["Console"], object] | None = None,
    ) -> None:
        """Show a result: as one JSON value, or as `human` draws it on the console of standard output.

        Without `human` the result is JSON for people too. A function is called for JSON only.
        """
        if self.as_json or human is None:
            made = result() if callable(result) else result
            print_json(
                self.redactor.value(made if isinstance(made, Mapping) else made.model_dump(mode="json", by_alias=True))
            )
        else:
            human(self._console(stderr=False))

    def write(self, text: str) -> None:
        """Write a document to standard output as UTF-8, whatever the terminal speaks; it is masked already."""
        try:
            sys.stdout.buffer.write(text.encode())
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            discard_stdout()

    def note(self, text: str) -> None:
        """Report the person something beside the result, on stderr."""
        self._console(stderr=True).print(text)

    def show(self, problems: Sequence[Problem]) -> None:
        """Show errors: in their envelope on stdout for a program, on stderr for a person."""
        if self.as_json:
            print_json(self.redactor.value(envelope(problems)))
            return
        console = self._console(stderr=True)
        for problem in problems[:_SHOWN]:
            draw_problem(console, problem, self.redactor)
        if len(problems) > _SHOWN:
            console.print(f"and {len(problems) - _SHOWN:,} more; --format json has all of them")

    def _console(self, *, stderr: bool) -> "Console":
        return make_console(self.redactor, stderr=stderr)


def remember_config(ctx: typer.Context, value: Path | None) -> None:
    """Note the configuration that was asked for; the place nearest to the command's own arguments wins."""
    if value is not None:
        ctx.obj.config_path = value


def remember_format(ctx: typer.Context, value: Any) -> Any:
    """Note the output format that was asked for; the callback of every `--format`."""
    if value is not None:
        ctx.obj.format = str(value)
    return value


def count(number: int, thing: str, things: str | None = None) -> str:
    """Describe how many of a thing there are: `1 table`, `12 tables`; `things`: an irregular plural."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"
