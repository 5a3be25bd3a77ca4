"""Open a store: make it when there is none, look whether it is whole, and bring an older one up to date.

Nothing here deletes or repairs. A file that is damaged, empty, not a store or newer is refused by name and left as
it is. A new store is made by files of SQL. The newest revision is the last file of `migrations/versions`, so that only
upgrades import Alembic.
"""

import os
import sqlite3
import threading
from contextlib import ExitStack, closing
from datetime import timedelta
from functools import lru_cache, partial
from pathlib import Path
from string import Template
from typing import Final
from urllib.parse import quote

from sqlalchemy import Connection, column, insert, inspect, table, text

from store._engines import Address, address_of, migration_engine
from store._errors import (
    BRING_BACK,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreMissing,
    StoreMoved,
    StoreNewer,
    StoreUnavailable,
    in_our_words,
)
from store._failpoint import FailPoint, reached
from store._files import is_log_of_daemon, make_draft, make_folder, remove_draft
from store._store import Store

OLDEST: Final = "0007"
"""The revision from which stores are upgraded."""
COPYING, MOVED, MOVING = "copying", "moved", "moving"
"""What stands in the place of the revision while a store is moved to another database, and afterwards."""
NEW: Final = "0032"
"""The revision of `migrations/tables.sql`, with which new stores begin."""
REVISION_TABLE: Final = "store_revision"
OUR_TABLES: Final = frozenset(
    {
        *(
            "project",
            "run",
            "series",
            "message_text",
            "measurement",
            "check_state",
            "incident",
            "episode",
            "incident_event",
            "gap",
            "daily_cost",
        ),
        *("schedule", "slot", "skip", "clock", "daemon", "quarantine"),
        *(
            "class_state",
            "class_part",
            "class_size",
            "class_count",
            "closed_part",
            "release",
            "released_row",
            "released_value",
        ),
        *("privacy_budget", "ledger_entry", "release_event", "release_comparison"),
        *("warning", "transition", "told", "external_item", "delivery", "silence", "disabled_channel"),
        "logged_event",
        "daemon_config",
        *("web_user", "web_session", "login_link", "api_token", "answered_request", "status_address"),
        "name_change",
    }
)
_ONE_AT_A_TIME: Final = threading.Lock()  # Alembic keeps the present migration in a global
_MIGRATIONS: Final = Path(__file__).parent / "migrations"
HEAD: Final = max(file.name[:4] for file in (_MIGRATIONS / "versions").glob("[0-9]*.py"))
"""The revision to which stores are upgraded."""
_WORDS: Final = {
    "sqlite": {
        "serial": "INTEGER",
        "numbered": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
        "whole": "INTEGER",
        "bytes": "BLOB",
        "strict": " STRICT",
        "clustered": " WITHOUT ROWID, STRICT",
    },
    "postgresql": {
        "serial": "BIGSERIAL",
        "numbered": "BIGSERIAL PRIMARY KEY",
        "whole": "BIGINT",
        "bytes": "BYTEA",
        "strict": "",
        "clustered": "",
    },
}
"""What words of `migrations/tables.sql` are on each database."""

CHECKED_WHOLE: Final = 64 * 2**20
"""Files up to this size (bytes) are checked page by page at every opening: 0.2 s at most."""

OLDEST_SQLITE: Final = (3, 38, 0)
"""The first that has STRICT tables and JSON for certain."""

LOCK_TIMEOUT: Final = timedelta(seconds=20)


