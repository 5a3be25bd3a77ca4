"""Report something useful about a bug, without giving away data.

This is the interpreter's own hook for uncaught errors: nothing is swallowed. The report holds the kind of
error and the places in the code, never messages, arguments or values, because those may quote secrets or rows.
"""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TypeAlias

from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem
from monitor.terminal.process_hardening import end_process
from monitor.terminal.version import version

Hook: TypeAlias = Callable[[type[BaseException], BaseException, TracebackType | None], None]


def crash_hook(invocation: Invocation) -> Hook:
    """Return the hook that writes a crash report, tells where it is, and leaves with exit code 70.

    After Ctrl-C it leaves with 130, whatever the error is: libraries make errors of their own of it (pydantic, while it
    compiles a model, a SchemaError).
    """
    pressed: list[int] = []

    def press(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # which it is under nohup
        signal.signal(signal.SIGINT, press)

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if pressed or issubclass(kind, KeyboardInterrupt):
            end_process(ExitCode.INTERRUPTED)
        path = write_report(error.with_traceback(trace))
        message = f"a bug in tablewatch: {kind.__name__}; a report without data values was written to {path}"
        invocation.show([Problem("bug", message, hint="please attach that file to an issue")])
        end_process(ExitCode.BUG)

    return hook


def write_report(error: BaseException) -> str:
    """Write a crash report to a file of its own, and return its path."""
    import tempfile

    text = _report(error)
    handle, path = tempfile.mkstemp(prefix="tablewatch-crash-", suffix=".txt", text=True)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _report(error: BaseException) -> str:
    import platform

    machine = f"{platform.system()} {platform.machine()}"
    lines = [f"tablewatch {version()}", f"python {platform.python_version()} on {machine}", ""]
    lines += error_places(error)
    cause = error.__cause__ or error.__context__
    while cause is not None:
        lines += ["", "caused by", *error_places(cause)]
        cause = cause.__cause__ or cause.__context__
    return "\n".join(lines) + "\n"


def error_places(error: BaseException) -> list[str]:
    """Return the kind of an error and the places in the code that it came through: no message and no value."""
    import traceback

    home = sys.prefix
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"  {frame.filename.removeprefix(home)}:{frame.lineno} in {frame.name}" for frame in frames]
    return [f"{type(error).__module__}.{type(error).__qualname__}", *places]
