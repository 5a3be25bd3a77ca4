"""Keep what this process writes, and what it would leave in a crash, to the account it runs as."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_OWNER_ONLY: Final = 0o077


def harden_process() -> None:
    """Set the umask so that files are for their owner only, and disable core dumps.

    Plugins of pydantic, which other packages bring, would be shown the configuration with its secrets: none is loaded.
    Processes that are started from here inherit both. Memory holds values of tables while they are measured; a limit of
    0 stops a core file, and an empty filter also what a program that catches cores would get (core(5)).
    """
    os.umask(_OWNER_ONLY)
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    with suppress(ImportError):  # Windows has none
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with suppress(OSError):  # only Linux has it
        Path("/proc/self/coredump_filter").write_text("0", encoding="ascii")
