"""Opening a store: made when missing, refused by name when it is not ours, never repaired."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

import store as package
from store import (
    Store,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreMissing,
    StoreNewer,
    StoreUnavailable,
    open_store,
)
from store._engines import address_of
from store._open import CHECKED_WHOLE, HEAD, stored_revision
from tests.store.made import AT, opened, watch

QUICK = timedelta(milliseconds=200)


def _made(file: Path) -> Path:
    with open_store(f"sqlite:///{file}") as store, store.writing() as tx:
        tx.incidents.open(opened(), recorded_at=AT, actor="tablewatch")
    return file


def test_a_missing_store_is_made_for_its_owner_only(tmp_path: Path) -> None:
    """File and folders that were missing are made, and no other user may read them; nothing is left beside it."""
    file = tmp_path / "var" / "tablewatch" / "store.db"
    before = os.umask(0)
    try:
        open_store(f"sqlite:///{file}").close()
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [folder.stat().st_mode & 0o777 for folder in (file.parent, file.parent.parent)] == [0o700, 0o700]
    assert list(file.parent.iterdir()) == [file]


def test_reading_makes_no_store(url: str) -> None:
    """Where none is to be made, a file or an empty schema stays as it is, and the refusal names the place."""
    for _ in range(2):
        with pytest.raises(StoreMissing, match="there is no store at "):
            open_store(url, create=False)
    open_store(url).close()
    open_store(url, create=False).close()


def test_what_was_written_is_there_when_it_is_opened_again(url: str) -> None:
    """A store keeps what was written when it is closed and opened again."""
    with open_store(url) as store, store.writing() as tx:
        incident = tx.incidents.open(opened(), recorded_at=AT, actor="tablewatch")
    with open_store(url, thorough=True) as store, store.reading() as tx:
        assert tx.incidents.matching() == [incident]
        assert stored_revision(store) == HEAD


def test_opening_an_up_to_date_store_imports_no_alembic(file: Path) -> None:
    """Migrations are only loaded to migrate."""
    _made(file)
    code = f"import sys, store; store.open_store('sqlite:///{file}').close(); print('alembic' in sys.modules)"
    home = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=home, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("not a url", "cannot be read"),
        ("sqlite://", "a file of its own"),
        ("sqlite:///:memory:", "a file of its own"),
        ("sqlite:///x.db?mode=ro", "without options"),
        ("mysql://user:s3cret@host/db", "begins with 'mysql'"),
    ],
)
def test_an_address_that_is_none_is_refused(url: str, message: str) -> None:
    """What is no address of a store is refused with what is expected, and without its password."""
    with pytest.raises(StoreError, match=message) as caught:
        open_store(url)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_postgresql_has_one_driver(scheme: str) -> None:
    """Every way to write a PostgreSQL address means psycopg 3, and the name says no password."""
    address = address_of(f"{scheme}://mia:s3cret@db.example/watch")
    assert address.url.drivername == "postgresql+psycopg"
    assert address.name == "db.example/watch"
    assert address.file is None


def test_an_unreachable_postgresql_is_said_without_its_password() -> None:
    """A server that is not there is named; the password and the driver's words are not."""
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1/watch cannot be reached") as caught:
        open_store("postgresql://mia:s3cret@127.0.0.1:1/watch")
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_postgresql_without_its_driver_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without psycopg the message names the extra that brings it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreUnavailable, match=r"pip install 'tablewatch\[postgres\]'"):
        open_store("postgresql://mia@127.0.0.1:1/watch")


