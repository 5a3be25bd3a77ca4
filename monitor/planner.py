"""Merge what all checks of a table want into as few statements as possible, and compile them once.

All plain aggregates of a table become ONE statement, so one scan; equal GROUP BYs are run once. Compiling costs
milliseconds and running a small table costs microseconds, so the SQL text is kept. What changes from run to run (the
time) and what a person wrote as SQL (a check's `where`) stands in the compiled text as a hole: an expression that no
table can contain, compiled like any other, whose text is then replaced. A hole is filled with text that Ibis or sqlglot
wrote, never with text from outside.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import ClassVar, Protocol
from zoneinfo import ZoneInfo

import ibis
import ibis.expr.types as ir

from checks import Check, Context, Frame, Message, Misconfigured, Outcome, UnknownReason, Wants, unknown
from checks._clocks import latest_wall_clock
from checks._statement import select_sql
from checks._where import predicate_sql
from monitor.target import Subject
from sources import Source, TableNotFound

_FAR_YEAR = 2999
_PARTS = ("year", "month", "day", "hour", "minute", "second")


class Compiler(Protocol):
    """Gives the SQL text of an expression in one dialect."""

    def compile(self, expression: ir.Expr) -> str:
        """Give the SQL text of an expression."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A hole for a time: the time of the measurement plus a shift, as UTC or as the naive wall clock of a zone."""

    hole: str
    shift: timedelta
    zone: str | None
    naive: bool

    def at(self, now: datetime) -> datetime:
        """Give the time that belongs into the hole, to the second."""
        moment = (now + self.shift).astimezone(UTC).replace(microsecond=0)
        if self.zone is not None:
            return latest_wall_clock(moment, ZoneInfo(self.zone))
        return moment.replace(tzinfo=None) if self.naive else moment


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled statement with holes for times."""

    sql: str
    moments: tuple[Moment, ...] = ()

    def fill(self, now: datetime, literals: "Literals") -> str:
        """Give the statement as it is run at a time."""
        text = self.sql
        for moment in self.moments:
            text = text.replace(moment.hole, literals.of(moment.at(now)))
        return text


class Literals:
    """Writes times, to the second, as one engine does: compiling each would take longer than asking a small table.

    How an engine writes them is learnt from one compiled example and tried on a second one with parts of one digit; an
    engine whose way is not understood has every time compiled.
    """

    _learnt: ClassVar[dict[tuple[str, bool], str | None]] = {}
    _example: ClassVar = datetime(2789, 11, 26, 17, 48, 53)  # noqa: DTZ001 - no part stands in another one
    _other: ClassVar = datetime(2801, 2, 3, 4, 5, 6)  # noqa: DTZ001 - as above

    def __init__(self, source: Source) -> None:
        self._source = source

    def of(self, moment: datetime) -> str:
        """Give a time as SQL text."""
        key = (self._source.dialect, moment.tzinfo is None)
        if key not in self._learnt:
            self._learnt[key] = self._learn(moment.tzinfo)
        form = self._learnt[key]
        return self._compiled(moment) if form is None else _fill_form(form, moment)

    def _learn(self, zone: tzinfo | None) -> str | None:
        text = self._compiled(self._example.replace(tzinfo=zone))
        for padded in (True, False):
            form = text.replace("{", "{{").replace("}", "}}")
            for part in _PARTS:
                width = "" if not padded else "04" if part == "year" else "02"
                form = form.replace(str(getattr(self._example, part)), f"{{{part}:{width}}}")
            if _fill_form(form, self._other) == self._compiled(self._other.replace(tzinfo=zone)):
                return form
        return None

    def _compiled(self, moment: datetime) -> str:
        return _literal_sql(ibis.literal(moment), self._source)


def _fill_form(form: str, moment: datetime) -> str:
    return form.format(**{part: getattr(moment, part) for part in _PARTS})


@dataclass(frozen=True, slots=True)
class Query:
    """A statement of its own and every (check id, name) that wanted it."""

    template: Template
    wanted_by: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything to run for one table.

    `wants` is without the expressions that became statements. `fused` computes `columns`: per check id, the wanted name
    to the column of the fused row. `refused` are the checks that do not fit the table.
    """

    subject: Subject
    wants: Mapping[str, Wants]
    refused: Mapping[str, Outcome]
    fused: Template | None
    columns: Mapping[str, Mapping[str, str]]
    queries: tuple[Query, ...]
    counts: tuple[Query, ...]

    @property
    def reads_schema(self) -> bool:
        """Say whether a check wants the columns from the catalogue."""
        return any(wants.schema for wants in self.wants.values())

    @property
    def frames(self) -> Mapping[str, Frame]:
        """Give the frames wanted, by check id."""
        return {check_id: wants.frame for check_id, wants in self.wants.items() if wants.frame is not None}


def plan(subject: Subject, source: Source) -> Plan:
    """Plan the checks of a table. Reads the catalogue only.

    Raises:
        TableNotFound: the watched table is not there. (A missing referenced table refuses the checks that refer to it.)
        SourceError: the catalogue cannot be read.
    """
    table = source.table(subject.relation)
    holes = _Holes(source)
    wants, refused = {}, {}
    for check_id, check in subject.checks:
        try:
            wants[check_id] = check.wants(_context(subject, check, source=source, table=table, holes=holes))
        except (Misconfigured, TableNotFound) as error:
            refused[check_id] = unknown(UnknownReason.MISCONFIGURED, Message("{problem}", {"problem": str(error)}))
    aggregates, columns = _fuse(wants)
    return Plan(
        subject=subject,
        wants={check_id: _after_compiling(wanted) for check_id, wanted in wants.items()},
        refused=refused,
        fused=_aggregate(table, aggregates, holes=holes) if aggregates else None,
        columns=columns,
        queries=_queries(wants, holes),
        counts=_counts(wants, source.dialect),
    )


