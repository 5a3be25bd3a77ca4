"""Read batches of rows of a ticket file, column by column, into tickets; a bad row has a reason.

By columns, since a million rows share few tables and words, and most cells are valid. Cells are never shown: they may
hold personal data.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple, TypeVar

from checks import Severity
from incidents import FoundBy, ImpossibleOrder, ReportedIncident, Resolution
from monitor.config import Config
from monitor.triage.create import former_fingerprint, ticket_fingerprint, tidy, unknown_table
from monitor.triage.errors import without_times
from monitor.triage.ticket_mapping import FIELDS, NEEDED, WORDS, UnknownWord, word_of
from monitor.triage.time_parsing import ParsedTime, TimeReader, UnreadableTime

T = TypeVar("T")

_NEEDS_AN_END: Final = frozenset({"resolution", "cause"})
_RESOLUTION: Final = word_of(Resolution)
_SEVERITY: Final = word_of(Severity)
_FOUND_BY: Final = word_of(FoundBy)


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
        columns = _Columns.of(texts, self.times, len(lines))
        for row, line in enumerate(lines):
            if not (columns.titles[row] and columns.detected[row] and self._is_configured(columns.tables[row])):
                columns.problems[row] += self._missing({name: texts[name][row] for name in NEEDED})
            if not columns.ends[row] and columns.resolutions[row]:
                columns.problems[row].append("resolution without a resolved time")
            yield self._ticket(columns, row, line)

    def _ticket(self, columns: "_Columns", row: int, line: int) -> Ticket | RefusedRow:
        detected, table, key = columns.detected[row], columns.tables[row], columns.keys[row]
        if detected is None or row in columns.problems:
            return RefusedRow(line, "; ".join(columns.problems[row]))
        occurred, resolved, title = columns.occurred[row], columns.resolved[row], columns.titles[row]
        reported = ReportedIncident(
            table,
            title,
            detected.at,
            None if occurred is None else occurred.at,
            None if resolved is None else resolved.at,
            columns.resolution[row] or Resolution.FIXED,
            columns.severity[row] or Severity.ERROR,
            columns.found_by[row] or FoundBy.PERSON,
            None if resolved is None else columns.causes[row] or None,
            ticket_fingerprint(key, table=table, title=title, detected_at=detected.at),
        )
        try:
            reported.check_order(self.times.now)
        except ImpossibleOrder as error:
            return RefusedRow(line, without_times(str(error)))
        assumed = sum(time is not None and time.assumed for time in (occurred, detected, resolved))
        return Ticket(line, reported, columns.filled[row], assumed, former_fingerprint(key, table=table))

    def _missing(self, row: Mapping[str, str]) -> Iterator[str]:
        yield from (f"no {name}" for name in NEEDED if not tidy(row[name]))
        table = row["table"]
        if table and not self._is_configured(table):
            yield str(self._unknown_tables[table])

    def _is_configured(self, table: str) -> bool:
        """Check whether incidents of a table may be imported; if not, keep the reason."""
        if not table or self.any_table:
            return bool(table)
        if table not in self._unknown_tables:
            problem = unknown_table(table, self.config)
            reason = "the table is not in the configuration; {}; --value table:THEIRS=OURS maps its name"
            self._unknown_tables[table] = None if problem is None else reason.format(problem.hint)
        return self._unknown_tables[table] is None


class _Columns(NamedTuple):
    """The fields of a batch of rows, each a column; None where a cell is empty or has a problem, by row."""

    tables: Sequence[str]
    titles: Sequence[str]
    keys: Sequence[str]
    causes: Sequence[str]
    ends: Sequence[str]
    resolutions: Sequence[str]
    occurred: Sequence[ParsedTime | None]
    detected: Sequence[ParsedTime | None]
    resolved: Sequence[ParsedTime | None]
    resolution: Sequence[Resolution | None]
    severity: Sequence[Severity | None]
    found_by: Sequence[FoundBy | None]
    filled: Sequence[frozenset[str]]
    problems: dict[int, list[str]]

    @classmethod
    def of(cls, texts: Mapping[str, Sequence[str]], times: TimeReader, rows: int) -> "_Columns":
        """Read the cells of each field."""
        problems: dict[int, list[str]] = defaultdict(list)
        cells = {name: texts.get(name) or [""] * rows for name in FIELDS}
        tables, ends, resolutions = cells["table"], cells["resolved"], cells["resolution"]
        titles, keys, causes = (list(map(tidy, cells[name])) for name in ("title", "id", "cause"))
        return cls(
            tables,
            titles,
            keys,
            causes,
            ends,
            resolutions,
            _read(times.read, cells["occurred"], "occurred", problems),
            _read(times.read, cells["detected"], "detected", problems),
            _read(times.read, ends, "resolved", problems),
            _read(_RESOLUTION, resolutions, "resolution", problems),
            _read(_SEVERITY, cells["severity"], "severity", problems),
            _read(_FOUND_BY, cells["found_by"], "found_by", problems),
            [_fields_of(filled, "resolved" in texts) for filled in zip(*map(_is_filled, cells.values()), strict=True)],
            problems,
        )


def _is_filled(cells: Sequence[str]) -> Iterable[bool]:
    return map(bool, cells)


@cache
def _fields_of(filled: Sequence[bool], has_end: bool) -> frozenset[str]:
    """Return the fields with a value in a row; resolution and cause only with an end."""
    names = {name for name, is_filled in zip(FIELDS, filled, strict=True) if is_filled}
    if "resolved" not in names:
        names -= _NEEDS_AN_END
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
        remedy = "OURS maps it" if name in WORDS else " marks it as empty"
        problems[row].append(f"{name}: the value {error.reason}; --value {name}:THEIRS={remedy}")
        return None
