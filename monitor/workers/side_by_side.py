"""Do pieces of work side by side, each in a process of its own: one that crashes or is killed takes no other down.

They are forked from one process that has imported what they need and done nothing else: importing takes seconds, which
each of them would spend again. It is started with the first piece, and ends with the process that started it.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Any, Final, TypeVar

from monitor.workers.spawner import ALONE

Done = TypeVar("Done")

_CONTEXT: Final = multiprocessing.get_context("forkserver")  # which has drawn no random bytes that a fork would share
_CONTEXT.set_forkserver_preload(["monitor.releases.preloaded"])


@dataclass(frozen=True, slots=True)
class ProcessCrashed:
    """A piece of work whose process ended without an answer. `exit_code`: below 0, the signal that killed it."""

    exit_code: int | None

    @property
    def said(self) -> str:
        """Format it to a person; what the process printed might tell of the data."""
        if self.exit_code is not None and self.exit_code < 0:
            return f"its process was killed (signal {-self.exit_code}); the machine may have run out of memory"
        return "its process ended without an answer"


@dataclass(slots=True)
class _Running:
    place: int
    process: ForkServerProcess
    answers: Connection


def run_in_processes(
    work: Callable[..., Done], pieces: Sequence[tuple[Any, ...]], *, workers: int
) -> Generator[tuple[int, Done | ProcessCrashed], None, None]:
    """Yield what comes of each piece, by its place, as it comes. `workers`: how many at a time.

    Whoever stops asking, or presses Ctrl-C, ends all processes that are left.
    """
    waiting = list(enumerate(pieces))[::-1]
    running: list[_Running] = []
    with _ended(running):
        while waiting or running:
            while waiting and len(running) < workers:
                place, words = waiting.pop()
                running.append(_begun(work, place, words))
            ready = wait([current_running.answers for current_running in running])
            for current_running in [current_running for current_running in running if current_running.answers in ready]:
                running.remove(current_running)
                yield current_running.place, _answer(current_running)


def _get_ready() -> None:
    """Start the process that is forked from, if there is none: with no threads, and not to be ended by Ctrl-C."""
    before = {name: os.environ.get(name) for name in ALONE}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # what is started now inherits it
    os.environ |= ALONE
    try:
        ensure_running()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _begun(work: Callable[..., Done], place: int, words: tuple[Any, ...]) -> _Running:
    _get_ready()
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_work, args=(theirs, work, words), daemon=True)
    process.start()
    theirs.close()  # so that its end is seen
    return _Running(place, process, ours)


def _answer(running: _Running) -> Any:
    try:
        result = running.answers.recv()
    except EOFError:
        running.process.join()
        return ProcessCrashed(running.process.exitcode)
    finally:
        running.answers.close()
    running.process.join()
    return result


@contextmanager
def _ended(running: Sequence[_Running]) -> Iterator[None]:
    try:
        yield
    finally:
        for current_running in running:
            current_running.process.kill()
        for current_running in running:
            current_running.process.join()


def _work(answers: Connection, work: Callable[..., Any], words: tuple[Any, ...]) -> None:
    """Do a piece in its process. What a crash prints is not shown: it may hold values of the table."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever began it is told, and ends it
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        sys.stderr = nowhere  # where it would print what went wrong
        answers.send(work(*words))
    answers.close()
