"""Ask a check of a small table in a real engine: measure what it wants, as a pass does, and judge it.

There is no planner here: every want is compiled by Ibis and run on its own. A `where` is spliced into the compiled
text in place of a stand-in, as the product does it.
"""

import atexit
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo

import ibis
import ibis.expr.types as ir

from checks import (
    Check,
    ClassQuestion,
    ColumnClass,
    Context,
    Measurement,
    Outcome,
    PastMeasurement,
    PeopleTable,
    Status,
    Wants,
    Zones,
)
from checks._instants import latest_local_time
from checks._judge import judge
from checks.classes.counts import ClassCountRequest, PersonRequest
from checks.classes.incremental import SIZES
from checks.classes.tables import ClassTables, sizes_of
from checks.sampling import sampled_wants
from checks.sql_text.statement import select_sql
from checks.sql_text.where import predicate_sql
from sources import canonical_text
from sources.moments import register
from sources.postgres_columns import table_of
from sources.postgresql import columns_of
from tests.duckdb_rows import insert_rows

NOW: Final = datetime(2026, 11, 20, 9, 15, 2, tzinfo=UTC)
POSTGRES: Final = "TABLEWATCH_TEST_POSTGRES"
MYSQL: Final = "TABLEWATCH_TEST_MYSQL"
SERVERS: Final = {"postgres": POSTGRES, "mysql": MYSQL}
ENGINES: Final = ("duckdb", "sqlite", *(name for name, variable in SERVERS.items() if os.environ.get(variable)))
EXAMPLES: Final = 25
"""How many random tables a law is tried on: each one is made and asked in every engine."""

_TYPES: Final[Mapping[str, str]] = {
    "int": "BIGINT",
    "text": "TEXT",
    "float": "DOUBLE PRECISION",
    "bool": "BOOLEAN",
    "decimal": "DECIMAL(18, 4)",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
}
_MYSQL_TYPES: Final[Mapping[str, str]] = {"timestamp": "DATETIME(6)", "timestamptz": "TIMESTAMP(6) NULL"}
_STAND_IN: Final = "tablewatch where"