def test_a_sqlite_that_is_too_old_is_reported(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An SQLite without STRICT tables is refused before anything is made."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreUnavailable, match=r"the store needs 3\.38\.0 or newer"):
        open_store(f"sqlite:///{file}")
    assert not file.exists()


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    """A path through a file is refused with the reason."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable, match="cannot be created"):
        open_store(f"sqlite:///{tmp_path / 'file' / 'store.db'}")


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    """A folder in the place of the file is refused."""
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        open_store(f"sqlite:///{tmp_path}")


def _refused(file: Path, error: type[StoreError], said: str, *, thorough: bool = False) -> None:
    """Expect that opening is refused with the name of the file, and leaves the file as it is."""
    before = file.read_bytes()
    with pytest.raises(error, match=said) as caught:
        open_store(f"sqlite:///{file}", thorough=thorough)
    assert str(file) in str(caught.value)
    assert file.read_bytes() == before


def test_junk_is_refused(file: Path) -> None:
    """A file that is no database is refused and left as it is."""
    file.write_bytes(b"not a database, but long enough to be asked " * 100)
    _refused(file, StoreCorrupt, "not an SQLite database")


def test_an_empty_file_is_refused(file: Path) -> None:
    """A file of no bytes lost everything: it is not taken for a new store."""
    file.touch()
    _refused(file, StoreCorrupt, "is empty")


def test_a_log_without_its_file_is_left_alone(file: Path) -> None:
    """Beside an empty file the write-ahead log is the only copy, and it is still there afterwards."""
    with open_store(f"sqlite:///{file}") as store:
        with store.writing() as tx:
            tx.results.save_watches([watch()])
        log = Path(f"{file}-wal").read_bytes()
    file.write_bytes(b"")
    Path(f"{file}-wal").write_bytes(log)
    _refused(file, StoreCorrupt, "is empty")
    assert Path(f"{file}-wal").read_bytes() == log


def test_a_truncated_file_is_refused(file: Path) -> None:
    """Half of a store is refused."""
    _made(file)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    _refused(file, StoreCorrupt, "corrupt")


def test_a_page_that_is_cut_off_is_refused(file: Path) -> None:
    """SQLite would read zeros where the end of the last page is missing; where there is a log, it holds the page."""
    _made(file)
    with open_store(f"sqlite:///{file}") as store, store.writing() as tx:
        tx.results.save_watches([watch(f"a.{number}") for number in range(200)])  # the last page is one of rows
    file.write_bytes(file.read_bytes()[:-100])
    _refused(file, StoreCorrupt, "truncated")


def test_a_row_that_breaks_its_rules_is_refused(file: Path) -> None:
    """A flipped bit may leave a row that could never be written: SQLite tells only those who may write."""
    _made(file)
    with closing(sqlite3.connect(file)) as flipper, flipper:
        flipper.execute("PRAGMA ignore_check_constraints = ON")
        flipper.execute("UPDATE incident SET found_by = 'c`eck'")
    _refused(file, StoreCorrupt, "corrupt")


def test_looking_at_a_damaged_store_leaves_its_log_where_it_is(tmp_path: Path, file: Path) -> None:
    """A log is not moved into a file that is refused."""
    _made(file)
    copy = tmp_path / "copy.db"
    with closing(sqlite3.connect(file)) as flipper:
        flipper.execute("PRAGMA ignore_check_constraints = ON")
        with flipper:
            flipper.execute("UPDATE incident SET found_by = 'c`eck'")
        for end in ("", "-wal"):
            shutil.copy(f"{file}{end}", f"{copy}{end}")
    log = Path(f"{copy}-wal").read_bytes()
    assert log
    _refused(copy, StoreCorrupt, "corrupt")
    assert Path(f"{copy}-wal").read_bytes() == log


@pytest.mark.parametrize("page", range(1, 30))
def test_a_damaged_page_is_refused(tmp_path_factory: pytest.TempPathFactory, page: int) -> None:
    """Whichever page was overwritten, the store is refused by name and left as it is."""
    file = tmp_path_factory.mktemp("damaged") / "store.db"
    shutil.copy(_whole_store(tmp_path_factory), file)
    with file.open("r+b") as raw:
        raw.seek(page * 4096)
        raw.write(b"\xa5" * 4096)
    _refused(file, StoreCorrupt, "corrupt", thorough=True)


_WHOLE: list[Path] = []


def _whole_store(factory: pytest.TempPathFactory) -> Path:
    if not _WHOLE:
        file = factory.mktemp("whole") / "store.db"
        with open_store(f"sqlite:///{file}") as store, store.writing() as tx:
            for number in range(40):
                tx.incidents.open(opened(f"check-{number}"), recorded_at=AT, actor="tablewatch")
        assert file.stat().st_size >= 30 * 4096
        _WHOLE.append(file)
    return _WHOLE[0]


def test_a_large_file_is_checked_page_by_page_when_asked(file: Path) -> None:
    """Above the size that is always checked, a damaged page is found by the thorough look."""
    _made(file)
    with closing(sqlite3.connect(file)) as filler, filler:
        filler.execute("INSERT INTO check_state SELECT 'x', 1, 1, '', 1, 1, 1, 1, 1, zeroblob(0) || '', 0, NULL")
        filler.execute("UPDATE check_state SET recent = hex(zeroblob(?))", (CHECKED_WHOLE // 2 + 4096,))
    assert file.stat().st_size > CHECKED_WHOLE
    with file.open("r+b") as raw:
        raw.seek(4096 * 4)
        raw.write(b"\xa5" * 4096)
    _refused(file, StoreCorrupt, "corrupt", thorough=True)


def test_the_database_of_something_else_is_refused(file: Path) -> None:
    """A SQLite file with other tables, such as the very database that is watched, is never written to."""
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY)")
    _refused(file, StoreForeign, "it has the tables customers")


@pytest.mark.postgres
def test_tables_of_something_else_are_not_taken(postgres_url: str, request: pytest.FixtureRequest) -> None:
    """In PostgreSQL other tables may stand beside ours, but not under our names."""
    engine = create_engine(make_url(postgres_url).set(drivername="postgresql+psycopg"))
    request.addfinalizer(engine.dispose)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA IF EXISTS shared_place CASCADE"))
        connection.execute(text("CREATE SCHEMA shared_place"))
        connection.execute(text("CREATE TABLE shared_place.customers (id int)"))
    own = make_url(postgres_url).update_query_dict({"options": "-csearch_path=shared_place"})
    url = own.render_as_string(hide_password=False)
    open_store(url).close()
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE shared_place.store_revision"))
    with pytest.raises(StoreForeign, match="it has the tables answered_request, api_token, check_state"):
        open_store(url)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA shared_place CASCADE"))


def test_a_newer_store_is_refused(url: str) -> None:
    """A store that a newer Tablewatch wrote is refused with both revisions, and stays as it is."""
    with open_store(url) as store, store.writing() as tx:
        tx._connection.execute(text("UPDATE store_revision SET version_num = '9999'"))
    with pytest.raises(StoreNewer, match=rf"revision 9999, this one knows up to {HEAD}"):
        open_store(url)


def test_a_locked_store_is_busy(file: Path) -> None:
    """A store that another process holds for longer than our `lock_timeout` is busy; later it is not."""
    _made(file)
    with open_store(f"sqlite:///{file}", lock_timeout=QUICK) as store:
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy, match="locked by another process"), store.writing():
                pass
            with store.reading() as tx:
                assert tx.counts().incidents == 1
            other.execute("ROLLBACK")
        with store.writing() as tx:
            tx.results.save_watches([watch()])


def test_a_writer_in_a_writer_is_busy(url: str) -> None:
    """One thread that begins to write twice fails instead of waiting for itself for ever."""
    with (
        open_store(url, lock_timeout=QUICK) as store,
        store.writing(),
        pytest.raises(StoreBusy, match="another thread"),
        store.writing(),
    ):
        pass


def test_a_store_is_not_carried_into_another_process(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store opened before a fork is refused in the child, where its connections would destroy the file."""
    with open_store(f"sqlite:///{file}") as store:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(StoreError, match="another process"), store.reading():
            pass


def test_a_full_disk_is_reported(file: Path) -> None:
    """When a write finds no space, the step is not kept, the reason is said, and reading goes on."""

    def write_too_much(store: Store) -> None:
        with store.writing() as tx:
            pages = tx._connection.scalar(text("PRAGMA page_count"))
            tx._connection.execute(text(f"PRAGMA max_page_count = {pages}"))
            for number in range(1000):
                tx.incidents.open(opened(f"c{number}"), recorded_at=AT, actor="tablewatch")

    with open_store(f"sqlite:///{file}") as store:
        with pytest.raises(StoreUnavailable, match="disk is full"):
            write_too_much(store)
        with store.reading() as tx:
            assert tx.counts().incidents == 0


def test_the_first_project_keeps_the_store(url: str) -> None:
    """Two configurations never share a store by mistake; a renamed project takes its own over."""
    with open_store(url) as store:
        store.claim("shop")
        store.claim("shop")
        with pytest.raises(StoreForeign, match=r"'shop'.*'museum'.*adopt-store"):
            store.claim("museum")
        store.claim("museum", adopt=True)
        with pytest.raises(StoreForeign):
            store.claim("shop")
