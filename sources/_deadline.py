"""Stop work that takes too long, and report work that cannot be stopped."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from threading import Event, Thread
from types import TracebackType
from typing import Final, Self

STUCK_AFTER: Final = timedelta(seconds=3)
"""How long after its deadline work is given up that does not stop: an engine may be inside one long function call."""
_AGAIN_S: Final = 0.5

_report_stuck: ContextVar[Callable[[timedelta], None] | None] = ContextVar("report_stuck", default=None)


@contextmanager
def reporting_stuck(report: Callable[[timedelta], None]) -> Iterator[None]:
    """Call `report` with the limit, from another thread, once a statement begun in this block cannot be stopped.

    Nobody can end such a statement but by ending its process; or its thread is left alone with it.
    """
    token = _report_stuck.set(report)
    try:
        yield
    finally:
        _report_stuck.reset(token)


class Deadline:
    """A block of work that is told to stop when its time is up; `passed` says that it was.

    It is told again until it ends: an engine that still plans, or is between two statements, has nothing to stop yet.
    """

    def __init__(self, after: timedelta, stop: Callable[[], object]) -> None:
        self.passed = False
        self._after = after
        self._stop = stop
        self._report = _report_stuck.get()
        self._done = Event()
        self._watch = Thread(target=self._wait, name="tablewatch-deadline", daemon=True)

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._watch.join()  # else it might stop the next piece of work

    def _wait(self) -> None:
        if self._done.wait(self._after.total_seconds()):
            return
        self.passed = True
        given_up_at = time.monotonic() + STUCK_AFTER.total_seconds()
        self._stop()
        while not self._done.wait(_AGAIN_S):
            if self._report is not None and time.monotonic() >= given_up_at:
                self._report(self._after)
                self._report = None
            self._stop()
