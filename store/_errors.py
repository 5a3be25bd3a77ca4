"""Errors of the store: no value of a row and no password is ever part of a message.

StoreError
├── StoreUnavailable    it cannot be opened, read or written: no permission, a full disk, no connection
│   └── StoreMissing    there is none, and it was to be read
├── StoreCorrupt        the file is no database, or fails SQLite's own check; nothing was changed
├── StoreForeign        a database of another program
├── StoreNewer          written by a newer Tablewatch
├── StoreMoved          it is elsewhere now, or on its way
├── StoreInUse          a daemon has the store for itself
├── StoreBusy           other writers held it for longer than we wait
├── StoreConflict       what this change was based on was changed meanwhile
├── LedgerBroken        the ledger of privacy budgets is not what its anchor outside the database vouches for
├── NotRecorded         there is no such incident, message, silence or budget
└── RowRefused          a value that the store does not take: a naive time, a number beyond 64 bits
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final


class StoreError(Exception):
    """The root of this package's errors."""


class StoreUnavailable(StoreError):
    """The store cannot be opened, read or written."""


class StoreMissing(StoreUnavailable):
    """There is no store yet, and what was asked of it makes none."""

    def __init__(self, place: object) -> None:
        super().__init__(f"there is no store at {place}; the first 'tablewatch check' or 'tablewatch run' makes it")


class StoreCorrupt(StoreError):
    """The file is damaged or is no database. It was left as it was."""


class StoreForeign(StoreError):
    """The database belongs to something else."""


class StoreNewer(StoreError):
    """The store was written by a newer Tablewatch."""


class StoreMoved(StoreError):
    """The store was moved, or is being moved: by its mark (`moving`, `moved`, `copying`) and the other place."""

    def __init__(self, name: str, phase: str, place: str) -> None:
        texts = {
            "moved": f"{name} was moved to {place}; set storage.url to that",
            "moving": f"{name} is being copied to {place}; run 'tablewatch store copy' with that URL again to complete "
            "it, or 'tablewatch store copy --cancel' to keep using the store here",
        }
        unfinished = f"{name} is an incomplete copy of a store; run 'tablewatch store copy' again where that store is"
        super().__init__(texts.get(phase, unfinished))


class StoreInUse(StoreError):
    """A daemon has the store for itself: which one, and since when, as far as it has said so."""

    def __init__(
        self,
        lock: Path,
        *,
        pid: int | None,
        host: str | None,
        since: datetime,
        log: tuple[int, int] | None = None,
        address: str | None = None,
    ) -> None:
        place = "another process" if pid is None else f"process {pid}" if host is None else f"process {pid} on {host}"
        moment = since.isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")
        super().__init__(
            f"{str(lock).removesuffix('.lock')} is in use by the daemon that is {place}, since {moment}; stop that "
            "one first, or use a separate store for this project"
        )
        self.pid = pid
        self.host = host
        self.since = since
        self.log = log
        """The device and inode of the write-ahead log that it writes to."""
        self.address = address
        """The address that it serves pages at, if it does."""


class StoreBusy(StoreError):
    """Other writers held the store for longer than we wait."""


class StoreConflict(StoreError):
    """What this change was based on was changed meanwhile."""


class LedgerBroken(StoreError):
    """The ledger of privacy budgets is not what its anchor outside the database vouches for. Nothing was charged."""


class NotRecorded(StoreError):
    """There is no such incident, message, silence or budget."""


class RowRefused(StoreError):
    """A value that the store does not take."""


BRING_BACK: Final = (
    "restore a backup with 'tablewatch restore FILE', which keeps this file too, or move it away "
    "with the files beside it whose names begin like its own, to start with an empty store"
)
"""What to do about a store that cannot be read."""

_NO_TEXT: Final = "Could not decode to UTF-8"
"""How Python begins to say that a text in the database is none; what follows is the text."""

_BUSY_STATES = {"55P03", "40001", "40P01", "57014"}  # lock not available, serialization, deadlock, statement timeout
_UNIQUE_STATE = "23505"
_NO_SCHEMA_STATE = "3F000"
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_NO_ACCESS = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


@contextmanager
def in_our_words(name: str) -> Iterator[None]:
    """Turn the driver's errors inside the block into ours; `name` says which store, without a password.

    Drivers print values and addresses, so what they said is dropped and only the class of the error is kept.
    """
    from sqlalchemy import exc  # here, so that who only names an error imports no library

    try:
        yield
    except (exc.SQLAlchemyError, sqlite3.Error, UnicodeDecodeError) as error:  # text that is none: a damaged page
        raise translated(error, name) from None


def translated(error: Exception, name: str) -> StoreError:
    """Return our error for a driver's."""
    from sqlalchemy import exc

    cause = getattr(error, "orig", None) or error
    if isinstance(cause, StoreError):
        return cause
    if isinstance(error, exc.TimeoutError):
        return StoreBusy(f"{name} is busy: another thread of this process holds it; try again")
    if isinstance(cause, UnicodeDecodeError) or str(cause).startswith(_NO_TEXT):
        return StoreCorrupt(f"{name} is corrupt (invalid text); it was not changed; {BRING_BACK}")
    if isinstance(cause, sqlite3.Error):
        return _from_sqlite(cause, name)
    return _from_postgres(cause, name)


def _from_sqlite(cause: sqlite3.Error, name: str) -> StoreError:
    code = getattr(cause, "sqlite_errorcode", None)
    detail = getattr(cause, "sqlite_errorname", type(cause).__name__)
    primary = None if code is None else code & 0xFF
    if primary in _LOCKED:
        return StoreBusy(f"{name} is locked by another process; try again ({detail})")
    if primary in _DAMAGED:
        return StoreCorrupt(f"{name} is corrupt or not an SQLite database ({detail}); it was not changed; {BRING_BACK}")
    if primary in _NO_ROOM:
        return StoreUnavailable(
            f"{name} cannot be written: the disk is full or failing ({detail}); nothing of this transaction was stored"
        )
    if primary in _NO_ACCESS:
        return StoreUnavailable(
            f"{name} cannot be opened for writing ({detail}); check the permissions of the file and its folder"
        )
    if detail in {"SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}:
        return StoreConflict(f"{name} already holds such a row ({detail})")
    return StoreError(f"{name} refused a statement ({detail})")


def _from_postgres(cause: BaseException, name: str) -> StoreError:
    state = getattr(cause, "sqlstate", None)
    detail = f"{type(cause).__name__}, {state}" if state else type(cause).__name__
    if state in _BUSY_STATES:
        return StoreBusy(f"{name} is locked by another process; try again ({detail})")
    if state == _UNIQUE_STATE:
        return StoreConflict(f"{name} already holds such a row ({detail})")
    if state == _NO_SCHEMA_STATE:
        return StoreUnavailable(f"{name} has no such schema ({detail}); create it: CREATE SCHEMA followed by its name")
    if state is None or state[:2] in {"08", "28", "3D", "42", "53", "57", "25"}:
        return StoreUnavailable(
            f"{name} cannot be reached or used ({detail}); check the address, the user and its rights, and sslmode"
        )
    return StoreError(f"{name} refused a statement ({detail})")
