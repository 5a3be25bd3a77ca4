"""Migrations: they make exactly the tables that the code uses, keep rows, and happen once."""

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from checks import PlainEnglish
from incidents import Resolution, Resolved
from store import Changed, Store, StoreError, _open, open_store
from store._columns import map_all_rows
from store._engines import address_of, migration_engine
from store._open import HEAD, OUR_TABLES, REVISION_TABLE, stored_revision
from tests.store.later import LATER, NEXT, add_revision, make_store_with_rows
from tests.store.made import AT, HOUR, opened


def test_the_head_is_the_newest_revision() -> None:
    """The constant that spares us Alembic names the only head there is, and revisions sort as text."""
    config = Config()
    config.set_main_option("script_location", str(Path(_open.__file__).parent / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [HEAD]
    revisions = [script.revision for script in scripts.walk_revisions()][::-1]
    assert revisions == sorted(revisions)
    assert all(re.fullmatch(r"\d{4}", revision) for revision in revisions)


def test_the_tables_are_ours() -> None:
    """The names that keep us out of other people's databases are those of all tables."""
    assert set(map_all_rows().tables) == OUR_TABLES


def test_migrations_make_what_the_code_describes(url: str) -> None:
    """Alembic finds no difference between a migrated store and the tables in the code."""
    open_store(url).close()
    engine = migration_engine(address_of(url), lock_timeout=_open.LOCK_TIMEOUT)
    try:
        with engine.connect() as connection:
            ours = {"include_name": lambda name, kind, _: kind != "table" or name in OUR_TABLES, "compare_type": True}
            context = MigrationContext.configure(connection, opts={"version_table": REVISION_TABLE, **ours})
            assert compare_metadata(context, map_all_rows()) == []
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
    map_all_rows().create_all(engine)
    engine.dispose()
    assert _schema_of(migrated) == _schema_of(described)
    with closing(sqlite3.connect(migrated)) as connection:
        strict = dict(connection.execute("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'"))
    assert all(strict[name] for name in OUR_TABLES)


def test_every_constraint_has_a_name() -> None:
    """SQLite forgets unnamed constraints when a table is rebuilt, so there are none."""
    for table in map_all_rows().sorted_tables:
        assert all(constraint.name for constraint in table.constraints)
        assert all(index.name for index in table.indexes)


@pytest.fixture
def older_store(url: str) -> str:
    """Return a store with rows, as this program makes it."""
    make_store_with_rows(url)
    return url


@pytest.fixture
def with_a_later_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this program one revision newer than it is; return the file of the new one."""
    return add_revision(tmp_path, monkeypatch.setattr)


def _hashes(url: str) -> Mapping[str, tuple[int, str]]:
    """Return for each table how many rows it has, and a hash over all that is in them but the later column."""
    engine = migration_engine(address_of(url), lock_timeout=_open.LOCK_TIMEOUT)
    hashes = {}
    try:
        with engine.begin() as connection:
            for table in OUR_TABLES:
                rows = connection.execute(text(f"SELECT * FROM {table}")).mappings()
                cells = sorted(repr([cell for name, cell in row.items() if name != "note"]) for row in rows)
                hashes[table] = (len(cells), sha256("\n".join(cells).encode()).hexdigest())
    finally:
        engine.dispose()
    return hashes


def test_an_older_store_is_upgraded_with_all_its_rows(older_store: str, request: pytest.FixtureRequest) -> None:
    """Opening an older store brings it up to date; every row is there, the guards too, and the history still folds."""
    before = _hashes(older_store)
    assert sum(count > 0 for count, _ in before.values()) == 10
    request.getfixturevalue("with_a_later_revision")
    with open_store(older_store) as store:
        assert stored_revision(store) == NEXT
        assert store.rebuild_check() == []
        with store.writing() as tx:
            notes = tx._connection.scalars(text("SELECT note FROM check_state")).all()
            assert tx.outbox.waiting(9) == []  # what happened before there were channels is not notified
        assert notes == ["kept", "kept"]
        with pytest.raises(StoreError), store.writing() as tx:
            tx._connection.execute(text("DELETE FROM incident_event"))
    assert _hashes(older_store) == before
    with open_store(older_store) as store:
        assert stored_revision(store) == NEXT


def test_an_upgraded_store_is_used_like_a_new_one(older_store: str, request: pytest.FixtureRequest) -> None:
    """After the upgrade incidents go on where they stood, new ones get new numbers, and both are heard of."""
    request.getfixturevalue("with_a_later_revision")
    with open_store(older_store) as store:
        with store.writing() as tx:
            new = tx.incidents.open(opened("new"), recorded_at=AT, actor="tablewatch")
            old = tx.incidents.get(1)
            tx.incidents.append(old, [Resolved(AT + 9 * HOUR, Resolution.FIXED)], recorded_at=AT, actor="mia")
            transitions = [(transition.incident_id, transition.change) for transition in tx.outbox.waiting(9)]
        assert transitions == [(new.id, Changed.OPENED), (old.id, Changed.RESOLVED)]
        assert new.id == 3
        assert store.rebuild_check() == []


def test_a_store_of_the_last_build_is_upgraded(file: Path) -> None:
    """Counts by partition go with their state; all else stays, and class counts are kept as before."""
    url = f"sqlite:///{file}"
    make_store_with_rows(url)
    before = _hashes(url)
    _take_numbers_back(url)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema
            SET sql = replace(sql, 'mode = ''append''', 'mode = ''partition'' OR mode = ''append''');
            PRAGMA writable_schema = RESET;
            ALTER TABLE class_part ADD COLUMN fingerprint BLOB NOT NULL DEFAULT x'';
            DROP INDEX ix_incident_check_id;
            CREATE INDEX ix_incident_check_id ON incident (check_id);
            INSERT INTO class_state VALUES (7, 't.k', x'01', 'partition', x'02', 3, 1, 0, '', 1, 1);
            INSERT INTO class_part VALUES (7, x'03', 3, x'04');
            INSERT INTO class_size VALUES (7, 3, 1);
            INSERT INTO class_count VALUES (7, x'03', 0, x'05', x'', 0);
            DROP TABLE web_user; DROP TABLE web_session; DROP TABLE login_link; DROP TABLE api_token;
            DROP TABLE release_comparison; DROP TABLE external_item; DROP TABLE logged_event; DROP TABLE daemon_config;
            DROP TABLE closed_part; DROP TABLE answered_request; DROP TABLE status_address;
            DROP TABLE transition; DROP TABLE warning;
            CREATE TABLE transition (id INTEGER NOT NULL PRIMARY KEY, incident_id INTEGER NOT NULL REFERENCES incident,
                change TEXT NOT NULL, recorded_us INTEGER NOT NULL, not_before_us INTEGER NOT NULL, settled_us INTEGER,
                decision TEXT);
            INSERT INTO transition VALUES (4, 2, 'opened', 5, 0, NULL, NULL);
            DROP INDEX ix_incident_table_name_detected_us; CREATE INDEX ix_incident_table_name ON incident (table_name);
            ALTER TABLE episode DROP COLUMN acknowledged_us;
            ALTER TABLE incident ADD COLUMN acknowledged_us INTEGER;
            ALTER TABLE incident DROP COLUMN answered;
            DROP TABLE daily_cost; DROP INDEX ix_schedule_delayed; ALTER TABLE schedule DROP COLUMN delayed_us;
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, ' OR reason = ''daily-limit''', '') WHERE name = 'skip';
            PRAGMA writable_schema = RESET;
            ALTER TABLE run DROP COLUMN cost_us; ALTER TABLE run DROP COLUMN rows_read;
            ALTER TABLE run DROP COLUMN bytes_read;
            ALTER TABLE clock DROP COLUMN trusted_us; ALTER TABLE clock DROP COLUMN confirmed_us;
            ALTER TABLE released_value DROP COLUMN copies; ALTER TABLE released_value DROP COLUMN people;
            ALTER TABLE released_row DROP COLUMN copies;
            ALTER TABLE check_state DROP COLUMN place;
            ALTER TABLE clock DROP COLUMN boot; ALTER TABLE clock DROP COLUMN uptime_us;
            ALTER TABLE clock DROP COLUMN noted_us; ALTER TABLE clock DROP COLUMN compared_us;
            ALTER TABLE clock DROP COLUMN compared_all_us; ALTER TABLE clock DROP COLUMN compared_event;
            UPDATE store_revision SET version_num = '0007';
            """
        )
    with open_store(url) as store:
        assert stored_revision(store) == HEAD
        assert store.rebuild_check() == []
        with store.reading() as tx:
            assert [(item.id, item.incident_id, item.change) for item in tx.outbox.waiting(9)] == [
                (4, 2, Changed.OPENED)
            ]
    after = _hashes(url)
    assert after.pop("transition")[0] == 1
    assert (before.pop("clock")[0], after.pop("clock")[0]) == (0, 1)  # the newest of the rows is the trusted time
    assert after == {table: found for table, found in before.items() if table != "transition"}
    described = file.parent / "described.db"
    open_store(f"sqlite:///{described}").close()
    ours, theirs = _schema_of(file), _schema_of(described)
    changed = (
        "class_part",
        "ix_incident_check_id",
        "web_user",
        "web_session",
        "login_link",
        "api_token",
        "release_comparison",
        "external_item",
        "run",
        "daily_cost",
        "schedule",
        "ix_schedule_delayed",
        "skip",
        "ix_skip_last_us",
        "ix_daily_cost_table_name_day",
        "clock",
        "released_value",
        "released_row",
        *("series", "message_text", "measurement", "ix_measurement_series_measured_us"),
        *("warning", "uq_warning_lasting", "ix_warning_ended"),
        *("transition", "ix_transition_waiting", "ix_transition_warning", "ix_transition_settled"),
    )
    assert [ours[name] for name in changed] == [theirs[name] for name in changed]


def test_names_and_texts_of_results_are_numbered(url: str) -> None:
    """A store of revision 0027, whose results repeat them, becomes what this version would have written."""
    make_store_with_rows(url)
    before = _hashes(url)
    _take_numbers_back(url)
    with open_store(url) as store, store.reading() as tx:
        assert {result.message.render(PlainEnglish()) for result in tx.results.latest().values()} == {"3 rows"}
    assert _hashes(url) == before
    with open_store(url) as store, store.writing() as tx:
        new = tx._connection.execute(
            text(
                "INSERT INTO measurement (run, series, measured_us, status, observed, text, duration_us)"
                " VALUES (2, 1, 0, 'pass', '{}', 1, 0) RETURNING id"
            )
        )
        assert new.scalar_one() == 4  # its numbers go on


_RESULTS_OF_0027 = """
CREATE TABLE before (
    id {serial} NOT NULL, run {whole} NOT NULL, check_id TEXT NOT NULL, table_name TEXT NOT NULL,
    measured_us {whole} NOT NULL, status TEXT NOT NULL, reason TEXT, observed TEXT NOT NULL, message TEXT NOT NULL,
    duration_us {whole} NOT NULL);
INSERT INTO before
    SELECT m.id, run, check_id, table_name, measured_us, status, reason, observed,
        substr(body, 1, length(body) - 1) || ',"values":' || coalesce(message_values, '{{}}') || '}}', duration_us
    FROM measurement AS m JOIN series ON series.id = series JOIN message_text ON message_text.id = text;
DROP TABLE measurement;
DROP TABLE series;
DROP TABLE message_text;
ALTER TABLE before RENAME TO measurement;
CREATE INDEX ix_measurement_check_id_measured_us ON measurement (check_id, measured_us);
DROP TABLE name_change;
ALTER TABLE logged_event DROP COLUMN job;
UPDATE store_revision SET version_num = '0027'
"""
_ON_POSTGRESQL = """
;ALTER SEQUENCE before_id_seq RENAME TO measurement_id_seq;
ALTER TABLE measurement ADD CONSTRAINT pk_measurement PRIMARY KEY (id)
"""


def _take_numbers_back(url: str) -> None:
    """Give a store the results of revision 0027."""
    address = address_of(url)
    engine = migration_engine(address, lock_timeout=_open.LOCK_TIMEOUT)
    statements = _RESULTS_OF_0027.format(serial="INTEGER", whole="INTEGER")
    if address.file is None:
        statements = _RESULTS_OF_0027.format(serial="BIGSERIAL", whole="BIGINT") + _ON_POSTGRESQL
    with engine.begin() as connection:
        for statement in statements.split(";"):
            connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.mark.parametrize(("revision", "problem"), [(NEXT, "newer Tablewatch"), ("0006", "before the first release")])
def test_a_store_of_another_build_is_refused_and_left_alone(older_store: str, revision: str, problem: str) -> None:
    """A store of a later release, or of a build before the first one, is named as such; nothing of it changes."""
    engine = migration_engine(address_of(older_store), lock_timeout=_open.LOCK_TIMEOUT)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {REVISION_TABLE} SET version_num = '{revision}'"))
    engine.dispose()
    before = _hashes(older_store)
    with pytest.raises(StoreError, match=problem):
        open_store(older_store)
    assert _hashes(older_store) == before


def test_a_failing_upgrade_changes_nothing(older_store: str, request: pytest.FixtureRequest) -> None:
    """An upgrade that fails half-way is taken back whole: old tables, old revision, all rows."""
    with_a_later_revision: Path = request.getfixturevalue("with_a_later_revision")
    broken = LATER + "    op.execute('SELECT * FROM nowhere')\n"
    with_a_later_revision.write_text(broken)
    with pytest.raises(StoreError):
        open_store(older_store)
    address = address_of(older_store)
    store = Store(address, lock_timeout=_open.LOCK_TIMEOUT, checkpoints=False)
    try:
        assert stored_revision(store) == HEAD
        with store.reading() as tx:
            assert tx.counts().checks == 2
            assert set(tx.results.watches()) == {"crm.customers.not-null", "shop.orders.volume"}
        with pytest.raises(StoreError), store.reading() as tx:
            tx._connection.execute(text("SELECT note FROM check_state"))
    finally:
        store.close()


def test_an_upgrade_that_would_orphan_rows_is_taken_back(file: Path, request: pytest.FixtureRequest) -> None:
    """On SQLite foreign keys sleep during an upgrade; rows that refer to nothing afterwards undo it."""
    with open_store(f"sqlite:///{file}") as store, store.writing() as tx:
        tx.incidents.open(opened(), recorded_at=AT, actor="tablewatch")
    with_a_later_revision: Path = request.getfixturevalue("with_a_later_revision")
    harmful = LATER + "    op.execute('DELETE FROM incident')\n"
    with_a_later_revision.write_text(harmful)
    with pytest.raises(StoreError, match="was not upgraded"):
        open_store(f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM incident").fetchone() == (1,)
        with pytest.raises(sqlite3.OperationalError, match="no such column"):
            connection.execute("SELECT note FROM check_state")


def test_a_revision_that_no_migration_leads_to_is_refused(file: Path) -> None:
    """A target that does not exist is an error of ours, and the tables stay as they are."""
    open_store(f"sqlite:///{file}").close()
    with pytest.raises(StoreError, match="cannot be upgraded to revision 0000x"):
        _open.migrate(address_of(f"sqlite:///{file}"), lock_timeout=_open.LOCK_TIMEOUT, to="0000x")
    open_store(f"sqlite:///{file}").close()


def test_without_our_begin_ddl_would_not_be_atomic(file: Path) -> None:
    """The migration engine's transaction covers CREATE TABLE, which the driver's own mode does not."""
    open_store(f"sqlite:///{file}").close()
    engine = migration_engine(address_of(f"sqlite:///{file}"), lock_timeout=_open.LOCK_TIMEOUT)
    try:
        with engine.connect() as connection:
            connection.execute(text("CREATE TABLE half (x INTEGER)"))
            connection.rollback()
            with pytest.raises(OperationalError, match="no such table"):
                connection.execute(text("SELECT * FROM half"))
    finally:
        engine.dispose()
