"""How Great Expectations is asked: its functions are called by somebody who can end a process that does not answer.

Importing it takes seconds, and it may hang, crash or grow. Which process calls is decided by whoever looks at tables.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Protocol, Self

from checks.gx.errors import lineage

OURS: Final = "checks.gx.custom"
"""The module of our own expectations."""
PRELOAD: Final = ("great_expectations", OURS)
"""What is imported on the first call, if it was not before."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A call ended in an exception: its classes, causes first. Its text may hold data and stays behind."""

    classes: tuple[str, ...]

    @classmethod
    def of(cls, error: BaseException | None) -> Self:
        """Return the classes of an exception and of its causes."""
        classes: tuple[str, ...] = ()
        while error is not None:
            classes = (*lineage(type(error)), *classes)
            error = error.__cause__ or error.__context__
        return cls(classes)


class Caller(Protocol):
    """Calls functions in a process that may be ended. They stand at the top of a module."""

    def call(
        self, function: Callable[..., Any], *arguments: Any, deadline: timedelta, check_id: str | None = None
    ) -> Any:
        """Return what the function returns, or `Raised`. `check_id`: the check for which it is called.

        Raises:
            TimeoutError: no answer within the deadline.
            ChildProcessError: the process ended before it answered, or cannot be had.
        """
