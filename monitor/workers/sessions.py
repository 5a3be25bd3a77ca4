"""End a worker and everything it started: each worker leads a session of its own."""

import os
import signal
from contextlib import suppress
from pathlib import Path


def signal_group(leader: int, number: signal.Signals) -> None:
    """Send a signal to a worker's process group. The worker has not been waited for, so the id is its own."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def kill_session(leader: int) -> None:
    """Kill every process of a worker's session, also those that made a process group of their own, as Spark's do."""
    signal_group(leader, signal.SIGKILL)
    for process in _session(leader):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)


def _session(leader: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found.append(int(entry.name))
    return found
