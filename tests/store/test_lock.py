"""One daemon on a SQLite store: the error of the second names the first one."""

import fcntl
import os
import socket
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from store import DaemonLock, StoreError, StoreInUse, StoreUnavailable, daemon_lock, lock_holder, open_store
from tests.store.processes import start


def _lock_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.lock")


def test_a_second_daemon_is_told_of_the_first(file: Path) -> None:
    """Who comes second learns the first one's process, machine and time, and what to do."""
    url = f"sqlite:///{file}"
    before = datetime.now(UTC)
    with (
        daemon_lock(url) as held,
        pytest.raises(StoreInUse, match=f"{file} is in use by .* {os.getpid()} .* stop") as raised,
    ):
        daemon_lock(url).__enter__()
    assert held.file == _lock_file(file)
    assert (raised.value.pid, raised.value.host) == (os.getpid(), socket.gethostname())
    assert abs((raised.value.since - before).total_seconds()) < 600
    with daemon_lock(url):
        pass


def test_a_killed_daemon_leaves_no_lock(file: Path) -> None:
    """The lock ends with its process, however that ends, and the next one may start at once."""
    url = f"sqlite:///{file}"
    first = start("holder", "lock", url)
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    with pytest.raises(StoreInUse) as raised:
        daemon_lock(url).__enter__()
    assert raised.value.pid == first.pid
    first.kill()
    first.communicate()
    with daemon_lock(url):
        pass


def test_the_lock_file_is_private_and_stays(tmp_path: Path) -> None:
    """The lock's file and folder are readable for their owner only; the file is never removed, or two could lock."""
    file = tmp_path / "new" / "store.db"
    with daemon_lock(f"sqlite:///{file}"):
        assert stat.S_IMODE(_lock_file(file).stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert _lock_file(file).exists()
    assert not file.exists()


def test_two_names_of_a_store_have_one_lock(file: Path, tmp_path: Path) -> None:
    """A link to a store is no way around its lock."""
    open_store(f"sqlite:///{file}").close()
    (tmp_path / "other.db").symlink_to(file)
    with daemon_lock(f"sqlite:///{file}"), pytest.raises(StoreInUse):
        daemon_lock(f"sqlite:///{tmp_path / 'other.db'}").__enter__()


def test_the_store_itself_is_not_locked(file: Path) -> None:
    """While a daemon has the lock, others open the store and write to it."""
    url = f"sqlite:///{file}"
    with daemon_lock(url), open_store(url) as store, store.writing() as tx:
        tx.name_project("shop")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}'])
def test_a_holder_that_has_not_said_who_he_is(file: Path, text: str) -> None:
    """Between locking and writing, or after strange hands, the first one is another process."""
    place = _lock_file(file)
    place.write_text(text)
    with place.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(StoreInUse, match="another process") as raised:
            daemon_lock(f"sqlite:///{file}").__enter__()
    assert raised.value.pid is None


def test_a_lock_that_cannot_be_made_is_refused(file: Path, tmp_path: Path) -> None:
    """A link in the place of the lock, or a file in that of its folder, is named."""
    _lock_file(file).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable, match=r"store\.db\.lock cannot be created"):
        daemon_lock(f"sqlite:///{file}").__enter__()
    assert not (tmp_path / "elsewhere").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="cannot be created"):
        daemon_lock(f"sqlite:///{tmp_path / 'file' / 'store.db'}").__enter__()


def test_a_lock_is_taken_once(file: Path) -> None:
    """One lock object does not lock twice."""
    with daemon_lock(f"sqlite:///{file}") as lock, pytest.raises(StoreError, match="held already"):
        lock.__enter__()


def test_postgresql_needs_no_lock() -> None:
    """Several daemons share a store on PostgreSQL."""
    with daemon_lock("postgresql://nobody@nowhere/x") as one, daemon_lock("postgresql://nobody@nowhere/x"):
        assert isinstance(one, DaemonLock)
        assert one.file is None


def test_a_lock_whose_file_was_deleted_or_replaced_is_reported(file: Path) -> None:
    """Without its file a second daemon gets in: the holder of the lock can see that."""
    with daemon_lock(f"sqlite:///{file}") as held:
        held.check()
        _lock_file(file).rename(file.with_name("elsewhere"))
        with pytest.raises(StoreError, match="was deleted or replaced while it was held"):
            held.check()
        _lock_file(file).touch()
        with pytest.raises(StoreError, match="was deleted or replaced while it was held"):
            held.check()


def test_who_has_the_lock_is_told_without_taking_it(file: Path) -> None:
    """Asking does not stop a daemon from starting, and makes no file."""
    url = f"sqlite:///{file}"
    assert lock_holder(url) is None
    assert not _lock_file(file).exists()
    with daemon_lock(url):
        result = lock_holder(url)
        assert result is not None
        assert result.pid == os.getpid()
    assert lock_holder(url) is None
    with daemon_lock(url):
        assert lock_holder("postgresql://127.0.0.1/none") is None


def test_a_store_that_was_deleted_or_replaced_is_reported(file: Path) -> None:
    """SQLite would go on writing to an unlinked file."""
    url = f"sqlite:///{file}"
    with open_store(url) as store:
        store.check_place()
        file.rename(file.with_name("elsewhere"))
        with pytest.raises(StoreError, match=f"{file} was deleted or replaced"):
            store.check_place()
        open_store(url).close()
        with pytest.raises(StoreError, match=f"{file} was deleted or replaced"):
            store.check_place()


def test_a_store_whose_folder_is_a_file_now_is_reported(tmp_path: Path) -> None:
    """A folder that was replaced is a store that was taken away."""
    inside = tmp_path / "folder" / "store.db"
    with open_store(f"sqlite:///{inside}") as store:
        inside.parent.rename(tmp_path / "elsewhere")
        inside.parent.touch()
        with pytest.raises(StoreError, match="was deleted or replaced"):
            store.check_place()
