"""What repositories have in common: a connection, and conditions over many values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    CursorResult,
    Insert,
    Select,
    Subquery,
    Table,
    bindparam,
    func,
    insert,
    select,
    text,
)

from store._columns import WHOLE, Line

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

_FEW: Final = 200
_BATCH: Final = 500


def given(connection: Connection, rows: Iterable[Sequence[Any]], columns: Sequence[str]) -> Subquery:
    """Return rows as a table to join. Columns named `..._us` or `..._number` hold whole numbers, others text."""
    sqlite = connection.dialect.name == "sqlite"
    selected = ", ".join(_column(index, name, sqlite=sqlite) for index, name in enumerate(columns))
    source = "json_each(:given)" if sqlite else "json_array_elements(CAST(:given AS json))"
    statement = text(f"SELECT {selected} FROM {source}")  # noqa: S608 - names written in this package only
    plain = json.dumps([list(row) for row in rows])
    types = {name: WHOLE if _is_whole(name) else Line() for name in columns}
    return statement.bindparams(bindparam("given", plain, unique=True)).columns(**types).subquery()


def any_of(connection: Connection, values: Iterable[Any], column: str) -> Select[Any] | Sequence[Any]:
    """Return values as the right side of an IN: as they are when they are few, else through one parameter."""
    few = list(values)
    return few if len(few) <= _FEW else select(given(connection, ((value,) for value in few), [column]))


def batches(result: CursorResult[Any]) -> Iterator[Sequence[Sequence[Any]]]:
    """Yield the driver's own tuples: half the time of rows that know their names.

    Few at once, so that the processor still holds them when they become columns.
    """
    if result.cursor is not None:
        while rows := result.cursor.fetchmany(_BATCH):
            yield rows
    result.close()


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

    def _merge(self, table: Table, rows: Sequence[Mapping[str, Any]], *, added: tuple[str, ...] = ()) -> None:
        """Insert rows, each in place of the one with its key; columns that are `added` are added to what is there."""
        if rows:
            self._connection.execute(_merging(self._connection.dialect.name, table, added), rows)

    def _upsert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """Return an INSERT that can have a clause for rows that exist already."""
        return _insert_of(self._connection.dialect.name, table)


@cache
def _merging(dialect: str, table: Table, added: tuple[str, ...]) -> Insert:
    """Return the statement of a merge, which takes longer to build than to run; a sum is NULL if all of it is."""
    statement = _insert_of(dialect, table)
    new: dict[str, ColumnElement[Any]] = {
        column.key: statement.excluded[column.key] for column in table.c if not column.primary_key
    }
    new |= {name: func.coalesce(table.c[name] + new[name], table.c[name], new[name]) for name in added}
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=new)


def _insert_of(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    module: Any = import_module(f"sqlalchemy.dialects.{dialect}")
    statement: sqlite.Insert | postgresql.Insert = module.insert(table)
    return statement
