"""Tables of a PostgreSQL server, in one session that only reads and gives up in time. Needs the extra `[postgres]`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sources._contract import (
    PermissionDenied,
    QueryFailed,
    ReadVolume,
    RowEstimate,
    Source,
    SourceError,
    TimedOut,
    Unreachable,
)
from sources._engine import PIECE, CatalogueEntry, EngineSource, FetchedRows, refuse_other_words
from sources._spec import login_in_words
from sources.expressions import ibis, ir

if TYPE_CHECKING:
    from ibis.backends.sql import SQLBackend

_CATALOGUE: Final = """
SELECT current_database(), n.nspname, c.relname, pg_table_is_visible(c.oid), NOT c.relispartition
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
"""
_COLUMNS: Final = """
WITH RECURSIVE typed AS (
  SELECT c.relname, a.attnum, a.attname, a.attnotnull, a.atttypmod AS modifier,
         t.oid, t.typtype, t.typbasetype, t.typtypmod
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  WHERE n.nspname = %(schema)s AND (%(table)s::text IS NULL OR c.relname = %(table)s)
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT d.relname, d.attnum, d.attname, d.attnotnull, d.typtypmod, t.oid, t.typtype, t.typbasetype, t.typtypmod
  FROM typed d JOIN pg_catalog.pg_type t ON t.oid = d.typbasetype
  WHERE d.typtype = 'd'
)
SELECT relname, attname, CASE typtype WHEN 'e' THEN NULL ELSE pg_catalog.format_type(oid, modifier) END, NOT attnotnull
FROM typed WHERE typtype <> 'd' ORDER BY relname, attnum
"""
"""Of each column of a table, or of all of a schema, its table, name, type (below its domain; NULL for an enum) and
whether it may be NULL."""
_CHANGE_SIGN: Final = """
WITH RECURSIVE part AS (
  SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = %s AND c.relname = %s
  UNION ALL SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN part ON i.inhparent = part.oid
)
SELECT string_agg(concat_ws(':', c.oid, pg_relation_filenode(c.oid), c.xmin, pg_stat_get_tuples_inserted(c.oid),
                            pg_stat_get_tuples_updated(c.oid), pg_stat_get_tuples_deleted(c.oid), a.columns), ' '
                  ORDER BY c.oid),
       bool_and(c.relkind IN ('r', 'p') AND NOT c.relrowsecurity) AND current_setting('track_counts') = 'on'
       AND NOT pg_is_in_recovery()
FROM part JOIN pg_catalog.pg_class c USING (oid) CROSS JOIN LATERAL (
  SELECT md5(string_agg(concat_ws(':', attname, atttypid, atttypmod, attnotnull), ' ' ORDER BY attnum)) AS columns
  FROM pg_catalog.pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped
) a
"""
"""Of a table and all partitions of it: which they are and what was counted, and whether that is sure."""
_FIGURES: Final = """
WITH RECURSIVE part AS (
  SELECT c.relname, c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = %(schema)s AND (%(table)s::text IS NULL OR c.relname = %(table)s)
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  UNION ALL SELECT p.relname, i.inhrelid FROM pg_catalog.pg_inherits i JOIN part p ON i.inhparent = p.oid
)
SELECT part.relname, sum(greatest(c.reltuples, 0))::bigint, sum(s.n_mod_since_analyze)::bigint,
       min(greatest(s.last_analyze, s.last_autoanalyze)), sum(s.n_live_tup)::bigint,
       sum(s.n_tup_ins + s.n_tup_upd + s.n_tup_del)::bigint,
       bool_and(c.relkind IN ('r', 'm') AND c.reltuples >= 0)
       AND count(*) = count(greatest(s.last_analyze, s.last_autoanalyze)),
       bool_and(c.reltuples < 0),
       bool_and(c.relkind = 'r' AND s.relid IS NOT NULL) AND NOT pg_catalog.pg_is_in_recovery()
FROM part JOIN pg_catalog.pg_class c USING (oid) LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = c.oid
WHERE c.relkind <> 'p' GROUP BY part.relname
"""
"""Of a table, or all partitions of one: rows, rows changed since ANALYZE, when that was, rows that are counted as they
are written, rows written or removed so far, whether all were analyzed, whether none was since it was made or emptied,
and whether writes are counted here."""


class _Figures(NamedTuple):
    """What `_FIGURES` says of a table."""

    rows: int
    changed: int | None
    analyzed_at: datetime | None
    live: int | None
    writes: int | None
    is_analyzed: bool
    is_new: bool
    counts_writes: bool


_IDENTIFIERS: Final = re.compile(r"\w+|(?<=\")[^\"]+(?=\")")
_UNREADABLE: Final = """
SELECT c.relname, a.attname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
WHERE c.relname = ANY (%s) AND a.attname = ANY (%s) AND a.attnum > 0 AND NOT a.attisdropped
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
  AND NOT pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY c.relname, a.attnum
