"""The errors of the public API.

TablewatchError
├── InvalidInput     data, checks or a configuration that cannot be used; `problems` has all of them
├── NotAvailable     the store cannot be opened or read
└── ChecksFailed     beside `Report`, whose `raise_for_failures` raises it: a check failed or could not be evaluated
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monitor.terminal.problem import Problem


class TablewatchError(Exception):
    """The root of the errors of `tablewatch`."""


class _WithProblems(TablewatchError):
    """What is wrong, all of it: each problem has a code, a message, a place and a hint."""

    def __init__(self, problems: "Sequence[Problem]", redact: Callable[[str], str] = str) -> None:
        problems = [_masked(problem, redact) for problem in problems]
        super().__init__("\n".join(line for problem in problems for line in _lines(problem)))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process with the problems, not with the text of them."""
        return type(self), (self.problems,)


class InvalidInput(_WithProblems, ValueError):
    """Data, checks or a configuration that cannot be used."""


class NotAvailable(_WithProblems):
    """The store cannot be opened or read."""


def _masked(problem: "Problem", redact: Callable[[str], str]) -> "Problem":
    hint = None if problem.hint is None else redact(problem.hint)
    return replace(problem, message=redact(problem.message), hint=hint, excerpt=None)


def _lines(problem: "Problem") -> Iterator[str]:
    from monitor.terminal.redaction import visible

    parts = [str(part) for part in (problem.file, problem.line, problem.column) if part]
    yield visible(": ".join(filter(None, [":".join(parts), problem.message])))
    if problem.hint is not None:
        yield visible(f"  {problem.hint}")
