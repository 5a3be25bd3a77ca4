"""Parquet columns whose values DuckDB would change in silence, and newest times by the statistics of footers.

Of several files, DuckDB takes a type that holds all of a column somehow: of whole numbers and floats it makes floats,
in which neighbours are one number; of decimals it drops the digits behind the point; a time without a zone becomes one
of UTC. A decimal of more than 38 digits is a float to it even in one file. Here a column keeps its values, or the
statement that reads it fails and says why; the other columns can be read. For NaN see `sources._floats`.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
import pyarrow as pa
import pyarrow.parquet as pq

from sources._floats import hide_from_statistics
from sources._names import quote_name, quote_paths, quote_text
from sources._together import schemas_of

if TYPE_CHECKING:
    from ibis.backends.duckdb import Backend

_MOST_DIGITS: Final = 38
_MIXED: Final = "has several number types in its files, and no one type holds all values; write the files with one type"
_TOO_WIDE: Final = f"has decimals of more than {_MOST_DIGITS} digits, which DuckDB reads as floating point numbers"


class ParquetReader:
    """Makes views of Parquet files."""

    def __init__(self, backend: Backend, connection: duckdb.DuckDBPyConnection) -> None:
        self._backend, self._connection = backend, connection
        self._faults: dict[str, str] = {}

    def view(self, name: str, paths: Sequence[str], options: Mapping[str, Any]) -> ir.Table:
        """Return files as one table.

        Raises:
            duckdb.Error: a file is none, or cannot be read.
        """
        whole = self._read(name, paths, options)
        wide = self._wide_decimals(paths, whole)
        alike: dict[str, list[str]] = {}
        for path, schema in zip(paths, schemas_of(self._connection, paths), strict=True):
            alike.setdefault(schema, []).append(path)
        if len(alike) == 1 and not wide:
            return whole
        parts = [self._read(_part(name, at), group, options) for at, group in enumerate(alike.values())]
        exact = _exact_types(parts)
        if not exact and not wide:
            return whole
        types = {**whole.schema(), **exact}
        selects = []
        for at, part in enumerate(parts):
            columns = ", ".join(self._columns(name, part, types, wide))
            selects.append(f"(FROM {quote_name(_part(name, at))} SELECT {columns})")
        union = " UNION ALL BY NAME ".join(selects)
        self._connection.execute(f"CREATE OR REPLACE TEMPORARY VIEW {quote_name(name)} AS {union}")
        return self._backend.table(name)

    def is_readable(self, path: str) -> bool:
        """Return whether a file is Parquet and whole, as far as its last bytes tell."""
        try:
            self._connection.execute(f"FROM parquet_schema({quote_paths([path])}) SELECT count(*)")
        except duckdb.Error:
            return False
        return True

    def fault_of(self, error: duckdb.Error) -> str | None:
        """Return what is wrong with a column, if that is why a statement failed."""
        return self._faults.get(str(error))

    def _read(self, name: str, paths: Sequence[str], options: Mapping[str, Any]) -> ir.Table:
        rows = self._backend.read_parquet([glob.escape(path) for path in paths], table_name=name, **options)
        return hide_from_statistics(self._connection, rows)

    def _wide_decimals(self, paths: Sequence[str], view: ir.Table) -> Collection[str]:
        """Return the columns that hold decimals of more digits than DuckDB has."""
        wide = f"FROM parquet_schema({quote_paths(paths)}) SELECT DISTINCT name WHERE precision > {_MOST_DIGITS}"
        names = self._connection.execute(wide).fetchall()
        return {name for (name,) in names if name in view.columns and view[name].type().is_floating()}

    def _columns(
        self, name: str, part: ir.Table, types: Mapping[str, dt.DataType], wide: Collection[str]
    ) -> Iterator[str]:
        """Yield SQL for each column of a part, of the type that it has in the table."""
        to_string = self._backend.compiler.type_mapper.to_string  # knows what Ibis does not, such as TIME_NS
        for column, own in part.schema().items():
            quoted, kind = quote_name(column), types[column]
            text = to_string(kind)
            if column in wide:
                fault = self._error(name, column, _TOO_WIDE)
                yield f"CASE WHEN {quoted} IS NOT NULL THEN CAST({fault} AS {text}) END AS {quoted}"
            elif own.is_numeric() and kind.is_numeric() and own != kind:
                fault, result = self._error(name, column, _MIXED), f"TRY_CAST({quoted} AS {text})"
                held = f"TRY_CAST({result} AS {to_string(own)}) IS NOT DISTINCT FROM {quoted}"
                yield f"CASE WHEN {held} THEN {result} ELSE CAST({fault} AS {text}) END AS {quoted}"
            elif own != kind and not own.is_unknown():
                yield f"CAST({quoted} AS {text}) AS {quoted}"
            else:
                yield quoted

    def _error(self, name: str, column: str, text: str) -> str:
        """Return SQL that fails where it is evaluated."""
        text = f"column '{column}' of '{name}' {text}"
        self._faults[f"Invalid Input Error: {text}"] = text
        return f"error({quote_text(text)})"


def _exact_types(parts: Sequence[ir.Table]) -> Mapping[str, dt.DataType]:
    """Return the types of columns for which DuckDB's own choice would lose values."""
    kinds: dict[str, set[dt.DataType]] = {}
    for part in parts:
        for name, kind in part.schema().items():
            kinds.setdefault(name, set()).add(kind)
    types = {name: _exact_type(of_column) for name, of_column in kinds.items() if len(of_column) > 1}
    return {name: kind for name, kind in types.items() if kind is not None}


