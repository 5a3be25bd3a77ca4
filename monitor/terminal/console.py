"""Where text goes: the terminal, pipes and files behind the two standard streams, masked on the way out.

A long command reports its progress here: a bar on a terminal, lines elsewhere, nothing at all for quick work.
"""

import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from monitor.clock import Clock, SystemClock
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.terminal.redaction import Redactor, json_text, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.progress import Progress
    from rich.segment import Segment

_UNLIMITED = 1_000_000
"""Width of a pipe or a file, whose reader wraps lines or searches them."""
_MOST_SHOWN = 140
_BEFORE_CARET = 60


class _Masked:
    """One of the standard streams, whatever it is at the moment, with secrets masked in what is written."""

    def __init__(self, name: str, mask: Callable[[str], str]) -> None:
        self._name, self._mask = name, mask

    def write(self, text: str) -> int:
        written: int = getattr(sys, self._name).write(self._mask(text))
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(sys, self._name), name)


def make_console(mask: Callable[[str], str], *, stderr: bool) -> "Console":
    """Return a console on standard output or error.

    Nothing is read as markup, and lines are not wrapped. Names and paths reach the terminal as text only: a control
    character in them is shown, not obeyed. A reader that goes away (`| head`) ends the output, not the command: what
    was done stays done, and the exit code keeps its meaning.
    """
    from rich.console import Console
    from rich.segment import Segment

    class Quiet(Console):
        def render(self, renderable: "RenderableType", options: "ConsoleOptions | None" = None) -> "Iterable[Segment]":
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(visible(segment.text, keep="\n"), segment.style)

        def on_broken_pipe(self) -> None:
            discard_stdout()

    stream: Any = _Masked("stderr" if stderr else "stdout", mask)
    console = Quiet(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _UNLIMITED
    return console


@cache
def out() -> "Console":
    """Return a console of standard output, to ask what it is; results are shown by `Invocation.emit`."""
    return make_console(str, stderr=False)


@cache
def err() -> "Console":
    """Return a console of standard error for text that holds no secret, such as progress."""
    return make_console(str, stderr=True)


def print_json(value: Any) -> None:
    """Write one JSON value to standard output, in whatever characters that can take."""
    try:
        sys.stdout.write(json_text(value, ascii_only=(sys.stdout.encoding or "utf-8").lower() != "utf-8") + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()


def print_plain(console: "Console", text: str) -> None:
    """Write a long text without styles: laying out megabytes takes the console minutes."""
    try:
        console.file.write(visible(text, keep="\n"))
        console.file.flush()
    except BrokenPipeError:
        discard_stdout()


def guard_streams() -> None:
    """Make a full disk behind the standard streams end the command with an error, not as a bug.

    What cannot be encoded is written as escapes: a file name may hold bytes that are no text.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.flush()
            guarded = io.TextIOWrapper(
                io.BufferedWriter(_Stream(stream.fileno(), name)),
                stream.encoding,
                "backslashreplace",
                line_buffering=stream.line_buffering,
                write_through=stream.write_through,
            )
            setattr(sys, name, guarded)


class _Stream(io.FileIO):
    """One of the standard streams; what is written to it is lost, or the command ends, once it takes no more."""

    def __init__(self, number: int, name: str) -> None:
        super().__init__(number, "wb", closefd=False)
        self._is_data = name == "stdout"

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            raise
        except OSError as error:
            if not self._is_data:
                return len(data)  # a message that cannot be shown must not stop the command
            discard_stdout()
            from monitor.terminal.output_file import reason

            message = f"standard output cannot be written: {reason(error)}"
            raise StdoutLost(ExitCode.USAGE, Problem("stdout", message)) from None


class StdoutLost(Stop):
    """Standard output takes no more: the command's result could not be written."""


def discard_stdout() -> None:
    """Send what is still to be written to standard output nowhere: its reader is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def draw_problem(console: "Console", problem: Problem, redact: Redactor) -> None:
    """Draw an error like a compiler does: message, place, the line with a caret, help."""
    from rich.text import Text

    console.print(Text.assemble(("error: ", "bold red"), (redact(problem.message), "bold")))
    if problem.file is not None:
        team = f" (team {problem.team})" if problem.team is not None else ""
        console.print(Text(f"  --> {redact(problem.place + team)}", "dim"))
    if problem.excerpt is not None and problem.line is not None:
        gutter = " " * len(str(problem.line))
        line, blank = _cut(problem.excerpt, problem.column or 1, redact)
        console.print(Text(f"{gutter} |", "dim"))
        console.print(Text.assemble((f"{problem.line} |", "dim"), line))
        if problem.column is not None:
            console.print(Text.assemble((f"{gutter} |", "dim"), " " * blank, ("^", "bold red")))
    if problem.hint is not None:
        console.print(Text.assemble(("  = help: ", "dim"), redact(problem.hint)))
    console.print()


def _cut(line: str, column: int, redact: Redactor) -> tuple[str, int]:
    """Return what is shown of a line, masked, and how many cells the caret is away from its beginning."""
    from rich.cells import cell_len

    shown, before = redact.line(_printable(line)), redact.line(_printable(line[: column - 1]))
    start = max(0, len(before) - _BEFORE_CARET) if len(shown) > _MOST_SHOWN else 0
    mark = "..." if start else ""
    end = "..." if len(shown) > start + _MOST_SHOWN else ""
    return f"{mark}{shown[start : start + _MOST_SHOWN]}{end}", cell_len(mark + before[start:])


def _printable(text: str) -> str:
    """Replace what would move the terminal's cursor."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


_DELAY = 2.0
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
    every ten seconds. `share`: the pieces are no countable things, so per cent are shown, `label 25 %`.
    """
    console = console or err()
    if console.is_terminal:
        with _bar(label, total, console, share=share) as advance:
            yield advance
    else:
        yield _Lines(label, total, share=share, console=console, clock=clock or SystemClock()).advance


@contextmanager
def progress_by_step() -> Iterator[Callable[[str, int], None]]:
    """Yield a function to be called with a label and the number of pieces after each piece; see `progress`."""
    with ExitStack() as stack:
        last: tuple[str, Advance] | None = None

        def advance(label: str, total: int) -> None:
            nonlocal last
            if last is None or last[0] != label:
                stack.close()
                last = label, stack.enter_context(progress(label, total))
            last[1]()

        yield advance


@contextmanager
def _bar(label: str, total: int, console: "Console", *, share: bool) -> Iterator[Advance]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    done = TaskProgressColumn() if share else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), done, TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(label, total=total)
    with _shown_after(_DELAY, bar):
        yield lambda pieces=1: bar.advance(task, pieces)


@contextmanager
def activity(label: str, *, console: "Console | None" = None, delay: float = _DELAY) -> Iterator[None]:
    """Show what a command does, where its progress is unknown: `label` and the time it has taken.

    Only on a terminal, after `delay` seconds; it goes away at the end.
    """
    console = console or err()
    if not console.is_terminal:
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    line = Progress(*columns, console=console, transient=True)
    line.add_task(label, total=None)
    with _shown_after(delay, line):
        yield


@contextmanager
def _shown_after(delay: float, bar: "Progress") -> Iterator[None]:
    timer = threading.Timer(delay, bar.start)
    timer.daemon = True
    if delay > 0:
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
