"""The schema of a store is a known one: what was dropped, added or changed is noticed wherever it matters."""

import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from string import Template

import pytest

from checks import Status
from store import Postponed, Pruned, Store, StoreCorrupt, _open, backup, open_store, restore
from store._engines import address_of, migration_engine
from store._open import schema_problems
from tests.store.made import AT, measure, opened

_OLD = Path(__file__).parent / "revisions"
_REVISIONS = sorted(path.name[:4] for path in (Path(_open.__file__).parent / "migrations" / "versions").glob("0*.py"))


def _change(url: str, *statements: str) -> None:
    engine = migration_engine(address_of(url), lock_timeout=_open.LOCK_TIMEOUT)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.mark.parametrize("revision", _REVISIONS[1:])
def test_a_store_of_every_revision_has_the_known_schema_after_its_upgrade(url: str, revision: str) -> None:
    """However a store came to its revision, it is no stranger."""
    _make_old(url, revision)
    with open_store(url, thorough=True) as store:
        assert schema_problems(store) == []


def test_an_upgraded_store_trusts_the_newest_of_its_rows(url: str) -> None:
    """A first pass after the upgrade, by a clock that is ahead, records its own time and deletes nothing by it."""
    _make_old(url, "0019")
    day, ahead = timedelta(days=1), AT + timedelta(days=2000)
    us = int(AT.timestamp()) * 1_000_000
    _change(url, f"INSERT INTO run (number, id, table_name, started_us, ended_us) VALUES (1, 'r', 't', {us}, {us})")
    with open_store(url) as store:
        measure(store, (ahead, Status.PASS))
        kept = {"keep_measurements": 90 * day, "keep_incidents": 365 * day, "monotonic": 0.0}
        assert isinstance(store.prune_if_trusted(**kept, now=ahead), Postponed)
        assert store.prune_if_trusted(**kept, now=AT + day) == Pruned()


def _make_old(url: str, revision: str) -> None:
    """Make a store of the oldest revision, and upgrade it to another one."""
    dialect = "sqlite" if url.startswith("sqlite") else "postgresql"
    if dialect == "sqlite":
        Path(url.removeprefix("sqlite:///")).touch()
    tables, guards = (_without_comments(_OLD / f"{name}.sql") for name in ("0008", f"0008_guards_{dialect}"))
    statements = [*Template(tables).substitute(_open._WORDS[dialect]).split("\n\n"), *guards.split("\n\n")]
    _change(url, *statements, "INSERT INTO store_revision VALUES ('0008')")
    _open.migrate(address_of(url), to=revision, lock_timeout=_open.LOCK_TIMEOUT)


def _without_comments(file: Path) -> str:
    return "\n".join(line for line in file.read_text().splitlines() if line[:2] != "--").strip()


_REFUSES = "FUNCTION incident_event_refuse() RETURNS trigger LANGUAGE plpgsql"
_HOSTILE = {
    "a trigger that is gone": (
        ["DROP TRIGGER incident_event_no_delete"],
        ["DROP TRIGGER incident_event_guard ON incident_event"],
        "trigger incident_event.* is missing",
    ),
    "a trigger that was added": (
        ["CREATE TRIGGER evil AFTER INSERT ON incident_event BEGIN DELETE FROM measurement; END"],
        [
            "CREATE FUNCTION evil() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM run; RETURN NEW; END'",
            "CREATE TRIGGER evil AFTER INSERT ON incident_event FOR EACH ROW EXECUTE FUNCTION evil()",
        ],
        "trigger .*evil was added",
    ),
    "a trigger that does something else": (
        [
            "DROP TRIGGER incident_event_no_update",
            "CREATE TRIGGER incident_event_no_update BEFORE UPDATE ON incident_event BEGIN SELECT 1; END",
        ],
        ["CREATE OR REPLACE FUNCTION incident_event_refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NULL; END'"],
        "(trigger incident_event_no_update|function incident_event_refuse) differs",
    ),
    "a guard that is switched off": (
        ["DROP TRIGGER incident_event_no_replace"],
        ["ALTER TABLE incident_event DISABLE TRIGGER incident_event_guard"],
        "trigger incident_event(_no_replace is missing|.incident_event_guard differs)",
    ),
    "a column that was added": (
        ["ALTER TABLE run ADD COLUMN more TEXT"],
        ["ALTER TABLE run ADD COLUMN more TEXT"],
        "(table run differs|column run.more was added)",
    ),
    "an index that is gone": (
        ["DROP INDEX ix_run_started_us"],
        ["DROP INDEX ix_run_started_us"],
        "index ix_run_started_us is missing",
    ),
    "a view or rule": (
        ["CREATE VIEW evil AS SELECT * FROM run"],
        ["CREATE RULE evil AS ON DELETE TO run DO ALSO DELETE FROM measurement"],
        "(view |rule run.)evil was added",
    ),
}


