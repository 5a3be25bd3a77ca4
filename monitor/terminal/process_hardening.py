"""Keep what this process writes, and what it would leave in a crash, to the account it runs as; end the process."""

import atexit
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from monitor.terminal.problem import Stop

_OWNER_ONLY: Final = 0o077


def harden_process() -> None:
    """Set the umask so that files are for their owner only, and disable core dumps.

    Plugins of pydantic, which other packages bring, would be shown the configuration with its secrets: none is loaded.
    Processes that are started from here inherit both. Memory holds values of tables while they are measured; a limit of
    0 stops a core file, and an empty filter also what a program that catches cores would get (core(5)).
    """
    atexit.register(_leave)  # what is registered first is called last
    os.umask(_OWNER_ONLY)
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    with suppress(ImportError):  # Windows has none
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with suppress(OSError):  # only Linux has it
        Path("/proc/self/coredump_filter").write_text("0", encoding="ascii")


class _Ending:
    """The exit code of this process, once it is known."""

    code: int | None = None


_ENDING: Final = _Ending()


def end_process(code: int) -> NoReturn:
    """End this process with an exit code, also while a thread is inside an engine (after Ctrl-C, or a timeout).

    Such a thread that comes back while the interpreter is torn down is unwound through C++, which aborts the process
    (code 134). So `_leave` ends it before that, after all that is registered for the end of the process.
    """
    _ENDING.code = int(code)
    sys.exit(code)


def _leave() -> None:
    if _ENDING.code is None or not any(thread.daemon for thread in threading.enumerate()):
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, Stop):  # its reader is gone
            stream.flush()
    os._exit(_ENDING.code)