"""
_SAMPLED: Final = 20
"""ANALYZE reads a sample of the pages; its number of rows is taken to be right within one part of so many."""
_ROWS_READ: Final = """
SELECT CASE WHEN bool_or(c.relkind = 'f') THEN NULL ELSE sum(pg_stat_get_xact_tuples_returned(c.oid)) END::bigint,
       pg_stat_force_next_flush()
FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid = l.relation
WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND c.oid >= 16384
      AND c.relkind IN ('r', 'm', 'i', 'f') AND c.relnamespace <> 'pg_toast'::regnamespace
"""
"""What a transaction read so far: rows that scans of tables handed on, and entries that scans of indexes did; nothing
of catalogues. Unknown with a foreign table. The counters begin again when the transaction ends (PostgreSQL 15)."""
_COUNTS_SINCE: Final = 150_000
_COUNTS_FOR: Final = "SELECT current_setting('max_parallel_workers_per_gather'), pg_backend_pid()"
"""Whether workers read, too, and which process counts: a pooler names another one, and what its clients read before
may be among what is counted."""
_WATCHES_CLIENT_SINCE: Final = 140_000
_WATCH_CLIENT: Final = "client_connection_check_interval=500"
"""Milliseconds after which the server notices, amid a query, that its client is gone: a worker was killed."""
_LOST_NETWORK: Final = {"keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3"}


class Postgresql(EngineSource):
    """A PostgreSQL database by URL; its query may hold any parameter that libpq knows."""

    dialect = "postgres"
    _connection: psycopg.Connection
    _watches_client = False
    _tells_rows = False
    _counts_from_zero = True
    _refused_sql = ""

    def sqlalchemy_url(self) -> str | None:
        """Return a URL for psycopg with the same limits; None for several hosts, which SQLAlchemy spells otherwise."""
        parameters = {name: str(value) for name, value in conninfo_to_dict(self._url).items()} | self._settings
        if "," in parameters.get("host", ""):
            return None
        user, password, database = (quote(parameters.pop(name, ""), safe="") for name in ("user", "password", "dbname"))
        login = f"{user}:{password}@" if password else f"{user}@" if user else ""
        if self._watches_client:
            parameters["options"] += f" -c {_WATCH_CLIENT}"
        return f"postgresql+psycopg://{login}/{database}?{urlencode(parameters, quote_via=quote)}"

    @property
    def _url(self) -> str:
        return f"postgresql://{(self._spec.url or '').partition('://')[2]}"

    @property
    def _settings(self) -> dict[str, str]:
        named = conninfo_to_dict(self._url).get("options")
        settings = {
            "default_transaction_read_only": "on",
            "statement_timeout": _ms(self.query_timeout),
            "lock_timeout": _ms(self._spec.lock_timeout),
            "TimeZone": "UTC",
        }
        options = [f"-c {name}={value}" for name, value in settings.items()]
        return {
            "options": " ".join([str(named), *options] if named else options),  # of one setting the last word holds
            "connect_timeout": str(max(2, math.ceil(self._spec.connect_timeout.total_seconds()))),  # libpq's least is 2
            "application_name": "tablewatch",
            **_LOST_NETWORK,
        }

    def _open(self, closing: ExitStack) -> None:
        try:
            self._connection = psycopg.connect(make_conninfo(self._url, **self._settings), autocommit=True)
        except (psycopg.Error, ValueError) as error:
            raise Unreachable(self._error_text(f"{self._why(str(error))}{self._login()}", error)) from None
        closing.callback(self._connection.close)
        self._connection.read_only = True  # every transaction begins READ ONLY, whatever a function set meanwhile
        with self._asking():
            if self._connection.info.server_version >= _WATCHES_CLIENT_SINCE:
                with suppress(psycopg.errors.InvalidParameterValue):  # servers on some systems cannot
                    self._connection.execute(f"SET {_WATCH_CLIENT}")
                    self._watches_client = True
            if self._connection.info.server_version >= _COUNTS_SINCE:  # workers count what they read for themselves
                [[workers, process]] = self._ask(_COUNTS_FOR).cells
                self._tells_rows = workers == "0" and process == self._connection.info.backend_pid

    def _make_backend(self) -> SQLBackend:
        return ibis.postgres.from_connection(self._connection)

    def _list(self) -> Iterable[CatalogueEntry]:
        return (CatalogueEntry(*row) for row in self._ask(_CATALOGUE).cells)

    def _describe(self, entry: CatalogueEntry) -> ir.Table:
        from sources.postgres_columns import table_of  # imports Ibis

        place = {"catalog": entry.catalog, "schema": entry.schema, "name": entry.table}
        return table_of(self._backend, self._columns_of(entry), **place)

    def _columns_of(self, entry: CatalogueEntry) -> Sequence[tuple[str, str | None, bool]]:
        return self._of_catalogue("columns", entry, partial(columns_of, self._connection)) or ()

    def row_estimate(self, name: str) -> RowEstimate | None:
        """Return what ANALYZE found, and what was written since, off by what changed and by 5 % since it samples."""
        figures = self._figures_of(name)
        if figures is None:
            return None
        if not figures.is_analyzed:  # a small table never is; its rows are counted as they are written
            counts = figures.is_new and figures.counts_writes and figures.writes
            return RowEstimate(figures.live or 0, figures.live or 0, None) if counts else None
        changed = figures.changed or 0
        rows = min(max(figures.live or 0, figures.rows - changed), figures.rows + changed)
        return RowEstimate(rows, changed + -(-figures.rows // _SAMPLED), figures.analyzed_at)

    def last_write(self, name: str) -> datetime | None:
        """Return None: the statistics count writes and keep no time of them."""
        self._find(name)
        return None

    def write_count(self, name: str) -> int | None:
        """Return the rows that were written or removed since the statistics began; None of views and on a standby."""
        figures = self._figures_of(name)
        return figures.writes if figures is not None and figures.counts_writes else None

    def _figures_of(self, name: str) -> _Figures | None:
        entry = self._find(name)
        with self._talking():
            figures: _Figures | None = self._of_catalogue("figures", entry, self._read_figures)
        return figures

    def _read_figures(self, schema: str, table: str | None) -> Mapping[str, _Figures]:
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute(_FIGURES, {"schema": schema, "table": table})
            return {name: _Figures(*figures) for name, *figures in cursor.fetchall()}

    def change_sign(self, name: str, now: datetime) -> str | None:
        """Return what the server counted of a table and its partitions, and their files and entries in the catalogue.

        It is up to ten seconds late. None on a standby, which does not count, and of views and foreign tables.
        """
        del now
        entry = self._find(name)
        with self._talking(), self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute(_CHANGE_SIGN, (entry.schema, entry.table))
            row = cursor.fetchone()
        return str(row[0]) if row is not None and row[1] else None

    def _run(self, sql: str) -> FetchedRows:
        refuse_other_words(sql, self.name)
        return self._ask(sql)

    def _run_pieces(self, sql: str) -> Iterator[Sequence[tuple[Any, ...]]]:
        refuse_other_words(sql, self.name)
        with self._counted(sql) as cursor:
            while rows := cursor.fetchmany(PIECE):
                yield rows

    def _ask(self, sql: str) -> FetchedRows:
        with self._counted(sql) as cursor:
            return FetchedRows([column.name for column in cursor.description or ()], cursor.fetchall())

    @contextmanager
    def _counted(self, sql: str) -> Iterator[psycopg.Cursor]:
        """Run a statement in a transaction of its own, and count the rows that it read where the session tells.

        What one that failed had read until then stays in the counters: the next one cannot be distinguished from it.
        """
        with self._connection.transaction(), self._connection.cursor() as cursor:
            counts_from_zero, self._counts_from_zero = self._counts_from_zero, not self._tells_rows
            try:
                cursor.execute(sql, prepare=True)  # the protocol of prepared statements takes a single one
            except psycopg.errors.InsufficientPrivilege:
                self._refused_sql = sql
                raise
            yield cursor
            if self._tells_rows:
                row = cursor.execute(_ROWS_READ, prepare=True).fetchone()
                if counts_from_zero and row is not None:
                    self._read_volume += ReadVolume(row[0])
                self._counts_from_zero = True

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._source_error_of(error) from None

    def _source_error_of(self, error: psycopg.Error) -> SourceError:
        if self._connection.closed or self._connection.broken:
            return Unreachable(self._error_text("the server ended the connection", error))
        query, lock = (f"{limit.total_seconds():g} s" for limit in (self.query_timeout, self._spec.lock_timeout))
        if isinstance(error, psycopg.DataError) and error.sqlstate is None:  # the driver says so, not the server
            return QueryFailed(
                self._error_text("a value in the result cannot be read, such as the time -infinity", error)
            )
        kind, text = next((kind, text) for wrong, kind, text in _ERRORS if isinstance(error, wrong))
        if kind is PermissionDenied and (columns := self._unreadable_columns()):
            text = f"the user may not read {columns}; expected the right to SELECT"
            return kind(self._error_text(text, error))
        return kind(self._error_text(text.format(query=query, lock=lock, state=error.sqlstate), error))

    def _unreadable_columns(self) -> str:
        """Return the columns that the refused statement names and that the account may not read; '' without one.

        They are of tables of which it may read other columns.
        """
        sql, self._refused_sql = self._refused_sql, ""
        if not sql:
            return ""
        words = sorted(set(_IDENTIFIERS.findall(sql)))
        with self._connection.transaction(), self._connection.cursor() as cursor:
            rows = cursor.execute(_UNREADABLE, (words, words)).fetchall()
        return ", ".join(f"column '{column}' of table '{table}'" for table, column in rows)

    def _login(self) -> str:
        """Return user and host in words: those of the URL, else libpq's own."""
        try:
            given = conninfo_to_dict(self._url)
        except psycopg.Error:
            return ""
        own = {item.keyword: item.val for item in psycopg.pq.Conninfo.get_defaults() if item.val is not None}
        user, host = (str(given.get(name) or own.get(name.encode(), b"").decode()) for name in ("user", "host"))
        return login_in_words(self._url, user=user, host=host)

    def _why(self, text: str) -> str:
        """Describe why there is no connection; the driver's text is only recognised, never passed on."""
        reasons = {
            "password": "password authentication failed",
            "role": "the user does not exist",
            "pg_hba.conf": "no pg_hba.conf entry for this user, database and address",
            "resolve host": "the host name cannot be resolved",
            "timeout": f"no answer within {self._spec.connect_timeout.total_seconds():g} s; see connect_timeout",
            "refused": "connection refused: nothing is listening on the host and port",
            "does not exist": "the database does not exist",
            "too many": "too many connections",
            "does not match host name": "the server's certificate is of another host name; see sslmode and host",
            "certificate": "the server's certificate is not of an authority in sslrootcert; see sslmode",
            "SSL": "the encrypted connection failed; see sslmode",
        }
        names = (reason for sign, reason in reasons.items() if sign in text)
        return next(names, "the connection failed; check host, port, database and user")


