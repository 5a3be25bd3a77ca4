"""A copy of a store is one whole state of it, and comes back whole or not at all."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from incidents import Incident
from store import (
    Backup,
    Restored,
    Store,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreInUse,
    StoreNewer,
    StoreUnavailable,
    _backup,
    _restore,
    backup,
    daemon_lock,
    open_store,
    restore,
)
from store._open import HEAD, stored_revision
from tests.store.later import NEXT, add_revision, make_store_with_rows
from tests.store.made import AT, opened

NO_PATIENCE = timedelta(milliseconds=50)


def _url(file: Path) -> str:
    return f"sqlite:///{file}"


def _incident(store: Store, name: str) -> Incident:
    with store.writing() as tx:
        return tx.incidents.open(opened(name), recorded_at=AT, actor="tablewatch")


def _names(file: Path) -> Sequence[str]:
    with open_store(_url(file), thorough=True) as store, store.reading() as tx:
        return sorted(incident.fingerprint.rpartition(".")[2] for incident in tx.incidents.matching())


def _folder(file: Path) -> set[str]:
    return {path.name for path in file.parent.iterdir()}


def _in(file: Path, script: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(script)


def _overwrite_a_page(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'incident_event'").fetchone()
    with file.open("r+b") as pages:
        pages.seek((page - 1) * 4096)
        pages.write(b"\xff" * 4096)


@pytest.fixture
def used(file: Path, empty_file: Path) -> Path:
    """Return a store with an incident in it."""
    shutil.copy(empty_file, file)
    with open_store(_url(file)) as store:
        store.claim("shop")
        _incident(store, "first")
    return file


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a place for a copy."""
    (tmp_path / "copies").mkdir()
    return tmp_path / "copies" / "copy.db"


def test_a_copy_of_a_store_in_use_is_a_store(used: Path, copy: Path) -> None:
    """While others read and write, a copy holds everything that was committed, in one private file."""
    with open_store(_url(used)) as store:
        _incident(store, "second")
        with store.reading() as tx:
            made = backup(_url(used), copy)
            assert tx.counts().incidents == 2
        _incident(store, "third")
    assert made == Backup(copy, "shop", HEAD, copy.stat().st_size, made.rows)
    assert made.rows == 1 + 2 * (1 + 1 + 1 + 1)  # the project; each incident with an episode, an event, a transition
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert _folder(copy) == {"copy.db"}
    assert _names(copy) == ["first", "second"]


