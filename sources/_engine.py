"""What all kinds of source share: names found in the catalogue, expressions compiled, rows and frames read.

Whatever is not one SELECT is refused before an engine sees it. Of an engine whose catalogue is too wide to read whole
only the current schema is listed; tables of others are looked up by name. Ibis is imported for the first expression: a
plan that is kept is text, and needs none.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import date, datetime
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from sources._columns import Columns, plain_columns
from sources._contract import NOTHING_TOLD, QueryFailed, ReadVolume, RowEstimate, TableNotFound, Unreachable
from sources._names import did_you_mean
from sources._spec import SourceSpec

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pandas as pd
    from ibis.backends.sql import SQLBackend
    from sqlglot import exp

PIECE: Final = 50_000
"""Rows that are held at a time of an answer that is taken in pieces."""


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A table in an engine's catalogue.

    `bare`: it needs no schema before its name. `listed`: it is found by its name only if not, such as a partition.
    """

    catalog: str
    schema: str
    table: str
    bare: bool
    listed: bool = True


@dataclass(frozen=True, slots=True)
class FetchedRows:
    """The result of a statement."""

    columns: Sequence[str]
    cells: Sequence[tuple[Any, ...]]


_AHEAD_S: Final = 60.0
"""Seconds for which what was read of a whole schema is believed."""


@dataclass(slots=True)
class _SchemaAnswers:
    """What a catalogue says of all tables of a schema; nothing was read while only the `first` table was asked for."""

    first: str
    read_at: float | None = None
    answers: Mapping[str, Any] = field(default_factory=dict)


