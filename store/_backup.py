"""Copy a store while it is used, and bring a copy back: verified before anything is replaced, and whole or not at all.

A copy is one state of the store, in one file that needs no log beside it. It is written under another name, looked at
page by page, put on the disk, and only then given its name.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final
from urllib.parse import quote

from store._engines import Address, address_of
from store._errors import StoreCorrupt, StoreError, StoreForeign, StoreUnavailable, in_our_words
from store._failpoint import FailPoint, reached
from store._files import logs_of, make_draft, put_on_disk, remove_draft
from store._open import (
    NEW,
    OUR_TABLES,
    REVISION_TABLE,
    refuse_foreign,
    refuse_newer,
    refuse_schema,
    statements_of,
)

LOCK_TIMEOUT: Final = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of a store that was looked at: it is whole, and of this project, revision, size and number of rows."""

    file: Path
    project: str | None
    revision: str
    size_bytes: int
    rows: int


def backup(url: str, file: Path, *, force: bool = False) -> Backup:
    """Copy a store, which may be in use, to a file; `force` replaces a file that is there.

    Raises:
        StoreError: the file is there, or is the store itself; the store is on PostgreSQL.
        StoreUnavailable: there is no store, or no space or permission to write the file.
        StoreCorrupt: the store is damaged. StoreForeign, StoreNewer: it is not ours, or newer.
    """
    address = address_of(url)
    store = sqlite_file(address)
    if not store.exists():
        raise StoreUnavailable(f"{store} does not exist; nothing to back up")
    _refuse_place(store, file, force=force)
    with draft_beside(file) as draft:
        with in_our_words(str(store)), full_disk_of(file):
            copied = copy_state(store, draft)
        verified = verify(draft, name=str(store), copied=copied)
        _name_draft(draft, file, force=force)
    return Backup(file, verified.project, verified.revision, verified.size_bytes, verified.rows)


def sqlite_file(address: Address) -> Path:
    """Return the file of a store.

    Raises:
        StoreError: it is on PostgreSQL, which has its own programs for that.
    """
    if address.file is None:
        raise StoreError(
            f"the store {address.name} is on PostgreSQL; copy it with pg_dump --format=custom and restore it with "
            "pg_restore, while no daemon runs; the backup of a SQLite store is restored as one (storage.url) and then "
            "moved here with 'tablewatch store copy'"
        )
    return address.file.resolve()


@contextmanager
def draft_beside(file: Path) -> Iterator[Path]:
    """Yield an empty file beside another one, and see that nothing of it is left."""
    try:
        draft = make_draft(file)
    except OSError as error:
        raise StoreUnavailable(
            f"{file} cannot be written ({error.strerror}); check the folder and its permissions"
        ) from None
    try:
        yield draft
    except OSError as error:
        raise StoreUnavailable(f"{file} cannot be written ({error.strerror}); nothing was changed") from None
    finally:
        remove_draft(draft)


@contextmanager
def full_disk_of(file: Path) -> Iterator[None]:
    """Report a full disk with the file that is written: SQLite does not say which of two databases found no space.

    Raises:
        StoreUnavailable: the disk is full.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise StoreUnavailable(f"{file} cannot be written: the disk is full; nothing was changed") from None
        raise


def connect(file: Path, mode: str, *, lock_timeout: timedelta = LOCK_TIMEOUT) -> sqlite3.Connection:
    """Connect to a file that is there, without making one; `mode` as SQLite's URIs have it."""
    address = f"file:{quote(str(file.absolute()))}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=lock_timeout.total_seconds(), isolation_level=None)
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def take_for_itself(connection: sqlite3.Connection) -> None:
    """Lock a database for this connection until it is closed, or fail."""
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("BEGIN EXCLUSIVE")
    connection.execute("COMMIT")


