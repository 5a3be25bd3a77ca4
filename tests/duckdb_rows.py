"""Rows for tables of DuckDB."""

from collections.abc import Sequence
from typing import Any, Final

import duckdb

_ROWS: Final = 200


def insert_rows(connection: duckdb.DuckDBPyConnection, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Run `INSERT ... VALUES (?, ...)` for many rows at once: `executemany` takes a millisecond a row."""
    start, _, marks = statement.rpartition("VALUES")
    for first in range(0, len(rows), _ROWS):
        part = rows[first : first + _ROWS]
        values = [value for row in part for value in row]
        connection.execute(f"{start}VALUES {', '.join([marks.strip()] * len(part))}", values)
