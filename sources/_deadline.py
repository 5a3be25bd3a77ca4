"""Stop work that takes too long."""

from collections.abc import Callable
from datetime import timedelta
from threading import Timer
from types import TracebackType
from typing import Self


class Deadline:
    """A block of work that is told to stop when its time is up; `passed` says that it was."""

    def __init__(self, after: timedelta, stop: Callable[[], object]) -> None:
        self.passed = False
        self._stop = stop
        self._timer = Timer(after.total_seconds(), self._run_out)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._timer.join()  # else it might stop the next piece of work

    def _run_out(self) -> None:
        self.passed = True
        self._stop()
