"""The settings of every connection, read back."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from store import Store, open_store
from store._engines import Address, address_of, migration_engine, reader_engine, writer_engine

LOCK_TIMEOUT = timedelta(seconds=5)

ENGINES: dict[str, Callable[[Address], Engine]] = {
    "writer": lambda address: writer_engine(address, lock_timeout=LOCK_TIMEOUT, checkpoints=False),
    "daemon": lambda address: writer_engine(address, lock_timeout=LOCK_TIMEOUT, checkpoints=True),
    "reader": lambda address: reader_engine(address, lock_timeout=LOCK_TIMEOUT),
    "migration": lambda address: migration_engine(address, lock_timeout=LOCK_TIMEOUT),
}
FOR_ALL = {
    "journal_mode": "wal",
    "synchronous": 2,  # FULL
    "busy_timeout": 5000,
    "foreign_keys": 1,
    "trusted_schema": 0,
    "cell_size_check": 1,
    "wal_autocheckpoint": 0,
    "journal_size_limit": 4 * 2**20,
    "query_only": 0,
}
OWN = {
    "writer": {"busy_timeout": 1250},  # one of four tries
    "daemon": {"busy_timeout": 1250, "wal_autocheckpoint": 1000},
    "reader": {"query_only": 1},
    "migration": {"foreign_keys": 0},
}


@pytest.mark.parametrize("kind", ENGINES)
def test_sqlite_has_the_settings_that_keep_data(file: Path, kind: str) -> None:
    """Each kind of connection has every setting, read back from SQLite itself."""
    open_store(f"sqlite:///{file}").close()
    engine = ENGINES[kind](address_of(f"sqlite:///{file}"))
    try:
        with engine.connect() as connection:
            found = {name: connection.scalar(text(f"PRAGMA {name}")) for name in FOR_ALL}
    finally:
        engine.dispose()
    assert found == {**FOR_ALL, **OWN.get(kind, {})}


@pytest.mark.parametrize(
    ("kind", "holds"), [("writer", True), ("daemon", True), ("migration", True), ("reader", False)]
)
def test_writers_hold_the_lock_from_the_beginning(file: Path, kind: str, holds: bool) -> None:
    """A writer keeps others out before it writes, so that what it reads stays true; a reader does not."""
    open_store(f"sqlite:///{file}").close()
    address = address_of(f"sqlite:///{file}")
    first, second = (
        ENGINES[kind](address),
        writer_engine(address, lock_timeout=timedelta(milliseconds=50), checkpoints=False),
    )
    try:
        with first.connect() as holder, holder.begin():
            if holds:
                with second.connect() as other, pytest.raises(DBAPIError, match="locked"):
                    other.begin()
            else:
                with second.connect() as other, other.begin():
                    other.execute(text("DELETE FROM gap"))
    finally:
        first.dispose()
        second.dispose()


def test_readers_cannot_write(url: str) -> None:
    """A reader's connection refuses to write, on both databases."""
    open_store(url).close()
    engine = reader_engine(address_of(url), lock_timeout=LOCK_TIMEOUT)
    try:
        with engine.connect() as connection, pytest.raises(DBAPIError):
            connection.execute(text("DELETE FROM gap"))
    finally:
        engine.dispose()


def test_no_engine_shows_what_is_written(url: str) -> None:
    """A failing statement does not print its values."""
    open_store(url).close()
    for kind in ENGINES.values():
        engine = kind(address_of(url))
        try:
            with engine.connect() as connection, pytest.raises(DBAPIError) as caught:
                connection.execute(text("INSERT INTO nowhere VALUES (:secret)"), {"secret": "s3cret"})
            assert "s3cret" not in str(caught.value)
        finally:
            engine.dispose()


@pytest.mark.postgres
def test_postgresql_has_the_settings_that_keep_data(postgres_url: str) -> None:
    """Writers read what is committed and wait for a limited time, readers see one state, and commits are durable."""
    address = address_of(postgres_url)
    found = {}
    for kind in ("writer", "reader", "migration"):
        engine = ENGINES[kind](address)
        try:
            with engine.connect() as connection:
                names = ["transaction_isolation", "transaction_read_only"]
                names += [] if kind == "reader" else ["lock_timeout", "synchronous_commit"]
                found[kind] = [connection.scalar(text(f"SHOW {name}")) for name in names]
        finally:
            engine.dispose()
    assert found["writer"] == found["migration"] == ["read committed", "off", "1250ms", "on"]
    assert found["reader"] == ["repeatable read", "on"]


@pytest.mark.postgres
def test_postgresql_notices_a_writer_that_is_gone(postgres_url: str) -> None:
    """A daemon whose machine lost its power amid a transaction would keep all others from writing for two hours."""
    address = address_of(postgres_url)
    names = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count")
    for kind in ("writer", "reader", "migration"):
        engine = ENGINES[kind](address)
        try:
            with engine.connect() as connection:
                assert [int(connection.scalar(text(f"SHOW {name}"))) for name in names] == [10, 5, 3]
                assert connection.scalar(text("SHOW idle_in_transaction_session_timeout")) == "2min"
                client = connection.connection.driver_connection
                assert client is not None
                result = client.info.get_parameters()
                assert (result["keepalives_idle"], result["tcp_user_timeout"]) == ("10", "20000")
        finally:
            engine.dispose()


@pytest.mark.parametrize("kind", ENGINES)
def test_no_connection_makes_a_file(tmp_path: Path, kind: str) -> None:
    """A store that was taken away while it was in use is missing, and not there again, empty."""
    file = tmp_path / "50% of the.db"
    engine = ENGINES[kind](address_of(f"sqlite:///{tmp_path}/50%25 of the.db"))
    try:
        with pytest.raises(DBAPIError), engine.connect():
            pass
        assert not file.exists()
        open_store(f"sqlite:///{tmp_path}/50%25 of the.db").close()
        assert file.exists()
        with engine.connect():
            pass
    finally:
        engine.dispose()


def _log(file: Path) -> int:
    return Path(f"{file}-wal").stat().st_size


def _write(store: Store, title: str) -> None:
    with store.writing() as tx:
        tx.name_project(title)


def test_the_log_is_emptied_on_a_nearly_full_disk(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that grew on until the disk is full could not be moved into the file any more."""
    with open_store(f"sqlite:///{file}", checkpoints=True) as store:
        _write(store, "one")
        store.shorten_log()
        assert _log(file) > 0  # there is space, and it is short
        monkeypatch.setattr("store._store._NEARLY_FULL", 2**62)
        store.shorten_log()
        assert _log(file) == 0
        _write(store, "two")
        with store.reading() as tx:
            assert tx.project() == "two"


def test_a_long_log_is_emptied_once_nobody_reads_what_is_in_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that looks at an old state keeps it; afterwards it shrinks."""
    monkeypatch.setattr("store._store.WAL_BYTES_KEPT", 1)
    with open_store(f"sqlite:///{file}", checkpoints=True) as store:
        _write(store, "one")
        with store.reading() as tx:
            assert tx.project() == "one"
            _write(store, "two")
            store.shorten_log()
            assert _log(file) > 0
            assert tx.project() == "one"
        store.shorten_log()
        assert _log(file) == 0
        with store.reading() as tx:
            assert tx.project() == "two"


def test_only_the_process_that_checkpoints_shortens_the_log(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that did could damage the file with older versions of SQLite."""
    monkeypatch.setattr("store._store._NEARLY_FULL", 2**62)
    with open_store(f"sqlite:///{file}") as store:
        _write(store, "one")
        store.shorten_log()
        assert _log(file) > 0
