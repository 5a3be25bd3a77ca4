"""Read a file that a person named: at most so much of it, and without waiting for somebody who never writes.

`Path.read_text` waits for ever at a named pipe without a writer, and never ends at `/dev/zero`.
"""

import errno
import os
import stat
from pathlib import Path
from typing import Final

MOST: Final = 256 * 1024 * 1024
_PIECE: Final = 1 << 20


def read_bytes(path: Path, *, most: int = MOST, pipes: bool = True) -> bytes:
    """Return what a file holds.

    Args:
        path: of a regular file; also of a pipe that somebody writes to, such as `<(command)` of a shell.
        most: bytes that it may hold.
        pipes: whether it may be a pipe.

    Raises:
        OSError: it cannot be read, is neither, or holds more.
    """
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        kind = os.fstat(number).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not (stat.S_ISREG(kind) or (pipes and stat.S_ISFIFO(kind))):
            raise OSError(errno.EINVAL, "not a regular file")
        return _read_all(number, most)
    finally:
        os.close(number)


def read_text(path: Path, *, most: int = MOST, pipes: bool = True) -> str:
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
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
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
