"""Signs of changes of files: their names, inodes, sizes and times."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

_RECENT_NS: Final = 2_000_000_000
"""A file that was written so lately may be written again without another time: file systems count in steps."""


def sign_of_files(paths: Iterable[Path], now: datetime) -> str | None:
    """Return a sign of the content of files, also of ones that may not be there; None if one was written just now."""
    latest = int(now.timestamp() * 1_000_000_000) - _RECENT_NS
    parts: list[object] = []
    for path in paths:
        with suppress(FileNotFoundError):
            stat = path.stat()
            if max(stat.st_mtime_ns, stat.st_ctime_ns) > latest:
                return None
            parts.append((str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
    return repr(parts) if parts else None
