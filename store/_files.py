"""Name the file of a store; make files and folders that only their owner reads, and see that they are on the disk."""

import errno
import json
import os
import re
import secrets
import sqlite3
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final
from urllib.parse import quote, unquote

from store._errors import StoreError

try:
    import fcntl
except ImportError:  # Windows
    LOCKS = False
else:
    LOCKS = True

NO_LINKS: Final[int] = getattr(os, "O_NOFOLLOW", 0)
"""The flag for `os.open` that refuses a link, on systems that have it."""
LOG_ENDS = ("-wal", "-shm", "-journal")
"""What SQLite puts beside a database while it is in use, or after a crash."""

UNREADABLE_URL: Final = "the store's url cannot be read; expected sqlite:///FILE or postgresql://USER@HOST/DATABASE"

_OPEN: Final = Path("/proc/self/fd")
_DRAFT: Final = ".tablewatch-draft-"
_A_DRAFT: Final = re.compile(re.escape(_DRAFT) + "[0-9a-f]{16}")
_HELD: Final[dict[Path, int]] = {}
"""The drafts of this process, each with a locked descriptor, which shows other processes that it is in use."""


def lock_file(number: int, *, shared: bool = False, wait: bool = False) -> None:
    """Lock an open file until it is closed, alone or with others who share it.

    Raises:
        BlockingIOError: another process has it, and `wait` is not set.
        OSError: the disk or the system has no locks of files.
    """
    if not LOCKS:
        raise OSError(errno.ENOLCK, "this system has no locks of files (fcntl); use Linux, macOS or WSL")
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(number, kind if wait else kind | fcntl.LOCK_NB)


def store_file(url: str) -> Path | None:
    """Return the file of the store at a URL, whether it is there or not; None on PostgreSQL.

    Raises:
        StoreError: it is no URL of a SQLite file or a PostgreSQL database.
    """
    scheme, mark, path = url.partition(":")
    backend = scheme.partition("+")[0]
    if backend == "sqlite":
        # Not by SQLAlchemy, of which one version decodes the path and another one does not.
        path = path.partition("///")[2]
        if not path or path == ":memory:" or "?" in path:
            raise StoreError("the store needs a file of its own; expected sqlite:///FILE without options")
        return Path(unquote(path))
    if not mark:
        raise StoreError(UNREADABLE_URL)
    if backend not in {"postgresql", "postgres"}:
        raise StoreError(
            f"the store's url begins with '{backend}'; expected sqlite:///FILE or postgresql://USER@HOST/DATABASE"
        )
    return None


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, where they are missing.

    Raises:
        OSError: it cannot be made.
    """
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir(mode=0o700, exist_ok=True)


def is_at(path: Path, status: os.stat_result) -> bool:
    """Check whether a file that was seen before is still in its place; also where that cannot be seen."""
    try:
        result = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return (result.st_dev, result.st_ino) == (status.st_dev, status.st_ino)


def log_of(file: Path) -> os.stat_result | None:
    """Return the write-ahead log of a database as it is now; None without one."""
    try:
        return Path(f"{file}-wal").stat()
    except OSError:
        return None


def lock_of(store: Path) -> Path:
    """Return the file that the daemon of a store locks: one for all names of the store."""
    real = store.resolve()
    return real.with_name(f"{real.name}.lock")


def last_file(store: Path) -> Path:
    """Return the file in which is saved how far a store goes, beside the database and what SQLite puts there."""
    return store.with_name(f"{store.name}.last")


def is_log_of_daemon(store: Path) -> bool:
    """Check whether the write-ahead log of a store is the one that its lock names, or the lock names none.

    Asked without the lock, which would keep a daemon from starting.
    """
    try:
        recorded = json.loads(lock_of(store).read_bytes()).get("log")
    except (OSError, ValueError, AttributeError):
        return True
    log = log_of(store)
    return recorded is None or (log is not None and recorded == [log.st_dev, log.st_ino])


def replaced_logs(file: Path) -> list[Path]:
    """Return which of the two files beside a database in use are not those that this process has open.

    They were deleted or replaced. Empty where the system does not say what is open (it has no /proc).
    """
    if not _OPEN.is_dir():
        return []
    opened = set()
    for descriptor in _OPEN.iterdir():
        with suppress(OSError):  # it was closed meanwhile
            opened.add(_identity(descriptor))
    replaced = []
    for log in (Path(f"{file}{end}") for end in LOG_ENDS[:2]):
        try:
            is_ours = _identity(log) in opened
        except FileNotFoundError:
            is_ours = False
        if not is_ours:
            replaced.append(log)
    return replaced


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def make_draft(file: Path) -> Path:
    """Make an empty file beside another one, hidden and under an unused name, and return its path.

    What processes left there that were killed goes.

    Raises:
        OSError: it cannot be made.
    """
    _remove_orphans(file.parent)
    while True:
        draft = file.with_name(f"{_DRAFT}{secrets.token_hex(8)}")
        number = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        with suppress(OSError):  # a disk without locks, where orphans are never removed
            lock_file(number, wait=True)
        if is_at(draft, os.fstat(number)):  # no process took it for an orphan before it was locked
            _HELD[draft] = number
            return draft
        os.close(number)


def remove_draft(draft: Path) -> None:
    """Remove an unneeded draft, with SQLite's files beside it; call it when no process has the draft open."""
    for leftover in (draft, *logs_of(draft)):
        leftover.unlink(missing_ok=True)
    number = _HELD.pop(draft, None)
    if number is not None:
        os.close(number)


def _remove_orphans(folder: Path) -> None:
    """Remove the unlocked drafts: their processes were killed."""
    paths: list[Path] = []
    with suppress(OSError):  # a folder in which one may write, and not look
        paths += (path for path in folder.iterdir() if _A_DRAFT.fullmatch(path.name))
    for draft in paths:
        if draft not in _HELD:
            with suppress(OSError):
                _remove_orphan(draft)


def _remove_orphan(draft: Path) -> None:
    if draft.stat().st_nlink == 1:  # else it is another name of a store: to open that would cost SQLite its locks
        number = os.open(draft, os.O_RDWR | NO_LINKS)
        try:
            lock_file(number)
            remove_draft(draft)
        finally:
            os.close(number)
    else:
        remove_draft(draft)


def logs_of(file: Path) -> list[Path]:
    """Return where SQLite keeps what belongs to a database but does not stand in its file yet."""
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


class ChangeCounter:
    """A connection that only asks SQLite whether others wrote to a database."""

    def __init__(self, file: Path | None) -> None:
        self._file, self._lock = file, Lock()
        self._connection: sqlite3.Connection | None = None

    def read(self) -> int | None:
        """Return SQLite's counter of changes by other connections; None without a file that can be opened."""
        if self._file is None:
            return None
        with self._lock:
            try:
                if self._connection is None:
                    address = f"file:{quote(str(self._file))}?mode=ro"
                    self._connection = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
                (number,) = self._connection.execute("PRAGMA data_version").fetchone()
            except sqlite3.Error:
                return None
            return int(number)

    def close(self) -> None:
        """Close the connection; `read` opens another one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
