"""A process of its own that runs functions, each with a deadline.

Great Expectations takes seconds to import, keeps memory, and may hang or crash; here it does so without touching who
asked. The process is started on first use, serves one request at a time, and ends with its parent, however that ends:
it waits on a socket that the operating system closes.
"""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Any, NoReturn

from checks.gx.errors import lineage
from checks.gx.parent_death import die_with_parent

_START_WITHIN = timedelta(minutes=3)
"""Importing takes 5 s of one quiet core; it does not count against the deadline of the first request."""

_BOOT = "import sys; from checks.gx.worker import serve; serve(int(sys.argv[1]), int(sys.argv[2]))"


@dataclass(frozen=True, slots=True)
class Raised:
    """A request ended in an exception: its classes, causes first. Its text may hold data and stays behind."""

    classes: tuple[str, ...]


@dataclass
class Worker:
    """Calls functions in a process of its own. `prepare` runs there once, first.

    Safe to share between threads: one call at a time. Functions, arguments and results cross by pickle, so functions
    stand at the top of a module.
    """

    prepare: Callable[[], object]
    recycle_after: int = 2000
    """Calls after which another process is started: the library keeps some memory of each."""
    _calls: int = field(default=0, init=False)
    _process: "Popen[bytes] | None" = field(default=None, init=False)
    _pipe: "Connection[Any, Any] | None" = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._forget)

    @property
    def pid(self) -> int | None:
        """Return the id of the running process, None without one."""
        return None if self._process is None else self._process.pid

    def call(self, function: Callable[..., Any], *arguments: Any, deadline: timedelta) -> Any:
        """Return what the function returns there, or `Raised`.

        Raises:
            TimeoutError: no answer within the deadline; the process was killed, the next call starts another.
            ChildProcessError: the process ended before it answered.
        """
        with self._lock:
            answered = False
            try:
                if self._calls >= self.recycle_after:
                    self._end()
                if self._process is None:
                    self._start()
                self._calls += 1
                answer = self._ask(function, arguments, deadline)
                answered = True
            finally:
                if not answered:  # also on an interrupt: what is under way must not be taken for the next answer
                    self._end()
            return answer

    def close(self) -> None:
        """End the process, if there is one, also amid a call of another thread: that call then says so."""
        process = self._process
        if process is not None:
            process.kill()
        with self._lock:
            self._end()

    def _start(self) -> None:
        ours, theirs = Pipe()
        # the kernel's watch is over the thread that starts it: any but the main one may end long before the process
        watched = os.getpid() if threading.current_thread() is threading.main_thread() else 0
        command = [sys.executable, "-P", "-W", "ignore", "-c", _BOOT, str(theirs.fileno()), str(watched)]
        found_here = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        environment = {**os.environ, "PYTHONPATH": found_here, "TQDM_DISABLE": "1", "GX_ANALYTICS_ENABLED": "false"}
        # what it prints (progress bars, tracebacks) may hold data, so nobody hears it
        self._process = Popen(  # noqa: S603 - our own interpreter and our own words
            command, env=environment, pass_fds=[theirs.fileno()], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
        )
        theirs.close()
        self._pipe = ours
        try:
            ready = self._ask(self.prepare, (), _START_WITHIN)
        except TimeoutError:
            raise ChildProcessError(f"the worker did not start within {_START_WITHIN.seconds} s") from None
        if isinstance(ready, Raised):
            raise ChildProcessError(f"the worker could not start ({ready.classes[0]})")

    def _ask(self, function: Callable[..., Any], arguments: tuple[Any, ...], deadline: timedelta) -> Any:
        if self._pipe is None or self._process is None:
            raise ChildProcessError("the worker is not running")
        try:
            self._pipe.send((function, arguments))
            if not self._pipe.poll(deadline.total_seconds()):
                raise TimeoutError
            return self._pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise ChildProcessError(f"the worker ended before it answered (status {self._process.wait()})") from None

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()  # nothing there is worth saving
            self._process.wait()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None
        self._calls = 0

    def _forget(self) -> None:
        """Leave the process to the parent: a forked child starts its own."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.returncode = 0  # it is no child of this process, so nothing is left to wait for
        self._process = self._pipe = None
        self._lock = threading.Lock()


def serve(descriptor: int, parent: int) -> NoReturn:
    """Answer requests from a socket until it closes; then end at once, even amid a request.

    `parent` is the process with which the kernel is to end this one, even while a library holds the interpreter; 0 for
    none.
    """
    if parent:
        die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides what ends
    pipe: Connection[Any, Any] = Connection(descriptor)
    pool = ThreadPoolExecutor(max_workers=1)
    while True:
        try:
            function, arguments = pipe.recv()
        except (EOFError, ConnectionResetError):
            os._exit(0)
        pool.submit(function, *arguments).add_done_callback(partial(_answer, pipe))


def _answer(pipe: "Connection[Any, Any]", done: "Future[Any]") -> None:
    error = done.exception()
    pipe.send(done.result() if error is None else Raised(_classes(error)))


def _classes(error: BaseException | None) -> tuple[str, ...]:
    if error is None:
        return ()
    return (*_classes(error.__cause__ or error.__context__), *lineage(type(error)))