@pytest.mark.parametrize("kind", _HOSTILE)
def test_a_changed_schema_is_refused_by_the_daemon_and_doctor(url: str, kind: str) -> None:
    """A thorough opening names what was dropped, added or changed; it writes nothing."""
    open_store(url).close()
    on_sqlite, on_postgres, problem = _HOSTILE[kind]
    statements = on_sqlite if url.startswith("sqlite") else on_postgres
    _change(url, *statements)
    with pytest.raises(StoreCorrupt, match=problem):
        open_store(url, thorough=True)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE measurement ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE measurement SET UNLOGGED",
        "CREATE TABLE more () INHERITS (measurement)",
    ],
)
@pytest.mark.parametrize("url", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
def test_a_table_that_hides_or_forgets_rows_is_refused(url: str, statement: str) -> None:
    """Row security hides rows, a table without a log is empty after a crash, and one that inherits adds rows."""
    open_store(url).close()
    _change(url, statement)
    with pytest.raises(StoreCorrupt, match="table measurement differs"):
        open_store(url, thorough=True)


def test_an_index_of_an_administrator_is_dropped_and_costs_nothing(url: str) -> None:
    """The advice is to drop it: a backup that is restored, or a new store, would lose what was stored since."""
    open_store(url).close()
    _change(url, "CREATE INDEX by_hand ON run (ended_us)")
    with pytest.raises(StoreCorrupt, match=r"index by_hand was added.*drop what was added") as caught:
        open_store(url, thorough=True)
    assert "restore" not in str(caught.value)
    _change(url, "DROP INDEX by_hand")
    open_store(url, thorough=True).close()


@pytest.mark.parametrize("kind", _HOSTILE)
def test_a_changed_schema_is_neither_copied_nor_restored(file: Path, kind: str) -> None:
    """Such a store gives no verified backup, and such a copy replaces no store."""
    url, copy = f"sqlite:///{file}", file.with_name("copy.db")
    with open_store(url) as store:
        _open_incident(store)
    backup(url, copy)
    statements, _, problem = _HOSTILE[kind]
    with closing(sqlite3.connect(copy)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    before = file.read_bytes()
    with pytest.raises(StoreCorrupt, match=problem):
        restore(url, copy, now=AT)
    assert file.read_bytes() == before
    shutil.copy(copy, file)
    with pytest.raises(StoreCorrupt, match=problem):
        backup(url, file.with_name("second.db"))
    assert not file.with_name("second.db").exists()


def _open_incident(store: Store) -> None:
    with store.writing() as tx:
        tx.incidents.open(opened("first"), recorded_at=AT, actor="mia")


def test_a_stray_trigger_of_an_older_store_does_not_run_in_the_upgrade(file: Path) -> None:
    """The upgrade is refused before its first statement."""
    url = f"sqlite:///{file}"
    open_store(url).close()
    evil = "CREATE TRIGGER evil AFTER UPDATE ON store_revision BEGIN DELETE FROM project; END"
    _change(url, evil, "UPDATE store_revision SET version_num = '0019'")
    with pytest.raises(StoreCorrupt, match="trigger evil was added"):
        open_store(url)
