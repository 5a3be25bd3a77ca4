"""Read batches of rows of a ticket file, column by column, into tickets; a bad row has a reason.

By columns, since a million rows share few tables and words, and most cells are valid. Cells are never shown: they may
hold personal data.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeVar

from incidents import ImpossibleOrder, ReportedIncident
from monitor.config import Config
from monitor.triage.create import former_fingerprint, ticket_fingerprint, tidy, unknown_table
from monitor.triage.errors import without_times
from monitor.triage.ticket_fields import FIELDS, KEY, NAMES, UnknownWord
from monitor.triage.time_parsing import ParsedTime, TimeReader, UnreadableTime

T = TypeVar("T")


class Ticket(NamedTuple):
    """A good row: its first line in the file, the reported incident, and the fields with a value.

    `fields` has `resolved` also without a value if the file has such a column: the incident is open. `assumed_zone`:
    the number of its times without an offset. `former`: the fingerprint that earlier versions gave to one with a key.
    """

    line: int
    reported: ReportedIncident
    fields: frozenset[str]
    assumed_zone: int = 0
    former: str | None = None

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint, the same whenever the ticket is imported."""
        return self.reported.fingerprint or ""


class RefusedRow(NamedTuple):
    """A bad row: its first line in the file, and the reason."""

    line: int
    reason: str


@dataclass
class RowReader:
    """Reads rows at a moment. `any_table`: also those of tables that are not configured."""

    config: Config
    times: TimeReader
    any_table: bool = False
    _unknown_tables: dict[str, str | None] = field(default_factory=dict)

    def read(self, lines: Sequence[int], texts: Mapping[str, Sequence[str]]) -> Iterator[Ticket | RefusedRow]:
        """Yield a ticket or the reason for each row.

        Args:
            lines: the first line of each row.
            texts: the cells of each field, mapped and without surrounding spaces; empty if there is no value.
        """
        problems: dict[int, list[str]] = defaultdict(list)
        cells = {name: texts.get(name) or [""] * len(lines) for name in NAMES}
        columns = [_read(item.reader(self.times), cells[name], name, problems) for name, item in FIELDS.items()]
        keys, filled = map(tidy, cells[KEY]), zip(*map(_is_filled, cells.values()), strict=True)
        has_end, of_end = "resolved" in texts, [cells[name] for name in ("resolved", "resolution")]
        for row, (line, key, cell, *values) in enumerate(zip(lines, keys, filled, *columns, strict=True)):
            ticket = dict(zip(FIELDS, values, strict=True))
            if not (ticket["title"] and ticket["detected"] and self._is_configured(ticket["table"])):
                problems[row] += self._missing({name: cells[name][row] for name in FIELDS})
            if not of_end[0][row] and of_end[1][row]:
                problems[row].append("resolution without a resolved time")
            if row in problems:
                yield RefusedRow(line, "; ".join(problems[row]))
            else:
                yield self._ticket(line, key, ticket, _fields_of(cell, has_end))

    def _ticket(self, line: int, key: str, values: Mapping[str, Any], fields: frozenset[str]) -> Ticket | RefusedRow:
        times = [value for value in values.values() if isinstance(value, ParsedTime)]
        plain: dict[str, Any] = {
            FIELDS[name].attribute: value.at if isinstance(value, ParsedTime) else value
            for name, value in values.items()
            if value and not (FIELDS[name].needs_end and values["resolved"] is None)
        }
        table, detected_at = plain["table"], plain["detected_at"]
        fingerprint = ticket_fingerprint(key, table=table, title=plain["title"], detected_at=detected_at)
        reported = ReportedIncident(**plain, fingerprint=fingerprint)
        try:
            reported.check_order(self.times.now)
        except ImpossibleOrder as error:
            return RefusedRow(line, without_times(str(error)))
        return Ticket(line, reported, fields, sum(time.assumed for time in times), former_fingerprint(key, table=table))

    def _missing(self, row: Mapping[str, str]) -> Iterator[str]:
        yield from (f"no {name}" for name, item in FIELDS.items() if item.is_needed and not tidy(row[name]))
        table = row["table"]
        if table and not self._is_configured(table):
            yield str(self._unknown_tables[table])

    def _is_configured(self, table: str | None) -> bool:
        """Check whether incidents of a table may be imported; if not, keep the reason."""
        if not table or self.any_table:
            return bool(table)
        if table not in self._unknown_tables:
            problem = unknown_table(table, self.config)
            reason = "the table is not in the configuration; {}; --value table:THEIRS=OURS maps its name"
            self._unknown_tables[table] = None if problem is None else reason.format(problem.hint)
        return self._unknown_tables[table] is None


def _is_filled(cells: Sequence[str]) -> Iterable[bool]:
    return map(bool, cells)


@cache
def _fields_of(filled: Sequence[bool], has_end: bool) -> frozenset[str]:
    """Return the fields with a value in a row; resolution and cause only with an end."""
    names = {name for name, is_filled in zip(NAMES, filled, strict=True) if is_filled}
    if "resolved" not in names:
        names -= {name for name, item in FIELDS.items() if item.needs_end}
    return frozenset(names | {"resolved"} if has_end else names)


def _read(
    read: Callable[[str], T], cells: Sequence[str], name: str, problems: dict[int, list[str]]
) -> Sequence[T | None]:
    """Return the value of each cell, None if it is empty; add to the problems of rows whose cell cannot be read."""
    try:
        return [read(text) if text else None for text in cells]
    except (UnreadableTime, UnknownWord):
        return [_read_cell(read, text, name, problems, row) for row, text in enumerate(cells)]


def _read_cell(read: Callable[[str], T], text: str, name: str, problems: dict[int, list[str]], row: int) -> T | None:
    if not text:
        return None
    try:
        return read(text)
    except (UnreadableTime, UnknownWord) as error:  # their own text shows the cell
        remedy = "OURS maps it" if FIELDS[name].words else " marks it as empty"
        problems[row].append(f"{name}: the value {error.reason}; --value {name}:THEIRS={remedy}")
        return None
