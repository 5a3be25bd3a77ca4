"""Read incidents from the table that a ticket system exports: one row is one incident, every bad row has a reason."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

from checks import Severity
from incidents import FoundBy, ImpossibleOrder, Resolution
from monitor.config import Config
from monitor.triage.create import ReportedIncident, former_fingerprint, ticket_fingerprint, tidy, unknown_table
from monitor.triage.errors import without_times
from monitor.triage.ticket_batches import Ticket, TicketBatches
from monitor.triage.ticket_file import UTF_8, records
from monitor.triage.ticket_mapping import FIELDS, NEEDED, WORDS, TicketMapping, UnknownWord, unreadable, word_of
from monitor.triage.time_parsing import TimeReader, UnreadableTime

T = TypeVar("T")

_ENDING: Final = frozenset({"resolution", "cause"})
_RESOLUTION: Final = word_of(Resolution)
_SEVERITY: Final = word_of(Severity)
_FOUND_BY: Final = word_of(FoundBy)


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that is no incident: its first line in the file, and why."""

    line: int
    reason: str


@dataclass(slots=True)
class Tickets:
    """What a file holds: good rows, bad rows with their reason, and the lines of rows whose end is not known."""

    good: TicketBatches = field(default_factory=TicketBatches)
    bad: list[RefusedRow] = field(default_factory=list)
    endless: list[int] = field(default_factory=list)
    assumed_zone: int = 0
    """How many times of good rows had no offset."""

    @property
    def rows(self) -> int:
        """Count the rows."""
        return len(self.good) + len(self.bad) + len(self.endless)


@dataclass
class TicketReader:
    """Reads rows at a moment.

    `any_table` takes tables that are not configured too. `open_as_unknown`: a row without an end is one whose end is
    not known, not an incident that lasts; nobody can say how much downtime it is, so it is left out.
    """

    config: Config
    times: TimeReader
    plan: TicketMapping
    any_table: bool = False
    open_as_unknown: bool = False
    encoding: str = UTF_8
    _strangers: dict[str, str | None] = field(default_factory=dict)
    _lines: dict[str, int] = field(default_factory=dict)

    def read(self, file: Path, on_row: Callable[[], None] = lambda: None) -> Tickets:
        """Read a whole file.

        Raises:
            UnreadableTickets: it is no table of texts in the encoding, or does not have the columns.
            OSError: there is no such file, or it may not be read.
        """
        tickets = Tickets()
        rows = records(file, self.encoding)
        _, header = next(rows, (0, []))
        if not header:
            raise unreadable("the file is empty; expected a line with the names of the columns", str(file))
        names = [name.strip() for name in header]
        places = self.plan.places(names)
        for line, values in rows:
            on_row()
            try:
                row = self.plan.row(_row(values, places, expected=len(names)))
                ticket = self._ticket(row, line)
                self._only_once(ticket)
            except _Bad as refusal:
                tickets.bad.append(RefusedRow(line, str(refusal)))
            else:
                if self.open_as_unknown and ticket.told.resolved_at is None:
                    tickets.endless.append(line)
                else:
                    tickets.good.append(ticket)
                    tickets.assumed_zone += ticket.assumed_zone
        return tickets

    def _ticket(self, row: Mapping[str, str], line: int) -> Ticket:
        problems: list[str] = []
        occurred = _read(self.times.read, row, "occurred", problems)
        detected = _read(self.times.read, row, "detected", problems)
        resolved = _read(self.times.read, row, "resolved", problems)
        resolution = _read(_RESOLUTION, row, "resolution", problems)
        severity = _read(_SEVERITY, row, "severity", problems)
        found_by = _read(_FOUND_BY, row, "found_by", problems)
        table, title, key = row.get("table", ""), tidy(row.get("title", "")), tidy(row.get("id", ""))
        if not (title and row.get("detected") and self._is_configured(table)):
            problems += self._missing(row)
        if row.get("resolution") and not row.get("resolved"):
            problems.append("resolution without a resolved time")
        if problems or detected is None:
            raise _Bad("; ".join(problems))
        reported_incident = ReportedIncident(
            table=table,
            title=title,
            detected_at=detected.at,
            occurred_at=None if occurred is None else occurred.at,
            resolved_at=None if resolved is None else resolved.at,
            resolution=resolution or Resolution.FIXED,
            severity=severity or Severity.ERROR,
            found_by=found_by or FoundBy.PERSON,
            cause=None if resolved is None else tidy(row.get("cause", "")) or None,
            fingerprint=ticket_fingerprint(key, table=table, title=title, detected_at=detected.at),
        )
        try:
            reported_incident.check_order(self.times.now)
        except ImpossibleOrder as error:
            raise _Bad(without_times(str(error))) from None
        assumed = sum(time is not None and time.assumed for time in (occurred, detected, resolved))
        return Ticket(line, reported_incident, _said(row), assumed, former_fingerprint(key, table=table))

    def _missing(self, row: Mapping[str, str]) -> Iterator[str]:
        yield from (f"no {name}" for name in NEEDED if not tidy(row.get(name, "")))
        table = row.get("table", "")
        if table and not self._is_configured(table):
            yield str(self._strangers[table])

    def _is_configured(self, table: str) -> bool:
        """Check whether a table may be taken; if not, remember why."""
        if not table or self.any_table:
            return bool(table)
        if table not in self._strangers:
            stranger = unknown_table(table, self.config)
            reason = "the table is not in the configuration; {}; --value table:THEIRS=OURS maps its name"
            self._strangers[table] = None if stranger is None else reason.format(stranger.hint)
        return self._strangers[table] is None

    def _only_once(self, ticket: Ticket) -> None:
        first = self._lines.setdefault(ticket.fingerprint, ticket.line)
        if first != ticket.line:
            raise _Bad(f"duplicates line {first}")


def _read(read: Callable[[str], T], row: Mapping[str, str], name: str, problems: list[str]) -> T | None:
    """Return what a cell means, None without one; add to the problems if it cannot be read."""
    text = row.get(name)
    if not text:
        return None
    try:
        return read(text)
    except (UnreadableTime, UnknownWord) as error:  # their own text shows the cell
        problems.append(f"{name}: the value {error.reason}; --value {name}:THEIRS={_meant(name)}")
        return None


def _meant(name: str) -> str:
    return "OURS maps it" if name in WORDS else " marks it as empty"


class _Bad(Exception):
    """A row that is no incident."""


def _row(values: Sequence[str], places: Mapping[str, int], *, expected: int) -> Mapping[str, str]:
    if len(values) != expected:
        raise _Bad(f"has {len(values)} values, expected {expected}")
    return {name: values[place].strip() for name, place in places.items()}


def _said(row: Mapping[str, str]) -> frozenset[str]:
    """Name the fields of which a row says something: how and why it ended only with an end."""
    return _fields_of(frozenset([name for name, text in row.items() if text]), "resolved" in row)


@cache
def _fields_of(names: frozenset[str], has_end: bool) -> frozenset[str]:
    names &= set(FIELDS)
    if "resolved" not in names:
        names -= _ENDING
    return names | {"resolved"} if has_end else names
