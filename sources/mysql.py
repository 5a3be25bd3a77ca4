"""Tables of a MariaDB or MySQL server, in one session that only reads and gives up in time; needs `[mysql]`."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import ibis.expr.types as ir
import MySQLdb
from ibis.backends.sql import SQLBackend
from MySQLdb.constants import CR, ER, FIELD_TYPE
from MySQLdb.converters import conversions
from MySQLdb.cursors import SSCursor
from MySQLdb.times import DateTime_or_None

from sources._contract import PermissionDenied, QueryFailed, RowEstimate, Source, SourceError, TimedOut, Unreachable
from sources._engine import PIECE, CatalogueEntry, EngineSource, FetchedRows, refuse_other_statements
from sources._mysql_backend import MySqlBackend, table_of
from sources._spec import login_in_words

_CATALOGUE: Final = """
SELECT table_schema, table_name, table_schema = DATABASE(), COALESCE(table_schema = DATABASE(), TRUE)
FROM information_schema.tables
WHERE table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys') AND table_type <> 'SEQUENCE'
"""
_FIGURES: Final = (
    "SELECT table_name, table_rows, engine, update_time FROM information_schema.tables "
    "WHERE table_schema = %s AND (%s IS NULL OR table_name = %s)"
)
_EXACT: Final = frozenset({"MyISAM", "Aria"})
"""Engines of tables that count their rows; of InnoDB the manual says "as much as 40% to 50%"."""
_SQL_MODE: Final = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION"
"""Ours alone, whatever the server's is: " is around text, and a backslash escapes, as in the text that is compiled."""
_OPTIONS: Final = ("unix_socket", "charset", "ssl_mode", "ssl_ca", "ssl_cert", "ssl_key")
_LOST_NETWORK_S: Final = 10
"""Seconds after the limit of a statement in which the server has to say that it ended it."""


def connect(url: str, **options: Any) -> MySQLdb.Connection:
    """Return a connection to the server that a URL names, in UTC, with our own `sql_mode`; `options` go to the driver.

    Raises:
        ValueError: the URL has an unknown option or a port that is none.
        MySQLdb.Error: there is no connection.
    """
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    unknown = sorted(query.keys() - {*_OPTIONS})
    if unknown:
        raise ValueError(f"its URL has the unknown option '{unknown[0]}'; expected {', '.join(_OPTIONS)}")
    tls = {name.removeprefix("ssl_"): query.pop(name) for name in ("ssl_ca", "ssl_cert", "ssl_key") if name in query}
    return MySQLdb.connect(
        **{"charset": "utf8mb4"} | query | ({"ssl": tls} if tls else {}) | options,
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 3306,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=unquote(parts.path.removeprefix("/")),
        autocommit=True,
        conv={**conversions, FIELD_TYPE.TIMESTAMP: _moment},
        multi_statements=False,
        init_command=f"SET SESSION time_zone = '+00:00', sql_mode = '{_SQL_MODE}'",
    )


def _moment(text: str) -> datetime | None:
    """Return a TIMESTAMP as a moment, which the driver takes for a wall clock; None for one that is none."""
    wall = DateTime_or_None(text)
    return None if wall is None else wall.replace(tzinfo=UTC)


