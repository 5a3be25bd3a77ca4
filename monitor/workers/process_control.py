"""Process control on Linux: children that end with their parent, kills, memory in use."""

import ctypes
import os
import re
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_SHARE: Final = (3, 4)
"""So much of the memory there is one worker may hold: beyond that it swaps, or the kernel kills processes."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_TOTAL: Final = re.compile(r"^MemTotal:\s+(\d+) kB", re.MULTILINE)
_CGROUP: Final = re.compile(r"^0::/(.*)$", re.MULTILINE)


def missing_for_workers() -> Sequence[str]:
    """Return what worker processes need and this system does not have; nothing on Linux."""
    there = {
        "fork": hasattr(os, "fork"),
        "Unix sockets of packets": hasattr(socket, "AF_UNIX") and hasattr(socket, "SOCK_SEQPACKET"),
        "/proc": Path("/proc/self/task").is_dir(),
        "locks of files (fcntl)": find_spec("fcntl") is not None,
    }
    return [name for name, has in there.items() if not has]


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when the thread that made it ends; `parent` is the parent's process id.

    A parent that has ended already ends this process at once.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def outlive_parent() -> None:
    """Take that back."""
    _prctl(_PR_SET_PDEATHSIG, 0)


def adopt_orphans() -> None:
    """Become the parent of processes below this one whose own parent ends, in place of the machine's first process."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def memory_of(process: int) -> int:
    """Return the bytes of memory that a process holds; 0 of one that is gone."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def allowed_memory(root: Path = Path("/")) -> int:
    """Return the bytes that one worker may hold: three quarters of what the machine, or its container, has."""
    part, whole = _SHARE
    return min(_limits(root)) * part // whole


def _limits(root: Path) -> Iterator[int]:
    match = _TOTAL.search((root / "proc/meminfo").read_text(encoding="ascii"))
    yield int(match[1]) * 1024 if match else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError):
        group = _CGROUP.search((root / "proc/self/cgroup").read_text(encoding="utf-8"))
        place = Path("sys/fs/cgroup", group[1] if group else "")
        for folder in (place, *place.parents):
            with suppress(OSError, ValueError):  # ValueError: "max", which is no limit
                yield int((root / folder / "memory.max").read_text(encoding="ascii"))


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
    results = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                results.append(int(entry.name))
    return results
