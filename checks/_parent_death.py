"""End a process with its parent, whatever the process is doing (Linux)."""

import ctypes
import os
import signal
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when the thread that made it ends; `parent` is the parent's process id.

    A parent that has ended already ends this process at once.
    """
    _set(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def outlive_parent() -> None:
    """Take that back."""
    _set(0)


def _set(number: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