def columns_of(
    connection: psycopg.Connection, schema: str, table: str | None
) -> Mapping[str, Sequence[tuple[str, str | None, bool]]]:
    """Return the columns of a table, or of all of a schema, by table.

    Of each the name, the type (below its domain; None for an enum) and whether it may be NULL.

    Raises:
        psycopg.Error: the catalogue cannot be read.
    """
    columns: dict[str, list[tuple[str, str | None, bool]]] = {}
    for name, *column in connection.execute(_COLUMNS, {"schema": schema, "table": table}):
        columns.setdefault(name, []).append((column[0], column[1], column[2]))
    return columns


def _ms(limit: timedelta) -> int:
    return max(1, round(limit.total_seconds() * 1000))  # 0 would mean: for ever


_ERRORS: Final[Sequence[tuple[type[psycopg.Error], type[SourceError], str]]] = (
    (psycopg.errors.QueryCanceled, TimedOut, "no answer within {query}; see query_timeout"),
    (psycopg.errors.LockNotAvailable, TimedOut, "a lock was not available within {lock}; see lock_timeout"),
    (
        psycopg.errors.InsufficientPrivilege,
        PermissionDenied,
        "the user may not read this; expected the right to SELECT",
    ),
    (psycopg.errors.ReadOnlySqlTransaction, QueryFailed, "the connection is read-only, but the statement writes"),
    (psycopg.errors.UndefinedTable, QueryFailed, "the statement names a table that does not exist"),
    (psycopg.errors.UndefinedColumn, QueryFailed, "the statement names a column that does not exist"),
    (
        psycopg.errors.UndefinedFunction,
        QueryFailed,
        "the statement names a function or operator that does not exist for these types (json has no =, jsonb has)",
    ),
    (
        psycopg.errors.ObjectNotInPrerequisiteState,
        QueryFailed,
        "a materialised view has no rows yet; expected REFRESH MATERIALIZED VIEW",
    ),
    (psycopg.errors.SyntaxError, QueryFailed, "the statement is not valid SQL"),
    (psycopg.errors.DivisionByZero, QueryFailed, "the statement divides by zero"),
    (psycopg.DataError, QueryFailed, "a value does not match the type expected by the statement"),
    (psycopg.Error, QueryFailed, "PostgreSQL refused the statement: SQLSTATE {state}"),
)

SOURCE: Final[type[Source]] = Postgresql
