"""Read incidents from the table that a ticket system exports: one row is one incident, every bad row has a reason."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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

_TIMES: Final = ("occurred", "detected", "resolved")
_ENDING: Final = frozenset({"resolution", "cause"})
_RESOLUTION: Final = word_of(Resolution)
_SEVERITY: Final = word_of(Severity)
_FOUND_BY: Final = word_of(FoundBy)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that is no incident: its first line in the file, and why."""

    line: int
    reason: str


@dataclass(slots=True)
class Tickets:
    """What a file holds: good rows, bad rows with their reason, and the lines of rows whose end is not known."""

    good: TicketBatches = field(default_factory=TicketBatches)
    bad: list[Refusal] = field(default_factory=list)
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
                tickets.bad.append(Refusal(line, str(refusal)))
            else:
                if self.open_as_unknown and ticket.told.resolved_at is None:
                    tickets.endless.append(line)
                else:
                    tickets.good.append(ticket)
                    tickets.assumed_zone += ticket.assumed_zone
        return tickets

    def _ticket(self, row: Mapping[str, str], line: int) -> Ticket:
        problems: list[str] = []

        def take(read: Callable[[str], T], name: str) -> T | None:
            text = row.get(name, "")
            try:
                return read(text) if text else None
            except (UnreadableTime, UnknownWord) as error:  # their own text shows the cell
                problems.append(f"{name}: the value {error.reason}; --value {name}:THEIRS={_meant(name)}")
                return None

        moments = {name: take(self.times.read, name) for name in _TIMES}
        resolution = take(_RESOLUTION, "resolution")
        severity = take(_SEVERITY, "severity")
        found_by = take(_FOUND_BY, "found_by")
        problems += self._missing(row)
        if row.get("resolution") and not row.get("resolved"):
            problems.append("resolution without a resolved time")
        detected = moments["detected"]
        if problems or detected is None:
            raise _Bad("; ".join(problems))
        at = {name: None if moment is None else moment.at for name, moment in moments.items()}
        reported_incident = ReportedIncident(
            table=row["table"],
            title=tidy(row["title"]),
            detected_at=detected.at,
            occurred_at=at["occurred"],
            resolved_at=at["resolved"],
            resolution=resolution or Resolution.FIXED,
            severity=severity or Severity.ERROR,
            found_by=found_by or FoundBy.PERSON,
            cause=tidy(row.get("cause", "")) or None if at["resolved"] is not None else None,
            fingerprint=ticket_fingerprint(
                row.get("id", ""), table=row["table"], title=row["title"], detected_at=detected.at
            ),
        )
        try:
            reported_incident.check_order(self.times.now)
        except ImpossibleOrder as error:
            raise _Bad(without_times(str(error))) from None
        assumed = sum(moment is not None and moment.assumed for moment in moments.values())
        former = former_fingerprint(row.get("id", ""), table=row["table"])
        return Ticket(line, reported_incident, _said(row), assumed, former)

    def _missing(self, row: Mapping[str, str]) -> Iterator[str]:
        yield from (f"no {name}" for name in NEEDED if not tidy(row.get(name, "")))
        table = row.get("table", "")
        if table and not self.any_table:
            if table not in self._strangers:
                stranger = unknown_table(table, self.config)
                reason = "the table is not in the configuration; {}; --value table:THEIRS=OURS translates its name"
                self._strangers[table] = None if stranger is None else reason.format(stranger.hint)
            text = self._strangers[table]
            if text is not None:
                yield text

    def _only_once(self, ticket: Ticket) -> None:
        first = self._lines.setdefault(ticket.fingerprint, ticket.line)
        if first != ticket.line:
            raise _Bad(f"is the same incident as line {first}")


def _meant(name: str) -> str:
    return "OURS translates it" if name in WORDS else " says that it stands for no time"


class _Bad(Exception):
    """A row that is no incident."""


def _row(values: Sequence[str], places: Mapping[str, int], *, expected: int) -> Mapping[str, str]:
    if len(values) != expected:
        raise _Bad(f"has {len(values)} values, expected {expected}")
    return {name: values[place].strip() for name, place in places.items()}


def _said(row: Mapping[str, str]) -> frozenset[str]:
    """Name the fields of which a row says something: how and why it ended only with an end."""
    parts = {name for name in FIELDS if row.get(name)}
    if "resolved" not in parts:
        parts -= _ENDING
    return frozenset(parts | {"resolved"} if "resolved" in row else parts)
