"""Iceberg tables of a catalogue, each at the snapshot that it has when it is first asked for; needs `[iceberg]`.

The snapshot says which files are the table, with partition values and the least and greatest value of columns: Arrow
reads those files, of which it opens none that a comparison excludes. Files with deleted rows, and all files of a table
of which a column was renamed, changed its type or took the name of another, are read whole by the library itself, once
for each pass: Arrow finds columns by name, Iceberg by number.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import FileSystem
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.conversions import from_bytes
from pyiceberg.exceptions import (
    ForbiddenError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotInstalledError,
    OAuthError,
    RESTError,
    UnauthorizedError,
    ValidationError,
)
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan, PyArrowFileIO, schema_to_pyarrow
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, IntegerType, LongType, TimestampType, TimestamptzType
from sqlalchemy.exc import SQLAlchemyError

from sources._arrow_tables import ArrowTables, parquet_dataset, partition_expression
from sources._contract import PermissionDenied, QueryFailed, RowEstimate, Source, TableRemoved, Unreachable
from sources._engine import CatalogueEntry
from sources._spec import IcebergCatalog, file_of, path_in_url, scheme_of

_RANGED: Final = (IntegerType, LongType, DateType, TimestampType, TimestamptzType)
"""Types whose least and greatest value stand in a manifest as they are."""
_TIMES: Final = (DateType, TimestampType, TimestamptzType)
_DENIED: Final = (ForbiddenError, UnauthorizedError, OAuthError, PermissionError)


class Iceberg(ArrowTables):
    """The tables of a catalogue; those of `namespace` need none before their name."""

    _catalog: Catalog

    def _open(self, closing: ExitStack) -> None:
        declared = self._spec.iceberg or IcebergCatalog()
        properties = {} if declared.uri is None else {"uri": self._read_only(declared.uri)}
        with self._catalogue_errors():
            self._catalog = load_catalog(declared.catalog, **properties, init_catalog_tables="false")
        closing.callback(self._catalog.close)
        super()._open(closing)

    def _list(self) -> Iterable[CatalogueEntry]:
        namespace = (self._spec.iceberg or IcebergCatalog()).namespace
        with self._catalogue_errors():
            spaces = self._catalog.list_namespaces() if namespace is None else [tuple(namespace.split("."))]
            return [
                CatalogueEntry("", ".".join(space), table, bare=namespace is not None)
                for listed in map(self._catalog.list_tables, spaces)
                for *space, table in listed
            ]

    def _data(self, entry: CatalogueEntry) -> Iterable[ds.Dataset | pa.RecordBatchReader]:
        with self._catalogue_errors():
            return list(_parts(self._load(entry)))

    def newest(self, name: str, column: str) -> date | None:
        """Return the greatest upper bound in the manifests, which of times and dates is the greatest value."""
        entry = self._find(name)
        with self._catalogue_errors():
            table = self._load(entry)
            field = next((field for field in table.schema().fields if field.name == column), None)
            tasks = list(table.scan().plan_files())
        if field is None or not isinstance(field.field_type, _TIMES) or any(task.delete_files for task in tasks):
            text = f"'{name}' has deleted rows, or '{column}' is not a time, so the bounds of its manifests do not hold"
            raise QueryFailed(f"source '{self.name}': {text}; use 'time: scan'")
        kind = schema_to_pyarrow(table.schema(), include_field_ids=False).field(column).type
        values = []
        for file in (task.file for task in tasks):
            bound = (file.upper_bounds or {}).get(field.field_id)
            if bound is not None:
                values.append(_scalar(from_bytes(field.field_type, bound), kind).as_py())
            elif (file.null_value_counts or {}).get(field.field_id) != file.record_count:
                text = f"the manifests of '{name}' have no bounds of column '{column}' for each file"
                raise QueryFailed(f"source '{self.name}': {text}; use 'time: scan'")
        return max(values, default=None)

    def change_sign(self, name: str, now: datetime) -> str | None:
        """Return the place of the table's present metadata, which each commit writes again."""
        del now
        entry = self._find(name)
        with self._catalogue_errors():
            return str(self._load(entry).metadata_location)

    def row_estimate(self, name: str) -> RowEstimate | None:
        """Return the rows of the files of the snapshot; None where some of them are deleted."""
        entry = self._find(name)
        with self._catalogue_errors():
            tasks = list(self._load(entry).scan().plan_files())
        if any(task.delete_files for task in tasks):
            return None
        return RowEstimate(sum(task.file.record_count for task in tasks), 0, None)

    def last_write(self, name: str) -> datetime | None:
        """Return the time of the snapshot that last wrote or removed rows; compaction does neither."""
        entry = self._find(name)
        with self._catalogue_errors():
            table = self._load(entry)
            snapshot = table.current_snapshot()
            while snapshot is not None and snapshot.summary and snapshot.summary.operation is Operation.REPLACE:
                before = snapshot.parent_snapshot_id
                snapshot = None if before is None else table.snapshot_by_id(before)
        return None if snapshot is None else datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC)

    def location(self, name: str) -> str:
        """Return where a table lies.

        Raises:
            SourceError: it is not there, or cannot be read.
        """
        entry = self._find(name)
        with self._catalogue_errors():
            return self._load(entry).location()

    def _load(self, entry: CatalogueEntry) -> Table:
        return self._catalog.load_table((*entry.schema.split("."), entry.table))

    def _read_only(self, uri: str) -> str:
        """Return an address under which a catalogue in a file is neither made nor written."""
        if scheme_of(uri) != "sqlite":
            return uri
        return f"sqlite:///file:{path_in_url(str(file_of(self._spec, uri)))}?mode=ro&uri=true"

    @contextmanager
    def _catalogue_errors(self) -> Iterator[None]:
        try:
            yield
        except NoSuchNamespaceError as error:
            raise Unreachable(self._error_text("the catalogue has no such namespace", error)) from None
        except NoSuchTableError as error:
            raise TableRemoved(self._error_text("the table was dropped while checks were running", error)) from None
        except _DENIED as error:
            raise PermissionDenied(
                self._error_text("the catalogue or a file of it refuses to be read", error)
            ) from None
        except (ImportError, NotInstalledError) as error:
            text = "this kind of catalogue needs a package that is not installed; see the extras of pyiceberg"
            raise Unreachable(self._error_text(text, error)) from None
        except FileNotFoundError as error:
            text = "a file of the snapshot is missing; it may have been removed while checks were running"
            raise TableRemoved(self._error_text(text, error)) from None
        except (ValidationError, NotImplementedError, pa.ArrowException) as error:
            text = "the table has a feature that cannot be read, or its metadata is incomplete"
            raise QueryFailed(self._error_text(text, error)) from None
        except (SQLAlchemyError, RESTError, OSError, ValueError) as error:
            text = "the catalogue does not answer, or is none; see its uri, or pyiceberg's own configuration"
            raise Unreachable(self._error_text(text, error)) from None


