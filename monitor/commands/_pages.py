"""Pages that a command writes: in which format, and to where."""

import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from monitor.frame.output import Invocation
from monitor.frame.problem import ExitCode, Problem, Stop

F = TypeVar("F", bound=StrEnum)


def format_for(asked: F | None, out: Path | None, by_suffix: Mapping[str, F], *, default: F, code: str) -> F:
    """Give the format that was asked for, else the one that the file's name asks for, else the default.

    `code`: of the problem.

    Raises:
        Stop: the name's ending says another format than --format, or one that is not written here.
    """
    ending = "" if out is None else out.suffix.lower()
    named = by_suffix.get(ending)
    if asked is None and ending and named is None:
        known = ", ".join(by_suffix)
        said = f"{out} ends in '{ending}', which is none of {known}; choose one of these, or give --format"
        raise Stop(ExitCode.USAGE, Problem(code, f"{said} (a page is made a PDF by printing it)"))
    if asked is not None and named not in {None, asked}:
        said = f"{out} is named as {named}, but --format is {asked}; change one of them"
        raise Stop(ExitCode.USAGE, Problem(code, said))
    return asked or named or default


def deliver(text: str, out: Path | None, invocation: Invocation, *, code: str) -> None:
    """Write a page to a file, or to standard output. `code`: of the problem.

    Raises:
        Stop: the file cannot be written.
    """
    if out is None:
        sys.stdout.buffer.write(text.encode())  # a page says that it is UTF-8, whatever the terminal speaks
        sys.stdout.buffer.flush()
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise Stop(ExitCode.USAGE, Problem(code, f"cannot write {out}: {reason}")) from None
    invocation.note(f"wrote {out}")
