"""Read incidents from the table that a ticket system exports: one row is one incident, every bad row has a reason."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from monitor.terminal.output import count
from monitor.triage.ticket_columns import RefusedRow, RowReader, Ticket
from monitor.triage.ticket_file import UTF_8, records
from monitor.triage.ticket_mapping import TicketMapping, unreadable

BATCH: Final = 1000


@dataclass
class TicketReader:
    """Reads one file; what it saw grows while the batches are taken.

    `open_as_unknown`: a row without an end is one whose end is not known, not an incident that lasts; nobody can say
    how much downtime it is, so it is left out.
    """

    file: Path
    plan: TicketMapping
    row_reader: RowReader
    open_as_unknown: bool = False
    encoding: str = UTF_8
    bad: list[RefusedRow] = field(default_factory=list)
    """Rows that are no incident, each with its reason."""
    endless: list[int] = field(default_factory=list)
    """The lines of rows whose end is not known."""
    good: int = 0
    assumed_zone: int = 0
    """How many times of good rows had no offset."""
    _lines: dict[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Count the rows."""
        return self.good + len(self.bad) + len(self.endless)

    def check_header(self) -> None:
        """Check that there is a table with the columns.

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

    def _head(self, rows: Iterator[tuple[int, list[str]]]) -> tuple[int, Mapping[str, int]]:
        _, header = next(rows, (0, []))
        if not header:
            raise unreadable("the file is empty; expected a line with the names of the columns", str(self.file))
        return len(header), self.plan.places([name.strip() for name in header])

    def _tickets(self, rows: Sequence[tuple[int, list[str]]], width: int, places: Mapping[str, int]) -> list[Ticket]:
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
            elif self.open_as_unknown and row.told.resolved_at is None:
                self.endless.append(row.line)
            else:
                good.append(row)
                self.assumed_zone += row.assumed_zone
        self.good += len(good)
        self.bad += sorted(bad)
        return good
