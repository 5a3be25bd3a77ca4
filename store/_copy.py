"""Move a SQLite store to PostgreSQL: copy its rows in batches, compare each, and mark the old store as moved.

store: at its revision ──> "moving ID PLACE" ──────────────────────────> "moved ID PLACE"
copy:                      "copying ID": tables in the order of their        ──> at its revision
                           references, rows in the order of their keys

The marks stand where the revision stands, so that no Tablewatch opens a store that is marked, older ones included. From
the first mark on nothing changes in the store, and the number of rows in a table of the copy says where to go on. The
ledger's anchor goes along; its chain, all numbers that were given, and the times of everything stay as they are.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice, zip_longest
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Table,
    Text,
    TypeDecorator,
    collate,
    column,
    func,
    insert,
    inspect,
    select,
    table,
    text,
    update,
)

from store._backup import connect, sqlite_file, take_for_itself
from store._columns import map_all_rows
from store._engines import Address, address_of, migration_engine
from store._errors import StoreCorrupt, StoreError, StoreForeign, StoreMoved, StoreUnavailable, in_our_words
from store._failpoint import FailPoint, reached
from store._ledger_chain import AnchorFile, anchor_file
from store._lock import daemon_lock
from store._open import (
    COPYING,
    HEAD,
    LOCK_TIMEOUT,
    MOVED,
    MOVING,
    OUR_TABLES,
    REVISION_TABLE,
    create_tables,
    open_store,
)

BATCH: Final = 20_000
"""Rows of a table that are copied in one transaction."""
COPY_STEPS: Final = 2 * len(OUR_TABLES)
_COMPARED: Final = 1_000
_REVISION: Final = table(REVISION_TABLE, column("version_num"))


@dataclass(frozen=True, slots=True)
class Copied:
    """A store that was moved: where it is now, without a password, and how many of its rows were compared.

    `rows_before`: how many of them an earlier attempt had copied. `anchor`: where the ledger's anchor is now, if it
    had to go along.
    """

    place: str
    rows: int
    rows_before: int
    anchor: Path | None


@dataclass(frozen=True, slots=True)
class _Mark:
    phase: str
    id: str
    place: str


def copy_store(
    url: str,
    to: str,
    *,
    anchor: Path | None = None,
    lock_timeout: timedelta = LOCK_TIMEOUT,
    batch: int = BATCH,
    on_table: Callable[[], None] = lambda: None,
) -> Copied:
    """Move the SQLite store at a URL to an empty database or schema of PostgreSQL; go on with an earlier attempt.

    Args:
        url: of the store, which nothing else may use.
        to: `postgresql://USER:PASSWORD@HOST/DATABASE`.
        anchor: where the configuration keeps the ledger's anchor; None: beside the store, and then it goes along.
        lock_timeout: how long to wait for others to let go of the store.
        batch: rows in one transaction.
        on_table: called when a table was copied, and when it was compared: `COPY_STEPS` times.

    Raises:
        StoreInUse, StoreBusy: a daemon, or another process, has the store open.
        StoreCorrupt: it is damaged, or a row of the copy differs.
        StoreForeign: there is something else already. StoreMoved: it was moved, or another move was begun.
        StoreUnavailable: the server cannot be reached, or refuses.
        StoreError: one of the two is on another kind of database.
    """
    file, target = sqlite_file(address_of(url)), address_of(to)
    if target.file is not None:
        raise StoreError(f"{target.name} is a SQLite file; expected postgresql://; for a file use 'tablewatch backup'")
    with daemon_lock(url):
        if _mark_of(file) is None:
            open_store(url, create=False, thorough=True).close()
        engine = migration_engine(target, lock_timeout=lock_timeout)
        try:
            place = _place(engine, target)
            with in_our_words(str(file)), closing(connect(file, "rw", lock_timeout=lock_timeout)) as original:
                take_for_itself(original)
                mark = _mark(original, file, place)
                with in_our_words(target.name):
                    copied = _Copy(original, engine, mark, batch, on_table)
                    return copied.run(lambda: None if anchor else _take_anchor(url, to))
        finally:
            engine.dispose()


def cancel_copy(url: str, *, lock_timeout: timedelta = LOCK_TIMEOUT) -> str:
    """Cancel a copy that is not complete, and use the store again; return where the copy was to be.

    Raises:
        StoreError: no copy was begun. StoreMoved: it is complete.
    """
    file = sqlite_file(address_of(url))
    with daemon_lock(url), in_our_words(str(file)), closing(connect(file, "rw", lock_timeout=lock_timeout)) as original:
        take_for_itself(original)
        mark = _mark_of(file, original)
        if mark is None:
            raise StoreError(f"{file} is not being copied; there is nothing to cancel")
        if mark.phase == MOVED:
            raise StoreMoved(str(file), MOVED, mark.place)
        _set_revision(original, HEAD)
    return mark.place


def _mark_of(file: Path, connection: sqlite3.Connection | None = None) -> _Mark | None:
    """Return the mark of a store; None without one, and where there is no store."""
    if connection is None:
        if not file.exists():
            return None
        with in_our_words(str(file)), closing(connect(file, "ro")) as reading:
            tables = {name for (name,) in reading.execute("SELECT name FROM sqlite_schema")}
            return _mark_of(file, reading) if REVISION_TABLE in tables else None
    (revision,) = connection.execute(str(select(_REVISION.c.version_num))).fetchone()
    phase, _, rest = str(revision).partition(" ")
    return _Mark(phase, *rest.split(" ", 1)) if phase in {MOVING, MOVED} else None


def _place(engine: Engine, target: Address) -> str:
    """Return the database and schema, without a password.

    Raises:
        StoreUnavailable: it cannot be reached, or has no such schema.
    """
    with in_our_words(target.name), engine.begin() as connection:
        schema = connection.scalar(text("SELECT current_schema()"))
    if schema is None:
        raise StoreUnavailable(f"{target.name} has no such schema; create it: CREATE SCHEMA followed by its name")
    return f"{target.name}, schema {schema}"


def _mark(original: sqlite3.Connection, file: Path, place: str) -> _Mark:
    """Return the mark of the attempt to go on with, or a new one."""
    mark = _mark_of(file, original) or _Mark(MOVING, token_hex(8), place)
    if mark.place != place:
        raise StoreMoved(str(file), mark.phase, mark.place)
    return mark


def _set_revision(original: sqlite3.Connection, revision: str) -> None:
    original.execute(str(update(_REVISION)), {"version_num": revision})


class _Copy:
    """One attempt; `engine` is that of the target."""

    def __init__(
        self,
        original: sqlite3.Connection,
        engine: Engine,
        mark: _Mark,
        batch: int,
        on_table: Callable[[], None],
    ) -> None:
        self._original, self._begin, self._mark, self._batch = original, engine.begin, mark, batch
        self._on_table = on_table
        self._tables = [table for table in map_all_rows().sorted_tables if table.name in OUR_TABLES]

    def run(self, take_anchor: Callable[[], Path | None]) -> Copied:
        """Copy what is missing, compare everything, and mark the store as moved before the copy is used.

        The store is marked once it is known that nothing else is in the new place, and before the tables are there:
        a mark without tables is a move to go on with, tables without a mark would be another store's.
        """
        with self._begin() as connection:
            self._prepare(connection)
            if self._mark.phase == MOVING:
                _set_revision(self._original, f"{MOVING} {self._mark.id} {self._mark.place}")
                reached(FailPoint.BEFORE_MOVE)
        before = sum(self._copy(table) for table in self._tables)
        with self._begin() as connection:
            rows = sum(self._compare(connection, table) for table in self._tables)
            self._number(connection)
        anchor = take_anchor()
        _set_revision(self._original, f"{MOVED} {self._mark.id} {self._mark.place}")
        reached(FailPoint.AFTER_MOVE)
        with self._begin() as connection:
            connection.execute(update(_REVISION).values(version_num=HEAD))
        return Copied(self._mark.place, rows, before, anchor)

    def _prepare(self, connection: Connection) -> None:
        """Make the tables, unless an earlier attempt of this move did.

        Raises:
            StoreForeign: something else is there.
        """
        present = OUR_TABLES & set(inspect(connection).get_table_names())
        if not present:
            create_tables(connection)
            connection.execute(insert(_REVISION).values(version_num=f"{COPYING} {self._mark.id}"))
            return
        revision = connection.scalar(select(_REVISION.c.version_num))
        if revision == HEAD and self._mark.phase == MOVED:
            raise StoreMoved("the store", MOVED, self._mark.place)
        if revision != f"{COPYING} {self._mark.id}":
            raise StoreForeign(
                f"{self._mark.place}, holds a store, or a part of one, already; give an empty schema, with "
                "?options=-csearch_path%3DNAME, after CREATE SCHEMA NAME"
            )

    def _copy(self, table: Table) -> int:
        """Copy the rows of a table that are not there yet; return how many were there."""
        with self._begin() as connection:
            before = connection.scalar(select(func.count()).select_from(table)) or 0
        rows = islice(self._rows(table), before, None)
        while part := list(islice(rows, self._batch)):
            with (
                self._begin() as connection,
                _cursor(connection) as cursor,
                cursor.copy(f"COPY {table.name} ({_names(table)}) FROM STDIN") as copy,
            ):
                for row in part:
                    copy.write_row(row)
            reached(FailPoint.IN_MOVE)
        self._on_table()
        return before

    def _rows(self, table: Table) -> Iterator[Sequence[Any]]:
        return self._original.execute(_query(table))

    def _compare(self, connection: Connection, table: Table) -> int:
        """Compare each row of a table with its copy; return how many there are.

        Raises:
            StoreCorrupt: one differs, or is missing.
        """
        number = 0
        with _cursor(connection, name="compared") as copies:
            copies.itersize = _COMPARED
            for row, copy in zip_longest(self._rows(table), copies.execute(_query(table, collation="C"))):
                if row == copy:
                    number += 1
                    continue
                raise StoreCorrupt(
                    f"row {number + 1} of {table.name} differs in the copy, {self._mark.place}: another program wrote "
                    "there; run 'tablewatch store copy --cancel', and begin again with an empty schema"
                )
        self._on_table()
        return number

    def _number(self, connection: Connection) -> None:
        """Let each table go on with the number after the last that was given, also to a row that is gone."""
        given = dict(self._original.execute("SELECT name, seq FROM sqlite_sequence"))
        for rows in self._tables:
            for key in rows.primary_key:
                place = {"table": f'"{rows.name}"', "column": key.name}
                sequence = connection.scalar(text("SELECT pg_get_serial_sequence(:table, :column)"), place)
                if sequence is not None:
                    last = max(given.get(rows.name, 0), connection.scalar(select(func.max(key))) or 0)
                    values = {"sequence": sequence, "last": max(last, 1), "used": last > 0}
                    connection.execute(text("SELECT setval(:sequence, :last, :used)"), values)


def _cursor(connection: Connection, name: str = "") -> Any:
    """Return a cursor of the driver; one with a name stays on the server and is read in parts."""
    driver: Any = connection.connection.driver_connection
    return driver.cursor(name)


def _query(rows: Table, *, collation: str | None = None) -> str:
    """Return SQL for the rows of a table in the order of its key, by the bytes of texts.

    `collation`: the one that does so; None where the database does without.
    """
    names: list[Any] = [column(item.name) for item in rows.columns]
    key = [
        collate(column(item.name), collation) if collation is not None and _is_text(item) else column(item.name)
        for item in rows.primary_key
    ]
    return str(select(*names).select_from(table(rows.name)).order_by(*key))


def _names(table: Table) -> str:
    return ", ".join(f'"{column.name}"' for column in table.columns)


def _is_text(column: Column[Any]) -> bool:
    kind = column.type
    return isinstance(kind.impl if isinstance(kind, TypeDecorator) else kind, Text)


def _take_anchor(url: str, to: str) -> Path | None:
    """Write the anchor of the ledger where the moved store has it, unless the configuration gives it one place."""
    anchor = AnchorFile(anchor_file(url)).read()
    if anchor is None:
        return None
    moved = AnchorFile(anchor_file(to))
    moved.advance(anchor)
    return moved.file
