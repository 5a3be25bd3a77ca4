"""Make files and folders that only their owner reads, and see that they are on the disk."""

import os
import secrets
from pathlib import Path

LOG_ENDS = ("-wal", "-shm", "-journal")
"""What SQLite puts beside a database while it is in use, or after a crash."""


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, where they are missing.

    Raises:
        OSError: it cannot be made.
    """
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir(mode=0o700, exist_ok=True)


def is_at(path: Path, known: os.stat_result) -> bool:
    """Say whether a file that was seen before is still in its place; also where that cannot be seen."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return (found.st_dev, found.st_ino) == (known.st_dev, known.st_ino)


def make_draft(file: Path) -> Path:
    """Make an empty file beside another one, hidden and under a name that nobody has, and give it.

    Raises:
        OSError: it cannot be made.
    """
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    return draft


def remove_draft(draft: Path) -> None:
    """Remove a draft that was not needed, with what SQLite put beside it."""
    for leftover in (draft, *logs_of(draft)):
        leftover.unlink(missing_ok=True)


def logs_of(file: Path) -> list[Path]:
    """Give where SQLite keeps what belongs to a database but does not stand in its file yet."""
    return [Path(f"{file}{end}") for end in LOG_ENDS]


def put_on_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk.

    Raises:
        OSError: the disk failed.
    """
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
