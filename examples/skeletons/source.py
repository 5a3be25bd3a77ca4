"""Tables of an engine that Python's `sqlite3` reaches: put the driver of another engine in its place."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final
from urllib.parse import quote

import ibis
from ibis.backends.sql import SQLBackend

from sources._contract import QueryFailed, Source
from sources._engine import CatalogueEntry, EngineSource, FetchedRows, refuse_other_words
from sources._spec import file_of


class Skeleton(EngineSource):
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
        try:  # also end a statement after `self.query_timeout`, as `sources/sqlite.py` does
            yield
        except sqlite3.Error as error:  # its text may hold a value of the table
            raise QueryFailed(self._error_text("the engine refused the statement", error)) from None

    def _run(self, sql: str) -> FetchedRows:
        refuse_other_words(sql, self.name)
        cursor = self._connection.execute(sql)
        return FetchedRows([column[0] for column in cursor.description], cursor.fetchall())


SOURCE: Final[type[Source]] = Skeleton
