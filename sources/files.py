"""Tables of CSV and Parquet files, read by DuckDB where they lie.

Each file is a view named after its stem, or all of them are one table. A view is made when its table is first asked
for, so that a pass over one table of a large folder touches one file. CSV files are read once before, in
`_csv_text.py`; those that DuckDB cannot read are rewritten in a folder of the pass.
"""

import glob
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property, partial
from os.path import realpath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb
import ibis.expr.types as ir
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sources._contract import (
    PermissionDenied,
    QueryFailed,
    RowEstimate,
    Source,
    SourceError,
    TableRemoved,
    Unreachable,
)
from sources._csv_dialect import Dialect
from sources._csv_encoding import PACKED_FAULTS, UTF_8, CsvFault, check_size, encoding_of
from sources._csv_text import (
    RAGGED,
    CsvLayout,
    CsvText,
    find_fault,
    find_layout,
    line_of_row,
    read_text,
    rewrite,
    transcode,
)
from sources._csv_types import types_that_keep_values
from sources._duckdb import DuckdbSource
from sources._engine import CatalogueEntry
from sources._file_signs import sign_of_files
from sources._file_tables import (
    FILE_OF_ROW,
    FILE_TIME,
    PARQUET,
    endings_of,
    files_by_table,
    stem_of,
    with_file_times,
)
from sources._names import did_you_mean, quote_name, quote_text
from sources._parquet import ParquetReader
from sources._spec import SourceSpec
from sources._together import group_alike, read_together, schemas_of

_FILE: Final = re.compile(r"^  file = (.+)$", re.MULTILINE)
_KIND: Final = re.compile(r"^Column .+ is being converted as type (.+)$", re.MULTILINE)
_ROW: Final = re.compile(r"CSV Error on Line: (\d+)\n")
_UNFIT: Final = "Error when converting column"
_TOO_LONG: Final = "Maximum line size"
_KINDS: Final = {"BIGINT", "DOUBLE", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "BOOLEAN", "INTEGER"}
_SNIFFED: Final = frozenset(
    {"header", "delim", "quote", "escape", "skip", "comment", "nullstr", "dateformat", "timestampformat"}
    | {"max_line_size", "buffer_size"}
)


@dataclass(frozen=True, slots=True)
class _CsvFile:
    """A CSV file as it lies, and what DuckDB reads: the file itself, or a copy with the layout of copies."""

    path: Path
    text: CsvText
    layout: CsvLayout
    read: str
    read_layout: CsvLayout