def open_store(
    url: str,
    *,
    create: bool = True,
    checkpoints: bool = False,
    thorough: bool = False,
    lock_timeout: timedelta = LOCK_TIMEOUT,
) -> Store:
    """Open the store at a URL.

    Args:
        url: `sqlite:///FILE` (relative to the working folder, percent-encoded where need be), or
            `postgresql://USER:PASSWORD@HOST/DATABASE`.
        create: whether it is made where there is none.
        checkpoints: whether this process moves the write-ahead log into the file while it runs. Exactly one process
        may, the
            daemon (or a long job that has the store for itself); without any, the last process to close the store does.
        thorough: check every page of the file however large it is (1.2 s for 400 MB), and the schema; for the daemon
            and `doctor`.
        lock_timeout: how long to wait for other writers.

    Raises:
        StoreMissing: there is none, and `create` is not set.
        StoreUnavailable: no permission, no connection, a folder that cannot be made.
        StoreCorrupt: the file is damaged, empty or no database.
        StoreForeign: it is the database of something else.
        StoreNewer: a newer Tablewatch wrote it.
        StoreBusy: another process is changing its tables.
    """
    address = address_of(url)
    if address.file is not None and sqlite3.sqlite_version_info < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise StoreUnavailable(f"this Python has SQLite {sqlite3.sqlite_version}; the store needs {oldest} or newer")
    with in_our_words(address.name):
        if address.file is not None:
            if not create and not address.file.exists():
                raise StoreMissing(address.file.absolute())
            if not is_log_of_daemon(address.file):
                from store._lock import refuse_log

                refuse_log(address.file)
            _make_file(address, address.file, lock_timeout)
            _check_file(address.file, whole=thorough or address.file.stat().st_size <= CHECKED_WHOLE)
        with ExitStack() as unless_opened:
            store = unless_opened.enter_context(Store(address, lock_timeout=lock_timeout, checkpoints=checkpoints))
            revision = stored_revision(store)
            if revision is None and not create:
                raise StoreMissing(address.name)
            if revision != HEAD:
                migrate(address, to=HEAD, lock_timeout=lock_timeout)
            if thorough:
                refuse_schema(schema_problems(store) or [], address.name)
            unless_opened.pop_all()
    return store


def migrate(address: Address, *, to: str, lock_timeout: timedelta) -> None:
    """Migrate the tables to a revision in one transaction: all of it or nothing.

    Raises:
        StoreError: as `open_store`, or rows that refer to nothing after the change, which is then taken back.
    """
    engine = migration_engine(address, lock_timeout=lock_timeout)
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


def _make_file(address: Address, file: Path, lock_timeout: timedelta) -> None:
    """Make a missing store under another name and rename it, so that no process opens an incomplete one."""
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
        migrate(Address(address.url.set(database=str(draft)), address.name, draft), to=HEAD, lock_timeout=lock_timeout)
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
    with closing(_look_into(file, "ro")) as connection:  # it must not change a database that is no store
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if REVISION_TABLE not in tables:
            refuse_foreign(tables, str(file))
        (page,) = connection.execute("PRAGMA page_size").fetchone()
        log = Path(f"{file}-wal")
        if file.stat().st_size % page and not (log.exists() and log.stat().st_size):  # a log would hold the whole page
            raise StoreCorrupt(f"{file} is corrupt (truncated); it was not changed; {BRING_BACK}")
        if whole:
            _check_pages(file, has_log=log.exists() and log.stat().st_size > 0)


def _check_pages(file: Path, *, has_log: bool) -> None:
    """Check every page and every row of a store; with a log beside it, which may be another store's, indexes too.

    SQLite checks constraints only over a connection that could write. The caller has another one open: so nothing
    is moved from the log into the file when this one is closed.
    """
    with closing(_look_into(file, "rw")) as connection:
        connection.execute("PRAGMA query_only = ON")
        check = "integrity_check" if has_log else "quick_check"
        if connection.execute(f"PRAGMA {check}(1)").fetchone() != ("ok",):
            mixed = "; the write-ahead log beside it may be that of another state or store" if has_log else ""
            raise StoreCorrupt(f"{file} is corrupt ({check} failed){mixed}; it was not changed; {BRING_BACK}")


def _look_into(file: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(str(file))}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=LOCK_TIMEOUT.total_seconds())
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


# --- revisions of the tables ------------------------------------------------------------------------------------------


def revision_of(connection: Connection, name: str) -> str | None:
    """Return the revision that a database holds, None for a database that has nothing of ours.

    Raises:
        StoreForeign: the database holds other tables where ours would go.
        StoreNewer: a newer Tablewatch wrote it.
    """
    present = set(inspect(connection).get_table_names())
    if REVISION_TABLE not in present:
        refuse_foreign(present if connection.dialect.name == "sqlite" else present & OUR_TABLES, name)
        return None
    result = connection.scalar(text(f"SELECT version_num FROM {REVISION_TABLE}"))  # noqa: S608 - our own constant
    if result is None:
        return None
    revision = str(result)
    refuse_newer(revision, name)
    return revision


def stored_revision(store: Store) -> str | None:
    """Return the revision of an open store; errors as those of `revision_of`."""
    return store.inspect(partial(revision_of, name=store.name))


