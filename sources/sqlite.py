"""Tables of a SQLite file, opened so that nothing can be written, not even the file itself.

A file from elsewhere may be hostile: views call no function with side effects (`trusted_schema=OFF`), cells are checked
before they are believed (`cell_size_check=ON`), and a statement that runs for too long is stopped: between two rows,
however slow they are, since SQLite looks at the clock itself only after many steps.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from sources._contract import PermissionDenied, QueryFailed, Source, SourceError, TimedOut, Unreachable
from sources._deadline import Deadline, Deadlines
from sources._engine import PIECE, CatalogueEntry, EngineSource, FetchedRows, refuse_other_words
from sources._file_signs import sign_of_files
from sources._spec import SourceSpec, file_of
from sources.expressions import dt, ibis, ir
from sources.moments import register

if TYPE_CHECKING:
    from ibis.backends.sql import SQLBackend

_STEPS_BETWEEN_LOOKS: Final = 50_000
"""After so many steps of a statement Python has a turn, in which Ctrl-C is noticed."""
_BROKEN: Final = {"SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_FORMAT"}


class Sqlite(EngineSource):
    """A SQLite file. A missing one is never created."""

    dialect = "sqlite"

    def __init__(self, spec: SourceSpec) -> None:
        super().__init__(spec)
        self._deadline: Deadline | None = None

    def sqlalchemy_url(self) -> str:
        """Return a read-only URL."""
        # Quoted twice: SQLAlchemy 2.1 unquotes the path once before SQLite does.
        return f"sqlite:///file:{quote(quote(str(file_of(self._spec))))}?mode=ro&uri=true"

    def _open(self, closing: ExitStack) -> None:
        path = file_of(self._spec)
        wait = self._spec.lock_timeout.total_seconds()
        # the deadline's thread interrupts; all else is done by the thread that opened it
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=wait)
        closing.callback(connection.close)
        self._connection = connection
        self._deadlines = closing.enter_context(Deadlines(self.query_timeout, connection.interrupt))
        with self._asking():
            connection.text_factory = _decode
            connection.set_progress_handler(self._is_late, _STEPS_BETWEEN_LOOKS)
            for setting in ("query_only=ON", "trusted_schema=OFF", "cell_size_check=ON", "case_sensitive_like=ON"):
                connection.execute(f"PRAGMA {setting}")
            register(connection)
            connection.create_function("tablewatch_cell", 2, _cell, deterministic=True)
            connection.create_function("tablewatch_digest", 1, _digest, deterministic=True)
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # it may be no file of SQLite

    def _make_backend(self) -> SQLBackend:
        return ibis.sqlite.from_connection(self._connection)  # registers what its statements call

    def _columns_of(self, entry: CatalogueEntry) -> Sequence[tuple[object, ...]] | None:
        columns = self._connection.execute("SELECT name, type FROM pragma_table_info(?)", [entry.table]).fetchall()
        return columns if all(kind for _, kind in columns) else None  # Ibis finds a type that is missing in the values

    def _list(self) -> Iterable[CatalogueEntry]:
        result = self._run(
            "SELECT name FROM pragma_table_list() "
            "WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
        return (CatalogueEntry("", "main", name, bare=True) for (name,) in result.cells)

    def change_sign(self, name: str, now: datetime) -> str | None:
        """Return that of the whole file and its log; another table of it may have changed."""
        self._find(name)
        file = file_of(self._spec)
        return sign_of_files([file, file.with_name(f"{file.name}-wal")], now)

    def _describe(self, entry: CatalogueEntry) -> ir.Table:
        from ibis.common.exceptions import IbisError

        if self._spec.blind:  # Ibis finds the type of a column without a declared one in its values
            return self._as_declared(entry, without_type=dt.unknown)
        try:
            return self._backend.table(entry.table, database=entry.schema)
        except IbisError:  # columns without a declared type, and no row to infer one from
            return self._as_declared(entry, without_type=dt.null)

    def _as_declared(self, entry: CatalogueEntry, *, without_type: dt.DataType) -> ir.Table:
        columns = self._connection.execute("SELECT name, type FROM pragma_table_info(?)", [entry.table])
        read = self._backend.compiler.type_mapper.from_string
        schema = {name: read(kind) if kind else without_type for name, kind in columns}
        return ibis.table(schema, name=entry.table, database=entry.schema)

    def _run(self, sql: str) -> FetchedRows:
        refuse_other_words(sql, self.name)  # the driver takes a single statement, and the session only reads
        cursor = self._connection.execute(sql)
        return FetchedRows([column[0] for column in cursor.description], cursor.fetchall())

    def _run_pieces(self, sql: str) -> Iterator[Sequence[tuple[Any, ...]]]:
        refuse_other_words(sql, self.name)
        with closing(self._connection.execute(sql)) as cursor:
            while rows := cursor.fetchmany(PIECE):
                yield rows

    @contextmanager
    def _asking(self) -> Iterator[None]:
        with self._deadlines.work() as deadline:
            self._deadline = deadline
            try:
                yield
            except sqlite3.Error as error:
                code = getattr(error, "sqlite_errorname", "")
                if code == "SQLITE_INTERRUPT" and not deadline.passed:
                    raise KeyboardInterrupt from None  # pressed while SQLite asked whether to go on
                raise self._source_error_of(error, code) from None

    def _is_late(self) -> bool:
        return self._deadline is not None and self._deadline.passed

    def _source_error_of(self, error: sqlite3.Error, code: str) -> SourceError:
        family = "_".join(code.split("_")[:2])
        if family == "SQLITE_INTERRUPT":
            limit = f"{self.query_timeout.total_seconds():g} s"
            return TimedOut(self._error_text(f"no answer within {limit}; see query_timeout", error))
        if family in {"SQLITE_BUSY", "SQLITE_LOCKED"}:
            limit = f"{self._spec.lock_timeout.total_seconds():g} s"
            return TimedOut(self._error_text(f"the file was locked for more than {limit}; see lock_timeout", error))
        if family in {"SQLITE_PERM", "SQLITE_AUTH"}:
            return PermissionDenied(self._error_text("the file cannot be read: permission denied", error))
        if family in _BROKEN:
            return Unreachable(self._error_text(f"the file cannot be read as SQLite: {code}", error))
        if family == "SQLITE_READONLY":
            return QueryFailed(self._error_text("the connection is read-only, but the statement writes", error))
        return QueryFailed(self._error_text(f"SQLite refused the statement: {code or 'no code'}", error))


def _cell(kind: str, value: object) -> str | None:
    from sources.canonical_text import cell_of_sqlite  # only where tables are compared

    return cell_of_sqlite(kind, value)


def _digest(text: str) -> int:
    from sources.canonical_text import digest_of

    return digest_of(text)


def _decode(text: bytes) -> str:
    return text.decode(errors="replace")  # a value that is no UTF-8 must not stop the others from being read


SOURCE: Final[type[Source]] = Sqlite