class Files(DuckdbSource):
    """Files that match a glob."""

    types_declared = False

    def __init__(self, spec: SourceSpec) -> None:
        super().__init__(spec)
        self._files: Mapping[str, Sequence[Path]] = {}
        self._views: dict[str, ir.Table] = {}
        self._csv_files: dict[str, _CsvFile] = {}
        self._copies = Path()

    def _open(self, closing: ExitStack) -> None:
        self._files, self._views, self._csv_files = files_by_table(self._spec), {}, {}
        self.__dict__.pop("_parquet", None)  # of an earlier connection
        folder = closing.enter_context(TemporaryDirectory(prefix="tablewatch-", ignore_cleanup_errors=True))
        self._copies = Path(realpath(folder))
        paths = [realpath(path) for files in self._files.values() for path in files]
        # DuckDB takes each path for a pattern: special ones are quoted below, and the quoted text is what it checks.
        allowed = {*paths, *map(glob.escape, paths)}
        try:
            self._connect(closing, paths=sorted(allowed), folder=str(self._copies))
        except duckdb.Error as error:
            text = "DuckDB cannot be started with these settings; see memory_limit and threads"
            raise Unreachable(self._error_text(text, error)) from None

    @cached_property
    def _parquet(self) -> ParquetReader:
        return ParquetReader(self._backend, self._connection)

    def _execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        try:
            return super()._execute(sql)
        except duckdb.CatalogException:  # it may name tables of this source that have no view yet
            if len(self._views) == len(self._files):
                raise
            for entry in self._list():
                with suppress(QueryFailed, duckdb.IOException):  # reported when that table itself is used
                    self._describe(entry)
            return super()._execute(sql)

    def _source_error_of(self, error: duckdb.Error) -> SourceError:
        # Never Unreachable: one file that fails says nothing about the tables of the others.
        removed = [path for files in self._files.values() for path in files if not path.is_file()]
        if removed and isinstance(error, (duckdb.PermissionException, duckdb.IOException)):
            return TableRemoved(self._error_text(f"'{removed[0].name}' was removed while checks were running", error))
        if (text_of_column := self._parquet.fault_of(error)) is not None:
            return QueryFailed(f"source '{self.name}': {text_of_column}")
        unreadable = isinstance(error, (duckdb.InvalidInputException, duckdb.ConversionException))
        if unreadable and (fault := self._fault_of(str(error))) is not None:
            return fault
        text = super()._source_error_of(error)
        return QueryFailed(str(text)) if isinstance(text, Unreachable) else text

    def _fault_of(self, error: str) -> QueryFailed | None:
        """Return what DuckDB says of a row in our words; its own print the row."""
        file = self._csv_files.get(_last(_FILE, error))
        if file is None:
            return None
        if (row := _ROW.search(error)) is not None and _UNFIT in error:
            number = int(row[1]) - file.read_layout.skip
            try:
                line = line_of_row(file.path, file.text, file.layout, number, self._check_time)
            except CsvFault as fault:  # the row does not even have all its cells
                return self._csv_fault(file.path, fault)
            place = f"line {line}" if line is not None else f"row {row[1]}"
            kind = _last(_KIND, error)
            text = f"a value does not fit the type of its column{f', {kind}' if kind in _KINDS else ''}"
            remedy = "declare csv.types or csv.null_values, or correct the file"
            return QueryFailed(f"source '{self.name}': '{file.path.name}', {place}: {text}; {remedy}")
        if row is not None and _TOO_LONG in error:
            text = f"'{file.path.name}', row {row[1]}: longer than 16 MB; a quote or line ending may be missing"
            return QueryFailed(f"source '{self.name}': {text}")
        csv_fault = find_fault(file.path, file.text, file.layout, self._check_time)
        return None if csv_fault is None else self._csv_fault(file.path, csv_fault)

    def _csv_fault(self, path: Path, fault: CsvFault) -> QueryFailed:
        place = f"'{path.name}'" if fault.line is None else f"'{path.name}', line {fault.line}"
        return QueryFailed(f"source '{self.name}': {place}: {fault}")

    def _list(self) -> Iterable[CatalogueEntry]:
        return (CatalogueEntry("", "", name, bare=True) for name in self._files)

    def change_sign(self, name: str, now: datetime) -> str | None:
        """Return that of its files; a file that came or went is one, too."""
        self._find(name)
        return sign_of_files(self._files[name], now)

    def newest(self, name: str, column: str) -> date | None:
        """Return the greatest value in the footers of Parquet files."""
        self._find(name)
        files = self._files[name]
        if endings_of(files[0].name) != PARQUET:
            return super().newest(name, column)
        from sources._parquet import newest_of

        try:
            with self._talking():
                return newest_of(files, column, self._check_time)
        except ValueError as error:
            raise QueryFailed(f"source '{self.name}': {error}; use 'time: scan'") from None
        except OSError as error:
            raise QueryFailed(self._error_text(self._unreadable(name), error)) from None

    def row_estimate(self, name: str) -> RowEstimate | None:
        """Return the number of rows in the footers of Parquet files; of other files none is kept."""
        self._find(name)
        files = self._files[name]
        if endings_of(files[0].name) != PARQUET:
            return None
        from sources._parquet import rows_of

        try:
            with self._talking():
                return RowEstimate(rows_of(files, self._check_time), 0, None)
        except OSError as error:
            raise QueryFailed(self._error_text(self._unreadable(name), error)) from None

    def last_write(self, name: str) -> datetime | None:
        """Return when the newest file was written. A removed file leaves no trace in it."""
        self._find(name)
        try:
            return datetime.fromtimestamp(max(path.stat().st_mtime for path in self._files[name]), UTC)
        except OSError as error:
            raise TableRemoved(self._error_text(f"a file of '{name}' was removed", error)) from None

    def _describe(self, entry: CatalogueEntry) -> ir.Table:
        if entry.table not in self._views:
            try:
                self._views[entry.table] = self._view(entry.table)
            except (duckdb.DataError, duckdb.ProgrammingError, SqlglotError) as error:
                raise QueryFailed(self._error_text(self._unreadable(entry.table), error)) from None
        return self._views[entry.table]

    def _unreadable(self, name: str) -> str:
        files = self._files[name]
        place = f"'{name}' ({len(files)} files)"
        if endings_of(files[0].name) == PARQUET:
            broken = (path for path in files if not self._parquet.is_readable(realpath(path)))
            file = next(broken, None)
            place = place if file is None else f"'{file.name}'"
            return f"{place} cannot be read: incomplete, or not Parquet"
        place = f"'{files[0].name}'" if len(files) == 1 else place
        return f"{place} cannot be read: incomplete, of another format, or the csv options do not fit"

    def _view(self, name: str) -> ir.Table:
        times = self._spec.file_times
        if times is None or self._spec.blind:
            return self._rows(name, name)
        rows = f"{name} (rows)"
        if FILE_TIME in {column.casefold() for column in self._rows(name, rows).columns}:
            text = f"the files have a column '{FILE_TIME}', which file_times makes; remove file_times"
            raise QueryFailed(f"source '{self.name}': {text}")
        self._connection.execute(with_file_times(name, rows, times))
        return self._backend.table(name)

    def _rows(self, table: str, name: str) -> ir.Table:
        """Make a view of the rows of a table; with the path of their file where that says something."""
        files = [realpath(path) for path in self._files[table]]
        together: dict[str, Any] = {"union_by_name": True} if self._spec.table is not None else {}
        in_folders = self._spec.table is not None and all("=" in str(path.parent) for path in self._files[table])
        hive: dict[str, Any] = {"hive_partitioning": in_folders}
        if self._spec.blind:
            return self._blind(table)
        if self._spec.file_times is not None:
            hive["filename"] = FILE_OF_ROW
        if endings_of(files[0]) == PARQUET:
            return self._parquet.view(name, files, {**hive, **together})
        options = {**self._csv_options(), **hive, **together}
        parts: dict[CsvLayout, list[_CsvFile]] = {}
        for path in self._files[table]:
            file = self._csv_file(path)
            parts.setdefault(replace(file.read_layout, width=0), []).append(file)
        if len(parts) == 1:
            return self._csv_view(name, parts.popitem()[1], options)
        names = [f"{name}\x1f{place}" for place in range(len(parts))]
        for part, alike in zip(names, parts.values(), strict=True):
            self._csv_view(part, alike, options)
        union = " UNION ALL BY NAME ".join(f"SELECT * FROM {quote_name(part)}" for part in names)  # noqa: S608 - quoted
        self._connection.execute(f"CREATE OR REPLACE TEMPORARY VIEW {quote_name(name)} AS {union}")
        return self._backend.table(name)

    def _csv_file(self, path: Path) -> _CsvFile:
        """Read a file once; copy it if DuckDB cannot read it as it lies.

        Raises:
            QueryFailed: it is no table, with the line.
        """
        csv = self._spec.csv
        with self._reading(path):
            text = read_text(path, csv, self._check_time)
            layout = find_layout(path, text, csv)
            if text.plain and csv.strict:
                file = _CsvFile(path, text, layout, realpath(path), layout)
            else:
                copy = self._copy_path(path)
                file = _CsvFile(path, text, layout, str(copy), rewrite(path, copy, text, layout, self._check_time))
        return self._csv_files.setdefault(file.read, file)

    @contextmanager
    def _reading(self, path: Path) -> Iterator[None]:
        """Name the file that cannot be read, or is no table, and the line."""
        try:
            yield
        except CsvFault as fault:
            raise self._csv_fault(path, fault) from None
        except PACKED_FAULTS as error:
            raise QueryFailed(self._error_text(f"'{path.name}' is truncated or not gzip-compressed", error)) from None
        except FileNotFoundError as error:
            message = f"'{path.name}' was removed while checks were running"
            raise TableRemoved(self._error_text(message, error)) from None
        except PermissionError as error:
            raise PermissionDenied(
                self._error_text(f"'{path.name}' cannot be read: permission denied", error)
            ) from None
        except OSError as error:
            failed = f"'{path.name}' cannot be read, or no disk space is left in '{self._copies.parent}' to rewrite it"
            raise QueryFailed(self._error_text(failed, error)) from None

    def _in_utf_8(self, path: Path) -> Path:
        """Return a file to be read blindly: as it lies, or copied from its encoding, with U+FFFD for wrong bytes."""
        if (encoding := encoding_of(path, self._spec.csv.encoding)) in UTF_8:
            check_size(path)
            return path
        copy = self._copy_path(path)
        transcode(path, copy, encoding, self._check_time, errors="replace")
        self._csv_files[str(copy)] = _CsvFile(path, CsvText(encoding, mixed=False), _ANY, str(copy), _ANY)
        return copy

    def _copy_path(self, path: Path) -> Path:
        """Return where a copy goes; folders named `key=value` are columns and stay above it."""
        columns = [part for part in path.parent.parts if "=" in part]
        folder = self._copies.joinpath(str(len(self._csv_files)), *columns)
        folder.mkdir(parents=True)
        return folder / f"{stem_of(path.name)}.csv"

    def _csv_view(self, name: str, files: Sequence[_CsvFile], options: Mapping[str, Any]) -> ir.Table:
        paths = [glob.escape(file.read) for file in files]
        options = {**options, **files[0].read_layout.options}
        try:
            view = self._backend.read_csv(paths, table_name=name, **options)
            types = self._fitting(self._spec.csv.types, view.columns)
            types |= {} if self._spec.csv.strict else {RAGGED: "BOOLEAN"}
            types |= self._texts(files, view, options)
            read = partial(self._backend.read_csv, paths, table_name=f"{name}\x1ftexts", **options)
            zones_declared = self._spec.csv.timestamp_format is not None
            parts = (part for file in files for part in Path(file.read).parent.parts if "=" in part)
            but = {*types, *(part.partition("=")[0] for part in parts)}  # whose values stand in no file
            types |= types_that_keep_values(self._connection, view, read, but=but, zones_declared=zones_declared)
            return self._backend.read_csv(paths, table_name=name, types=types, **options) if types else view
        except duckdb.InvalidInputException:
            for file in files:
                if (fault := find_fault(file.path, file.text, file.layout, self._check_time)) is not None:
                    raise self._csv_fault(file.path, fault) from None
            raise

    def _texts(self, files: Sequence[_CsvFile], view: ir.Table, options: Mapping[str, Any]) -> dict[str, str]:
        """Return the columns to be read as text: their dates begin with the day or month, and nothing says which.

        Raises:
            QueryFailed: such a column is declared to be of dates.
        """
        if not any(view[column].type().is_date() or view[column].type().is_timestamp() for column in view.columns):
            return {}
        settings = {key: value for key, value in options.items() if key in _SNIFFED}
        form = "".join(f", {key} = {exp.convert(value).sql(self.dialect)}" for key, value in settings.items())
        csv, texts = self._spec.csv, {}
        for file in files:
            sniffed = f"FROM sniff_csv({quote_text(glob.escape(file.read))}{form})"
            result = self._connection.execute(f"{sniffed} SELECT DateFormat, TimestampFormat, Columns").fetchone()
            date_format, timestamp_format, columns = result or (None, None, ())
            formats = {"DATE": (csv.date_format, date_format), "TIMESTAMP": (csv.timestamp_format, timestamp_format)}
            unsure = {kind for kind, (declared, form) in formats.items() if declared is None and _unsure(form)}
            for column in columns:
                if column["type"] in unsure:
                    self._refuse_declared_date(file, column["name"])
                    texts[column["name"]] = "VARCHAR"
        return texts

    def _refuse_declared_date(self, file: _CsvFile, column: str) -> None:
        kind = self._spec.csv.types.get(column, "").upper()
        if kind.startswith(("DATE", "TIMESTAMP")):
            key, example = ("date_format", "%d/%m/%Y") if kind == "DATE" else ("timestamp_format", "%d/%m/%Y %H:%M:%S")
            reason = f"column '{column}' is declared {kind}, but its values do not start with a four-digit year"
            line = file.layout.skip + (2 if self._spec.csv.header is not False else 1)
            raise self._csv_fault(file.path, CsvFault(reason, f"declare csv.{key}, such as '{example}'", line))

    def _check_time(self) -> None:
        """Raise what the engine raises when the time of the pass is up: it cannot stop what is done here.

        Raises:
            duckdb.InterruptException: it is.
        """
        if self._deadline is not None and self._deadline.passed:
            raise duckdb.InterruptException("late")

    def _csv_options(self) -> dict[str, Any]:
        csv = self._spec.csv
        options: dict[str, Any] = {"header": csv.header is not False}
        if csv.delimiter is not None:
            options["delim"] = csv.delimiter
        if csv.date_format is not None:
            options["dateformat"] = csv.date_format
        if csv.timestamp_format is not None:
            options["timestampformat"] = csv.timestamp_format
        if csv.null_values:
            options["nullstr"] = ["", *csv.null_values]
        if not csv.quoted_nulls:
            options["allow_quoted_nulls"] = False
        return options

    def _blind(self, name: str) -> ir.Table:
        """Read each file so that no row of it, and no other file, decides how it is read."""
        files, in_folders = self._files[name], self._spec.table is not None
        if endings_of(files[0].name) == PARQUET:
            schemas = schemas_of(self._connection, [realpath(path) for path in files])
            return read_together(self._backend, name, group_alike(files, files, schemas, in_folders=in_folders), {})
        dropped = {"header", "delim", "dateformat", "timestampformat"}
        options = {key: value for key, value in self._csv_options().items() if key not in dropped}
        read, dialects = [], []
        for path in files:
            with self._reading(path):
                read.append(self._in_utf_8(path))
                dialects.append(Dialect.of(read[-1], self._spec.csv))
        return read_together(self._backend, name, group_alike(files, read, dialects, in_folders=in_folders), options)

    def _fitting(self, types: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
        """Keep the types of columns that this file has; the others belong to the source's other files."""
        for column in types:
            if column not in columns and len(self._files) == 1:
                hint = did_you_mean(column, columns)
                raise QueryFailed(f"source '{self.name}': csv.types names column '{column}', which is in no file{hint}")
        return {column: kind for column, kind in types.items() if column in columns}


_ANY: Final = CsvLayout(",", '"', '"', 0)
"""The layout of files that are read blindly: nothing is looked for in their rows."""


def _last(pattern: re.Pattern[str], text: str) -> str:
    """Return what a pattern finds last: DuckDB prints the row, which may hold anything, above its own settings."""
    result = pattern.findall(text)
    return str(result[-1]) if result else ""


def _unsure(form: str | None) -> bool:
    """Return whether a detected format does not begin with a year of four digits: 01/02/2026, 13.02.26."""
    return bool(form) and not str(form).startswith("%Y")


SOURCE: Final[type[Source]] = Files
