"""What repositories have in common: a connection, and conditions over many values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Select, Subquery, Table, bindparam, insert, select, text

from store._columns import WHOLE, Line

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

_FEW: Final = 200


def given(connection: Connection, rows: Iterable[Sequence[Any]], columns: Sequence[str]) -> Subquery:
    """Return rows as a table to join. Columns named `..._us` or `..._number` hold whole numbers, others text."""
    sqlite = connection.dialect.name == "sqlite"
    wanted = ", ".join(_column(index, name, sqlite=sqlite) for index, name in enumerate(columns))
    source = "json_each(:given)" if sqlite else "json_array_elements(CAST(:given AS json))"
    statement = text(f"SELECT {wanted} FROM {source}")  # noqa: S608 - names written in this room only
    plain = json.dumps([list(row) for row in rows])
    types = {name: WHOLE if _is_whole(name) else Line() for name in columns}
    return statement.bindparams(bindparam("given", plain, unique=True)).columns(**types).subquery()


def any_of(connection: Connection, values: Iterable[Any], column: str) -> Select[Any] | Sequence[Any]:
    """Return values as the right side of an IN: as they are when they are few, else through one parameter."""
    few = list(values)
    return few if len(few) <= _FEW else select(given(connection, ((value,) for value in few), [column]))


def _is_whole(name: str) -> bool:
    return name.endswith(("_us", "_number"))


def _column(index: int, name: str, *, sqlite: bool) -> str:
    if sqlite:
        return f"json_extract(value, '$[{index}]') AS {name}"
    return f"CAST(value->>{index} AS bigint) AS {name}" if _is_whole(name) else f"value->>{index} AS {name}"


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
