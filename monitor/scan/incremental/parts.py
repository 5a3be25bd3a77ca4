"""Read new rows of a table only, and judge the whole: for checks whose figures add up over rows.

    rows by the column:   ... before ──── until ──── newest ...  NULL
    kept                  ─ closed ─┤
    read                            ├── to be closed ──┼── stays open ──┤

A run reads the rows that are not closed, in two parts, and adds the figures that are kept of those that are. What lies
more than the lookback before the newest value that the run before it had seen is closed now: its figures are kept, and
its rows are not read again before the next full look. All that is kept are counts, sums, and times of the column and of
`loaded_at`. ADR 44 says why it is done so; `docs/checks.md` which checks add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Context as DecimalContext
from decimal import Decimal
from functools import reduce
from hashlib import sha256
from typing import Any, Final, Protocol, TypeAlias

from checks import Misconfigured
from checks.classes.counts import ClosedPart, Recount
from monitor.scan.results import LookbackWindow
from monitor.scan.sql_template import SqlTemplate

Figures: TypeAlias = Mapping[str, Any]

_FORM: Final = 1
"""Changes whenever figures are added up or kept otherwise: then all rows are read again."""
PLACE, ROWS, NEWEST = "place", "rows", "newest"
CLOSED, CLOSING, OPEN = 0, 1, 2
BEFORE, UNTIL = "before", "until"
_EARLY: Final = timedelta(hours=1)
"""How much earlier a full look may be: schedules do not run to the second."""
_DIGITS: Final = DecimalContext(prec=1000)


class StatementRunner(Protocol):
    """Runs a statement with the times of its bounds."""

    def __call__(self, template: SqlTemplate, **bounds: datetime) -> Sequence[Mapping[str, Any]]:
        """Return its rows."""


@dataclass(frozen=True, slots=True)
class PartQuery:
    """A statement of its own about each part, by place; its one row adds up. `columns`: its columns to labels."""

    templates: Mapping[int, SqlTemplate]
    columns: Mapping[str, str]
    wanted_by: tuple[str, str]


@dataclass(frozen=True, slots=True)
class PartLook:
    """The result of an incremental scan: values of the whole table by check, and what is to be stored."""

    values: Mapping[str, dict[str, Any]]
    tables: Mapping[str, dict[str, Sequence[Mapping[str, Any]]]]
    closed: ClosedPart


@dataclass(frozen=True, slots=True)
class PartPlan:
    """The statements of the checks that add up.

    `whole` reads all rows, `recent` those that are not closed; each has a row for each part. `count` counts all rows
    from what the engine keeps of them; None where it would read them. `columns` as in `TablePlan`. `ways`: how each
    label adds up: `count`, `sum`, `min` or `max`.
    """

    lookback: LookbackWindow
    schema: str
    newest: SqlTemplate
    whole: SqlTemplate
    recent: SqlTemplate
    count: SqlTemplate | None
    columns: Mapping[str, Mapping[str, str]]
    queries: tuple[PartQuery, ...]
    ways: Mapping[str, str]

    @property
    def digest(self) -> bytes:
        """Return a hash of all that is asked: what is kept of other figures is of no use."""
        asked = [_FORM, self.lookback.place, self.lookback.column, self.schema, self.whole, self.recent.sql]
        asked += [template.sql for query in self.queries for template in query.templates.values()]
        return sha256(repr(asked).encode()).digest()

    def look(
        self,
        ask: StatementRunner,
        known: ClosedPart | None,
        *,
        table: str,
        now: datetime,
        most_rows: Callable[[], int | None],
    ) -> PartLook:
        """Read what is not closed, or all rows where nothing fits that is kept, or where that is due.

        `most_rows` says how many rows the table has at most, None where that is not known: closed rows may have gone.

        Raises:
            SourceError: as the source.
        """
        why = self._why(known, now)
        if known is None or known.before is None or known.newest is None or why is not None:
            return self._look_at_all(ask, known, table=table, now=now, why=why or Recount.FIRST)
        until = max(known.before, _boundary(known.newest, self.lookback.lookback) or known.before)
        parts = self._read(ask, self.recent, (CLOSING, OPEN), {BEFORE: known.before, UNTIL: until})
        newest = max(_moments(part.get(NEWEST) for part in parts.values()), default=None)
        if newest is None or newest < known.newest:  # closed rows may have gone with the newest ones
            return self._look_at_all(ask, known, table=table, now=now, why=Recount.ROWS_DIFFER)
        closed = self._added([_decoded(known.figures), parts[CLOSING]])
        part_look = self._found(parts, closed, replace(known, before=until, newest=newest, looked_at=now, why=None))
        most = most_rows()  # after the rows were read: those that come meanwhile make it larger
        if most is not None and most < part_look.closed.rows:
            return self._look_at_all(ask, known, table=table, now=now, why=Recount.ROWS_DIFFER)
        return part_look

    def _why(self, known: ClosedPart | None, now: datetime) -> Recount | None:
        if known is None or known.before is None:
            return Recount.FIRST
        if known.digest != self.digest:
            return Recount.ASKED_OTHERWISE
        is_due = not known.full_at <= now < known.full_at + self.lookback.full - _EARLY
        return Recount.DUE if is_due else None

    def _look_at_all(
        self, ask: StatementRunner, known: ClosedPart | None, *, table: str, now: datetime, why: Recount
    ) -> PartLook:
        """Read all rows; where what is kept is of the same figures, those of its rows are compared."""
        newest = max(_moments([ask(self.newest)[0][NEWEST]]), default=None)
        until = None if newest is None else _boundary(newest, self.lookback.lookback)
        before, late = until, None
        if why is Recount.DUE and known is not None and known.before is not None and until is not None:
            before = min(known.before, until)
        bounds = {BEFORE: before or now, UNTIL: until or now}
        parts = self._read(ask, self.whole, (CLOSED, CLOSING, OPEN), bounds)
        if why is Recount.DUE and known is not None and known.before == before:
            late = self._late(_decoded(known.figures), parts[CLOSED])
        closed = {} if until is None else self._added([parts[CLOSED], parts[CLOSING]])
        part = ClosedPart(
            table=table,
            digest=self.digest,
            before=until,
            newest=newest,
            figures={},
            looked_at=now,
            full_at=now,
            rows=0,
            read=0,
            checks=tuple(self.columns),
            why=why,
            late=late,
            version=0 if known is None else known.version,
        )
        return self._found(parts, closed, part)

    def _read(
        self, ask: StatementRunner, template: SqlTemplate, places: Iterable[int], bounds: Mapping[str, datetime]
    ) -> Mapping[int, Figures]:
        rows = {row[PLACE]: row for row in ask(template, **bounds)}
        results: dict[int, Figures] = {}
        for place in places:
            figures = dict(rows.get(place, {}))
            figures.pop(PLACE, None)
            for query in self.queries:
                answer = ask(query.templates[place], **bounds)[0]
                figures |= {label: answer[name] for name, label in query.columns.items()}
            results[place] = figures
        return results

    def _found(self, parts: Mapping[int, Figures], closed: Figures, part: ClosedPart) -> PartLook:
        whole = self._added(parts.values() if part.before is None else [closed, parts[OPEN]])
        values = {
            check_id: {name: whole[label] for name, label in columns.items()}
            for check_id, columns in self.columns.items()
        }
        tables: dict[str, dict[str, Sequence[Mapping[str, Any]]]] = {}
        for query in self.queries:
            check_id, name = query.wanted_by
            row = {column: whole[label] for column, label in query.columns.items()}
            tables.setdefault(check_id, {})[name] = [row]
        read = sum(int(figures.get(ROWS) or 0) for figures in parts.values())
        return PartLook(values, tables, replace(part, figures=_encoded(closed), rows=whole[ROWS], read=read))

    def _added(self, parts: Iterable[Figures]) -> dict[str, Any]:
        """Add figures of parts up."""
        every = list(parts)
        return {label: _add([part.get(label) for part in every], way) for label, way in self.ways.items()}

    def _late(self, known: Figures, seen: Figures) -> Mapping[str, int]:
        """Count the figures of closed rows that are others than they were, and the rows that came or went."""
        before, after = self._added([known]), self._added([seen])
        labels = [label for label in self.ways if label not in (NEWEST, ROWS)]
        differing = sum(before[label] != after[label] for label in labels)
        return {"figures": differing, "rows": after[ROWS] - before[ROWS]}


def _add(values: Sequence[Any], way: str) -> Any:
    """Add the figures of parts up, as the engine would have of all rows: exactly, and NULL where there are none."""
    present = [value for value in values if value is not None]
    if not present:
        return 0 if way == "count" else None
    if way in ("min", "max"):
        return min(present) if way == "min" else max(present)
    return reduce(_DIGITS.add if any(isinstance(value, Decimal) for value in present) else int.__add__, present)


_KINDS: Final[Mapping[str, Callable[[str], Any]]] = {
    "decimal": Decimal,
    "date": date.fromisoformat,
    "time": datetime.fromisoformat,
}


def _encoded(figures: Figures) -> dict[str, int | str | None]:
    """Return figures as they are kept; the newest value of the column is kept beside them.

    Raises:
        Misconfigured: one is neither a whole number, a decimal nor a time: only these add up exactly.
    """
    return {label: _encode(value) for label, value in figures.items() if label != NEWEST}


def _encode(value: Any) -> int | str | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, Decimal):
        return f"decimal {value}"
    if isinstance(value, datetime):
        return f"time {value.isoformat()}"
    if isinstance(value, date):
        return f"date {value.isoformat()}"
    raise Misconfigured(f"'incremental' adds whole numbers and decimals up, not a {type(value).__name__}")


def _decoded(figures: Mapping[str, int | str | None]) -> dict[str, Any]:
    return {label: _decode(value) if isinstance(value, str) else value for label, value in figures.items()}


def _decode(text: str) -> Any:
    kind, _, value = text.partition(" ")
    return _KINDS[kind](value)


def _moments(values: Iterable[Any]) -> list[datetime]:
    """Return dates and times as in UTC: wall clocks as they are written, dates as their midnight; NULL is left out."""
    results = []
    for value in values:
        if isinstance(value, datetime):
            results.append(value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC))
        elif isinstance(value, date):
            results.append(datetime(value.year, value.month, value.day, tzinfo=UTC))
    return results


def _boundary(newest: datetime, lookback: timedelta) -> datetime | None:
    """Return where the rows end that are closed; None before the calendar begins."""
    if newest - datetime.min.replace(tzinfo=UTC) <= lookback:
        return None
    return (newest - lookback).replace(microsecond=0)
