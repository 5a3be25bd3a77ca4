"""Read files as one table where none of them may decide how the others are read.

What a writer found in one file decides the types of its columns there, and whether a column is there at all. DuckDB
would look for types that hold all files, and fails, or gives up digits, where there are none. Files are therefore
distinguished by how they were written; what one does not have is NULL there; and a column whose types differ is one of
whole numbers, of numbers in double precision, or of texts.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir

from sources._csv_dialect import Dialect
from sources._floats import hide_from_statistics
from sources._names import quote_paths

if TYPE_CHECKING:
    import duckdb
    from ibis.backends.duckdb import Backend

Form: TypeAlias = Dialect | str
"""How a file is written: the dialect of CSV, or what is the same for Parquet files of the same columns and types."""
_SCHEMAS: Final = """
SELECT file_name, md5(string_agg(concat_ws(chr(31), name, type, type_length, repetition_type, num_children,
  converted_type, scale, precision, logical_type), chr(30))) FROM parquet_schema({}) GROUP BY ALL
"""
_FIRST, _LAST = datetime(1, 1, 1), datetime(9999, 12, 31)  # noqa: DTZ001 - wall clocks


def folder_columns(path: Path) -> tuple[str, ...]:
    """Return the columns that the folders of a path say: `city=Oslo/day=2026-11-20`."""
    return tuple(part.partition("=")[0] for part in path.parent.parts if "=" in part)


def schemas_of(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> Sequence[str]:
    """Return of each Parquet file a text that is the same for files with the same columns of the same types.

    Raises:
        duckdb.Error: a file is none.
    """
    if len(paths) == 1:
        return [""]
    results = dict(connection.execute(_SCHEMAS.format(quote_paths(paths))).fetchall())
    return [results.get(path, path) for path in paths]


def group_alike(
    files: Sequence[Path], read: Sequence[Path], forms: Sequence[Form], *, in_folders: bool
) -> Mapping[tuple[Form, tuple[str, ...]], Sequence[str]]:
    """Combine files that are written alike and have the same columns in their folders.

    Of several CSV files those without a line are left out.

    Args:
        files: where each file lies.
        read: what is read of each: the file, or a copy of it.
        forms: how each is written.
        in_folders: whether the names of folders are columns.
    """
    alike: dict[tuple[Form, tuple[str, ...]], list[str]] = {}
    for path, file, form in zip(files, read, forms, strict=True):
        folders = folder_columns(path) if in_folders else ()
        if len(files) == 1 or isinstance(form, str) or form.columns:
            alike.setdefault((form, folders), []).append(glob.escape(realpath(file)))
    return alike


def read_together(
    backend: Backend,
    name: str,
    alike: Mapping[tuple[Form, tuple[str, ...]], Sequence[str]],
    csv_options: Mapping[str, Any],
) -> ir.Table:
    """Return groups of files as one table; cells of CSV are texts, in a dialect that is found in no row."""
    parts = []
    for place, ((form, folders), paths) in enumerate(alike.items()):
        view = name if len(alike) == 1 else f"{name}\x1f{place}"
        # Names of folders are values: one that is no number would make texts of all the others.
        hive: dict[str, Any] = {"hive_partitioning": bool(folders), "hive_types_autocast": False}
        if isinstance(form, Dialect):
            parts.append(backend.read_csv(paths, table_name=view, **csv_options, **hive, **form.options))
        else:
            parts.append(hide_from_statistics(backend.con, backend.read_parquet(paths, table_name=view, **hive)))
    return parts[0] if len(parts) == 1 else together_by_name(parts)


def together_by_name(parts: Sequence[ir.Table]) -> ir.Table:
    """Join files with other columns, or other types, to one table: what a file does not have is NULL there."""
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
    return reduce(lambda item, other: item.union(other), whole)


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
