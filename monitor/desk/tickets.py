"""Read incidents from the table that a ticket system exports: one row is one incident, every bad row has a reason."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

from checks import Severity, did_you_mean
from incidents import FoundBy, ImpossibleOrder, Resolution
from monitor.config import Config
from monitor.desk.moments import TimeReader, UnreadableTime
from monitor.desk.refusals import in_zone
from monitor.desk.reported import Reported, tidy, unknown_table
from monitor.frame.problem import Problem

T = TypeVar("T")
W = TypeVar("W", bound=StrEnum)

FIELDS: Final = (
    "table",
    "title",
    "detected",
    "occurred",
    "resolved",
    "resolution",
    "severity",
    "found_by",
    "cause",
    "id",
)
"""What a column can be: times, words and texts of an incident; `id` is the ticket's own number or key."""

_NEEDED: Final = ("table", "title", "detected")
_OTHER_NAMES: Final = {"external_id": "id", "fingerprint": "id"}
_DELIMITERS: Final = ",;\t|"


class UnreadableTickets(Exception):
    """The file, or what its columns were said to be, cannot be read."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Plan:
    """Which column holds which field, and which fields are the same for every row."""

    columns: Mapping[str, str]
    constants: Mapping[str, str]

    @classmethod
    def of(cls, maps: Sequence[str], constants: Sequence[str]) -> "Plan":
        """Read `COLUMN=FIELD` and `FIELD=VALUE`.

        Raises:
            UnreadableTickets: one is neither, a field is unknown or said twice.
        """
        columns: dict[str, str] = {}
        for text in maps:
            column, equals, name = text.rpartition("=")
            known = _field(name, text, "--map", "COLUMN=FIELD") if equals else None
            if known is None or not column.strip():
                raise _unreadable(f"--map takes COLUMN=FIELD such as 'Opened at=detected', not '{text}'")
            _once(known, columns)
            columns[known] = column.strip()
        fixed: dict[str, str] = {}
        for text in constants:
            name, equals, value = text.partition("=")
            known = _field(name, text, "--set", "FIELD=VALUE") if equals else None
            if known is None or not value.strip():
                raise _unreadable(f"--set takes FIELD=VALUE such as severity=error, not '{text}'")
            _once(known, {**columns, **fixed})
            fixed[known] = value.strip()
        return cls(columns, fixed)

    def places(self, header: Sequence[str]) -> Mapping[str, int]:
        """Give where each field stands in a row; a column named like a field needs no mapping.

        Raises:
            UnreadableTickets: a column is missing or there twice, or a field that every incident needs has none.
        """
        wanted = {name: name for name in FIELDS if name in header and name not in self.constants} | dict(self.columns)
        missing = [name for name in _NEEDED if name not in wanted and name not in self.constants]
        if missing:
            hint = f"columns: {', '.join(header)}; --map COLUMN={missing[0]} says which one it is"
            raise _unreadable(f"no column holds {' and '.join(missing)}", hint=hint)
        for column in wanted.values():
            if header.count(column) != 1:
                seen = "is there more than once" if column in header else "is not in the file"
                hint = did_you_mean(column, header).removeprefix("; ") or f"columns: {', '.join(header)}"
                raise _unreadable(f"column '{column}' {seen}", hint=hint)
        return {name: header.index(column) for name, column in wanted.items()}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that is no incident: its first line in the file, and why."""

    line: int
    reason: str


@dataclass(slots=True)
class Tickets:
    """What a file holds: good rows as reports, bad rows with their reason, and what had to be assumed."""

    good: list[Reported] = field(default_factory=list)
    bad: list[Refusal] = field(default_factory=list)
    assumed_zone: int = 0
    assumed_fixed: int = 0

    @property
    def rows(self) -> int:
        """Count the rows."""
        return len(self.good) + len(self.bad)


