"""A DuckDB connection that reads the named files and nothing else.

The order matters: what a connection may use, then the files it may read, then the door shut, then the lock on the
settings. `allowed_paths` is narrower than `allowed_directories`: no other file of the folder can be read or written.
Views can still be made under the lock, since they live in memory. What the lock leaves open (COPY to one of the named
files, or to the write-ahead log beside a database file) is closed by running nothing but a single SELECT.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import duckdb

from sources._columns import ArrowColumn, Columns, plain_columns
from sources._contract import (
    NOTHING_TOLD,
    PermissionDenied,
    QueryFailed,
    ReadVolume,
    SourceError,
    TimedOut,
    Unreachable,
)
from sources._deadline import Deadline, Deadlines
from sources._engine import PIECE, EngineSource, FetchedRows
from sources._names import quote_name, quote_text

if TYPE_CHECKING:
    import pandas as pd
    from ibis.backends.duckdb import Backend

_BATCH: Final = 250_000
"""Rows that are held at a time where they are no objects of Python."""
_WHOLE: Final = {f"{sign}{size}" for sign in ("", "u") for size in ("tinyint", "smallint", "integer", "bigint")}
_AS_ARROW: Final = _WHOLE | {
    *("boolean", "float", "double", "decimal", "varchar", "blob", "date", "timestamp", "timestamp with time zone")
}
"""Types of which Arrow's values are those that DuckDB gives."""
_RESERVED: Final = {"", "main", "memory", "system", "temp"}
_PROFILE: Final = json.dumps(dict.fromkeys(("OPERATOR_CARDINALITY", "OPERATOR_TYPE", "TOTAL_BYTES_READ"), "true"))
_CATALOGUE_SCANS: Final = ("DUCKDB_", "PRAGMA_")
_COUNTED_SCANS: Final = {"READ_CSV", "READ_CSV_AUTO", "SEQ_SCAN"}
"""Scans whose bytes are counted; of Parquet DuckDB 1.5 counts some of them only."""
_NO_EXTENSIONS: Final = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}


class DuckdbSource(EngineSource):
    """A source that DuckDB reads: other files, or a DuckDB file."""

    dialect = "duckdb"
    _connection: duckdb.DuckDBPyConnection
    _deadlines: Deadlines
    _tells_volume: bool

    _deadline: Deadline | None = None

    def _connect(
        self, closing: ExitStack, *, database: str | None = None, paths: Sequence[str] = (), folder: str | None = None
    ) -> None:
        """Open a database that may read `paths` and what is in `folder`, and nothing else.

        A `database` is attached to one in memory of our own: DuckDB opens a file once per process, with one set of
        settings for all, and after the lock below it could not be opened a second time.

        Raises:
            duckdb.Error: it cannot be opened so.
        """
        spill = closing.enter_context(TemporaryDirectory(prefix="tablewatch-", ignore_cleanup_errors=True))
        limits = {"memory_limit": self._spec.memory_limit, "temp_directory": spill}
        if self._spec.threads is not None:
            limits["threads"] = str(self._spec.threads)
        self._connection = duckdb.connect(":memory:", config={**_NO_EXTENSIONS, **limits})
        closing.callback(self._connection.close)
        self._deadlines = closing.enter_context(Deadlines(self.query_timeout, self._connection.interrupt))
        closing.callback(self._connection.interrupt)  # after Ctrl-C a query goes on in DuckDB's threads: close waits
        self._set("enable_progress_bar", "false")  # without a script it would be written to stdout
        if database is not None:
            self._attach(database)
        self._tells_volume = self._profile()
        self._set("TimeZone", "'UTC'")
        self._set("python_enable_replacements", "false")  # a table that is not there is no variable of ours
        if paths:
            self._set("allowed_paths", f"[{', '.join(map(quote_text, paths))}]")
        if folder is not None:
            self._set("allowed_directories", f"[{quote_text(folder)}]")
        self._set("enable_external_access", "false")
        self._set("lock_configuration", "true")

    def _make_backend(self) -> Backend:
        from sources._duckdb_backend import backend_of

        return backend_of(self._connection)

    def _profile(self) -> bool:
        """Have each statement tell what it reads; DuckDB 2 tells it in another form, which is not understood yet."""
        self._set("enable_profiling", "'no_output'")
        try:
            self._set("custom_profiling_settings", quote_text(_PROFILE))
        except duckdb.CatalogException:
            self._connection.execute("RESET enable_profiling")
            return False
        return True

    def _attach(self, database: str) -> None:
        """Attach a file under the name that its views know it by, and make it the current database."""
        name = PurePath(database).name.partition(".")[0]
        if name.casefold() in _RESERVED:  # DuckDB calls such a file so, too
            name = f"{name}_db"
        self._connection.execute(f"ATTACH {quote_text(database)} AS {quote_name(name)} (READ_ONLY)")
        self._connection.execute(f"USE {quote_name(name)}")

    def _set(self, setting: str, value: str) -> None:
        """Change a setting. As text: for a parameter DuckDB imports pandas, which takes 0.2 s and 40 MB."""
        self._connection.execute(f"SET {setting} = {value}")

    def _run(self, sql: str) -> FetchedRows:
        cursor = self._execute(sql)
        columns = [column[0] for column in cursor.description or ()]
        rows = cursor.fetchall()
        self._count()
        return FetchedRows(columns, rows)

    def _run_pieces(self, sql: str) -> Iterator[Sequence[tuple[Any, ...]]]:
        cursor = self._execute(sql)
        while rows := cursor.fetchmany(PIECE):
            yield rows
        self._count()

    def _run_columns(self, sql: str) -> Columns:
        cursor = self._execute(sql)
        if any(column[1].id not in _AS_ARROW for column in cursor.description or ()):
            while rows := cursor.fetchmany(PIECE):
                yield plain_columns(rows)
        else:
            yield from _columns_of(cursor)
        self._count()

    def _run_frame(self, sql: str) -> pd.DataFrame:
        with warnings.catch_warnings():  # for times with a zone, DuckDB drops a column in a way that pandas 3 warns of
            warnings.filterwarnings("ignore", "The inplace keyword in DataFrame.drop")
            frame = self._execute(sql).df()
        self._count()
        return frame

    def _execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        statements = self._connection.extract_statements(sql)
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise QueryFailed(f"source '{self.name}': only one SELECT is run, the statement is something else")
        return self._connection.execute(statements[0])

    def _count(self) -> None:
        """Add what the last statement read; where the catalogue answered it, DuckDB has no profile of it."""
        if self._tells_volume:
            profile = json.loads(self._connection.get_profiling_information(format="json"))
            self._read_volume += _volume_of(profile)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        with self._deadlines.work() as deadline:
            self._deadline = deadline
            try:
                yield
            except duckdb.InterruptException as error:
                if not deadline.passed:
                    raise KeyboardInterrupt from None
                limit = f"{self.query_timeout.total_seconds():g} s"
                raise TimedOut(self._error_text(f"no answer within {limit}; see query_timeout", error)) from None
            except duckdb.Error as error:
                raise self._source_error_of(error) from None
            except RuntimeError as error:
                if "interrupted" in str(error):  # DuckDB's way to say that Ctrl-C was pressed
                    raise KeyboardInterrupt from None
                raise

    def _source_error_of(self, error: duckdb.Error) -> SourceError:
        kind, text = next((kind, text) for wrong, kind, text in _ERRORS if isinstance(error, wrong))
        if "Permission denied" in str(error):
            kind, text = PermissionDenied, "permission denied for a file"
        return kind(self._error_text(text, error))