def _parts(table: Table) -> Iterator[ds.Dataset | pa.RecordBatchReader]:
    """Yield the rows of a snapshot: files as they lie, then those that the library has to read."""
    schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    io, by_name = table.io, _found_by_name(table)
    places: dict[tuple[str, ...], tuple[FileSystem, dict[str, ds.Expression | None]]] = {}
    others = []
    for task in table.scan().plan_files():
        as_it_lies = by_name and not task.delete_files and task.file.file_format == FileFormat.PARQUET
        if as_it_lies and isinstance(io, PyArrowFileIO):
            scheme, host, path = io.parse_location(task.file.file_path, io.properties)
            _, files = places.setdefault((scheme, host), (io.fs_by_scheme(scheme, host), {}))
            files[path] = _true_of(task.file, table, schema)
        else:
            others.append(task)
    for files_at, files in places.values():
        yield parquet_dataset(schema, files_at, files)
    if others or not places:
        batches = ArrowScan(table.metadata, io, table.schema(), AlwaysTrue()).to_record_batches(others)
        yield pa.RecordBatchReader.from_batches(schema, batches).cast(schema)


def _found_by_name(table: Table) -> bool:
    """Return whether a name means the same column in all files, however old, and no column has values of no file."""
    current = {(field.field_id, field.name, str(field.field_type)) for field in table.schema().fields}
    numbers, names = {number for number, _, _ in current}, {name for _, name, _ in current}
    fields = [field for schema in table.schemas().values() for field in schema.fields]
    return not any(
        field.initial_default is not None
        or (
            (field.field_id in numbers or field.name in names)
            and (field.field_id, field.name, str(field.field_type)) not in current
        )
        for field in fields
    )


def _true_of(file: DataFile, table: Table, schema: pa.Schema) -> ds.Expression | None:
    """Return what the manifest says of all rows of a file."""
    values, ranges = {}, {}
    for at, part in enumerate(table.specs()[file.spec_id].fields):
        if isinstance(part.transform, IdentityTransform):
            name = table.schema().find_field(part.source_id).name
            values[name] = _scalar(file.partition[at], schema.field(name).type)
    for field in table.schema().fields:
        least, greatest = ((bounds or {}).get(field.field_id) for bounds in (file.lower_bounds, file.upper_bounds))
        if field.name not in values and isinstance(field.field_type, _RANGED) and least and greatest:
            kind = schema.field(field.name).type
            ranges[field.name] = tuple(_scalar(from_bytes(field.field_type, end), kind) for end in (least, greatest))
    return partition_expression(values, ranges)


def _scalar(value: Any, kind: pa.DataType) -> pa.Scalar:
    """Return a value as the format keeps it: days and microseconds since 1970 as numbers."""
    if value is not None and pa.types.is_temporal(kind):
        return pa.scalar(value, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    return pa.scalar(value, kind)


SOURCE: Final[type[Source]] = Iceberg