def test_what_is_written_meanwhile_is_not_in_the_copy(used: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit amid the copying is in no part of the copy: rows are counted in the state that is copied."""
    count_rows = _backup._count_rows

    def count_and_write(connection: sqlite3.Connection) -> object:
        counted = count_rows(connection)
        with open_store(_url(used)) as store:
            _incident(store, f"late {len(counted)} {connection.total_changes} {os.urandom(4).hex()}")
        return counted

    monkeypatch.setattr(_backup, "_count_rows", count_and_write)
    backup(_url(used), copy)
    assert _names(copy) == ["first"]
    assert len(_names(used)) == 3  # one at counting the store, one at counting the copy


def test_a_copy_replaces_nothing_unless_told_so(used: Path, copy: Path) -> None:
    """A file that is there stays, unless force is given; then it is replaced by a whole copy."""
    copy.write_text("precious")
    with pytest.raises(StoreError, match=r"already exists; .* --force"):
        backup(_url(used), copy)
    assert copy.read_text() == "precious"
    backup(_url(used), copy, force=True)
    assert _names(copy) == ["first"]
    with pytest.raises(StoreError, match="name of a file"):
        backup(_url(used), copy.parent, force=True)


def test_a_file_that_appears_meanwhile_stays(used: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a file that is made while we copy is not replaced, also on disks without links."""

    def no_links(_file: Path, _draft: Path) -> None:
        raise PermissionError

    verify = _backup.verify

    def verify_slowly(draft: Path, **said: object) -> Backup:
        copy.write_text("precious")
        return verify(draft, **said)

    monkeypatch.setattr(_backup, "verify", verify_slowly)
    for _ in range(2):
        with pytest.raises(StoreError, match="created meanwhile"):
            backup(_url(used), copy)
        assert (copy.read_text(), _folder(copy)) == ("precious", {"copy.db"})
        copy.unlink()
        monkeypatch.setattr(Path, "hardlink_to", no_links)
    monkeypatch.setattr(_backup, "verify", verify)
    backup(_url(used), copy)
    assert (_names(copy), _folder(copy)) == (["first"], {"copy.db"})


def test_what_a_killed_process_left_is_removed_by_the_next(used: Path, copy: Path) -> None:
    """Its draft, as large as the store, goes with its log; those in use stay, and so does all else."""
    left = copy.with_name(".tablewatch-draft-0123456789abcdef")
    other = copy.with_name(".tablewatch-draft-mine")
    for path in (left, Path(f"{left}-wal"), other):
        path.write_text("draft")
    named = copy.with_name(".tablewatch-draft-fedcba9876543210")  # died after it gave the store its name
    named.hardlink_to(used)
    script = "import pathlib, sys; from store._files import make_draft; print(make_draft(pathlib.Path(sys.argv[1])))"
    with subprocess.Popen(
        [sys.executable, "-c", f"{script}; sys.stdout.flush(); sys.stdin.read()", copy],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as busy:  # fmt: skip
        assert busy.stdout is not None
        held = Path(busy.stdout.readline().strip())
        assert held.exists()
        assert not left.exists()
        left.write_text("draft")
        backup(_url(used), copy)
        assert _folder(copy) == {copy.name, other.name, held.name}
        busy.kill()
    backup(_url(used), copy, force=True)
    assert _folder(copy) == {copy.name, other.name}
    assert _names(used) == ["first"]


def test_the_store_is_never_its_own_copy(used: Path, tmp_path: Path) -> None:
    """Neither copying nor bringing back takes the store itself, under any of its names."""
    (tmp_path / "other.db").hardlink_to(used)
    for name in (used, tmp_path / "other.db"):
        with pytest.raises(StoreError, match="is the store itself"):
            backup(_url(used), name, force=True)
        with pytest.raises(StoreError, match="is the store itself"):
            restore(_url(used), name, now=AT)


def test_a_copy_is_not_put_beside_the_log_of_another_database(used: Path, copy: Path) -> None:
    """A log that lies there would be taken for the copy's own, and damage it."""
    Path(f"{copy}-wal").write_bytes(b"x")
    with pytest.raises(StoreError, match="lies the log"):
        backup(_url(used), copy, force=True)


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda store: store.unlink(), StoreUnavailable),
        (lambda store: store.write_bytes(b"no database at all" * 100), StoreCorrupt),
        (lambda store: _in(store, "DROP TABLE store_revision"), StoreForeign),
        (lambda store: _in(store, "UPDATE store_revision SET version_num = '9999'"), StoreNewer),
        (
            lambda store: _in(
                store, "PRAGMA foreign_keys = OFF; DROP TRIGGER incident_event_no_delete; DELETE FROM incident"
            ),
            StoreCorrupt,
        ),
        (_overwrite_a_page, StoreCorrupt),
    ],
    ids=["missing", "garbage", "foreign", "newer", "orphans", "damaged page"],
)
def test_what_is_no_whole_store_is_not_copied(
    used: Path, copy: Path, spoil: Callable[[Path], None], error: type[StoreError]
) -> None:
    """A store that is missing, damaged, foreign or newer gives no copy, and no leftovers."""
    spoil(used)
    with pytest.raises(error):
        backup(_url(used), copy)
    assert _folder(copy) == set()


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda copy: copy.unlink(), StoreUnavailable),
        (lambda copy: copy.write_bytes(b""), StoreForeign),
        (lambda copy: copy.write_bytes(b"no database at all" * 100), StoreCorrupt),
        (lambda copy: _in(copy, "DROP TABLE store_revision"), StoreForeign),
        (lambda copy: _in(copy, "UPDATE store_revision SET version_num = '9999'"), StoreNewer),
        (lambda copy: _in(copy, "UPDATE project SET name = 'another'"), StoreForeign),
        (
            lambda copy: _in(
                copy, "PRAGMA foreign_keys = OFF; DROP TRIGGER incident_event_no_delete; DELETE FROM incident"
            ),
            StoreCorrupt,
        ),
        (_overwrite_a_page, StoreCorrupt),
        (lambda copy: copy.write_bytes(copy.read_bytes()[:-4096]), StoreCorrupt),
    ],
    ids=["missing", "empty", "garbage", "foreign", "newer", "another project", "orphans", "damaged page", "cut off"],
)
def test_what_is_no_whole_copy_is_not_brought_back(
    used: Path, copy: Path, spoil: Callable[[Path], None], error: type[StoreError]
) -> None:
    """A copy that is corrupt in any way leaves the store as it is."""
    backup(_url(used), copy)
    spoil(copy)
    before = used.read_bytes()
    with pytest.raises(error):
        restore(_url(used), copy, now=AT, project="shop")
    assert used.read_bytes() == before
    assert _folder(used) - {"store.db.lock", "store.db.last"} == {"store.db", "copies"}