class EngineSource(ABC):
    """A source whose engine Ibis speaks to. A kind says how to open it, what its catalogue holds, and how to ask."""

    dialect: str
    types_declared = True
    _is_own_backend = True

    def __init__(self, spec: SourceSpec) -> None:
        self.name = spec.name
        self.query_timeout = spec.query_timeout
        self._spec = spec
        self._is_open = False
        self._open_backend: SQLBackend | None = None
        self._entries: dict[str, CatalogueEntry] | None = None
        self._described: dict[str, ir.Table] = {}
        self._ahead: dict[tuple[str, str], _SchemaAnswers] = {}
        self._closing = ExitStack()
        self._read_volume = NOTHING_TOLD

    def __enter__(self) -> Self:
        """Connect, read-only."""
        with ExitStack() as closing:
            self._open(closing)
            self._is_open = True
            self._closing = closing.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect."""
        self._is_open, self._open_backend, self._entries = False, None, None
        self._described, self._ahead = {}, {}
        self._closing.close()

    def tables(self) -> Sequence[str]:
        """Return the tables; those that need a schema before their name as `schema.table`."""
        listed = (entry for entry in self._catalogue() if entry.listed)
        return sorted(entry.table if entry.bare else f"{entry.schema}.{entry.table}" for entry in listed)

    def table(self, name: str) -> ir.Table:
        """Return a table as an expression; a dotted name is tried whole first, then as `schema.table`."""
        from ibis.common.exceptions import IbisError
        from ibis.common.exceptions import TableNotFound as NoSuchTable

        entry = self._find(name)
        with self._talking():
            if name not in self._described:
                try:
                    self._described[name] = self._describe(entry)
                except (IbisError, NoSuchTable) as error:  # a view of a table that was dropped is listed too
                    raise QueryFailed(
                        self._error_text(f"the columns of table '{name}' cannot be read", error)
                    ) from None
            return self._described[name]

    def layout(self, name: str) -> Sequence[tuple[object, ...]] | None:
        """Return the place of a table in the catalogue and its columns; None where columns are only had with Ibis."""
        entry = self._find(name)
        with self._talking():
            columns = self._columns_of(entry)
        return None if columns is None else [(entry.catalog, entry.schema, entry.table), *columns]

    def row_estimate(self, name: str) -> RowEstimate | None:
        """Return None: most engines count, or keep no number of rows."""
        self._find(name)
        return None

    def newest(self, name: str, column: str) -> date | None:
        """Refuse: only files of tables have statistics that hold for each row."""
        self._find(name)
        text = f"the catalogue of {self.dialect} does not say the newest value of column '{column}'"
        raise QueryFailed(f"source '{self.name}': {text}; use 'time: scan'")

    def last_write(self, name: str) -> datetime | None:
        """Refuse: most engines do not keep it."""
        self._find(name)
        text = f"the catalogue of {self.dialect} does not say when a table was last written"
        raise QueryFailed(f"source '{self.name}': {text}; use 'time: scan' with a 'column'")

    def change_sign(self, name: str, now: datetime) -> str | None:
        """Return None: most engines have no sign that is sure."""
        del name, now
        return None

    def write_count(self, name: str) -> int | None:
        """Return None: most engines keep the time of the last write, or nothing."""
        self._find(name)
        return None

    def compile(self, expression: ir.Expr) -> str:
        """Return the SQL text of an expression in this engine's dialect."""
        from ibis.common.exceptions import IbisError

        try:
            return str(self._backend.compile(expression))
        except IbisError as error:
            raise QueryFailed(self._error_text(f"{self.dialect} does not support this expression", error)) from None

    def fetch(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """Run one SELECT and give its rows by column name."""
        with self._talking():
            rows = self._run(sql)
        return [dict(zip(rows.columns, row, strict=True)) for row in rows.cells]

    def pieces(self, sql: str) -> Iterator[Sequence[tuple[Any, ...]]]:
        """Run one SELECT and give its rows as tuples, many at a time."""
        with self._talking():
            yield from self._run_pieces(sql)

    def columns(self, sql: str) -> Columns:
        """Run one SELECT and give its rows column by column, many at a time."""
        with self._talking():
            yield from self._run_columns(sql)

    def frame(self, table: str, columns: Sequence[str], max_rows: int) -> pd.DataFrame:
        """Return named columns as a frame of at most `max_rows` + 1 rows."""
        import pandas as pd

        result = self.table(table)
        for column in columns:
            if column not in result.columns:
                hint = did_you_mean(column, result.columns)
                raise QueryFailed(f"source '{self.name}': column '{column}' not found in {table}{hint}")
        if not columns:
            [row] = self.fetch(self.compile(result.limit(max_rows + 1).count().name("rows")))
            return pd.DataFrame(index=range(row["rows"]))
        sql = self.compile(result.select(*columns).limit(max_rows + 1))
        with self._talking():
            return self._run_frame(sql)

    def take_read_volume(self) -> ReadVolume:
        """Return what the statements since the last call read, as far as the engine tells."""
        volume, self._read_volume = self._read_volume, NOTHING_TOLD
        return volume

    def sqlalchemy_url(self) -> str | None:
        """Return a read-only URL for Great Expectations' SQL engine; None where it has to work on a frame."""
        return None

    @abstractmethod
    def _open(self, closing: ExitStack) -> None:
        """Connect; push on `closing` what disconnecting takes."""

    @abstractmethod
    def _make_backend(self) -> SQLBackend:
        """Return Ibis' backend of the connection. Called once, for the first expression."""

    @abstractmethod
    def _list(self) -> Iterable[CatalogueEntry]:
        """Read the catalogue. Called while asking."""

    @abstractmethod
    def _asking(self) -> AbstractContextManager[object]:
        """Guard a conversation with the engine: the time it takes, and what its errors say."""

    @abstractmethod
    def _run(self, sql: str) -> FetchedRows:
        """Run one SELECT, refuse anything else. Called while asking."""

    def _run_pieces(self, sql: str) -> Iterator[Sequence[tuple[Any, ...]]]:
        yield self._run(sql).cells

    def _run_columns(self, sql: str) -> Columns:
        yield from (plain_columns(rows) for rows in self._run_pieces(sql) if rows)

    def _run_frame(self, sql: str) -> pd.DataFrame:
        import pandas as pd

        rows = self._run(sql)
        return pd.DataFrame.from_records(list(rows.cells), columns=list(rows.columns))

    def _columns_of(self, entry: CatalogueEntry) -> Sequence[tuple[object, ...]] | None:
        """Return all that the expression of a table depends on; None where only Ibis has it. Called while asking."""
        del entry
        return None

    def _of_catalogue(
        self, question: str, entry: CatalogueEntry, read: Callable[[str, str | None], Mapping[str, Any]]
    ) -> Any:
        """Return what the catalogue says of a table; None where it says nothing. Called while asking.

        `read` takes a schema and a table, or None for all its tables: a source that is asked for a second table reads
        the whole schema, so that a pass over many tables needs two statements.
        """
        ahead = self._ahead.setdefault((question, entry.schema), _SchemaAnswers(entry.table))
        if ahead.read_at is None and ahead.first == entry.table:
            return read(entry.schema, entry.table).get(entry.table)
        if ahead.read_at is None or perf_counter() - ahead.read_at > _AHEAD_S:
            ahead.answers, ahead.read_at = read(entry.schema, None), perf_counter()
        return ahead.answers.get(entry.table)

    def _describe(self, entry: CatalogueEntry) -> ir.Table:
        return self._backend.table(entry.table, database=(entry.catalog, entry.schema))

    @property
    def _backend(self) -> SQLBackend:
        if not self._is_open:
            raise self._not_open()
        if self._open_backend is None:
            self._open_backend = self._make_backend()
            if self._is_own_backend:
                from sources._own_types import name_own_types

                name_own_types(self._open_backend)
        return self._open_backend

    def _talking(self) -> AbstractContextManager[object]:
        if not self._is_open:
            raise self._not_open()
        return self._asking()

    def _not_open(self) -> Unreachable:
        return Unreachable(f"source '{self.name}' is not open; use it in a with block")

    def _catalogue(self) -> Iterable[CatalogueEntry]:
        return {id(entry): entry for entry in self._known().values()}.values()

    def _known(self) -> Mapping[str, CatalogueEntry]:
        if self._entries is None:
            with self._talking():
                entries = list(self._list())
            by_name = {entry.table: entry for entry in entries if entry.bare}
            for entry in filter(lambda entry: entry.schema, entries):
                by_name.setdefault(f"{entry.schema}.{entry.table}", entry)
            self._entries = by_name
        return self._entries

    def _find(self, name: str) -> CatalogueEntry:
        entries = self._known()
        if name not in entries:
            hint = did_you_mean(name, entries) if entries else "; the source has no tables"
            raise TableNotFound(f"table '{name}' not found in source '{self.name}'{hint}")
        return entries[name]

    def _error_text(self, text: str, error: BaseException) -> str:
        return f"source '{self.name}': {text} ({type(error).__name__})"


_READS: Final = re.compile(r"[\s(]*(?:SELECT|WITH|VALUES)\b", re.IGNORECASE)


def refuse_other_words(sql: str, source: str) -> None:
    """Refuse a statement that does not begin as a query; for drivers that take a single statement and only read.

    Raises:
        QueryFailed: it begins otherwise.
    """
    if _READS.match(sql) is None:
        raise _refused(source)


def refuse_other_statements(sql: str, *, dialect: str, source: str) -> exp.Query:
    """Return the tree of a statement; refuse all but one query that writes nowhere: the session may write.

    Raises:
        QueryFailed: it is something else, or cannot be parsed.
    """
    import sqlglot
    from sqlglot import exp

    try:
        statements = sqlglot.parse(sql, read=dialect)
    except sqlglot.errors.SqlglotError as error:
        text = f"source '{source}': the statement cannot be parsed as {dialect} ({type(error).__name__})"
        raise QueryFailed(f"{text}; expected one SELECT") from None
    results = [statement for statement in statements if statement is not None]
    if (
        len(results) != 1
        or not isinstance(results[0], exp.Query)
        or any(results[0].find_all(exp.DML, exp.DDL, exp.Command, exp.Into))
    ):
        raise _refused(source)
    return results[0]


def _refused(source: str) -> QueryFailed:
    return QueryFailed(f"source '{source}': only one SELECT is run, the statement is something else; nothing was sent")


class UnlistedSource(EngineSource):
    """A source that lists the tables of the current schema."""

    def _list(self) -> Iterable[CatalogueEntry]:
        return (CatalogueEntry("", "", name, bare=True) for name in self._backend.list_tables())

    def _find(self, name: str) -> CatalogueEntry:
        path, _, table = name.rpartition(".")
        if name in self._known() or not path:
            return super()._find(name)
        catalog, _, schema = path.rpartition(".")
        return CatalogueEntry(catalog, schema, table, bare=False)

    def _describe(self, entry: CatalogueEntry) -> ir.Table:
        from ibis.common.exceptions import TableNotFound as NoSuchTable

        place = [part for part in (entry.catalog, entry.schema) if part]
        try:
            return self._look_up(entry.table, place)
        except NoSuchTable:
            name = ".".join((*place, entry.table))
            hint = did_you_mean(name, self._entries or ())
            raise TableNotFound(f"table '{name}' not found in source '{self.name}'{hint}") from None

    @abstractmethod
    def _look_up(self, table: str, place: Sequence[str]) -> ir.Table:
        """Return a table of `place`: nothing, a schema, or a catalogue and a schema.

        Raises:
            ibis.common.exceptions.TableNotFound: there is none.
        """