@dataclass(frozen=True, slots=True)
class Rows:
    """A table to make: `types` of its columns (see `_TYPES`, or the engine's own), and rows of Python values."""

    types: Mapping[str, str]
    rows: Sequence[Sequence[object]] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """An engine that holds tables."""

    dialect: str
    backend: Any

    def table(self, name: str) -> ir.Table:
        """Return a table as an expression, as its source gives it."""
        if self.dialect == "mysql":
            from sources import mysql

            return mysql.table_of(self.backend, schema=None, name=name)
        if self.dialect != "postgres":
            return self.backend.table(name)
        schema = {"catalog": self.backend.current_catalog, "schema": self.backend.current_database}
        columns = columns_of(self.backend.con, schema["schema"], name)[name]
        return table_of(self.backend, columns, **schema, name=name)

    def compiled(self, expression: ir.Table) -> str:
        """Return the text of an expression: a law asks the same one of every table, and compiling takes longest."""
        return _compiled(self.dialect, expression.op())

    def run(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """Run a statement and give its rows by column name."""
        if self.dialect == "mysql":
            cursor = self.backend.con.cursor()
            cursor.execute(sql)
        else:
            cursor = self.backend.con.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@cache
def _engine(dialect: str) -> Any:
    """Return one engine for all tests, in UTC as every open source: connecting takes longer than asking."""
    if dialect == "postgres":
        backend = ibis.connect(os.environ[POSTGRES])
        backend.con.autocommit = True
        backend.con.prepare_threshold = None  # the same text is run on tables of the same name and other types
        schema = f"checks_{secrets.token_hex(6)}"
        for command in (f"CREATE SCHEMA {schema}", f"SET search_path = {schema}", "SET TimeZone = 'UTC'"):
            backend.con.execute(command)
        atexit.register(backend.con.execute, f"DROP SCHEMA {schema} CASCADE")
        return backend
    if dialect == "mysql":
        from sources import mysql

        backend = mysql.MySqlBackend.from_connection(mysql.connect(os.environ[MYSQL]))
        schema = f"checks_{secrets.token_hex(6)}"
        for command in (
            f"CREATE DATABASE {schema} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            f"USE {schema}",
        ):
            backend.con.query(command)
        atexit.register(backend.con.query, f"DROP DATABASE {schema}")
        return backend
    backend = ibis.duckdb.connect() if dialect == "duckdb" else ibis.sqlite.connect()
    atexit.register(backend.disconnect)
    if dialect == "duckdb":
        backend.con.execute("SET TimeZone = 'UTC'")
    else:
        register(backend.con)
        backend.con.create_function("tablewatch_cell", 2, canonical_text.cell_of_sqlite, deterministic=True)
    return backend


@lru_cache(maxsize=4096)
def _compiled(dialect: str, operation: Any) -> str:
    return str(_engine(dialect).compile(operation.to_expr()))


@contextmanager
def place(dialect: str, **tables: Rows) -> Iterator[Place]:
    """Yield an engine with these tables and no others."""
    backend = _engine(dialect)
    try:
        for name, rows in tables.items():
            create(backend.con, name, rows, dialect)
        yield Place(dialect, backend)
    finally:
        for name in tables:
            _execute(backend.con, f"DROP TABLE IF EXISTS {_quoted(name, dialect)}", dialect)


def create(connection: Any, name: str, rows: Rows, dialect: str) -> None:
    """Make a table of rows of Python values."""
    quoted = {column: _quoted(column, dialect) for column in rows.types}
    place = _quoted(name, dialect)
    columns = ", ".join(f"{quoted[column]} {_type(kind, dialect)}" for column, kind in rows.types.items())
    _execute(connection, f"CREATE TABLE {place} ({columns})", dialect)
    marks = ", ".join(["%s" if dialect in SERVERS else "?"] * len(rows.types))
    stored = {"sqlite": _as_text, "mysql": _in_utc}.get(dialect, lambda value: value)
    values = [[stored(value) for value in row] for row in rows.rows]
    if dialect == "duckdb":
        insert_rows(connection, f"INSERT INTO {place} VALUES ({marks})", values)
    elif values:
        cursor = connection.cursor() if dialect in SERVERS else connection
        cursor.executemany(f"INSERT INTO {place} VALUES ({marks})", values)


def _in_utc(value: object) -> object:
    """Return a moment as the zone of the session has it: the driver of MySQL would leave the offset out."""
    is_moment = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(UTC).replace(tzinfo=None) if is_moment else value


def _quoted(name: str, dialect: str) -> str:
    mark = "`" if dialect == "mysql" else '"'
    return mark + name.replace(mark, 2 * mark) + mark


def _execute(connection: Any, sql: str, dialect: str) -> None:
    (connection.query if dialect == "mysql" else connection.execute)(sql)


def _type(kind: str, dialect: str) -> str:
    known = _TYPES | _MYSQL_TYPES if dialect == "mysql" else _TYPES
    return known.get(kind, kind)


def _as_text(value: object) -> object:
    """Return a value as SQLite keeps it: times are text there."""
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


@dataclass(frozen=True, slots=True)
class Question:
    """A check of one table of a place, with what the configuration says of the table."""

    check: Check
    place: Place
    table: str = "t"
    zones: Zones = field(default_factory=Zones)
    loaded_at: str | None = None
    now: datetime = NOW
    classified: Mapping[str, ColumnClass] = field(default_factory=dict)
    people: PeopleTable | None = None

    @property
    def context(self) -> Context:
        """What the check may know of the table."""
        filtered = None if self.check.where is None else ibis.literal(_STAND_IN) == ibis.literal("tablewatch")
        return Context(
            table=self.place.table(self.table),
            dialect=self.place.dialect,
            now=self._now,
            where=filtered,
            zones=self.zones,
            loaded_at=self.loaded_at,
            references={name: self.place.table(name) for name in self.check.refers_to},
            classified=self.classified,
            people=self.people,
        )

    def wants(self) -> Wants:
        """Return what the check wants measured."""
        return (
            self.check.wants(self.context) if self.check.sampling is None else sampled_wants(self.check, self.context)
        )

    def offending(self) -> Sequence[Mapping[str, Any]]:
        """Return the keys that break the check."""
        return self._fetch(self.check.violations(self.context))

    def measure(self) -> Measurement:
        """Measure what the check wants, looking again as often as it wants to."""
        found = self._measure(self.wants())
        while self.check.looks_again:
            wanted = self.check.follow_up(self.context, found)
            if isinstance(wanted, Measurement):
                return wanted
            more = self._measure(wanted)
            found = replace(found, values={**found.values, **more.values}, tables={**found.tables, **more.tables})
        return found

    def _measure(self, wants: Wants) -> Measurement:
        table = self.place.table(self.table)
        fused = {f"a{number}": value for number, value in enumerate(wants.aggregates.values())}
        row = self._fetch(table.aggregate(**fused))[0] if fused else {}
        values = {name: row[f"a{number}"] for number, name in enumerate(wants.aggregates)}
        for name, text in wants.statements.items():
            sql = f"SELECT count(*) AS n FROM (\n{select_sql(text, dialect=self.place.dialect)}\n) AS q"
            values[name] = self.place.run(sql)[0]["n"]
        kept = self._kept(wants, values)
        return Measurement(
            measured_at=self.now,
            values=values,
            tables={
                **kept,
                **{name: self._fetch(query) for name, query in wants.queries.items()},
                **{name: self._fetch(self._answer(question)) for name, question in wants.classes.items()},
            },
            columns={name: str(kind) for name, kind in table.schema().items()} if wants.schema else {},
            zones=self.zones,
            loaded_at=self.loaded_at,
        )

    def _kept(self, wants: Wants, values: dict[str, Any]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Answer as a look does without a store: count all, and remember no release."""
        if isinstance(wants.kept, ClassCountRequest):
            question = ClassQuestion(wants.kept.quasi_identifiers, sizes_of)
            sizes = self._fetch(self._answer(question))
            values |= {"rows": sum(row["size"] * row["classes"] for row in sizes), "counted": "all", "recount": None}
            return {SIZES: sizes}
        if isinstance(wants.kept, PersonRequest):
            rows = self.context.filtered
            values |= {"rows": self._fetch(rows.aggregate(rows=rows.count()))[0]["rows"], "unnamed": 0}
        return {}

    def ask(self, history: Sequence[PastMeasurement] = ()) -> Outcome:
        """Measure and judge."""
        return judge(self.check, self.measure(), history)

    def _answer(self, question: ClassQuestion) -> ir.Table:
        named = question.quasi_identifiers
        tables = ClassTables(self.context.filtered, named, question.sensitive, question.person)
        return question.answer(tables)

    def _now(self, shift: timedelta = timedelta(), zone: str | None = None) -> ir.TimestampValue:
        moment = self.now + shift
        if zone is not None:
            return ibis.literal(latest_local_time(moment, ZoneInfo(zone)))
        return ibis.literal(moment.replace(tzinfo=None) if self.place.dialect == "sqlite" else moment)

    def _fetch(self, expression: ir.Table) -> Sequence[Mapping[str, Any]]:
        sql = self.place.compiled(expression)
        if self.check.where is not None:
            columns = self.place.table(self.table).columns
            predicate = predicate_sql(self.check.where, columns=columns, dialect=self.place.dialect)
            sql = sql.replace(f"'{_STAND_IN}' = 'tablewatch'", f"({predicate})")
        return self.place.run(sql)


def ask(check: Check, place: Place, **known: Any) -> Outcome:
    """Ask a check of the table `t` of a place; `known` are further fields of `Question`, and `history`."""
    history = known.pop("history", ())
    return Question(check, place, **known).ask(history)


def past(observed: Mapping[str, Any], age: timedelta, *, accepted: bool = False) -> PastMeasurement:
    """Return a passed measurement of some time ago."""
    return PastMeasurement(NOW - age, Status.PASS, observed, age=age, accepted=accepted)