def test_a_copy_comes_back_and_the_present_store_is_kept(used: Path, copy: Path) -> None:
    """After bringing back, the store is as it was copied; what it was in between lies beside it, whole."""
    made = backup(_url(used), copy)
    with open_store(_url(used)) as store:
        _incident(store, "lost")
    done = restore(_url(used), copy, now=AT, project="shop")
    kept = used.with_name("store.db.before-restore-20261120T090000Z")
    assert done == Restored(made, kept)
    assert _names(used) == ["first"]
    assert _names(kept) == ["first", "lost"]
    assert [stat.S_IMODE(file.stat().st_mode) for file in (used, kept)] == [0o600] * 2
    assert restore(_url(used), kept, now=AT).kept == used.with_name(f"{kept.name}-2")
    assert _names(used) == ["first", "lost"]
    assert _folder(copy) == {"copy.db"}


def test_a_copy_comes_back_where_no_store_is(used: Path, copy: Path) -> None:
    """Where there is no store, or its folder is gone, the copy becomes one."""
    backup(_url(used), copy)
    place = used.parent / "new" / "store.db"
    assert restore(_url(place), copy, now=AT).kept is None
    assert _names(place) == ["first"]
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert _folder(place) == {"store.db", "store.db.lock"}


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100], ids=["empty", "garbage"])
def test_a_store_that_cannot_be_read_is_moved_aside_with_its_log(used: Path, copy: Path, damage: bytes) -> None:
    """A damaged store is kept as it is, and its log with it: beside the new store it would be taken for its own."""
    backup(_url(used), copy)
    with open_store(_url(used)) as store:
        _incident(store, "in the log")
        log = Path(f"{used}-wal").read_bytes()
    used.write_bytes(damage)
    Path(f"{used}-wal").write_bytes(log)
    kept = restore(_url(used), copy, now=AT).kept
    assert kept is not None
    assert kept.read_bytes() == damage
    assert Path(f"{kept}-wal").read_bytes() == log
    assert _names(used) == ["first"]


def test_a_damaged_page_does_not_stop_a_copy_from_coming_back(used: Path, copy: Path) -> None:
    """A store of which a page is corrupt is overwritten, and kept with its damage."""
    backup(_url(used), copy)
    _overwrite_a_page(used)
    kept = restore(_url(used), copy, now=AT).kept
    assert kept is not None
    assert _names(used) == ["first"]
    with pytest.raises(StoreCorrupt):
        open_store(_url(kept))


