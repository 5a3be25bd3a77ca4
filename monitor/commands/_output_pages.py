"""Pages that a command writes: in which format, and to where."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from monitor.terminal.output_file import ProtectedFiles

Force = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]

F = TypeVar("F", bound=StrEnum)


def format_for(current_f: F | None, out: Path | None, by_suffix: Mapping[str, F], *, default: F, code: str) -> F:
    """Return the format that was asked for, else the one that the file's name asks for, else the default.

    `code`: of the problem.

    Raises:
        Stop: the name's ending says another format than --format, or one that is not written here.
    """
    ending = "" if out is None else out.suffix.lower()
    named = by_suffix.get(ending)
    if current_f is None and ending and named is None:
        text = ", ".join(by_suffix)
        current_text = f"{out} ends in '{ending}', expected one of {text}; choose one of these, or use --format"
        raise Stop(ExitCode.USAGE, Problem(code, current_text))
    if current_f is not None and named not in {None, current_f}:
        current_text = f"{out} has the file type {named}, but --format is {current_f}; change one of them"
        raise Stop(ExitCode.USAGE, Problem(code, current_text))
    return current_f or named or default


@dataclass(frozen=True, slots=True)
class Page:
    """Where a page goes: to a file, or to standard output if `out` is None. `code`: of the problem if it cannot."""

    out: Path | None
    force: bool
    protected: "ProtectedFiles"
    code: str

    def check(self) -> None:
        """Check that the file can be written, before any work is done.

        Raises:
            Stop: it cannot.
        """
        from monitor.terminal.output_file import check_target

        if self.out is not None:
            check_target(self.out, protected=self.protected, force=self.force, code=self.code)

    def write(self, content: str | bytes, invocation: Invocation) -> None:
        """Write the page; bytes to a file only.

        Raises:
            Stop: the file cannot be written.
        """
        from monitor.terminal.output_file import write_file

        if self.out is None:
            invocation.write(str(content))
            return
        self.check()
        write_file(
            self.out,
            lambda draft: draft.write_bytes(content if isinstance(content, bytes) else content.encode()),
            lambda _: None,
            replace=self.force,
            code=self.code,
        )
        invocation.note(f"wrote {self.out}")
