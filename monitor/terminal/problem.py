"""Errors of commands, and exit codes.

Everything that ends a command early is a `Stop`: an exit code and the problems to show. Nothing here imports a library,
so that any module of the package may use it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

_SHOWN = ("code", "message", "file", "line", "column", "hint")
_LISTED = 5


class ExitCode(IntEnum):
    """Exit codes of the process. Frozen: scripts depend on the numbers."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_EVALUATED = 3
    NOTHING_SELECTED = 5
    BUG = 70
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Problem:
    """One error: a stable dotted code, what was seen and expected, where (line and column from 1), and what to do.

    `excerpt` is the text of the line it points at, and `team` whose file that is, for the terminal; `field` is the
    field of a form. None of them is part of the JSON form.
    """

    code: str
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    excerpt: str | None = None
    team: str | None = None
    field: str | None = None

    @property
    def place(self) -> str:
        """Return where it is, such as `tablewatch.yaml:3:1`; empty where it is in no file."""
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)

    def as_json(self) -> dict[str, Any]:
        """Return the published shape of an error (DESIGN.md section 9)."""
        values = asdict(self)
        return {name: values[name] for name in _SHOWN}


def envelope(problems: Sequence[Problem]) -> dict[str, Any]:
    """Return the published JSON form of errors: `{"ok": false, "error", "errors": [...]}`."""
    return {"ok": False, "error": sum_up(problems), "errors": [problem.as_json() for problem in problems]}


def sum_up(problems: Sequence[Problem]) -> str:
    """Summarise the problems in one sentence."""
    if not problems:
        return "the command stopped without a reason"
    first = problems[0].message
    return first if len(problems) == 1 else f"{first} (and {len(problems) - 1} more)"


class Stop(Exception):
    """End the command with this exit code and these problems; without problems, silently."""

    def __init__(self, code: ExitCode, *problems: Problem) -> None:
        super().__init__(code, problems)
        self.code = code
        self.problems = problems

    def __str__(self) -> str:
        return sum_up(self.problems) if self.problems else f"exit {int(self.code)}"


def unknown_name(
    kind: str, name: str, names: Iterable[str], *, see: str | None = None, code: str | None = None
) -> Problem:
    """Return the problem that a name is not in the configuration; its hint suggests one of `names`, or lists the first.

    `kind`: of the thing, such as `table`. `see`: where its names are; by default in the section of that kind.
    """
    from sources import did_you_mean

    see = see or f"{kind}s are declared under '{kind}s'"
    known = sorted(names)
    listed = f"known: {', '.join(known[:_LISTED])}{' ...' if len(known) > _LISTED else ''}; {see}" if known else see
    hint = did_you_mean(name, known).removeprefix("; ") or listed
    return Problem(code or f"{kind}.unknown", f"{kind} '{name}' is not in the configuration", hint=hint)


def not_read(code: str, path: Path, error: OSError) -> Problem:
    """Return the problem that a named file cannot be read, and why."""
    missing = isinstance(error, FileNotFoundError)
    reason = "does not exist" if missing else f"cannot be read ({(error.strerror or 'no reason given').lower()})"
    return Problem(code, f"{path} {reason}")
