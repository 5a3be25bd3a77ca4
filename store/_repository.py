"""What all repositories share: the connection, inside its transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Table, insert

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite


class Repository:
    """Statements about one concept, on one connection."""

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
        dialect: Any = import_module(f"sqlalchemy.dialects.{self._connection.dialect.name}")
        upsert: sqlite.Insert | postgresql.Insert = dialect.insert(table)
        return upsert
