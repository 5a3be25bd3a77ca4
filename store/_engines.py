"""Connect to the store's database so that nothing is lost, with the settings that SQLite and PostgreSQL need.

SQLAlchemy's default mode for SQLite emits no BEGIN before a SELECT, so that reading and then writing loses other
people's writes silently; a deferred BEGIN fails at once when two upgrade to writing. Writers therefore say BEGIN
IMMEDIATE, readers BEGIN. WAL with synchronous=NORMAL forgets commits when the power fails; FULL does not. Only one
process, the daemon, checkpoints: SQLite below 3.51.3 can damage a file when two connections write and checkpoint at
once.
"""

import select
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import URL, Engine, ExceptionContext, NullPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, NoSuchModuleError

from store._errors import StoreError, StoreUnavailable
from store._files import UNREADABLE_URL, store_file

PAGES_BEFORE_CHECKPOINT: Final = 1000
WRITER_LOCK: Final = 0x7461_626C_6577_6174  # "tablewat": one writer at a time on PostgreSQL, like BEGIN IMMEDIATE

FAILED: Final = "a statement failed"
"""Set in a writing connection's `info` when one did."""

BEGIN_TRIES: Final = 4
"""How often a writer tries to begin: SQLite also says busy at once, while it recovers or closes a log."""

