"""Run what needs a process of its own beside a daemon: the web application, and looks at the catalogues of sources.

The web application is restarted when it ends. Both end with the daemon.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Final, Self

from monitor.daemon.journal import LOG

_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 60.0
_STEADY_S: Final = 60.0
"""A process that ran for so long is restarted without a longer pause."""
_LOOK_S: Final = 0.5
_PATIENCE_S: Final = 5.0


def web_command(config: Path, *, as_json: bool) -> Sequence[str]:
    """Return the command that serves a configuration for as long as this process lives."""
    shared = ("--format", "json") if as_json else ()
    return (sys.executable, "-m", "tablewatch", "-c", str(config), "serve", *shared, "--beside", str(os.getpid()))


class WebProcess:
    """Keeps a command running for a `with` block. The daemon does not wait for it while it runs."""

    def __init__(self, command: Sequence[str], *, first_pause_s: float = _FIRST_PAUSE_S) -> None:
        """Prepare the command; it is started when the block begins."""
        self._command, self._first_pause_s = command, first_pause_s
        self._told = Event()
        self._is_stopping = False
        self._thread = Thread(target=self._keep, name="web", daemon=True)  # its end would end the process too

    def __enter__(self) -> Self:
        """Start the process."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the process, and wait for its end."""
        self._is_stopping = True
        self._told.set()
        self._thread.join()

    def restart(self) -> None:
        """Restart the process, since the configuration has changed."""
        self._told.set()

    def _keep(self) -> None:
        pause = self._first_pause_s
        while not self._is_stopping:
            began = time.monotonic()
            code = self._run()
            if code is None:
                continue
            pause = self._first_pause_s if time.monotonic() - began > _STEADY_S else pause
            LOG.warning("the web application ended (exit code %d); it starts again in %g s", code, pause)
            if self._told.wait(pause):
                self._told.clear()
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    def _run(self) -> int | None:
        """Run the command to its end and return its exit code; None if it was ended on request."""
        process = _start(self._command)
        while process.poll() is None:
            if self._told.wait(_LOOK_S):
                self._told.clear()
                _end(process)
                return None
        return process.returncode


class TableRefresh:
    """Reads which tables patterns stand for, by a command: the daemon itself loads no engine."""

    def __init__(self, config: Path) -> None:
        """Prepare the command for a configuration."""
        self._command = (sys.executable, "-m", "tablewatch", "-c", str(config), "table", "refresh")
        self._process: subprocess.Popen[bytes] | None = None
        self._reported = ""

    def __call__(self) -> None:
        """Run it to its end, and log what is wrong, once. New tables are in the file that it writes."""
        self._process = _start(self._command, out=subprocess.DEVNULL, errors=subprocess.PIPE)
        notes = self._process.communicate()[1].decode(errors="replace").strip()
        if notes and notes != self._reported:
            LOG.warning("%s", " ".join(notes.split()))
        self._reported = notes

    def stop(self) -> None:
        """End it, if it runs."""
        if self._process is not None and self._process.poll() is None:
            _end(self._process)


def _start(command: Sequence[str], *, out: int | None = None, errors: int | None = None) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)  # noqa: S603 - our own words


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
