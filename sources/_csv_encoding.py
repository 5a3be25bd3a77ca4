"""The bytes of a CSV file as text: a byte order mark says the encoding, else it is declared; and what a fault says."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

_CHUNK: Final = 1 << 20
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as the mark of UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
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
    opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
    file: IO[str] = opener(path, "rt", encoding=encoding, errors=errors, newline="")
    return file


def opened_bytes(path: Path) -> IO[bytes]:
    """Open a file, packed or not."""
    opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
    file: IO[bytes] = opener(path, "rb")
    return file


PACKED_FAULTS: Final = (EOFError, gzip.BadGzipFile, zlib.error)
"""What reading a `.gz` file raises that is cut short or no such file."""
