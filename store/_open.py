"""Open a store: make it when there is none, look whether it is whole, and bring an older one up to date.

Nothing here deletes or repairs. A file that is damaged, empty, somebody else's or newer is refused by name and left as
it is.
"""

import os
import sqlite3
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy import text

from store import _schema
from store._engines import Address, address_of, migration_engine
from store._errors import BRING_BACK, StoreCorrupt, StoreError, StoreUnavailable, in_our_words
from store._failpoint import FailPoint, reached
from store._files import make_draft, make_folder, remove_draft
from store._schema import REVISION_TABLE, refuse_foreign, revision_of, upgrade
from store._store import Store

CHECKED_WHOLE: Final = 64 * 2**20
"""Files up to this size (bytes) are checked page by page at every opening: 0.2 s at most."""

OLDEST_SQLITE: Final = (3, 38, 0)
"""The first that has STRICT tables and JSON for certain."""

PATIENCE: Final = timedelta(seconds=20)


def open_store(url: str, *, checkpoints: bool = False, thorough: bool = False, patience: timedelta = PATIENCE) -> Store:
    """Open the store at a URL, making it when there is none.

    Args:
        url: `sqlite:///FILE` (relative to the working folder, percent-encoded where need be), or
            `postgresql://USER:PASSWORD@HOST/DATABASE`.
        checkpoints: whether this process moves the write-ahead log into the file while it runs. Exactly one process
        may, the
            daemon (or a long job that has the store for itself); without any, the last process to close the store does.
        thorough: check every page of the file however large it is (1.2 s for 400 MB); for the daemon and `doctor`.
        patience: how long to wait for other writers.

    Raises:
        StoreUnavailable: no permission, no connection, a folder that cannot be made.
        StoreCorrupt: the file is damaged, empty or no database.
        StoreForeign: it is the database of something else.
        StoreNewer: a newer Tablewatch wrote it.
        StoreBusy: somebody else is changing its tables right now.
    """
    address = address_of(url)
    if address.file is not None and sqlite3.sqlite_version_info < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise StoreUnavailable(f"this Python has SQLite {sqlite3.sqlite_version}; the store needs {oldest} or newer")
    with in_our_words(address.name):
        if address.file is not None:
            _make_file(address, address.file, patience)
            _check_file(address.file, whole=thorough or address.file.stat().st_size <= CHECKED_WHOLE)
        with ExitStack() as unless_opened:
            store = unless_opened.enter_context(Store(address, patience=patience, checkpoints=checkpoints))
            if store.revision() != _schema.HEAD:
                migrate(address, to=_schema.HEAD, patience=patience)
            unless_opened.pop_all()
    return store


def migrate(address: Address, *, to: str, patience: timedelta) -> None:
    """Bring the tables to a revision in one transaction: all of it or nothing.

    Raises:
        StoreError: as `open_store`, or rows that refer to nothing after the change, which is then taken back.
    """
    engine = migration_engine(address, patience=patience)
    try:
        with in_our_words(address.name), engine.begin() as connection:
            if revision_of(connection, address.name) == to:  # another process was faster
                return
            upgrade(connection, address.name, to=to)
            reached(FailPoint.IN_MIGRATION)
            if address.file is not None and connection.execute(text("PRAGMA foreign_key_check")).first() is not None:
                raise StoreError(
                    f"{address.name} was not upgraded: rows would refer to rows that are not there; it is as it was"
                )
    finally:
        engine.dispose()


def _make_file(address: Address, file: Path, patience: timedelta) -> None:
    """Make a missing store beside its place and then give it its name, so that nobody ever meets half a store."""
    if file.exists():
        return
    try:
        make_folder(file.parent)
        draft = make_draft(file)
    except OSError as error:
        raise StoreUnavailable(
            f"{file} cannot be created ({error.strerror}); check the folder and its permissions"
        ) from None
    try:
        migrate(Address(address.url.set(database=str(draft)), address.name, draft), to=_schema.HEAD, patience=patience)
        file.hardlink_to(draft)  # unlike a rename, this never replaces a store that another process made meanwhile
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreUnavailable(f"{file} cannot be created ({error.strerror}); put the store on a local disk") from None
    finally:
        remove_draft(draft)


def _check_file(file: Path, *, whole: bool) -> None:
    if not file.is_file() or not os.access(
        file, os.R_OK | os.W_OK
    ):  # to open and close it here would give up the locks of this process
        raise StoreUnavailable(f"{file} cannot be opened for writing; check its permissions, and that of its disk")
    if file.stat().st_size == 0:  # SQLite would take it for a new database, and remove the log beside it
        raise StoreCorrupt(f"{file} is empty and not a store; {BRING_BACK}")
    with closing(_look_into(file, "ro")) as connection:  # to look at somebody else's database must not change it
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if REVISION_TABLE not in tables:
            refuse_foreign(tables, str(file))
        (page,) = connection.execute("PRAGMA page_size").fetchone()
        log = Path(f"{file}-wal")
        if file.stat().st_size % page and not (log.exists() and log.stat().st_size):  # a log would hold the whole page
            raise StoreCorrupt(f"{file} is corrupt (truncated); it was not changed; {BRING_BACK}")
        if whole:
            _check_pages(file)


def _check_pages(file: Path) -> None:
    """Look at every page and every row of a store.

    SQLite looks at constraints only over a connection that could write. Whoever calls has another one open: so nothing
    is moved from the log into the file when this one is closed.
    """
    with closing(_look_into(file, "rw")) as connection:
        connection.execute("PRAGMA query_only = ON")
        if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise StoreCorrupt(f"{file} is corrupt (quick_check failed); it was not changed; {BRING_BACK}")


def _look_into(file: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(str(file))}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=PATIENCE.total_seconds())
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection
