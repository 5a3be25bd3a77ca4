"""A SQLite store moves to PostgreSQL: row for row, once, and whatever comes between."""

import os
import secrets
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from checks import Status
from store import (
    FailPoint,
    StoreBusy,
    StoreCorrupt,
    StoredLedger,
    StoreError,
    StoreForeign,
    StoreMoved,
    StoreUnavailable,
    anchor_file,
    backup,
    cancel_copy,
    copy_store,
    open_store,
    restore,
    signature_key,
)
from store._open import OUR_TABLES, schema_problems
from tests.store.later import make_store_with_rows
from tests.store.ledgers import budget, charge
from tests.store.made import AT, HOUR, measure, opened

pytestmark = pytest.mark.postgres
_ROOT = Path(__file__).resolve().parents[2]
_CODE = "import sys; from store import copy_store; print(copy_store(sys.argv[1], sys.argv[2], batch=2).rows_before)"


@pytest.fixture
def place(postgres_url: str) -> Iterator[str]:
    """Yield the address of an empty schema."""
    server = make_url(postgres_url).set(drivername="postgresql+psycopg")
    schema = f"moved_{secrets.token_hex(6)}"
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    own = server.set(drivername="postgresql").update_query_dict({"options": f"-csearch_path={schema}"})
    yield own.render_as_string(hide_password=False)
    with engine.begin() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    engine.dispose()


