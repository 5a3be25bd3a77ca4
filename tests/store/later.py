"""A store with rows, and a revision after the present one, as a test imagines it."""

import shutil
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import text

from store import _open, open_store
from store._engines import address_of, migration_engine
from store._open import HEAD, LOCK_TIMEOUT

NEXT = f"{int(HEAD) + 1:04}"
LATER = '''
"""A later revision, as a test imagines it."""
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "NEXT", "HEAD", None, None


def upgrade() -> None:
    op.add_column("check_state", sa.Column("note", sa.Text()))
    op.execute("UPDATE check_state SET note = 'kept'")
    op.create_index("ix_check_state_note", "check_state", ["note"])
'''.replace("NEXT", NEXT).replace("HEAD", HEAD)

_ROWS = Path(__file__).parent / "rows.sql"
_NUMBERED = {"run": "number"} | dict.fromkeys(
    ("series", "message_text", "measurement", "incident", "incident_event", "gap"), "id"
)


def make_store_with_rows(url: str) -> None:
    """Make a store of the present revision with rows of a project, its checks and incidents."""
    open_store(url).close()
    address = address_of(url)
    engine = migration_engine(address, lock_timeout=LOCK_TIMEOUT)
    try:
        with engine.begin() as connection:
            for statement in _ROWS.read_text(encoding="utf-8").splitlines():
                connection.exec_driver_sql(statement)
            if address.file is None:  # the server numbers rows elsewhere
                for table, column in _NUMBERED.items():
                    number = f"pg_get_serial_sequence('{table}', '{column}')"
                    connection.execute(text(f"SELECT setval({number}, max({column})) FROM {table}"))
    finally:
        engine.dispose()


def add_revision(folder: Path, put: Callable[[object, str, object], None] = setattr) -> Path:
    """Make this program one revision newer than it is; return the file of the new revision, in a copy of the others."""
    migrations = folder / "migrations"
    if not migrations.exists():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(_open.__file__).parent / "migrations", migrations, ignore=ignored)
    revision = migrations / "versions" / f"{NEXT}_note.py"
    revision.write_text(LATER)
    put(_open, "_MIGRATIONS", migrations)
    put(_open, "HEAD", NEXT)
    return revision