def copy_state(original: Path, copy: Path, *, mode: str = "rw") -> Mapping[str, int]:
    """Copy one snapshot of a database to an empty file; return the number of rows of each table in it."""
    with closing(connect(original, mode)) as source:
        source.execute("BEGIN")
        counts = _count_rows(source)  # begins to read, and what is copied then is the same state
        with closing(connect(copy, "rw")) as target:
            source.backup(target)
            (journal,) = target.execute("PRAGMA journal_mode = DELETE").fetchone()  # one file, which needs no log
    if journal != "delete":  # SQLite does not fail where it could not write that
        raise StoreUnavailable(f"a copy of {original} cannot be written; nothing was changed")
    return counts


def verify(file: Path, *, name: str, copied: Mapping[str, int] | None = None) -> Backup:
    """Check every page of a backup, the references of its rows, and of what it is a backup.

    Args:
        file: the copy.
        name: what to call it in messages.
        copied: how many rows each table must have.

    Raises:
        StoreCorrupt: it is damaged. StoreForeign: it is no store. StoreNewer: a newer Tablewatch wrote it.
    """
    with in_our_words(name), closing(connect(file, "ro")) as connection:
        counts = _count_rows(connection)
        if REVISION_TABLE not in counts:
            refuse_foreign(set(counts), name)
            raise StoreForeign(f"{name} is an empty database, not a backup of a store")
        revision = str(connection.execute(f"SELECT version_num FROM {REVISION_TABLE}").fetchone()[0])  # noqa: S608 - our own constant
        refuse_newer(revision, name)
        sound = connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
        complete = connection.execute("PRAGMA foreign_key_check").fetchone() is None and copied in (None, counts)
        if not (sound and complete):
            raise StoreCorrupt(f"{name} is corrupt: its copy is incomplete; nothing was changed")
        if revision == NEW:
            from store._schema import sqlite_problems

            refuse_schema(sqlite_problems(connection, statements_of("sqlite")), name)
        project = connection.execute("SELECT name FROM project").fetchone()
    rows = sum(number for table, number in counts.items() if table in OUR_TABLES)
    return Backup(file, project and project[0], revision, file.stat().st_size, rows)


def _count_rows(connection: sqlite3.Connection) -> Mapping[str, int]:
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    quoted = {name: '"{}"'.format(name.replace('"', '""')) for (name,) in tables}
    return {name: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for name, table in quoted.items()}  # noqa: S608 - names of tables, quoted


def _refuse_place(store: Path, file: Path, *, force: bool) -> None:
    """Refuse to overwrite the store or another file, and to write beside a log that SQLite would apply to it."""
    if file.resolve() == store or (file.exists() and file.samefile(store)):
        raise StoreError(f"{file} is the store itself; choose another path for the backup")
    if file.exists() and not (force and file.is_file()):
        hint = "give another name, or --force to replace it" if file.is_file() else "give the name of a file"
        raise StoreError(f"{file} already exists; {hint}")
    if file.exists():
        _refuse_foreign_file(file)
    if any(log.exists() for log in logs_of(file)):
        raise StoreError(
            f"beside {file} lies the log of a database that is in use or was not closed; give another name"
        )


def _refuse_foreign_file(file: Path) -> None:
    """Refuse to replace a database of something else; a file that is no database may be replaced.

    Raises:
        StoreForeign: it is one.
    """
    with suppress(sqlite3.Error), closing(connect(file, "ro", lock_timeout=timedelta())) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if REVISION_TABLE not in tables:
            refuse_foreign(tables, str(file))


def _name_draft(draft: Path, file: Path, *, force: bool) -> None:
    put_on_disk(draft)
    reached(FailPoint.IN_BACKUP)
    if force:
        draft.replace(file)
    else:
        name_without_replacing(draft, file)
    put_on_disk(file.parent)


def name_without_replacing(draft: Path, file: Path) -> None:
    """Rename a file without replacing one that was made meanwhile.

    Raises:
        StoreError: there is one.
    """
    try:
        file.hardlink_to(draft)
    except FileExistsError:
        raise StoreError(f"{file} already exists; it was created meanwhile") from None
    except OSError:  # a disk without links, such as a memory stick
        if file.exists():
            raise StoreError(f"{file} already exists; it was created meanwhile") from None
        draft.rename(file)
