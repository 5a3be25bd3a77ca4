"""A source: `url: archive:///FILE`, tables of a SQLite file. Put the driver of another engine in its place."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import quote

import ibis
from ibis.backends.sql import SQLBackend

from tablewatch.plugins import CatalogueEntry, EngineSource, FetchedRows, QueryFailed, file_of, refuse_other_words


class Archive(EngineSource):
    """A database that is only read."""

    dialect = "sqlite"

    def _open(self, closing: ExitStack) -> None:
        self._connection = sqlite3.connect(f"file:{quote(str(file_of(self._spec)))}?mode=ro", uri=True)
        closing.callback(self._connection.close)

    def _make_backend(self) -> SQLBackend:
        return ibis.sqlite.from_connection(self._connection)

    def _list(self) -> Iterable[CatalogueEntry]:
        rows = self._run("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")
        return (CatalogueEntry("", "main", name, bare=True) for (name,) in rows.cells)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:  # its text may hold a value of the table
            raise QueryFailed(self._error_text("the engine refused the statement", error)) from None

    def _run(self, sql: str) -> FetchedRows:
        refuse_other_words(sql, self.name)
        cursor = self._connection.execute(sql)
        return FetchedRows([column[0] for column in cursor.description], cursor.fetchall())