def test_an_older_copy_is_brought_up_to_date(
    file: Path, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of an older revision comes back as a store of the present one; the copy stays as it was."""
    make_store_with_rows(_url(file))
    assert backup(_url(file), copy).revision == HEAD
    before = copy.read_bytes()
    add_revision(tmp_path, monkeypatch.setattr)
    done = restore(_url(file), copy, now=AT)
    assert (done.backup.revision, copy.read_bytes()) == (HEAD, before)
    with open_store(_url(file)) as store, store.reading() as tx:
        assert stored_revision(store) == NEXT
        assert (tx.counts().measurements, tx.counts().incidents) == (3, 2)


def test_a_copy_comes_back_over_a_newer_store(used: Path, copy: Path) -> None:
    """After an upgrade the way back is a copy: the newer store is kept beside it."""
    backup(_url(used), copy)
    _in(used, "UPDATE store_revision SET version_num = '9999'")
    restore(_url(used), copy, now=AT)
    assert _names(used) == ["first"]


def test_a_copy_with_a_log_comes_back_whole(used: Path, copy: Path) -> None:
    """A copy by other means, of which the last commits are still in a log beside it, is read with its log."""
    with open_store(_url(used)) as store:
        _incident(store, "in the log")
        for end in ("", "-wal"):
            shutil.copy(f"{used}{end}", f"{copy}{end}")
    restore(_url(used), copy, now=AT)
    assert _names(used) == ["first", "in the log"]


@pytest.mark.parametrize("pages", [1024, 16384])
def test_a_store_with_other_pages_gets_its_rows_back(used: Path, copy: Path, pages: int) -> None:
    """The size of pages, which a store with a log cannot change, does not matter."""
    backup(_url(used), copy)
    for file in (used, copy):
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute(f"PRAGMA page_size = {pages if file == used else 4096}")
            connection.execute("VACUUM")
            connection.execute("PRAGMA journal_mode = WAL")
    restore(_url(used), copy, now=AT)
    assert _names(used) == ["first"]


def test_nothing_comes_back_while_somebody_uses_the_store(used: Path, copy: Path) -> None:
    """The store of a running daemon, or of another process, is not replaced."""
    backup(_url(used), copy)
    with daemon_lock(_url(used)), pytest.raises(StoreInUse):
        restore(_url(used), copy, now=AT)
    with open_store(_url(used)) as store:
        with store.reading() as tx:
            assert tx.project() == "shop"
        with pytest.raises(StoreBusy):
            restore(_url(used), copy, now=AT, lock_timeout=NO_PATIENCE)
        _incident(store, "kept")
    assert _names(used) == ["first", "kept"]
    assert not [name for name in _folder(used) if "restore" in name]


def test_other_databases_are_not_overwritten(used: Path, copy: Path, tmp_path: Path) -> None:
    """A copy does not come back over the database of something else."""
    backup(_url(used), copy)
    foreign = tmp_path / "customers.db"
    _in(foreign, "CREATE TABLE customers (id)")
    with pytest.raises(StoreForeign, match="customers"):
        restore(_url(foreign), copy, now=AT)
    with closing(sqlite3.connect(foreign)) as connection:
        assert connection.execute("SELECT count(*) FROM customers").fetchone() == (0,)


def test_a_restore_that_is_cut_off_leaves_the_old_store(
    used: Path, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill while the copy is written leaves the old store or the new one, never a mixture."""
    backup(_url(used), copy)
    with open_store(_url(used)) as store:
        for number in range(300):
            _incident(store, f"late {number}")
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    real = _restore._have_one_page_size

    def keep_what_a_kill_leaves(source: sqlite3.Connection, present: sqlite3.Connection) -> None:
        real(source, present)
        steps = iter(range(1000))

        def look(_status: int, _remaining: int, _total: int) -> None:
            place = crashed / f"{next(steps)}"
            place.mkdir()
            for end in ("", "-wal"):
                if Path(f"{used}{end}").exists():
                    shutil.copy(f"{used}{end}", place / f"store.db{end}")

        source.backup(present, pages=10, progress=look)

    monkeypatch.setattr(_restore, "_have_one_page_size", keep_what_a_kill_leaves)
    restore(_url(used), copy, now=AT)
    found = [len(_names(place / "store.db")) for place in sorted(crashed.iterdir(), key=lambda path: int(path.name))]
    assert len(found) > 5
    assert set(found[:-1]) == {301}
    assert found[-1] in {1, 301}


def test_places_that_cannot_be_written_are_named(used: Path, copy: Path) -> None:
    """A folder that is not there is said, and nothing is made in its stead."""
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        backup(_url(used), copy.parent / "nowhere" / "copy.db")


def test_postgresql_has_its_own_programs(copy: Path) -> None:
    """The error for a store on PostgreSQL names pg_dump and brought back by pg_restore, without its password."""
    url = "postgresql://nobody:hidden@nowhere/x"
    copy.write_text("")
    for do in (lambda: backup(url, copy), lambda: restore(url, copy, now=AT)):
        with pytest.raises(StoreError, match=r"pg_dump .* pg_restore") as raised:
            do()
        assert "hidden" not in str(raised.value)
