"""Describe how far a long command has come: a bar on a terminal, lines elsewhere, nothing at all for quick work."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from monitor.clock import Clock, SystemClock
from monitor.terminal.console import err

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_PATIENCE = 2.0
"""Seconds after which a person on a terminal wants to see something move."""
_LINE_EVERY = 10.0
"""Seconds between lines where there is no terminal."""


class Advance(Protocol):
    """Counts pieces of work that are done; it may be called from any thread."""

    def __call__(self, pieces: int = 1, /) -> None:
        """Count some more."""


@contextmanager
def progress(
    label: str, total: int, *, share: bool = False, console: "Console | None" = None, clock: Clock | None = None
) -> Iterator[Advance]:
    """Yield a function to be called after each, or after some, of `total` pieces of work.

    On a terminal a bar appears after two seconds and goes away at the end; elsewhere a line `label [3/12]` is written
    every ten seconds. `share`: the pieces are nothing that anybody counts, so per cent are shown, `label 25 %`.
    """
    console = console or err()
    if console.is_terminal:
        with _bar(label, total, console, share=share) as advance:
            yield advance
    else:
        yield _Lines(label, total, share=share, console=console, clock=clock or SystemClock()).advance


@contextmanager
def _bar(label: str, total: int, console: "Console", *, share: bool) -> Iterator[Advance]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    done = TaskProgressColumn() if share else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), done, TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(label, total=total)
    with _shown_after(_PATIENCE, bar):
        yield lambda pieces=1: bar.advance(task, pieces)


@contextmanager
def activity(label: str, *, console: "Console | None" = None, patience: float = _PATIENCE) -> Iterator[None]:
    """Show what a command does meanwhile, where nobody knows how far it is: `label` and the time it has taken.

    Only on a terminal, after `patience` seconds; it goes away at the end.
    """
    console = console or err()
    if not console.is_terminal:
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    line = Progress(*columns, console=console, transient=True)
    line.add_task(label, total=None)
    with _shown_after(patience, line):
        yield


@contextmanager
def _shown_after(patience: float, bar: "Progress") -> Iterator[None]:
    timer = threading.Timer(patience, bar.start)
    timer.daemon = True
    if patience > 0:
        timer.start()
    else:
        bar.start()
    try:
        yield
    finally:
        timer.cancel()
        if timer.ident is not None:
            timer.join()
        bar.stop()


class _Lines:
    def __init__(self, label: str, total: int, *, share: bool, console: "Console", clock: Clock) -> None:
        self._label, self._total, self._share, self._console, self._clock = label, total, share, console, clock
        self._done = 0
        self._last = clock.monotonic()
        self._lock = threading.Lock()

    def advance(self, pieces: int = 1, /) -> None:
        with self._lock:
            self._done += pieces
            now = self._clock.monotonic()
            if now - self._last >= _LINE_EVERY:
                self._last = now
                self._console.print(f"{self._label} {self._said()}", markup=False)

    def _said(self) -> str:
        return f"{100 * self._done // self._total} %" if self._share else f"[{self._done}/{self._total}]"
