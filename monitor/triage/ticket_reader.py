"""Read the CSV file that a ticket system exports, with any delimiter and encoding: each row is one incident, or bad."""

import codecs
import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from checks import did_you_mean
from monitor.terminal.output import count
from monitor.triage.ticket_columns import RefusedRow, RowReader, Ticket
from monitor.triage.ticket_mapping import TicketMapping, unreadable

BATCH: Final = 1000
UTF_8: Final = "utf-8"
_DELIMITERS: Final = ",;\t|"
_WIDER: Final = {"utf-8": "utf-8-sig", "shift_jis": "cp932"}
"""The real encodings of such files: with a byte order mark, or with the characters that Windows adds to Shift_JIS."""

_USUAL: Final = ("utf-8", "utf-16", "shift_jis", "euc_jp", "iso2022_jp", "cp1252", "latin-1", "gb18030", "big5")


@dataclass
class TicketReader:
    """Reads one file; its counts grow while the batches are read.

    `open_as_unknown`: a row without an end is not an open incident: its end is not known, nor its downtime, so it is
    left out.
    """

    file: Path
    plan: TicketMapping
    row_reader: RowReader
    open_as_unknown: bool = False
    encoding: str = UTF_8
    bad: list[RefusedRow] = field(default_factory=list)
    """Rows that are not imported, each with its reason."""
    endless: list[int] = field(default_factory=list)
    """The lines of rows whose end is not known."""
    good: int = 0
    assumed_zone: int = 0
    """The number of times in good rows without an offset."""
    _lines: dict[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return self.good + len(self.bad) + len(self.endless)

    def check_header(self) -> None:
        """Check that the file has the columns.

        Raises:
            UnreadableTickets: it is no table of texts in the encoding, or does not have the columns.
            OSError: there is no such file, or it may not be read.
        """
        self._head(records(self.file, self.encoding))

    def batches(self, on_rows: Callable[[int], None] = lambda _: None) -> Iterator[list[Ticket]]:
        """Yield the good rows, at most `BATCH` at a time; `on_rows` is called with the number of rows that were read.

        Raises:
            UnreadableTickets, OSError: as `check_header`, or a record of it cannot be read.
        """
        rows = records(self.file, self.encoding)
        width, places = self._head(rows)
        while batch := list(islice(rows, BATCH)):
            yield self._tickets(batch, width, places)
            on_rows(len(batch))

    def _head(self, rows: Iterator[tuple[int, list[str]]]) -> tuple[int, Mapping[str, Sequence[int]]]:
        _, header = next(rows, (0, []))
        if not header:
            raise unreadable("the file is empty; expected a line with the names of the columns", str(self.file))
        return len(header), self.plan.places([name.strip() for name in header])

    def _tickets(
        self, rows: Sequence[tuple[int, list[str]]], width: int, places: Mapping[str, Sequence[int]]
    ) -> list[Ticket]:
        whole = [(line, values) for line, values in rows if len(values) == width]
        bad = [
            RefusedRow(line, f"has {count(len(values), 'value')}, expected {width}")
            for line, values in rows
            if len(values) != width
        ]
        texts = self.plan.texts([values for _, values in whole], places)
        good = []
        for row in self.row_reader.read([line for line, _ in whole], texts):
            if isinstance(row, RefusedRow):
                bad.append(row)
            elif (first := self._lines.setdefault(row.fingerprint, row.line)) != row.line:
                bad.append(RefusedRow(row.line, f"duplicates line {first}"))
            elif self.open_as_unknown and row.reported.resolved_at is None:
                self.endless.append(row.line)
            else:
                good.append(row)
                self.assumed_zone += row.assumed_zone
        self.good += len(good)
        self.bad += sorted(bad)
        return good


def known_encoding(name: str) -> str:
    """Return the name of an encoding as Python has it.

    Raises:
        UnreadableTickets: there is none of that name for texts.
    """
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=name)
        plain = codecs.lookup(name).name
    except (LookupError, ValueError):  # unknown, or not an encoding of text
        hint = did_you_mean(name.lower(), _USUAL).removeprefix("; ") or f"such as {', '.join(_USUAL)}"
        raise unreadable(f"--encoding: '{name}' is not a text encoding", hint=hint) from None
    return _WIDER.get(plain, plain)


def records(file: Path, encoding: str = UTF_8) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not blank, with their first lines.

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
    """Return the delimiter that splits the header into most columns."""
    return max(_DELIMITERS, key=lambda delimiter: len(next(csv.reader([header], delimiter=delimiter), [])))