def _volume_of(profile: Mapping[str, Any]) -> ReadVolume:
    """Return what a statement read: nothing is known of one without a scan of a table."""
    scans = [scan for scan in _scans(profile) if not scan["operator_name"].startswith(_CATALOGUE_SCANS)]
    if not scans:
        return NOTHING_TOLD
    is_counted = all(scan["operator_name"] in _COUNTED_SCANS for scan in scans)
    rows = sum(scan["operator_cardinality"] for scan in scans)
    return ReadVolume(rows, profile["total_bytes_read"] if is_counted else None)


def _scans(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if node.get("operator_type") == "TABLE_SCAN":
        yield node
    for child in node.get("children", ()):
        yield from _scans(child)


def _columns_of(cursor: duckdb.DuckDBPyConnection) -> Columns:
    """Return the columns of each batch of an answer.

    Raises:
        duckdb.Error: the statement failed later than at its first row, which Arrow's reader calls an error of files.
    """
    try:
        for batch in cursor.to_arrow_reader(_BATCH):
            yield [ArrowColumn(array) for array in batch.columns]
    except OSError as error:
        text = str(error)
        raise next((kind for word, kind in _WORDED if word in text), duckdb.Error)(text) from None


_WORDED: Final[Sequence[tuple[str, type[duckdb.Error]]]] = (
    ("INTERRUPT Error", duckdb.InterruptException),
    ("Out of Memory Error", duckdb.OutOfMemoryException),
    ("Conversion Error", duckdb.ConversionException),
    ("Invalid Input Error", duckdb.InvalidInputException),
    ("IO Error", duckdb.IOException),
)

_MISFIT: Final = "a value does not fit the type of its column, or a file is not in its format; see csv.types"
_MALFORMED: Final = (
    "a file is not in its format (a row of another length, an unclosed quote, mixed line endings), "
    "or a value does not fit the type of its column; see csv.types"
)

_ERRORS: Final[Sequence[tuple[type[duckdb.Error], type[SourceError], str]]] = (
    (duckdb.PermissionException, PermissionDenied, "the statement accesses files or settings that are locked"),
    (duckdb.OutOfMemoryException, QueryFailed, "the statement needs more memory than memory_limit allows"),
    (duckdb.IOException, Unreachable, "a file is missing, incomplete or cannot be read"),
    (duckdb.ParserException, QueryFailed, "the statement is not valid SQL"),
    (duckdb.CatalogException, QueryFailed, "the statement names a table or function that does not exist"),
    (duckdb.BinderException, QueryFailed, "the statement names a column or function that does not exist or fit"),
    (duckdb.ConversionException, QueryFailed, _MISFIT),
    (duckdb.OutOfRangeException, QueryFailed, "a number exceeds the range of DuckDB, such as a sum of 38 digits"),
    (duckdb.InvalidInputException, QueryFailed, _MALFORMED),
    (duckdb.Error, QueryFailed, "the statement failed"),
)