CLIENT_ALIVE: Final = {
    "tcp_user_timeout": 20_000,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
"""A server whose machine or network is gone is noticed within half a minute, not when TCP gives up after hours."""

SERVER_ALIVE: Final = (
    "SET tcp_keepalives_idle = 10",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
    "SET idle_in_transaction_session_timeout = 120000",
)
"""The same for the server: a writer that is gone or stands still amid a transaction keeps the others out until then."""

_READERS: Final = 8
_CACHE_KIB: Final = 65_536
"""So much of the file a writer holds in memory at most: an import of a million incidents then writes a page of an index
once, not again and again. SQLite takes it only as it is needed."""
WAL_BYTES_KEPT: Final = 4 * 2**20
"""The log is cut to this size (as much as one checkpoint takes) once all of it is in the file."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a store. `name` is without a password; `file` is None on PostgreSQL."""

    url: URL
    name: str
    file: Path | None


def address_of(url: str) -> Address:
    """Read a store's URL, in whose path a `?`, a `%` and any other sign may be percent-encoded.

    Raises:
        StoreError: it is no URL of a SQLite file or a PostgreSQL database.
    """
    file = store_file(url)
    if file is not None:
        return Address(URL.create("sqlite", database=str(file)), str(file), file)
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # ValueError: a port that is no number
        raise StoreError(UNREADABLE_URL) from None
    place = f"{parsed.host or 'the local PostgreSQL server'}/{parsed.database or ''}"
    return Address(parsed.set(drivername="postgresql+psycopg"), place, None)


def writer_engine(address: Address, *, lock_timeout: timedelta, checkpoints: bool) -> Engine:
    """Connect for writing: one writer at a time. A BEGIN waits for a part of `lock_timeout` only: try again."""
    if address.file is None:
        engine = _postgres_engine(address, lock_timeout=lock_timeout, writes=True)
    else:
        pragmas = _Pragmas(lock_timeout / BEGIN_TRIES, checkpoints=checkpoints)
        engine = _sqlite_engine(address, pragmas, begin="BEGIN IMMEDIATE", connections=1, lock_timeout=lock_timeout)
    event.listen(engine, "handle_error", _remember_failure)
    return engine


def reader_engine(address: Address, *, lock_timeout: timedelta) -> Engine:
    """Connect for reading: each transaction sees one state, and cannot write."""
    if address.file is None:
        return _postgres_engine(address, lock_timeout=lock_timeout, writes=False)
    pragmas = _Pragmas(lock_timeout, query_only=True)
    return _sqlite_engine(address, pragmas, begin="BEGIN", connections=_READERS, lock_timeout=lock_timeout)


def leader_engine(address: Address) -> Engine | None:
    """Connect for a lock that lasts as long as the connection; None on SQLite, where one daemon at most runs."""
    if address.file is not None:
        return None
    return create_engine(
        address.url,
        poolclass=NullPool,
        hide_parameters=True,
        connect_args={
            "connect_timeout": 10,
            "application_name": "tablewatch leader",
            **CLIENT_ALIVE,
        },
        isolation_level="AUTOCOMMIT",
    )


def migration_engine(address: Address, *, lock_timeout: timedelta) -> Engine:
    """Connect for changing tables: like a writer, but without foreign keys, which a rebuilt table would trip over."""
    if address.file is None:
        return _postgres_engine(address, lock_timeout=lock_timeout, writes=True)
    pragmas = _Pragmas(lock_timeout, foreign_keys=False)
    return _sqlite_engine(address, pragmas, begin="BEGIN IMMEDIATE", connections=1, lock_timeout=lock_timeout)


@dataclass(frozen=True, slots=True)
class _Pragmas:
    """Pragmas of each new SQLite connection; most of them last for the connection only."""

    wait: timedelta
    checkpoints: bool = False
    query_only: bool = False
    foreign_keys: bool = True

    def statements(self) -> tuple[str, ...]:
        return (
            f"busy_timeout = {self.wait // timedelta(milliseconds=1)}",  # first: the next one may have to wait
            "journal_mode = WAL",
            "synchronous = FULL",
            f"foreign_keys = {'ON' if self.foreign_keys else 'OFF'}",
            "trusted_schema = OFF",
            "cell_size_check = ON",
            *(() if self.query_only else (f"cache_size = {-_CACHE_KIB}",)),
            f"wal_autocheckpoint = {PAGES_BEFORE_CHECKPOINT if self.checkpoints else 0}",
            f"journal_size_limit = {WAL_BYTES_KEPT}",
            f"query_only = {'ON' if self.query_only else 'OFF'}",
        )

    def apply(self, connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver's own BEGIN comes too late: we say it
        cursor = connection.cursor()
        try:
            for statement in self.statements():
                answer = cursor.execute(f"PRAGMA {statement}").fetchone()
                if statement.startswith("journal_mode") and answer != ("wal",):
                    raise StoreUnavailable(
                        "the folder of the store cannot hold a write-ahead log; put the store on a local disk"
                    )
        finally:
            cursor.close()


def _sqlite_engine(
    address: Address, pragmas: _Pragmas, *, begin: str, connections: int, lock_timeout: timedelta
) -> Engine:
    place = f"file:{quote(str(address.file))}?mode=rw"  # a file that was taken away is not made again, empty
    engine = create_engine(
        address.url,
        creator=partial(sqlite3.connect, place, uri=True, check_same_thread=False),
        pool_size=connections,
        max_overflow=0,
        pool_timeout=lock_timeout.total_seconds(),
        hide_parameters=True,
    )
    event.listen(engine, "connect", pragmas.apply)
    event.listen(engine, "begin", _executing(begin))
    return engine


def _postgres_engine(address: Address, *, lock_timeout: timedelta, writes: bool) -> Engine:
    wait = lock_timeout / BEGIN_TRIES // timedelta(milliseconds=1)
    try:
        engine = create_engine(
            address.url,
            pool_size=1 if writes else _READERS,
            max_overflow=0,
            pool_timeout=lock_timeout.total_seconds(),
            hide_parameters=True,
            connect_args={"connect_timeout": 10, "application_name": "tablewatch store", **CLIENT_ALIVE},
            isolation_level="READ COMMITTED" if writes else "REPEATABLE READ",
        )
    except (ImportError, NoSuchModuleError):
        raise StoreUnavailable("a store on PostgreSQL needs psycopg: pip install 'tablewatch[postgres]'") from None
    event.listen(engine, "connect", _be_noticed)
    event.listen(engine, "checkout", _check_alive)
    event.listen(engine, "begin", _executing(*(_writing(wait) if writes else ("SET TRANSACTION READ ONLY",))))
    return engine


def _be_noticed(connection: Any, _record: object) -> None:
    with connection.cursor() as cursor:
        for statement in SERVER_ALIVE:
            cursor.execute(statement)
    connection.commit()


def _check_alive(connection: Any, _record: object, _proxy: object) -> None:
    """Replace an idle connection that the server has ended: what it said last can be read. That costs no statement.

    Raises:
        DisconnectionError: SQLAlchemy then connects again.
    """
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        raise DisconnectionError


def _writing(wait_ms: int) -> tuple[str, ...]:
    return (
        "SET LOCAL synchronous_commit = on",  # whatever the server's default is: what is committed stays
        f"SET LOCAL lock_timeout = {wait_ms}",
        f"SELECT pg_advisory_xact_lock({WRITER_LOCK})",
    )


def _remember_failure(context: ExceptionContext) -> None:
    if context.connection is not None and not context.connection.closed:
        context.connection.info[FAILED] = True


def _executing(*statements: str) -> Callable[[Any], None]:
    def begin(connection: Any) -> None:
        for statement in statements:
            connection.exec_driver_sql(statement)

    return begin
