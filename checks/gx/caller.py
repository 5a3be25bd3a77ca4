"""How Great Expectations is asked: a `Caller` calls its functions and can end a process that does not answer.

Importing it takes seconds, and it may hang, crash or grow. The scan chooses the process.
Why an expectation could not be evaluated is found from the classes of an exception alone: its text may hold data.
"""

import builtins
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Protocol, Self

from checks._contract import UnknownReason
from checks._outcome import Message

_REASONS: Final[Mapping[UnknownReason, frozenset[str]]] = {
    UnknownReason.TIMEOUT: frozenset({"QueryCanceled", "LockNotAvailable"}),
    UnknownReason.PERMISSION: frozenset({"InsufficientPrivilege"}),
    UnknownReason.MISCONFIGURED: frozenset(
        {
            "CheckError", "ConditionParserError", "DataError", "InvalidExpectationConfigurationError",
            "InvalidExpectationKwargsError", "InvalidMetricAccessorDomainKwargsKeyError", "InvalidSetTypeError",
            "MetricProviderError", "NotImplementedError", "ProgrammingError", "TypeError", "UnhashableColumnError",
            "ValueError",
        }
    ),
    UnknownReason.UNREACHABLE: frozenset({"InterfaceError", "OperationalError", "TestConnectionError"}),
}  # fmt: skip
_EXCEPTION_LINE: Final = re.compile(r"^([A-Za-z_][\w.]*)(?::|$)", re.MULTILINE)


def reason_of(classes: tuple[str, ...], *, sqlite: bool) -> UnknownReason:
    """Return the reason that the classes of an exception and of its causes speak for; `bug` when none is known."""
    reason = next((reason for reason, names in _REASONS.items() if names.intersection(classes)), UnknownReason.BUG)
    # SQLite says OperationalError for a function or column that is not there
    return UnknownReason.MISCONFIGURED if sqlite and reason is UnknownReason.UNREACHABLE else reason


def raised_classes(exception_info: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the classes, causes first, of what Great Expectations caught; empty when it caught nothing.

    `exception_info` comes flat, or keyed by the metric that raised.
    """
    entries = [exception_info] if "raised_exception" in exception_info else exception_info.values()
    raised = [entry for entry in entries if isinstance(entry, Mapping) and entry.get("raised_exception")]
    if not raised:
        return ()
    results = [kind for entry in raised for kind in _classes_in(str(entry.get("exception_traceback") or ""))]
    return tuple(dict.fromkeys(name for kind in results for name in lineage(kind))) or ("Exception",)


def no_answer(deadline: timedelta) -> Message:
    """Describe that Great Expectations did not answer in time."""
    text = "no answer from Great Expectations within {deadline:duration} (query_timeout of the source)"
    return Message(text, {"deadline": deadline.total_seconds()})


def lineage(kind: type[BaseException]) -> tuple[str, ...]:
    """Return the name of a class and those of the more telling ones it comes from."""
    every = tuple(item.__name__ for item in kind.__mro__ if item not in {Exception, BaseException, object})
    return every or (kind.__name__,)


def _classes_in(traceback: str) -> Iterator[type[BaseException]]:
    """Find the lines of a traceback that begin with the name of an exception class that really exists."""
    for match in _EXCEPTION_LINE.finditer(traceback):
        module, _, name = match[1].rpartition(".")
        result = getattr(sys.modules.get(module) if module else builtins, name, None)
        if isinstance(result, type) and issubclass(result, BaseException):
            yield result


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