@pytest.fixture
def old(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a store with rows of every kind of value, and states of this user in a folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    url = f"sqlite:///{file}"
    make_store_with_rows(url)
    return url


def _rows(url: str) -> dict[str, list[str]]:
    """Return the rows of each table, as text and in one order."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg") if "postgres" in url else url)
    with engine.connect() as connection:
        rows = {
            name: sorted(map(repr, map(tuple, connection.execute(text(f"SELECT * FROM {name}")))))
            for name in OUR_TABLES
        }
    engine.dispose()
    return rows


def _run(old: str, place: str, point: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TABLEWATCH_CRASH_TEST": "1", "TABLEWATCH_FAILPOINT": point or ""}
    command = [sys.executable, "-c", _CODE, old, place]
    return subprocess.run(command, env=environment, cwd=_ROOT, capture_output=True, text=True, check=False)


def test_a_store_moves_with_all_its_rows(old: str, place: str, file: Path) -> None:
    """Each row is there, the schema is the known one, numbers go on, and the old store says where it went."""
    with open_store(old) as store, store.writing() as tx:
        gone = tx.incidents.open(opened("gone"), recorded_at=AT, actor="tablewatch").id
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(f"DELETE FROM transition; DELETE FROM episode WHERE incident_id = {gone};")
        connection.executescript(f"DELETE FROM incident WHERE id = {gone}; DELETE FROM incident_event WHERE id > 10;")
    before = _rows(old)
    copied = copy_store(old, place)
    assert (copied.rows, copied.rows_before) == (sum(map(len, before.values())), 0)
    assert _rows(place) == before
    with open_store(place) as store:
        assert schema_problems(store) in ([], None)
        assert store.rebuild_check() == []
        with store.writing() as tx:
            assert tx.incidents.open(opened("new"), recorded_at=AT, actor="tablewatch").id == gone + 1
        measure(store, (AT + HOUR, Status.PASS))
    for use in (
        open_store,
        lambda url: copy_store(url, place),
        cancel_copy,
        lambda url: backup(url, file.with_name("b")),
    ):
        with pytest.raises(StoreMoved, match="was moved to"):
            use(old)


def test_the_ledger_goes_along(old: str, place: str, tmp_path: Path) -> None:
    """Its chain and anchor confirm each other at the new place, and what was spent stays spent."""
    with open_store(old) as store:
        ledger = StoredLedger(store, anchor_file(old))
        ledger.create(budget(), actor="ann", now=AT)
        ledger.reserve(charge(7), actor="ann", now=AT)
        (tmp_path / "store.db.key").write_text("ab" * 32)
    copied = copy_store(old, place)
    assert copied.anchor == anchor_file(place)
    with open_store(place) as store:
        ledger = StoredLedger(store, anchor_file(place))
        assert not ledger.verify().flaws
        assert ledger.balance("crm.customers", "person").spent == 7
        ledger.reserve(charge(8, "r2"), actor="ann", now=AT)
    assert signature_key(place, f"hex:{'ab' * 32}\n") == signature_key(old)


@pytest.mark.parametrize("point", [f"{FailPoint.IN_MOVE}:1", f"{FailPoint.IN_MOVE}:9", FailPoint.AFTER_MOVE])
def test_a_move_that_is_killed_goes_on(old: str, place: str, point: str) -> None:
    """Neither store can be used until it is complete; what is there already is not copied again."""
    before = _rows(old)
    assert _run(old, place, point).returncode == -9
    for url in (old, place):
        with pytest.raises(StoreMoved):
            open_store(url)
    done = _run(old, place)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= (2 if "in-move" in point else sum(map(len, before.values())))
    assert _rows(place) == before
    open_store(place).close()


def test_a_move_that_is_killed_before_its_tables_are_there_goes_on(old: str, place: str) -> None:
    """The old store is marked already and the new place is empty: the same command makes the tables again."""
    before = _rows(old)
    assert _run(old, place, FailPoint.BEFORE_MOVE).returncode == -9
    with pytest.raises(StoreMoved, match="is being copied to"):
        open_store(old)
    done = _run(old, place)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
    assert _rows(place) == before
    open_store(place).close()


def test_a_move_can_be_given_up(old: str, place: str) -> None:
    """The store is used where it was, and another move of it begins at an empty schema only."""
    before = _rows(old)
    assert _run(old, place, FailPoint.IN_MOVE).returncode == -9
    with pytest.raises(StoreUnavailable, match="no such schema"):
        copy_store(old, place.replace("moved_", "other_"))
    with pytest.raises(StoreMoved, match=r"is being copied to .*schema moved_"):
        copy_store(old, place.partition("?")[0])
    cancel_copy(old)
    open_store(old).close()
    assert _rows(old) == before
    with pytest.raises(StoreError, match="nothing to cancel"):
        cancel_copy(old)
    with pytest.raises(StoreForeign, match="a part of one"):
        copy_store(old, place)


def test_a_row_that_differs_is_noticed(old: str, place: str) -> None:
    """A program that wrote to the copy meanwhile does not pass for the store."""
    assert _run(old, place, f"{FailPoint.IN_MOVE}:9").returncode == -9
    engine = create_engine(make_url(place).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.execute(text("UPDATE run SET table_name = 'other' WHERE number = 1"))
    engine.dispose()
    with pytest.raises(StoreCorrupt, match="row 1 of run differs in the copy"):
        copy_store(old, place)
    with pytest.raises(StoreMoved):
        open_store(place)


def test_nothing_moves_under_another_process(old: str, place: str) -> None:
    """While the store is open elsewhere, such as by the web server, it stays as it is."""
    from datetime import timedelta

    with open_store(old) as store, store.reading() as tx:
        tx.counts()
        with pytest.raises(StoreBusy):
            copy_store(old, place, lock_timeout=timedelta())
    open_store(old).close()


def test_a_store_moves_to_an_empty_place_on_postgresql_only(old: str, place: str, tmp_path: Path) -> None:
    """A file is for backups; a store that is there already is never mixed with another one; a backup names this."""
    with pytest.raises(StoreError, match="tablewatch backup"):
        copy_store(old, f"sqlite:///{tmp_path}/other.db")
    open_store(place).close()
    with pytest.raises(StoreForeign, match="holds a store"):
        copy_store(old, place)
    open_store(old).close()
    with pytest.raises(StoreError, match="tablewatch store copy"):
        restore(place, tmp_path / "backup.db", now=AT)