def _exact_type(kinds: Collection[dt.DataType]) -> dt.DataType | None:
    """Return the type that holds values of several types; None where DuckDB's choice does."""
    if all(kind.is_timestamp() or kind.is_date() for kind in kinds):
        zoned = {isinstance(kind, dt.Timestamp) and kind.timezone is not None for kind in kinds}
        return dt.string if len(zoned) > 1 else None  # text of which some has an offset is no time, and checks say so
    if not all(kind.is_numeric() for kind in kinds):
        return None
    if any(kind.is_floating() for kind in kinds):
        return dt.float64
    decimals = [(kind.precision or _MOST_DIGITS, kind.scale or 0) for kind in kinds if isinstance(kind, dt.Decimal)]
    scale = max((scale for _, scale in decimals), default=0)
    before = max((digits - of_kind for digits, of_kind in decimals), default=0)
    return dt.Decimal(_MOST_DIGITS, scale) if before + scale > _MOST_DIGITS else None


def _part(name: str, at: int) -> str:
    return f"{name}\x1f{at}"


def newest_of(files: Iterable[Path], column: str, check_time: Callable[[], None]) -> date | None:
    """Return the greatest value; None where there is none. A file without the column has NULL in all of its rows.

    Statistics of times and dates are whole values, unlike those of texts, which writers may cut.

    Raises:
        ValueError: the column is none of the files, not a time, or has no statistics somewhere.
        OSError: a file cannot be read.
    """
    values, is_there = [], False
    for path in files:
        check_time()
        if any(part.partition("=")[0].casefold() == column.casefold() for part in path.parent.parts if "=" in part):
            raise ValueError(f"column '{column}' follows from the names of folders, which have no statistics")
        try:
            footer = pq.read_metadata(path)
        except pa.ArrowException as error:
            raise OSError(type(error).__name__) from None
        at = _place_of(footer, column)
        if at is None:
            continue
        is_there = True
        values += [value for group in range(footer.num_row_groups) for value in _greatest(footer.row_group(group), at)]
    if not is_there:
        raise ValueError(f"column '{column}' is in none of the files, so nothing is said about it")
    if len({type(value) for value in values}) > 1:
        raise ValueError(f"column '{column}' has dates in some files and times in others")
    return max(values, default=None)


def rows_of(files: Iterable[Path], check_time: Callable[[], None]) -> int:
    """Return how many rows the footers of files have.

    Raises:
        OSError: a file cannot be read.
    """
    rows = 0
    for path in files:
        check_time()
        try:
            rows += pq.read_metadata(path).num_rows
        except pa.ArrowException as error:
            raise OSError(type(error).__name__) from None
    return rows


def _place_of(footer: pq.FileMetaData, column: str) -> int | None:
    """Return where a file has the column.

    Raises:
        ValueError: it is not of times or dates.
    """
    schema = footer.schema.to_arrow_schema()
    name = next((name for name in schema.names if name.casefold() == column.casefold()), None)
    if name is None:
        return None
    kind = schema.field(name).type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise ValueError(f"column '{column}' is of type {kind} in a file; expected a time or date")
    return next(at for at in range(footer.num_columns) if footer.schema.column(at).path == name)


def _greatest(group: pq.RowGroupMetaData, at: int) -> Iterable[date]:
    """Yield the greatest value of a row group, if it has one.

    Raises:
        ValueError: its statistics do not say.
    """
    statistics = group.column(at).statistics
    if statistics is not None and statistics.has_min_max:
        greatest = statistics.max
        yield greatest.to_pydatetime(warn=False) if hasattr(greatest, "to_pydatetime") else greatest
    elif group.num_rows and (
        statistics is None or not statistics.has_null_count or statistics.null_count < group.num_rows
    ):
        raise ValueError(f"a file has no statistics of column '{group.column(at).path_in_schema}'")
