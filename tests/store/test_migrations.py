"""Migrations: they make exactly the tables that the code uses, keep rows, and happen once."""

import re
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from store import Store, StoreError, _open, _schema, open_store
from store._columns import Row
from store._engines import address_of, migration_engine
from store._schema import HEAD, OUR_TABLES, REVISION_TABLE
from tests.store.made import AT, opened, run, watch

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


def test_the_head_is_the_newest_revision() -> None:
    """The constant that spares us Alembic names the only head there is, and revisions sort as text."""
    config = Config()
    config.set_main_option("script_location", str(Path(_schema.__file__).parent / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [HEAD]
    revisions = [script.revision for script in scripts.walk_revisions()][::-1]
    assert revisions == sorted(revisions)
    assert all(re.fullmatch(r"\d{4}", revision) for revision in revisions)


def test_the_tables_are_ours() -> None:
    """The names that keep us out of other people's databases are those of all tables."""
    assert set(Row.metadata.tables) == OUR_TABLES


def test_migrations_make_what_the_code_describes(url: str) -> None:
    """Alembic finds no difference between a migrated store and the tables in the code."""
    open_store(url).close()
    engine = migration_engine(address_of(url), patience=_open.PATIENCE)
    try:
        with engine.connect() as connection:
            ours = {"include_name": lambda name, kind, _: kind != "table" or name in OUR_TABLES, "compare_type": True}
            context = MigrationContext.configure(connection, opts={"version_table": REVISION_TABLE, **ours})
            assert compare_metadata(context, Row.metadata) == []
    finally:
        engine.dispose()


def _schema_of(file: Path) -> Mapping[str, set[str]]:
    """Return for each table and index of a SQLite file the clauses of its definition, in no order."""
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND type <> 'trigger'")
        texts = {
            name: re.sub(r"\s+", " ", sql) for name, sql in rows if name not in {REVISION_TABLE, "sqlite_sequence"}
        }
    return {name: _clauses(sql) for name, sql in texts.items()}


def _clauses(sql: str) -> set[str]:
    opening, closing_ = sql.index("("), sql.rindex(")")
    inner = re.split(r",(?![^()]*\))", sql[opening + 1 : closing_])
    return {sql[:opening].strip(), sql[closing_ + 1 :].strip(), *(clause.strip() for clause in inner)}


def test_migrated_tables_are_strict_and_named_like_those_of_the_code(tmp_path: Path) -> None:
    """On SQLite each clause is the same: types, CHECKs and their names, STRICT, keys, and the conditions of indexes."""
    migrated, described = tmp_path / "migrated.db", tmp_path / "described.db"
    open_store(f"sqlite:///{migrated}").close()
    engine = create_engine(f"sqlite:///{described}")
    Row.metadata.create_all(engine)
    engine.dispose()
    assert _schema_of(migrated) == _schema_of(described)
    with closing(sqlite3.connect(migrated)) as connection:
        strict = dict(connection.execute("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'"))
    assert all(strict[name] for name in OUR_TABLES)


def test_every_constraint_has_a_name() -> None:
    """SQLite forgets unnamed constraints when a table is rebuilt, so there are none."""
    for table in Row.metadata.sorted_tables:
        assert all(constraint.name for constraint in table.constraints)
        assert all(index.name for index in table.indexes)


@pytest.fixture
def older_store(url: str) -> str:
    """Return a store with rows, as this program makes it."""
    with open_present_revision(url) as store, store.writing() as book:
        book.add_runs([run()], [])
        book.save_watches([watch("a.x"), watch("a.y")])
        book.open_incident(opened(), recorded_at=AT, actor="tablewatch")
    return url


@pytest.fixture
def with_a_later_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this program one revision newer than it is."""
    migrations = tmp_path / "migrations"
    shutil.copytree(
        Path(_schema.__file__).parent / "migrations", migrations, ignore=shutil.ignore_patterns("__pycache__")
    )
    (migrations / "versions" / f"{NEXT}_note.py").write_text(LATER)
    monkeypatch.setattr(_schema, "_MIGRATIONS", migrations)
    monkeypatch.setattr(_schema, "HEAD", NEXT)
    monkeypatch.setattr(_open, "HEAD", NEXT)
    return migrations


@pytest.mark.usefixtures("with_a_later_revision")
def test_an_older_store_is_upgraded_with_all_its_rows(older_store: str) -> None:
    """Opening an older store brings it up to date; every row is there, and the guards too."""
    with open_store(older_store) as store:
        assert store.revision() == NEXT
        with store.writing() as book:
            notes = book._connection.scalars(text("SELECT note FROM check_state")).all()
            counts = book.counts()
        assert notes == ["kept", "kept"]
        assert (counts.runs, counts.checks, counts.incidents, counts.events) == (1, 2, 1, 1)
        with pytest.raises(StoreError), store.writing() as book:
            book._connection.execute(text("DELETE FROM incident_event"))
        assert store.rebuild_check() == []
    with open_store(older_store) as store:
        assert store.revision() == NEXT


def test_a_failing_upgrade_changes_nothing(older_store: str, with_a_later_revision: Path) -> None:
    """An upgrade that fails half-way is taken back whole: old tables, old revision, all rows."""
    broken = LATER + "    op.execute('SELECT * FROM nowhere')\n"
    (with_a_later_revision / "versions" / f"{NEXT}_note.py").write_text(broken)
    with pytest.raises(StoreError):
        open_store(older_store)
    address = address_of(older_store)
    store = Store(address, patience=_open.PATIENCE, checkpoints=False)
    try:
        assert store.revision() == HEAD
        with store.reading() as view:
            assert view.counts().checks == 2
            assert set(view.watches()) == {"a.x", "a.y"}
        with pytest.raises(StoreError), store.reading() as view:
            view._connection.execute(text("SELECT note FROM check_state"))
    finally:
        store.close()


def test_an_upgrade_that_would_orphan_rows_is_taken_back(file: Path, with_a_later_revision: Path) -> None:
    """On SQLite foreign keys sleep during an upgrade; rows that refer to nothing afterwards undo it."""
    with open_present_revision(f"sqlite:///{file}") as store, store.writing() as book:
        book.open_incident(opened(), recorded_at=AT, actor="tablewatch")
    harmful = LATER + "    op.execute('DELETE FROM incident')\n"
    (with_a_later_revision / "versions" / f"{NEXT}_note.py").write_text(harmful)
    with pytest.raises(StoreError, match="was not upgraded"):
        open_store(f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM incident").fetchone() == (1,)
        with pytest.raises(sqlite3.OperationalError, match="no such column"):
            connection.execute("SELECT note FROM check_state")


def open_present_revision(url: str) -> Store:
    """Make a store of the present revision, whatever a test says is the newest."""
    address = address_of(url)
    if address.file is not None:
        address.file.touch()
    _open.migrate(address, patience=_open.PATIENCE, to=HEAD)
    return Store(address, patience=_open.PATIENCE, checkpoints=False)


def test_a_revision_that_no_migration_leads_to_is_refused(file: Path) -> None:
    """A target that does not exist is an error of ours, and the tables stay as they are."""
    open_store(f"sqlite:///{file}").close()
    with pytest.raises(StoreError, match="cannot be brought to revision 0000x"):
        _open.migrate(address_of(f"sqlite:///{file}"), patience=_open.PATIENCE, to="0000x")
    open_store(f"sqlite:///{file}").close()


def test_without_our_begin_ddl_would_not_be_atomic(file: Path) -> None:
    """The migration engine's transaction covers CREATE TABLE, which the driver's own mode does not."""
    open_store(f"sqlite:///{file}").close()
    engine = migration_engine(address_of(f"sqlite:///{file}"), patience=_open.PATIENCE)
    try:
        with engine.connect() as connection:
            connection.execute(text("CREATE TABLE half (x INTEGER)"))
            connection.rollback()
            with pytest.raises(OperationalError, match="no such table"):
                connection.execute(text("SELECT * FROM half"))
    finally:
        engine.dispose()
