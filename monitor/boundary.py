"""The job boundary: whatever goes wrong in one job becomes an outcome, and stops nothing else.

This is the only place of the house, beside the web's, where an error of any class is caught.
"""

from collections.abc import Callable
from typing import TypeVar

from checks import Message, Outcome, UnknownReason, unknown
from monitor.looked import not_evaluated
from sources import SourceError

T = TypeVar("T")

_NOTHING: tuple[type[BaseException], ...] = ()


def run_guarded(job: Callable[[], T], *, passes_on: tuple[type[BaseException], ...] = _NOTHING) -> T | Outcome:
    """Do a job; give its result, or the outcome that says why there is none.

    An error of a source is what the source said; any other is a bug, told by its class only, since its text may hold
    data. `passes_on` are errors that are none of the job's: Ctrl-C, where the job runs in the main thread.
    """
    try:
        return job()
    except passes_on:
        raise
    except SourceError as error:
        return not_evaluated(error)
    except BaseException as error:  # noqa: BLE001 - the job boundary: a bug, a panic or an exit stops one job only
        return internal_error(type(error).__name__)


def internal_error(over: str) -> Outcome:
    """Give the outcome of a job that met a bug of ours, or of a library: over what, in our words."""
    return unknown(UnknownReason.BUG, Message("tablewatch stumbled ({error}); please report it", {"error": over}))