@dataclass
class TicketReader:
    """Reads rows at a moment; `any_table` takes tables that are not configured too."""

    config: Config
    times: TimeReader
    plan: Plan
    any_table: bool = False
    _strangers: dict[str, str | None] = field(default_factory=dict)
    _lines: dict[str, int] = field(default_factory=dict)

    def read(self, file: Path, on_row: Callable[[], None] = lambda: None) -> Tickets:
        """Read a whole file.

        Raises:
            UnreadableTickets: it is no table of texts in UTF-8, or does not have the columns.
        """
        found = Tickets()
        records = _records(file)
        _, header = next(records, (0, []))
        if not header:
            raise _unreadable("the file is empty; expected a line with the names of the columns", file)
        names = [name.strip() for name in header]
        places = self.plan.places(names)
        for line, values in records:
            on_row()
            try:
                row = _row(values, places, expected=len(names))
                told = self._reported({**row, **self.plan.constants}, found)
                self._only_once(told, line)
            except _Bad as refusal:
                found.bad.append(Refusal(line, str(refusal)))
            else:
                found.good.append(told)
        return found

    def _reported(self, row: Mapping[str, str], found: Tickets) -> Reported:
        problems: list[str] = []

        def take(read: Callable[[str], T], name: str) -> T | None:
            text = row.get(name, "")
            try:
                return read(text) if text else None
            except (UnreadableTime, ValueError) as error:
                problems.append(f"{name}: {error}")
                return None

        moments = {name: take(self.times.read, name) for name in ("occurred", "detected", "resolved")}
        resolution = take(_word_of(Resolution), "resolution")
        severity = take(_word_of(Severity), "severity")
        found_by = take(_word_of(FoundBy), "found_by")
        problems += self._missing(row)
        if resolution is not None and not row.get("resolved"):
            problems.append("resolution without a resolved time")
        detected = moments["detected"]
        if problems or detected is None:
            raise _Bad("; ".join(problems))
        at = {name: None if moment is None else moment.at for name, moment in moments.items()}
        told = Reported(
            table=row["table"],
            title=tidy(row["title"]),
            detected_at=detected.at,
            occurred_at=at["occurred"],
            resolved_at=at["resolved"],
            resolution=resolution or Resolution.FIXED,
            severity=severity or Severity.ERROR,
            found_by=found_by or FoundBy.PERSON,
            cause=tidy(row.get("cause", "")) or None if at["resolved"] is not None else None,
            fingerprint=_fingerprint(row, detected.at),
        )
        try:
            told.changes(self.times.now)
        except ImpossibleOrder as error:
            raise _Bad(in_zone(str(error), self.times.zone)) from None
        found.assumed_zone += sum(moment is not None and moment.assumed for moment in moments.values())
        found.assumed_fixed += at["resolved"] is not None and resolution is None
        return told

    def _missing(self, row: Mapping[str, str]) -> Iterator[str]:
        yield from (f"no {name}" for name in _NEEDED if not tidy(row.get(name, "")))
        table = row.get("table", "")
        if table and not self.any_table:
            if table not in self._strangers:
                stranger = unknown_table(table, self.config)
                self._strangers[table] = None if stranger is None else f"{stranger.message}; {stranger.hint}"
            known = self._strangers[table]
            if known is not None:
                yield known

    def _only_once(self, told: Reported, line: int) -> None:
        first = self._lines.setdefault(told.fingerprint or "", line)
        if first != line:
            raise _Bad(f"is the same incident as line {first}")


class _Bad(Exception):
    """A row that is no incident."""


def _row(values: Sequence[str], places: Mapping[str, int], *, expected: int) -> Mapping[str, str]:
    if len(values) != expected:
        raise _Bad(f"has {len(values)} values, expected {expected}")
    return {name: values[place].strip() for name, place in places.items()}


def _records(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Give every record that is not blank, with the line on which it begins."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            delimiter = _delimiter(text.readline())
            text.seek(0)
            reader = csv.reader(text, delimiter=delimiter, strict=True)
            begins = 1
            try:
                for record in reader:
                    if any(value.strip() for value in record):
                        yield begins, record
                    begins = reader.line_num + 1
            except csv.Error as error:
                raise _unreadable(f"the record that begins here cannot be read ({error})", file, begins) from None
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8; in a spreadsheet: 'CSV UTF-8'"
        raise _unreadable(f"not a text in UTF-8 ({error.reason})", file, hint=hint) from None
    except OSError as error:
        raise _unreadable(f"{file} cannot be read ({error.strerror})") from None


def _delimiter(header: str) -> str:
    """Give the sign that splits the line with the names of the columns into most parts."""
    return max(_DELIMITERS, key=lambda sign: len(next(csv.reader([header], delimiter=sign), [])))


def _word_of(words: type[W]) -> Callable[[str], W]:
    def read(text: str) -> W:
        word = text.strip().lower().replace("_", "-").replace(" ", "-")
        if word not in list(words):
            raise ValueError(f"'{tidy(text)}' is not one of {', '.join(words)}")
        return words(word)

    return read


def _fingerprint(row: Mapping[str, str], detected_at: datetime) -> str:
    """Give what importing the same row again shares: the ticket's own id, else its title and when it was noticed."""
    told = row.get("id") or sha256(f"{tidy(row['title'])}\n{detected_at.isoformat()}".encode()).hexdigest()[:16]
    return f"{row['table']}:import:{tidy(told)}"


def _field(name: str, text: str, option: str, form: str) -> str:
    plain = name.strip().lower().replace("-", "_").removesuffix("_at")
    known = _OTHER_NAMES.get(plain, plain)
    if known not in FIELDS:
        meant = did_you_mean(plain, FIELDS).removeprefix("; ") or f"fields: {', '.join(FIELDS)}"
        raise _unreadable(f"{option} {text}: '{name}' is no field of an incident; it takes {form}", hint=meant)
    return known


def _once(name: str, said: Mapping[str, str]) -> None:
    if name in said:
        raise _unreadable(f"two columns or values for {name}; an incident has one")


def _unreadable(
    message: str, file: Path | None = None, line: int | None = None, hint: str | None = None
) -> UnreadableTickets:
    place = None if file is None else str(file)
    return UnreadableTickets(Problem("import.unreadable", message, file=place, line=line, hint=hint))
