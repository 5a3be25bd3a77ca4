"""Know which revision of the tables a database holds, and bring an older one up to date.

A new store is made by files of SQL. The newest revision is a constant, so that only upgrades import Alembic.
"""

import threading
from pathlib import Path
from string import Template
from typing import Final

from sqlalchemy import Connection, column, insert, inspect, table, text

from store._errors import StoreError, StoreForeign, StoreNewer

OLDEST: Final = "0007"
"""The revision from which stores are upgraded."""
NEW: Final = "0011"
"""The revision of `migrations/tables.sql`, with which new stores begin."""
HEAD: Final = NEW
REVISION_TABLE: Final = "store_revision"
OUR_TABLES: Final = frozenset(
    {
        *("project", "run", "measurement", "check_state", "incident", "episode", "incident_event", "gap"),
        *("schedule", "slot", "skip", "clock", "daemon", "quarantine"),
        *("class_state", "class_part", "class_size", "class_count", "release", "released_row", "released_value"),
        *("privacy_budget", "ledger_entry", "release_event", "release_comparison"),
        *("transition", "told", "external_item", "delivery", "silence", "disabled_channel"),
        *("web_user", "web_session", "login_link", "api_token"),
    }
)


_ONE_AT_A_TIME: Final = threading.Lock()  # Alembic keeps the present migration in a global
_MIGRATIONS: Final = Path(__file__).parent / "migrations"
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


def refuse_newer(revision: str, name: str) -> None:
    """Refuse tables that this program does not know.

    Raises:
        StoreNewer: a newer Tablewatch wrote them.
    """
    if revision > HEAD:
        raise StoreNewer(
            f"{name} was written by a newer Tablewatch (revision {revision}, this one knows up to {HEAD}); "
            "upgrade Tablewatch to use it"
        )


def refuse_foreign(taken: set[str], name: str) -> None:
    """Refuse a database whose tables are in the way of ours: all there are in a file, those with our names elsewhere.

    Raises:
        StoreForeign: there is one.
    """
    if taken:
        text = ", ".join(sorted(taken)[:3])
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
        _migrate(connection, name, to=to)


def create_tables(connection: Connection) -> None:
    """Create the tables of a new store with their indexes and triggers in an empty database."""
    dialect = connection.dialect.name
    tables = Template(_paragraphs_of("tables.sql")).substitute(_WORDS[dialect])
    for statements in (tables, _paragraphs_of(f"guards_{dialect}.sql")):
        for statement in statements.strip().split("\n\n"):
            connection.exec_driver_sql(statement)


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
