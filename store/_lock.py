"""Lock a SQLite store for one daemon at a time, and elect the one on a PostgreSQL store that sends messages.

SQLite: by a file beside the store, never by the database itself: closing any descriptor of the database would give up
SQLite's own locks. The system ends the lock with the process, also when it is killed; the file stays, since to remove
it would let two in.

PostgreSQL: several daemons share the work, and an advisory lock of a session elects the one that sends. The server ends
the lock with the connection. It looks often whether the other end is still there, so that after a machine lost its
power another daemon leads within half a minute.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Final, Self

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from store._errors import StoreError, StoreInUse, StoreUnavailable
from store._files import NO_LINKS, is_at, is_log_of_daemon, lock_file, lock_of, make_folder, store_file


class DaemonLock:
    """The right to be the daemon of a store, for as long as the block lasts. Made by `daemon_lock`."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        """The file that is locked; None on PostgreSQL."""
        self._number: int | None = None

    def __enter__(self) -> Self:
        """Acquire the lock.

        Raises:
            StoreInUse: another process has it. StoreUnavailable: the file cannot be made.
        """
        if self._number is not None:
            raise StoreError("this daemon lock is held already; it is taken once")
        if self.file is not None:
            self._number = _take(self.file)
        return self

    def record_log(self, log: os.stat_result | None) -> None:
        """Record which write-ahead log this process writes to, so that others notice when it was replaced."""
        if log is not None:
            self.record(log=(log.st_dev, log.st_ino))

    def record(self, **facts: Any) -> None:
        """Record what others may know of this process."""
        if self._number is not None:
            os.pwrite(self._number, _owner(**facts), 0)

    def check(self) -> None:
        """Check whether the file that is locked is still in its place: without it, a second daemon gets in.

        Raises:
            StoreError: it was deleted or replaced.
        """
        if self._number is not None and self.file is not None and not is_at(self.file, os.fstat(self._number)):
            raise StoreError(f"{self.file} was deleted or replaced while it was held; start again")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release it."""
        if self._number is not None:
            os.truncate(self._number, 0)
            os.close(self._number)
            self._number = None


def daemon_lock(url: str) -> DaemonLock:
    """Return the lock of the store at a URL, whether the store is there or not.

    Raises:
        StoreError: it is no URL of a SQLite file or a PostgreSQL database.
    """
    file = store_file(url)
    if file is None:
        return DaemonLock(None)
    return DaemonLock(lock_of(file))


@contextmanager
def announced_server(url: str, address: str) -> Iterator[None]:
    """Announce, beside a SQLite store, the address of the server of this process; of several, the first is known."""
    with ExitStack() as stack:
        with suppress(StoreError):  # another one is announced, or the folder may not be written to: this one serves
            stack.enter_context(DaemonLock(_server_file(url))).record(address=address)
        yield


def server_address(url: str) -> str | None:
    """Return the address of a server of the SQLite store at a URL, if one runs on this machine; else None."""
    file = _server_file(url)
    if file is None or (holder := _holder_of(file)) is None:
        return None
    return holder.address


def _server_file(url: str) -> Path | None:
    file = store_file(url)
    return None if file is None else lock_of(file).with_suffix(".serve")


def lock_holder(url: str) -> StoreInUse | None:
    """Return who is the daemon of the SQLite store at a URL, as the lock beside it tells; None without one.

    Raises:
        StoreError: it is no URL of a SQLite file or a PostgreSQL database.
    """
    file = daemon_lock(url).file
    return None if file is None else _holder_of(file)


def _holder_of(file: Path) -> StoreInUse | None:
    try:
        number = os.open(file, os.O_RDONLY | NO_LINKS)
    except OSError:
        return None  # no daemon was ever here, or it is another person's
    return _holder(file, number)


def _holder(file: Path, number: int) -> StoreInUse | None:
    """Return who has the lock, and close the file."""
    try:
        lock_file(number, shared=True)
    except BlockingIOError:
        return _held(file, number)
    except OSError:
        pass
    os.close(number)  # and the lock with it
    return None


