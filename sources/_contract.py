"""What a source is: a table wherever it lives, as an Ibis expression, read-only.

A source is opened for one pass and closed after it. It compiles expressions to the dialect of its engine, runs the text
there, and gives back rows of aggregates. Drivers' own messages print values, so they never leave this package: an error
says what was tried in our words, plus the class of the driver's error.

    SourceError
    ├── Unreachable         no connection: refused, unknown host, missing file, wrong password, other version
    ├── PermissionDenied    connected, but not allowed to read
    ├── TimedOut            the query or the wait for a lock took longer than the source allows
    ├── TableNotFound       no such table; names near it are suggested
    │   └── TableRemoved    it, or a file of it, was there as the look began; the next look tells whether it is
    ├── QueryFailed         the engine refused the statement
    └── NotTemporal         a column asked for its moments holds none
"""

# Ibis and pandas are only named in annotations, so that `import sources` stays cheap.
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pandas as pd

    from sources._columns import Columns


class SourceError(Exception):
    """The root of this package's errors. Its text holds no data value and no secret."""


class Unreachable(SourceError):
    """The source cannot be connected to."""


class PermissionDenied(SourceError):
    """The source refuses to show this to us."""


class TimedOut(SourceError):
    """The source did not answer in time."""


class TableNotFound(SourceError):
    """The source has no such table."""


class TableRemoved(TableNotFound):
    """The table, or a file of it, was removed while it was read."""


class QueryFailed(SourceError):
    """The engine refused a statement."""


class NotTemporal(SourceError):
    """A column that is asked for its moments is neither a time nor text."""


@dataclass(frozen=True, slots=True)
class RowEstimate:
    """The number of rows of a table by its catalogue, and by how many that may be wrong.

    `counted_at`: when the engine last counted or sampled the table; None where it does not say.
    """

    rows: int
    error: int
    counted_at: datetime | None


@dataclass(frozen=True, slots=True)
class ReadVolume:
    """The rows and bytes that statements read, where the engine reports them: None is unknown, never nothing.

    `rows`: that the scans of tables handed on. `bytes`: from storage.
    """

    rows: int | None = None
    bytes: int | None = None

    def __add__(self, other: Self) -> ReadVolume:
        """Add what is known of both."""
        rows = [volume.rows for volume in (self, other) if volume.rows is not None]
        read = [volume.bytes for volume in (self, other) if volume.bytes is not None]
        return ReadVolume(sum(rows) if rows else None, sum(read) if read else None)


NOTHING_TOLD: Final = ReadVolume()


class Source(Protocol):
    """A place where tables live. Use it as a context manager: connections live inside the block only."""

    name: str
    dialect: str
    """sqlglot's name of the engine's dialect."""
    query_timeout: timedelta
    types_declared: bool
    """Whether a catalogue declares the columns and their types; those of files follow from the values in them."""

    def __enter__(self) -> Self:
        """Connect, read-only.

        Raises:
            Unreachable: there is no connection, or the source as declared cannot be opened.
            TimedOut: a lock was held for longer than the source allows.
        """

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect."""

    def tables(self) -> Sequence[str]:
        """Return the tables, `schema.table` where the engine has schemas."""

    def table(self, name: str) -> ir.Table:
        """Return a table as an expression; only the catalogue is read.

        A dotted name is tried whole first, then as schema.table.

        Raises:
            TableNotFound: there is none of that name.
            TimedOut, PermissionDenied, Unreachable, QueryFailed: as in `fetch`.
        """

    def layout(self, name: str) -> Sequence[tuple[object, ...]] | None:
        """Return the place of a table in the catalogue, and what that says of each column: equal for equal tables only.

        Cheaper than `table`. None where it does not say all that the expression of the table depends on.

        Raises:
            As `table`.
        """

    def row_estimate(self, name: str) -> RowEstimate | None:
        """Return how many rows the catalogue says that a table has, without a scan; None where it does not say.

        Raises:
            As `table`.
        """

    def newest(self, name: str, column: str) -> date | None:
        """Return the greatest value of a column of times or dates, by statistics of all rows; no row is read.

        None where there is no value.

        Raises:
            QueryFailed: there are no such statistics, or not for all rows.
            As `table`.
        """

    def last_write(self, name: str) -> datetime | None:
        """Return when rows of a table were last written or removed, by the catalogue; None where it does not know.

        Raises:
            QueryFailed: this engine does not tell.
            As `table`.
        """

    def change_sign(self, name: str, now: datetime) -> str | None:
        """Return a text that is another one after each change of a table's rows or columns; None where none is sure.

        Cheap: no row is read. `now` is by the clock of this machine.

        Raises:
            As `table`.
        """

    def write_count(self, name: str) -> int | None:
        """Return a number that grows with each write of rows, where the catalogue knows no time; else None.

        It begins again when the engine loses its statistics.

        Raises:
            As `table`.
        """

    def compile(self, expression: ir.Expr) -> str:
        """Return the SQL text of an expression in this engine's dialect.

        Raises:
            QueryFailed: this engine has no such operation.
        """

    def fetch(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """Run one SELECT and give its rows by column name.

        Values are Python's own: Decimal stays Decimal, NULL is None. SQLite has no type for time and gives its text.

        Raises:
            TimedOut, PermissionDenied, Unreachable, QueryFailed: in our words, without a value. Unreachable means the
                whole source; a file of many that went away since it was found is TableRemoved.
        """

    def pieces(self, sql: str) -> Iterator[Sequence[tuple[Any, ...]]]:
        """Run one SELECT and give its rows as tuples, many at a time: for answers too large to be held as a whole.

        Take all of it before asking anything else. The time that the taker needs counts as the source's.

        Raises:
            As `fetch`, when the first piece is taken or a later one.
        """

    def columns(self, sql: str) -> Columns:
        """Run one SELECT and yield its rows as `pieces` does, but column by column.

        Raises:
            As `pieces`.
        """

    def take_read_volume(self) -> ReadVolume:
        """Return what the statements since the last call read, as far as the engine tells."""

    def frame(self, table: str, columns: Sequence[str], max_rows: int) -> pd.DataFrame:
        """Return named columns as a frame of at most `max_rows` + 1 rows: one too many tells that there are more.

        Raises:
            TableNotFound, TimedOut, PermissionDenied, Unreachable, QueryFailed: as above.
        """

    def sqlalchemy_url(self) -> str | None:
        """Return a read-only URL for Great Expectations' SQL engine; None where it has to work on a frame."""
