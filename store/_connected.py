"""What all parts of a view and of a book share: the connection, inside its transaction."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, insert
from sqlalchemy.dialects import postgresql, sqlite


class Connected:
    """Something that asks one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def _on_sqlite(self) -> bool:
        return self._connection.dialect.name == "sqlite"

    def _insert(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            self._connection.execute(insert(table), rows)

    def _upsert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """Begin an INSERT that may say what to do about a row that is there already."""
        return sqlite.insert(table) if self._on_sqlite else postgresql.insert(table)
