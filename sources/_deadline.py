"""Stop work that takes too long, and report work that cannot be stopped."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from threading import Condition, Thread
from types import TracebackType
from typing import Final, Self

STUCK_AFTER: Final = timedelta(seconds=3)
"""How long after its deadline work is given up that does not stop: an engine may be inside one long function call."""
_AGAIN_S: Final = 0.5

_report_stuck: ContextVar[Callable[[timedelta], None] | None] = ContextVar("report_stuck", default=None)


@contextmanager
def reporting_stuck(report: Callable[[timedelta], None]) -> Iterator[None]:
    """Call `report` with the limit, from another thread, once a statement begun in this block cannot be stopped.

    Only the end of its process ends such a statement; else its thread stays with it.
    """
    token = _report_stuck.set(report)
    try:
        yield
    finally:
        _report_stuck.reset(token)


@dataclass(eq=False, slots=True)
class Deadline:
    """A piece of work that is stopped when its time is up; `passed`: it was."""

    ends_at: float
    passed: bool
    report: Callable[[timedelta], None] | None


class Deadlines:
    """Watches what one connection works on, each piece of work for the same time, in one thread until it is closed.

    The stop is repeated until the work ends: an engine that still plans, or is between two statements, has nothing to
    stop yet. The thread sleeps until the first deadline it knows of; work that begins meanwhile ends later, and does
    not wake it: a small table is read in less time than a thread takes to start.
    """

    def __init__(self, after: timedelta, stop: Callable[[], object]) -> None:
        self._after = after
        self._stop = stop
        self._active: set[Deadline] = set()
        self._changed = Condition()
        self._watch: Thread | None = None
        self._idle = self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._watch is not None:
            self._watch.join()

    @contextmanager
    def work(self) -> Iterator[Deadline]:
        """Watch a block of work; nothing is stopped after it."""
        deadline = Deadline(time.monotonic() + self._after.total_seconds(), passed=False, report=_report_stuck.get())
        with self._changed:
            self._active.add(deadline)
            if self._watch is None:
                self._watch = Thread(target=self._run, name="tablewatch-deadline", daemon=True)
                self._watch.start()
            elif self._idle:
                self._changed.notify()
        try:
            yield deadline
        finally:
            with self._changed:  # not while it is being stopped
                self._active.discard(deadline)

    def _run(self) -> None:
        with self._changed:
            while not self._closed:
                self._idle = not self._active
                self._changed.wait(self._stop_late(time.monotonic()))

    def _stop_late(self, now: float) -> float | None:
        """Stop what is late; return after how many seconds to look again, None if nothing is at work."""
        late = [deadline for deadline in self._active if deadline.ends_at <= now]
        for deadline in late:
            deadline.passed = True
            if deadline.report is not None and now >= deadline.ends_at + STUCK_AFTER.total_seconds():
                deadline.report(self._after)
                deadline.report = None
        if late:
            self._stop()
            return _AGAIN_S
        return min((deadline.ends_at - now for deadline in self._active), default=None)
