"""Call functions in worker processes: one after the other in one worker, or many side by side.

Each is called in a process that may crash, grow or be killed without touching the caller. Arguments and answers
travel as pickles, so functions stand at the top of a module.
"""

import pickle
from collections.abc import Callable, Generator, Sequence
from datetime import timedelta
from itertools import count
from threading import Lock
from types import TracebackType
from typing import Any, Final, Self

from monitor.clock import SystemClock
from monitor.workers.job import CallFailed, FunctionCall, Returned
from monitor.workers.pool import Pool

_LISTEN_S: Final = 1.0


class WorkerCalls:
    """Calls functions in one worker, which is started with the first call, and replaced when it ends.

    Threads may share it: one call at a time. Close it, or use it as a context manager: no process survives it.
    """

    def __init__(self, preload: Sequence[str] = ()) -> None:
        """`preload`: modules to import before the first call, outside its deadline."""
        self._preload = preload
        self._pool: Pool | None = None
        self._numbers = count(1)
        self._lock = Lock()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def call(
        self, function: Callable[..., Any], *arguments: Any, deadline: timedelta, check_id: str | None = None
    ) -> Any:
        """Return what the function returns there, or `Raised`.

        Raises:
            TimeoutError: no answer within the deadline; the worker was ended, the next call has another.
            ChildProcessError: the worker ended before it answered, or none can be had.
        """
        del check_id  # who waits for the answer knows
        with self._lock:
            event = None
            try:
                event = self._wait_for(FunctionCall(next(self._numbers), function, arguments, deadline))
            finally:
                if event is None:  # also on an interrupt: what is under way must not be taken for the next answer
                    self._end()
        if isinstance(event, Returned):
            return _answer(event)
        if event.overdue:
            raise TimeoutError(event.cause)
        raise ChildProcessError(f"the worker process ended before it answered ({event.cause})")

    def close(self) -> None:
        """End the worker, also amid a call of another thread: that call then raises."""
        self._closed = True
        if (pool := self._pool) is not None:
            pool.wake()
        with self._lock:
            self._end()

    def _wait_for(self, call: FunctionCall) -> Returned | CallFailed:
        pool = self._pool = self._pool or Pool(
            size=1, clock=SystemClock(), concurrency={FunctionCall.source: 1}, preload=self._preload
        )
        pool.submit(call)
        while not self._closed:
            for event in pool.events(_LISTEN_S):
                if isinstance(event, Returned | CallFailed):
                    return event
            if (trouble := pool.state.trouble) is not None:
                raise ChildProcessError(trouble)
        raise ChildProcessError("the worker process was ended")

    def _end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(timedelta())


def call_each(
    function: Callable[..., Any], pieces: Sequence[tuple[Any, ...]], *, workers: int, preload: Sequence[str] = ()
) -> Generator[tuple[int, Any], None, None]:
    """Call a function with each tuple of arguments, and yield its place with what came of it, as it comes.

    That is what the function returned, `Raised`, or `CallFailed`. `workers`: how many at a time. A caller that stops,
    or presses Ctrl-C, ends all that are under way.
    """
    if not pieces:
        return
    with Pool(size=workers, clock=SystemClock(), concurrency={FunctionCall.source: workers}, preload=preload) as pool:
        for place, arguments in enumerate(pieces):
            pool.submit(FunctionCall(place, function, arguments))
        waiting = set(range(len(pieces)))
        while waiting:
            for event in pool.events(_LISTEN_S):
                waiting.discard(event.job)
                yield event.job, _answer(event) if isinstance(event, Returned) else event
            state = pool.state
            if state.trouble is not None and not state.busy:
                yield from ((place, CallFailed(place, state.trouble)) for place in sorted(waiting))
                return


def _answer(event: Returned) -> Any:
    return pickle.loads(event.answer)  # noqa: S301 - from our own worker
