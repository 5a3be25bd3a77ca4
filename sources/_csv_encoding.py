"""The bytes of a CSV file as text: a byte order mark says the encoding, else it is declared; and what a fault says."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Final, cast

_CHUNK: Final = 1 << 20
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as the mark of UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MOST_TIMES: Final = 100
_SMALL: Final = 256 * _CHUNK
"""What a packed file may hold: so many times its size (CSV is packed to a tenth, rarely a thirtieth), or 256 MB."""
UTF_8: Final = {"utf-8", "utf-8-sig"}
"""Encodings that DuckDB reads as they lie."""


class CsvFault(Exception):
    """The reason why a file cannot be read as a table, its line (from 1), and what to do. Holds no cell."""

    def __init__(self, reason: str, remedy: str, line: int | None = None) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.line = line


def encoding_of(path: Path, declared: str | None) -> str:
    """Return the encoding of a file: a byte order mark goes before what is declared."""
    with opened_bytes(path) as file:
        start = file.read(4)
    marked = next((encoding for mark, encoding in _MARKS if start.startswith(mark)), None)
    return marked or declared or "utf-8"


def chunks(path: Path, encoding: str, errors: str = "strict") -> Iterator[str]:
    """Yield the text; the two characters of a line end are in one piece."""
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    held, read = "", 0
    with opened_bytes(path) as file:
        while True:
            data = file.read(_CHUNK)
            try:
                text = held + decoder.decode(data, final=not data)
            except UnicodeError as error:
                raise _undecodable(error, path, encoding, read + len(held)) from None
            held = "\r" if data and text.endswith("\r") else ""
            text = text.removesuffix(held) if held else text
            read += len(text)
            if text:
                yield text
            if not data:
                return


def _undecodable(error: UnicodeError, path: Path, encoding: str, read: int) -> CsvFault:
    before = 0
    if isinstance(error, UnicodeDecodeError):
        before = len(error.object[: error.start].decode(encoding, "ignore"))
    wrong = "UTF-8" if encoding in UTF_8 else encoding
    remedy = "declare csv.encoding, such as cp1252, shift_jis or utf-16, or write the file as UTF-8"
    return CsvFault(f"bytes that are not valid {wrong}", remedy, line_at(path, encoding, read + before))


def line_at(path: Path, encoding: str, characters: int) -> int:
    """Return the line on which a character stands, from 1."""
    lines = 1
    with opened(path, encoding, errors="replace") as file:
        while characters > 0 and (text := file.read(min(_CHUNK, characters))):
            characters -= len(text)
            lines += text.count("\n") + text.count("\r") - text.count("\r\n")
    return lines


def opened(path: Path, encoding: str, errors: str = "strict") -> IO[str]:
    """Open a file, packed or not, as text with its line ends as they are."""
    return TextIOWrapper(opened_bytes(path), encoding=encoding, errors=errors, newline="")


def opened_bytes(path: Path) -> IO[bytes]:
    """Open a file, packed or not; reading more of a packed one than it may hold raises `CsvFault`."""
    return cast("IO[bytes]", _Unpacked(path)) if path.name.lower().endswith(".gz") else path.open("rb")


def check_size(path: Path) -> None:
    """Read a packed file to its end, so that no other reader is kept busy by one that holds too much.

    Raises:
        CsvFault: it holds more than it may.
    """
    if path.name.lower().endswith(".gz"):
        with opened_bytes(path) as file:
            while file.read(_CHUNK):
                pass


class _Unpacked(gzip.GzipFile):
    """The bytes that a packed file holds, up to a hundred times its size."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self._most = max(_SMALL, _MOST_TIMES * path.stat().st_size)

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes."""
        return self._within(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        """Return the next bytes, with one read of the file at most."""
        return self._within(super().read1(size))

    def _within(self, data: bytes) -> bytes:
        if self.tell() > self._most:
            reason = f"more than {_MOST_TIMES} times as many bytes, unpacked, as the file has"
            raise CsvFault(reason, "unpack it before, if that is right")
        return data


PACKED_FAULTS: Final = (EOFError, gzip.BadGzipFile, zlib.error)
"""What reading a `.gz` file raises that is cut short or no such file."""
