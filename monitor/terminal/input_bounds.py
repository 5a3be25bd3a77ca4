"""Bounds of what comes in: every option and argument of every command keeps them, whatever it means.

What comes after may then count on it: a whole number fits into a database, a number is finite, a text can be written
as UTF-8 and converted to a number in reasonable time, a path can be looked up. What an option means has bounds of its
own beside these.

A file that a person named is read with bounds too: at most so much of it, and without waiting for a writer that never
writes (`Path.read_text` waits for ever at a named pipe without a writer, and never ends at `/dev/zero`).
"""

import errno
import math
import os
import re
import stat
from datetime import date
from pathlib import Path
from typing import Any, Final

_LARGEST: Final = 2**63 - 1
"""What SQLite and PostgreSQL hold."""
LONGEST: Final = 100_000
"""Characters of a text; Linux takes 131,071 bytes in one argument."""
_MOST_DIGITS: Final = 1_000
_DIGITS: Final = re.compile(rf"[0-9]{{{_MOST_DIGITS + 1},}}")
_SHOWN: Final = 40
_NO_WAITING: Final[int] = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""Flags that keep a pipe or terminal from stopping us, on systems that have them."""


def problem_of(value: Any) -> str | None:
    """Return what is wrong with a value as it was read; None if it is within bounds."""
    match value:
        case bool() | date() | None:
            problem = None
        case list() | tuple():
            return next(filter(None, map(problem_of, value)), None)
        case int():
            problem = None if -_LARGEST <= value <= _LARGEST else f"expected a number from {-_LARGEST} to {_LARGEST}"
        case float():
            problem = None if math.isfinite(value) else "expected a number that is finite"
        case Path():
            problem = _problem_of_path(value)
        case str():
            problem = _problem_of_text(value)
        case _:
            problem = None
    if problem is None:
        return None
    text = str(value)
    excerpt = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text):,} characters)"
    return f"{problem}, not '{excerpt}'"


def _problem_of_path(path: Path) -> str | None:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"expected a valid path ({(error.strerror or 'it cannot').lower()})" if _is_name(error) else None
    return None


def _is_name(error: OSError) -> bool:
    """Check whether the name itself is wrong; missing permission is reported when it is read."""
    return not isinstance(error, PermissionError | NotADirectoryError)


def _problem_of_text(text: str) -> str | None:
    if len(text) > LONGEST:
        return f"expected at most {LONGEST:,} characters"
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        return "expected text in UTF-8"
    if len(text) > _MOST_DIGITS and _DIGITS.search(text):
        return f"expected numbers of at most {_MOST_DIGITS:,} digits"
    return None


_MOST_BYTES: Final = 256 * 1024 * 1024
_PIECE: Final = 1 << 20


def read_bytes(path: Path, *, most: int = _MOST_BYTES, pipes: bool = True) -> bytes:
    """Return what a file holds.

    Args:
        path: of a regular file; also of a pipe with a writer, such as `<(command)` of a shell.
        most: bytes that it may hold.
        pipes: whether it may be a pipe.

    Raises:
        OSError: it cannot be read, is neither, or holds more.
    """
    number = os.open(path, os.O_RDONLY | _NO_WAITING)
    try:
        kind = os.fstat(number).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not (stat.S_ISREG(kind) or (pipes and stat.S_ISFIFO(kind))):
            raise OSError(errno.EINVAL, "not a regular file")
        return _read_all(number, most)
    finally:
        os.close(number)


def read_text(path: Path, *, most: int = _MOST_BYTES, pipes: bool = True) -> str:
    """Return the text of a file in UTF-8, without a byte order mark.

    Raises:
        OSError: as `read_bytes`. UnicodeDecodeError: it is not UTF-8.
    """
    return read_bytes(path, most=most, pipes=pipes).decode("utf-8-sig")


def check_regular(path: Path) -> None:
    """Check that a path is a regular file that can be read, so that reading it ends.

    Raises:
        OSError: it is not.
    """
    number = os.open(path, os.O_RDONLY | _NO_WAITING)
    try:
        kind = os.fstat(number).st_mode
    finally:
        os.close(number)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(kind):
        raise OSError(errno.EINVAL, "not a regular file")


def _read_all(number: int, most: int) -> bytes:
    pieces: list[bytes] = []
    length = 0
    while True:
        try:
            piece = os.read(number, min(_PIECE, most + 1 - length))
        except BlockingIOError:  # a pipe with a writer who has not written yet; without one this is its end
            os.set_blocking(number, True)
            continue
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        length += len(piece)
        if length > most:
            raise OSError(errno.EFBIG, f"larger than {most:,} bytes")