def _after_compiling(wanted: Wants) -> Wants:
    """Leave the expressions: they hold much memory, a plan is kept for long, and it crosses to other processes."""
    return replace(wanted, aggregates={}, queries={}, statements={})


def offending_keys(subject: Subject, check: Check, source: Source, *, limit: int) -> Template | None:
    """Give the statement that lists up to `limit` keys that break a check; None where the check is not about keys.

    Raises:
        Misconfigured, TableNotFound: the check does not fit the table.
    """
    holes = _Holes(source)
    table = source.table(subject.relation)
    keys = check.offending_keys(_context(subject, check, source=source, table=table, holes=holes))
    return None if keys is None else holes.compile(keys.limit(limit))


class _Holes:
    """Make expressions that stand for what is filled in later, and find their text in compiled SQL."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._moments: dict[tuple[timedelta, str | None], tuple[ir.TimestampValue, Moment]] = {}
        self._filters: dict[str, str] = {}

    def now(self, shift: timedelta = timedelta(), zone: str | None = None) -> ir.TimestampValue:
        key = (shift, zone)
        if key not in self._moments:
            # SQLite keeps times as text and knows no zones: there, UTC is a naive text too
            naive = zone is not None or self._source.dialect == "sqlite"
            stand_in = datetime(_FAR_YEAR, 12, 31, 23, 59, 59, len(self._moments) + 1, tzinfo=None if naive else UTC)
            expression = ibis.literal(stand_in)
            self._moments[key] = (expression, Moment(_literal_sql(expression, self._source), shift, zone, naive))
        return self._moments[key][0]

    def filter(self, sql: str) -> ir.BooleanValue:
        expression = ibis.literal(f"tablewatch where {len(self._filters)}") == ibis.literal("tablewatch")
        self._filters[_literal_sql(expression, self._source)] = sql
        return expression

    def compile(self, expression: ir.Expr) -> Template:
        sql = self._source.compile(expression)
        for hole, text in self._filters.items():
            sql = sql.replace(hole, f"({text})")
        return Template(sql, tuple(moment for _, moment in self._moments.values() if moment.hole in sql))


def _literal_sql(expression: ir.Value, compiler: Compiler) -> str:
    """Give how a dialect writes an expression without columns, cut out of `SELECT <it> AS "x"`."""
    sql = compiler.compile(expression.name("x"))
    return sql[sql.index("SELECT") + len("SELECT") : sql.rindex(" AS ")].strip()


def _context(subject: Subject, check: Check, *, source: Source, table: ir.Table, holes: _Holes) -> Context:
    where = None
    if check.where is not None:
        where = holes.filter(predicate_sql(check.where, columns=table.columns, dialect=source.dialect))
    return Context(
        table=table,
        dialect=source.dialect,
        now=holes.now,
        where=where,
        zones=subject.zones,
        loaded_at=subject.loaded_at,
        frame_rows=subject.frame_rows,
        references={name: source.table(subject.relations.get(name, name)) for name in check.refers_to},
    )


def _fuse(wants: Mapping[str, Wants]) -> tuple[dict[str, ir.Value], dict[str, dict[str, str]]]:
    """Give each distinct aggregate one column, and each check its names for those columns."""
    labels: dict[object, str] = {}
    aggregates: dict[str, ir.Value] = {}
    columns: dict[str, dict[str, str]] = {}
    for check_id, wanted in wants.items():
        columns[check_id] = {}
        for name, expression in wanted.aggregates.items():
            operation = expression.op()
            if operation not in labels:
                labels[operation] = f"a{len(labels)}"
                aggregates[labels[operation]] = expression
            columns[check_id][name] = labels[operation]
    return aggregates, columns


def _aggregate(table: ir.Table, aggregates: Mapping[str, ir.Value], *, holes: _Holes) -> Template:
    return holes.compile(table.aggregate(**aggregates))


def _queries(wants: Mapping[str, Wants], holes: _Holes) -> tuple[Query, ...]:
    distinct: dict[object, tuple[ir.Table, list[tuple[str, str]]]] = {}
    for check_id, wanted in wants.items():
        for name, expression in wanted.queries.items():
            distinct.setdefault(expression.op(), (expression, []))[1].append((check_id, name))
    return tuple(Query(holes.compile(expression), tuple(wanted_by)) for expression, wanted_by in distinct.values())


def _counts(wants: Mapping[str, Wants], dialect: str) -> tuple[Query, ...]:
    found = []
    for check_id, wanted in wants.items():
        for name, text in wanted.statements.items():
            select = select_sql(text, dialect=dialect)  # parsed and written anew by sqlglot: one SELECT, nothing else
            sql = f"SELECT count(*) AS n FROM (\n{select}\n) AS q"  # noqa: S608 - see above
            found.append(Query(Template(sql), ((check_id, name),)))
    return tuple(found)
