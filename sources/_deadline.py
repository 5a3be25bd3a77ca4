"""Stop work that takes too long."""

from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread
from types import TracebackType
from typing import Final, Self

_AGAIN_S: Final = 0.5


class Deadline:
    """A block of work that is told to stop when its time is up; `passed` says that it was.

    It is told again until it ends: an engine that still plans, or is between two statements, has nothing to stop yet.
    """

    def __init__(self, after: timedelta, stop: Callable[[], object]) -> None:
        self.passed = False
        self._after = after.total_seconds()
        self._stop = stop
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
        wait = self._after
        while not self._done.wait(wait):
            self.passed = True
            self._stop()
            wait = _AGAIN_S
