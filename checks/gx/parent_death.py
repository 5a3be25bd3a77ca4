"""End a process with its parent, whatever the process is doing, and inherit the children of others (Linux)."""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when the thread that made it ends; `parent` is the parent's process id.

    A parent that has ended already ends this process at once.
    """
    _set(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def outlive_parent() -> None:
    """Take that back."""
    _set(_PR_SET_PDEATHSIG, 0)


def adopt_orphans() -> None:
    """Become the parent of processes below this one whose own parent ends, in place of the machine's first process."""
    _set(_PR_SET_CHILD_SUBREAPER, 1)


def _set(what: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(what, value, 0, 0, 0)
