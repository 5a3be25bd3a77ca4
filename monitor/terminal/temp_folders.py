"""Folders for what is not finished: gone with the work, or, where that was killed, with the next work there."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from store import NO_LINKS, lock_file

_PREFIX: Final = ".tablewatch-"
_A_DRAFT: Final = re.compile(re.escape(_PREFIX) + r"\w{8}")
_HELD: Final = "held"
"""A file that is locked while a process works in the folder."""
_INSIDE: Final = "draft"


@contextmanager
def draft_folder(beside: Path) -> Iterator[Path]:
    """Yield an empty folder that only its owner can read, in the folder `beside`, and remove it afterwards.

    Those that killed processes left there are removed first.

    Raises:
        OSError: it cannot be made.
    """
    _remove_orphans(beside)
    folder, number = _made(beside)
    try:
        inner = folder / _INSIDE
        inner.mkdir(mode=0o700)
        yield inner
    finally:
        _remove(folder)
        os.close(number)


def _made(beside: Path) -> tuple[Path, int]:
    while True:
        folder = Path(mkdtemp(dir=beside, prefix=_PREFIX))
        with suppress(FileNotFoundError):  # taken for an orphan before it was locked
            number = os.open(folder / _HELD, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            with suppress(OSError):  # a disk without locks, where orphans are never removed
                lock_file(number, wait=True)
            if (folder / _HELD).exists():
                return folder, number
            os.close(number)


def _remove_orphans(beside: Path) -> None:
    paths: list[Path] = []
    with suppress(OSError):  # a folder in which one may write, and not look
        paths += (path for path in beside.iterdir() if _A_DRAFT.fullmatch(path.name) and not path.is_symlink())
    for folder in paths:
        with suppress(OSError):  # a process works in it, or it is another user's
            _remove_orphan(folder)


def _remove_orphan(folder: Path) -> None:
    try:
        number = os.open(folder / _HELD, os.O_RDWR | NO_LINKS)
    except FileNotFoundError:
        folder.rmdir()  # only if there is nothing in it
        return
    try:
        lock_file(number)
        _remove(folder)
    finally:
        os.close(number)


def _remove(folder: Path) -> None:
    """Remove all of it, the lock last, so that who is killed here leaves what can be removed."""
    shutil.rmtree(folder / _INSIDE, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
