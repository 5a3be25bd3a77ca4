"""Read files as one table where none of them may decide how the others are read.

What a writer found in one file decides the types of its columns there, and whether a column is there at all. DuckDB
would look for types that hold all files, and fails, or gives up digits, where there are none. Files are therefore told
apart by how they were written; what one does not have is NULL there; and a column whose types differ is one of whole
numbers, of numbers in double precision, or of texts.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir

if TYPE_CHECKING:
    import duckdb

_SCHEMAS: Final = """
SELECT file_name, md5(string_agg(concat_ws(chr(31), name, type, type_length, repetition_type, num_children,
  converted_type, scale, precision, logical_type), chr(30))) FROM parquet_schema(?) GROUP BY ALL
"""
_FIRST, _LAST = datetime(1, 1, 1), datetime(9999, 12, 31)  # noqa: DTZ001 - wall clocks


def folder_columns(path: Path) -> tuple[str, ...]:
    """Name the columns that the folders of a path say: `city=Oslo/day=2026-11-20`."""
    return tuple(part.partition("=")[0] for part in path.parent.parts if "=" in part)


def schemas_of(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> Sequence[str]:
    """Return of each Parquet file a text that is the same for files with the same columns of the same types.

    Raises:
        duckdb.Error: a file is none.
    """
    if len(paths) == 1:
        return [""]
    found = dict(connection.execute(_SCHEMAS, [[glob.escape(path) for path in paths]]).fetchall())
    return [found.get(path, path) for path in paths]


def together_by_name(parts: Sequence[ir.Table]) -> ir.Table:
    """Put files with other columns, or other types, into one table: what a file does not have is NULL there."""
    types: dict[str, set[dt.DataType]] = {}
    for part in parts:
        for name, kind in part.schema().items():
            types.setdefault(name, set()).add(kind)
    common = {name: _common(kinds) for name, kinds in types.items()}
    whole = [
        part.select(
            **{
                name: _read_as(part[name], kind) if name in part.columns else ibis.null(kind)
                for name, kind in common.items()
            }
        )
        for part in parts
    ]
    return reduce(lambda one, other: one.union(other), whole)


def _common(kinds: set[dt.DataType]) -> dt.DataType:
    if len(kinds) == 1:
        return next(iter(kinds))
    if all(kind.is_integer() and not kind.is_uint64() for kind in kinds):
        return dt.int64
    if all(kind.is_integer() or kind.is_float64() for kind in kinds):
        return dt.float64
    return dt.string


def _read_as(column: ir.Column, kind: dt.DataType) -> ir.Value:
    own = column.type()
    if own == kind:
        return column
    if own.is_nested():  # no text of it is needed, and a time in it that is out of range would fail
        return ibis.null(kind)
    if own.is_timestamp():
        near = column.cast("timestamp(6)") if own.timezone is None else column
        return near.between(_FIRST, _LAST).ifelse(near.cast(kind), ibis.null(kind))
    return column.cast(kind)
