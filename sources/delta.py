"""Delta tables, by folder or address, each at the version that it has when it is first asked for; needs `[delta]`.

The log says which files are the table, and what its partition columns hold in each: Arrow reads those files, of which
it opens none that a comparison with a partition column excludes. A table whose files do not have its rows or names
(deletion vectors, column mapping) is read whole by the library's own engine, once for each pass.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import LocalFileSystem, PyFileSystem, SubTreeFileSystem

from sources._arrow_tables import ArrowTables, parquet_dataset, partition_expression
from sources._contract import PermissionDenied, QueryFailed, RowEstimate, Source, TableNotFound, Unreachable
from sources._engine import CatalogueEntry
from sources._file_tables import DELTA_LOG, delta_tables
from sources._spec import SourceSpec, scheme_of

_EXACT: Final = (pa.types.is_integer, pa.types.is_date)
"""Types whose least and greatest value stand in the log as they are: of times and texts only a part may."""
_COMMITS: Final = 100
_WRITES: Final = frozenset(
    {
        "WRITE", "STREAMING UPDATE", "MERGE", "UPDATE", "DELETE", "TRUNCATE", "COPY INTO", "RESTORE",
        "CREATE TABLE AS SELECT", "REPLACE TABLE AS SELECT", "CREATE OR REPLACE TABLE AS SELECT",
    }
)  # fmt: skip
"""Operations of commits that change rows; others (OPTIMIZE, VACUUM, properties) leave them as they are."""


class Delta(ArrowTables):
    """Folders that match a glob and have a log, or one address of an object store."""

    def __init__(self, spec: SourceSpec) -> None:
        super().__init__(spec)
        self._addresses: Mapping[str, str] = {}

    def _open(self, closing: ExitStack) -> None:
        self._addresses = _addresses(self._spec)
        super()._open(closing)

    def _list(self) -> Iterable[CatalogueEntry]:
        return (CatalogueEntry("", "", name, bare=True) for name in self._addresses)

    def newest(self, name: str, column: str) -> date | None:
        """Return the greatest value that the log has of its files; of times it keeps whole milliseconds."""
        table = self._opened(self._find(name))
        mapped = table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none"
        if mapped or table.deletion_vectors().read_all().num_rows:
            text = f"'{name}' has deleted rows or mapped columns, so the statistics of its log do not hold"
            raise QueryFailed(f"source '{self.name}': {text}; use 'time: scan'")
        values = []
        for file in pa.table(table.get_add_actions(flatten=True)).to_pylist():
            greatest = file.get(f"max.{column}", file.get(f"partition.{column}"))
            if greatest is None and file.get(f"null_count.{column}", -1) != file.get("num_records"):
                text = f"the log of '{name}' has no statistics of column '{column}' for each of its files"
                raise QueryFailed(f"source '{self.name}': {text}; use 'time: scan'")
            values += [] if greatest is None else [greatest]
        return max(values, default=None)

    def change_sign(self, name: str, now: datetime) -> str | None:
        """Return the version of the table, and which table of this address it is."""
        del now
        table = self._opened(self._find(name))
        return f"{table.metadata().id} {table.version()}"

    def row_estimate(self, name: str) -> RowEstimate | None:
        """Return the rows that the log has of its files; None where a file has none, or deleted rows."""
        table = self._opened(self._find(name))
        rows = [file.get("num_records") for file in pa.table(table.get_add_actions(flatten=True)).to_pylist()]
        if None in rows or table.deletion_vectors().read_all().num_rows:
            return None
        return RowEstimate(sum(rows), 0, None)

    def last_write(self, name: str) -> datetime | None:
        """Return the time of the last commit that wrote or removed rows, among the newest hundred."""
        for commit in self._opened(self._find(name)).history(_COMMITS):
            if commit.get("operation") in _WRITES and commit.get("timestamp"):
                return datetime.fromtimestamp(commit["timestamp"] / 1000, UTC)
        return None

    def _opened(self, entry: CatalogueEntry) -> DeltaTable:
        with self._log_errors(entry):
            return DeltaTable(self._addresses[entry.table])

    def _data(self, entry: CatalogueEntry) -> Iterable[ds.Dataset | pa.RecordBatchReader]:
        with self._log_errors(entry):
            return [_snapshot(DeltaTable(self._addresses[entry.table]))]

    @contextmanager
    def _log_errors(self, entry: CatalogueEntry) -> Iterator[None]:
        try:
            yield
        except TableNotFoundError as error:
            text = f"'{entry.table}' is no Delta table any more, or not at this address"
            raise TableNotFound(self._error_text(text, error)) from None
        except PermissionError as error:
            raise PermissionDenied(
                self._error_text(f"'{entry.table}' cannot be read: permission denied", error)
            ) from None
        except (DeltaError, OSError, ValueError, pa.ArrowException) as error:
            text = f"the log of '{entry.table}' is incomplete, or the table has a feature that cannot be read"
            raise QueryFailed(self._error_text(text, error)) from None


def _addresses(spec: SourceSpec) -> Mapping[str, str]:
    """Return the address of each table by its name, which is that of its folder.

    Raises:
        Unreachable: there is none, or two would have one name.
    """
    place = spec.delta or ""
    if scheme_of(place):
        return {unquote(place.rstrip("/").rpartition("/")[2]): place}
    tables: dict[str, Path] = {}
    for folder in delta_tables(spec.base, place):
        other = tables.setdefault(folder.name.casefold(), folder)
        if other != folder:
            text = f"'{other}' and '{folder}' would both be table '{folder.name}'; narrow the glob"
            raise Unreachable(f"source '{spec.name}': {text}")
    if not tables:
        text = f"no folder matches '{place}' that holds a Delta table; expected a folder with '{DELTA_LOG}' in it"
        raise Unreachable(f"source '{spec.name}': {text}")
    return {folder.name: str(folder) for folder in tables.values()}


def _snapshot(table: DeltaTable) -> ds.Dataset | pa.RecordBatchReader:
    files = pa.table(table.get_add_actions(flatten=True))
    paths = [unquote(path) for path in files["path"].to_pylist()]
    mapped = table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none"
    elsewhere = any(path.startswith("/") or scheme_of(path) for path in paths)
    if mapped or elsewhere or table.deletion_vectors().read_all().num_rows:
        return pa.RecordBatchReader.from_stream(table.scan())
    if table.table_uri.startswith("file://"):
        files_at = SubTreeFileSystem(unquote(table.table_uri.removeprefix("file://")), LocalFileSystem())
    else:
        files_at = PyFileSystem(DeltaStorageHandler(table.table_uri))
    schema = pa.schema(table.schema().to_arrow())
    expressions = [_true_of(row, schema) for row in files.to_pylist()]
    return parquet_dataset(schema, files_at, dict(zip(paths, expressions, strict=True)))


def _true_of(file: Mapping[str, Any], schema: pa.Schema) -> ds.Expression | None:
    """Return what the log says of all rows of a file."""
    values, ranges = {}, {}
    for field in schema:
        if (key := f"partition.{field.name}") in file:
            values[field.name] = pa.scalar(file[key], field.type)
        elif file.get(f"min.{field.name}") is not None and any(is_type(field.type) for is_type in _EXACT):
            ranges[field.name] = (file[f"min.{field.name}"], file[f"max.{field.name}"])
    return partition_expression(values, ranges)


SOURCE: Final[type[Source]] = Delta
