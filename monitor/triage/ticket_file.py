"""Read the records of a table of texts, whatever sign splits them and whatever encoding they are written in."""

import codecs
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from checks import did_you_mean
from monitor.triage.ticket_mapping import unreadable

UTF_8: Final = "utf-8"
_DELIMITERS: Final = ",;\t|"
_WIDER: Final = {"utf-8": "utf-8-sig", "shift_jis": "cp932"}
"""Encodings by what such files really hold: a byte order mark, and the signs that Windows adds to Shift_JIS."""

_USUAL: Final = ("utf-8", "utf-16", "shift_jis", "euc_jp", "iso2022_jp", "cp1252", "latin-1", "gb18030", "big5")


def known_encoding(name: str) -> str:
    """Return the encoding of a name, as Python knows it.

    Raises:
        UnreadableTickets: there is none of that name for texts.
    """
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=name)
        plain = codecs.lookup(name).name
    except (LookupError, ValueError):  # unknown, or an encoding of something else than texts
        hint = did_you_mean(name.lower(), _USUAL).removeprefix("; ") or f"such as {', '.join(_USUAL)}"
        raise unreadable(f"--encoding: '{name}' is not a text encoding", hint=hint) from None
    return _WIDER.get(plain, plain)


def records(file: Path, encoding: str = UTF_8) -> Iterator[tuple[int, list[str]]]:
    """Yield every record that is not blank, with the line on which it begins.

    Raises:
        UnreadableTickets: it is no text in this encoding, or no table.
        OSError: there is no such file, or it may not be read.
    """
    try:
        with file.open(encoding=known_encoding(encoding), newline="") as text:
            delimiter = _delimiter(text.readline())
            text.seek(0)
            reader = csv.reader(text, delimiter=delimiter, strict=True)
            begins = 1
            try:
                for record in reader:
                    if any(map(str.strip, record)):
                        yield begins, record
                    begins = reader.line_num + 1
            except csv.Error as error:
                message = f"the record that starts here cannot be read ({error})"
                raise unreadable(message, str(file), begins) from None
    except UnicodeError:
        hint = "set the encoding, such as --encoding shift_jis or --encoding cp1252, or save it as 'CSV UTF-8'"
        raise unreadable(f"not valid {encoding.upper()} text", str(file), hint=hint) from None


def _delimiter(header: str) -> str:
    """Return the sign that splits the line with the names of the columns into most parts."""
    return max(_DELIMITERS, key=lambda sign: len(next(csv.reader([header], delimiter=sign), [])))