class MySql(EngineSource):
    """A database of a server by URL: `mysql://USER:PASSWORD@HOST/DATABASE`, or `mariadb://`."""

    dialect = "mysql"
    _connection: MySQLdb.Connection
    _is_mariadb = False

    def _open(self, closing: ExitStack) -> None:
        seconds = self.query_timeout.total_seconds()
        wait = math.ceil(self._spec.connect_timeout.total_seconds())
        try:
            self._connection = connect(
                self._spec.url or "", connect_timeout=wait, read_timeout=math.ceil(seconds) + _LOST_NETWORK_S
            )
        except ValueError as error:
            raise Unreachable(f"source '{self.name}': {error}") from None
        except MySQLdb.Error as error:
            raise Unreachable(self._error_text(f"{self._why_closed(error)}{self._login()}", error)) from None
        closing.callback(self._connection.close)
        with self._asking():
            mariadb = "MariaDB" in self._connection.get_server_info()
            limit = (
                f"max_statement_time = {seconds}" if mariadb else f"max_execution_time = {math.ceil(seconds * 1000)}"
            )
            lock = math.ceil(self._spec.lock_timeout.total_seconds())
            self._is_mariadb = mariadb
            self._connection.query(f"SET SESSION {limit}, lock_wait_timeout = {lock}")
            self._connection.query("SET SESSION TRANSACTION READ ONLY")

    def _make_backend(self) -> SQLBackend:
        return MySqlBackend.from_connection(self._connection)

    def _list(self) -> Iterable[CatalogueEntry]:
        rows = self._ask(_CATALOGUE).cells
        return (CatalogueEntry("", schema, name, bool(bare), bool(listed)) for schema, name, bare, listed in rows)

    def _describe(self, entry: CatalogueEntry) -> ir.Table:
        return table_of(self._backend, schema=entry.schema, name=entry.table)

    def row_estimate(self, name: str) -> RowEstimate | None:
        """Return what the statistics of the tables say: exact of some engines, else off by half of it."""
        rows, engine, _ = self._figures_of(name)
        return None if rows is None else RowEstimate(int(rows), 0 if engine in _EXACT else -(-int(rows) // 2), None)

    def last_write(self, name: str) -> datetime | None:
        """Return what MariaDB keeps since its start; MySQL answers from a cache that is up to a day old."""
        if not self._is_mariadb:
            return super().last_write(name)
        written = self._figures_of(name)[2]
        return None if written is None else written.replace(tzinfo=UTC)

    def _figures_of(self, name: str) -> tuple[int | None, str | None, datetime | None]:
        entry = self._find(name)
        with self._talking():
            return self._of_catalogue("figures", entry, self._read_figures) or (None, None, None)

    def _read_figures(self, schema: str, table: str | None) -> Mapping[str, Any]:
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(_FIGURES, (schema, table, table))
            return {name: figures for name, *figures in cursor.fetchall()}

    def _run(self, sql: str) -> FetchedRows:
        refuse_other_statements(sql, dialect=self.dialect, source=self.name)
        return self._ask(sql)

    def _run_pieces(self, sql: str) -> Iterator[Sequence[tuple[Any, ...]]]:
        refuse_other_statements(sql, dialect=self.dialect, source=self.name)
        with closing(self._connection.cursor(SSCursor)) as cursor:
            cursor.execute(sql)
            while rows := cursor.fetchmany(PIECE):
                yield rows

    def _ask(self, sql: str) -> FetchedRows:
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(sql)
            return FetchedRows([column[0] for column in cursor.description], cursor.fetchall())

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except MySQLdb.Error as error:
            raise self._source_error_of(error) from None

    def _source_error_of(self, error: MySQLdb.Error) -> SourceError:
        code = error.args[0] if error.args else 0
        query, lock = (f"{limit.total_seconds():g} s" for limit in (self.query_timeout, self._spec.lock_timeout))
        kind, text = _ERRORS.get(code, (QueryFailed, "the server refused the statement: error {code}"))
        return kind(self._error_text(text.format(query=query, lock=lock, code=code), error))

    def _login(self) -> str:
        url = self._spec.url or ""
        parts, socket = urlsplit(url), dict(parse_qsl(urlsplit(url).query)).get("unix_socket")
        return login_in_words(url, user=unquote(parts.username or ""), host=socket or parts.hostname or "127.0.0.1")

    def _why_closed(self, error: MySQLdb.Error) -> str:
        """Return why there is no connection; the server's text may name accounts, and is not passed on."""
        reasons = {
            ER.ACCESS_DENIED_ERROR: "password authentication failed, or the user does not exist",
            ER.DBACCESS_DENIED_ERROR: "the user has no right to use the database",
            ER.BAD_DB_ERROR: "the database does not exist",
            ER.CON_COUNT_ERROR: "too many connections",
            CR.CONNECTION_ERROR: "connection refused: nothing is listening there",
            CR.CONN_HOST_ERROR: "connection refused: nothing is listening there",
            CR.UNKNOWN_HOST: "the host name cannot be resolved",
            CR.SSL_CONNECTION_ERROR: "the encrypted connection failed; see ssl_mode and ssl_ca",
        }
        default = "the connection failed; check host, port, database and user"
        return reasons.get(error.args[0] if error.args else 0, default)


_DENIED: Final = (PermissionDenied, "the user may not read this; expected the right to SELECT")
_LATE: Final = (TimedOut, "no answer within {query}; see query_timeout")
_CONNECTION_LOST: Final = (Unreachable, "the server ended the connection")
_MARIADB_STATEMENT_TIMEOUT: Final = 1969
_MYSQL_STATEMENT_TIMEOUT: Final = 3024
_ERRORS: Final[Mapping[int, tuple[type[SourceError], str]]] = {
    _MARIADB_STATEMENT_TIMEOUT: _LATE,
    _MYSQL_STATEMENT_TIMEOUT: _LATE,
    ER.LOCK_WAIT_TIMEOUT: (TimedOut, "a lock was not available within {lock}; see lock_timeout"),
    **dict.fromkeys((ER.TABLEACCESS_DENIED_ERROR, ER.COLUMNACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR), _DENIED),
    ER.CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: (QueryFailed, "the connection is read-only, but the statement writes"),
    ER.NO_SUCH_TABLE: (QueryFailed, "the statement names a table that does not exist"),
    ER.BAD_FIELD_ERROR: (QueryFailed, "the statement names a column that does not exist"),
    ER.SP_DOES_NOT_EXIST: (QueryFailed, "the statement names a function that does not exist"),
    ER.PARSE_ERROR: (QueryFailed, "the statement is not valid SQL"),
    **dict.fromkeys((CR.SERVER_LOST, CR.SERVER_GONE_ERROR, ER.SERVER_SHUTDOWN, ER.QUERY_INTERRUPTED), _CONNECTION_LOST),
}

SOURCE: Final[type[Source]] = MySql