def refuse_log(store: Path) -> None:
    """Refuse a write-ahead log that is not the one that the daemon of a store writes to, if there is a daemon.

    Raises:
        StoreError: it was deleted or replaced; what is written now would be lost.
    """
    file = lock_of(store)
    try:
        number = os.open(file, os.O_RDONLY | NO_LINKS)
    except OSError:
        return
    holder = _holder(file, number)
    if holder is not None and holder.log is not None and not is_log_of_daemon(store):
        raise StoreError(
            f"the write-ahead log of {store} was deleted or replaced while the daemon (process {holder.pid}) uses it, "
            "so nothing was written; stop the daemon, which saves what it stored, then run 'tablewatch doctor'"
        )


def _take(file: Path) -> int:
    try:
        make_folder(file.parent)
        number = os.open(file, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o600)
    except OSError as error:
        raise StoreUnavailable(
            f"{file} cannot be created ({error.strerror}); check the folder and its permissions"
        ) from None
    try:
        lock_file(number)
        os.truncate(number, 0)
        os.write(number, _owner())
    except BlockingIOError:
        raise _held(file, number) from None
    except OSError as error:
        os.close(number)
        raise StoreUnavailable(f"{file} cannot be locked ({error.strerror}); put the store on a local disk") from None
    return number


def _owner(**more: Any) -> bytes:
    return json.dumps({"pid": os.getpid(), "host": socket.gethostname(), **more}).encode()


def _held(file: Path, number: int) -> StoreInUse:
    """Return who has the lock, as far as he has written it down."""
    holder: Any = None
    try:
        with suppress(ValueError):
            holder = json.loads(os.pread(number, 1000, 0))
        since = datetime.fromtimestamp(os.fstat(number).st_mtime, UTC)
    finally:
        os.close(number)
    match holder:
        case {"pid": int(pid), "host": str(host)}:
            log, address = holder.get("log"), holder.get("address")
            log = None if log is None else tuple(log)
            return StoreInUse(file, pid=pid, host=host, since=since, log=log, address=address)
        case _:  # he has not come to it yet
            return StoreInUse(file, pid=None, host=None, since=since)


_KEY: Final = 0x7461_626C  # "tabl", beside the number of a table that each store has of its own

PREPARE: Final = (
    "SET tcp_keepalives_idle = 10",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
    "SET statement_timeout = 10000",
    "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'",  # from version 14 on
)
_TAKE: Final = text("SELECT pg_try_advisory_lock(:key, CAST(CAST('store_revision' AS regclass) AS oid)::integer)")
_RELEASE: Final = text("SELECT pg_advisory_unlock(:key, CAST(CAST('store_revision' AS regclass) AS oid)::integer)")
_HOLDS: Final = text(
    "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid() "
    "AND CAST(classid AS bigint) = :key)"
)


class Leader:
    """The leadership of this process, held by a connection of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None
        self._one_at_a_time = Lock()

    def try_lead(self) -> bool:
        """Become the leader unless there is one; return whether this process leads now.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: the server cannot be reached.
        """
        with self._one_at_a_time:
            if self._still_leads():
                return True
            if self._connection is None:
                self._connection = self._connect()
            return bool(self._connection.scalar(_TAKE, {"key": _KEY}))

    def stop(self) -> None:
        """Release the leadership at once: the end of a connection reaches the server in its own time."""
        with self._one_at_a_time:
            if self._connection is not None:
                with suppress(SQLAlchemyError):  # the connection is gone, and the lock with it
                    self._connection.execute(_RELEASE, {"key": _KEY})
            self._disconnect()

    def _still_leads(self) -> bool:
        if self._connection is None:
            return False
        try:
            return bool(self._connection.scalar(_HOLDS, {"key": _KEY}))
        except SQLAlchemyError:  # the connection is gone, and the lock with it
            self._disconnect()
            return False

    def _connect(self) -> Connection:
        connection = self._engine.connect()
        for statement in PREPARE:
            connection.exec_driver_sql(statement)
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()  # closes it even where the server does not answer
            self._connection.close()
            self._connection = None
        self._engine.dispose()
