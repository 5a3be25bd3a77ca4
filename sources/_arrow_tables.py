"""Tables that DuckDB reads as Arrow data, made when they are first asked for; nothing is written.

DuckDB hands what a statement needs to Arrow: its columns, and comparisons of columns with constants. To DuckDB NaN is
greater than every number, to Arrow it compares with none: DuckDB compares floats itself (`sources._floats`).
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from functools import reduce
from operator import and_
from typing import Any, Final

import duckdb
import ibis.expr.types as ir
import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import FileSystem

from sources._contract import QueryFailed, SourceError, Unreachable
from sources._duckdb import DuckdbSource
from sources._engine import CatalogueEntry
from sources._floats import hidden
from sources._names import quote_name
from sources._spec import SourceSpec

_STREAM: Final = "tablewatch_stream"
_ARROW_FAILED: Final = "get_next failed"


class ArrowTables(DuckdbSource):
    """A source whose tables are Arrow data, read as it is when a table is first asked for."""

    def __init__(self, spec: SourceSpec) -> None:
        super().__init__(spec)
        self._made: dict[CatalogueEntry, ir.Table] = {}

    @abstractmethod
    def _data(self, entry: CatalogueEntry) -> Iterable[pa.Table | ds.Dataset | pa.RecordBatchReader]:
        """Return the rows of a table: one part, or several of the same columns. A reader is read once."""

    def _open(self, closing: ExitStack) -> None:
        self._made.clear()
        try:
            self._connect(closing)
        except duckdb.Error as error:
            text = "DuckDB cannot be started with these settings; see memory_limit"
            raise Unreachable(self._error_text(text, error)) from None

    def _execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        try:
            return super()._execute(sql)
        except duckdb.CatalogException:  # it may name tables that no check refers to
            for entry in self._list():
                with suppress(SourceError):  # raised when that table itself is asked for
                    self._describe(entry)
            return super()._execute(sql)

    def _source_error_of(self, error: duckdb.Error) -> SourceError:
        if _ARROW_FAILED in str(error):
            return QueryFailed(
                self._error_text("the table cannot be read to its end: a file is missing or broken", error)
            )
        return super()._source_error_of(error)

    def _describe(self, entry: CatalogueEntry) -> ir.Table:
        if entry not in self._made:
            self._made[entry] = self._make(entry)
        return self._made[entry]

    def _make(self, entry: CatalogueEntry) -> ir.Table:
        parts = [
            self._select(f"{entry.schema}\x1f{entry.table}\x1f{at}", data) for at, data in enumerate(self._data(entry))
        ]
        rows = " UNION ALL ".join(parts)
        if entry.schema:
            self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quote_name(entry.schema)}")
            self._connection.execute(f"CREATE VIEW {quote_name(entry.schema)}.{quote_name(entry.table)} AS {rows}")
        if entry.bare:
            self._connection.execute(f"CREATE VIEW {quote_name(entry.table)} AS {rows}")
        return self._backend.table(entry.table, database=None if entry.bare else entry.schema)

    def _select(self, name: str, data: pa.Table | ds.Dataset | pa.RecordBatchReader) -> str:
        """Register data, and return a query of its rows."""
        if isinstance(data, pa.RecordBatchReader):
            self._connection.register(_STREAM, data)
            self._connection.execute(f"CREATE TEMP TABLE {quote_name(name)} AS FROM {_STREAM}")
            self._connection.unregister(_STREAM)
            return f"FROM {quote_name(name)}"
        self._connection.register(name, data)
        replaced = hidden({field.name: field.type for field in data.schema})
        return f"(FROM {quote_name(name)} SELECT *{f' REPLACE ({replaced})' if replaced else ''})"


def parquet_dataset(schema: pa.Schema, files_at: FileSystem, files: Mapping[str, ds.Expression | None]) -> ds.Dataset:
    """Return Parquet files as one table; a column that a file lacks is what its expression says, or NULL.

    Args:
        schema: the columns.
        files_at: where the paths of files lead.
        files: what is true of all rows of a file, by its path; see `partition_expression`.
    """
    form = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(coerce_int96_timestamp_unit="us"))
    fragments = [form.make_fragment(path, files_at, partition_expression=true) for path, true in files.items()]
    return ds.FileSystemDataset(fragments, schema, form, files_at)


def partition_expression(
    values: Mapping[str, pa.Scalar], ranges: Mapping[str, tuple[Any, Any]]
) -> ds.Expression | None:
    """Return what is true of all rows of a file, which Arrow does not open for a comparison that contradicts it.

    Args:
        values: the value of a column in all rows.
        ranges: the least and greatest value of a column, of which some may be NULL.
    """
    facts = [ds.field(name) == value if value.is_valid else ds.field(name).is_null() for name, value in values.items()]
    for name, (least, greatest) in ranges.items():
        field = ds.field(name)
        facts += [(field >= least) | field.is_null(), (field <= greatest) | field.is_null()]
    return reduce(and_, facts) if facts else None