def refuse_newer(revision: str, name: str) -> None:
    """Refuse tables that this program does not know, and a store that was moved or is not complete.

    Raises:
        StoreNewer: a newer Tablewatch wrote them. StoreMoved: they are marked (`_copy.py`).
    """
    phase, _, mark = revision.partition(" ")
    if phase in {COPYING, MOVED, MOVING}:
        raise StoreMoved(name, phase, mark.partition(" ")[2])
    if revision > HEAD:
        raise StoreNewer(
            f"{name} was written by a newer Tablewatch (revision {revision}, this one knows up to {HEAD}); "
            "upgrade Tablewatch to use it"
        )


def refuse_foreign(tables: set[str], name: str) -> None:
    """Refuse a database whose tables are in the way of ours: all there are in a file, those with our names elsewhere.

    Raises:
        StoreForeign: there is one.
    """
    if tables:
        text = ", ".join(sorted(tables)[:3])
        raise StoreForeign(
            f"{name} is a database of another application (it has the tables {text}); use a separate database for "
            "the store"
        )


def upgrade(connection: Connection, name: str, *, to: str) -> None:
    """Create the tables, or bring older ones to a revision, inside the caller's transaction.

    Raises:
        StoreError: no migration leads there.
    """
    revision = revision_of(connection, name)
    if revision is None:
        create_tables(connection)
        connection.execute(insert(table(REVISION_TABLE, column("version_num"))).values(version_num=NEW))
        revision = NEW
    if revision < OLDEST:
        raise StoreError(
            f"{name} was written by a build before the first release (revision {revision}; upgrades begin at {OLDEST})"
            "; start a new store"
        )
    if revision != to:
        if connection.dialect.name == "sqlite":
            from store._schema import stray_guards

            refuse_schema(stray_guards(_driver_of(connection), statements_of("sqlite")), name)
        _migrate(connection, name, to=to)


def create_tables(connection: Connection) -> None:
    """Create the tables of a new store with their indexes and triggers in an empty database."""
    for statement in statements_of(connection.dialect.name):
        connection.exec_driver_sql(statement)


@lru_cache
def statements_of(dialect: str) -> tuple[str, ...]:
    """Return the statements that make a new store."""
    tables = Template(_paragraphs_of("tables.sql")).substitute(_WORDS[dialect])
    files = (tables, _paragraphs_of(f"guards_{dialect}.sql"))
    return tuple(statement for statements in files for statement in statements.strip().split("\n\n"))


def schema_problems(store: Store) -> list[str] | None:
    """Describe how the schema of an open store differs from that of its revision; None if that cannot be found out."""
    from store._schema import postgres_problems, sqlite_problems

    def compare(connection: Connection) -> list[str] | None:
        if connection.dialect.name == "sqlite":
            return sqlite_problems(_driver_of(connection), statements_of("sqlite"))
        return postgres_problems(connection, create_tables, OUR_TABLES | {REVISION_TABLE})

    return store.try_out(compare) if stored_revision(store) == NEW else None


def refuse_schema(problems: list[str], name: str) -> None:
    """Refuse a store, or a copy of one, whose schema is not the known one.

    Raises:
        StoreCorrupt: there is a problem.
    """
    from store._schema import ADDED

    if problems:
        # What was added can be dropped, where a backup would lose what was stored since.
        is_more = all(problem.endswith(ADDED) for problem in problems)
        advice = "drop what was added, such as an index made by hand: nothing stored is lost" if is_more else BRING_BACK
        raise StoreCorrupt(
            f"the schema of {name} is not that of a store of Tablewatch: {', '.join(problems)}; another program "
            f"changed it; {advice}"
        )


def _driver_of(connection: Connection) -> sqlite3.Connection:
    driver: sqlite3.Connection | None = connection.connection.driver_connection
    if driver is None:
        raise StoreError("the connection to the store was closed")
    return driver


def _paragraphs_of(file: str) -> str:
    """Return a file of SQL without its comments, which stand on lines of their own."""
    lines = (_MIGRATIONS / file).read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))


def _migrate(connection: Connection, name: str, *, to: str) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        with _ONE_AT_A_TIME:
            command.upgrade(config, to)
    except CommandError as error:
        raise StoreError(f"{name} cannot be upgraded to revision {to}: {error}") from None
