"""A write-ahead log that was deleted, or is another store's."""

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from checks import Status
from store import Store, StoreCorrupt, StoreError, backup, last_file, open_store, restore
from tests.store.made import AT, HOUR, measure, opened


def _write(store: Store, name: str) -> None:
    with store.writing() as tx:
        tx.incidents.open(opened(name), recorded_at=AT, actor="mia")


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_what_is_written_into_a_log_that_is_gone_is_no_success(file: Path, end: str) -> None:
    """The write after the deletion fails, and so does each later one; closing saves what the log holds."""
    with open_store(f"sqlite:///{file}") as store:
        _write(store, "before")
        Path(f"{file}{end}").unlink()
        for name in ("after", "again"):
            with pytest.raises(StoreError, match=f"{end} was deleted or replaced while in use"):
                _write(store, name)
    with open_store(f"sqlite:///{file}") as store, store.reading() as tx:
        assert tx.counts().incidents >= 1
        assert store.rebuild_check() == []


def test_a_log_of_another_state_is_found(file: Path) -> None:
    """A copy that was put beside the log of a later state does not hold together, and is not changed."""
    url = f"sqlite:///{file}"
    with open_store(url) as store:
        measure(store, *((AT + number * HOUR, Status.PASS) for number in range(50)))
        backup(url, file.with_name("copy.db"))
        measure(store, *((AT + (100 + number) * HOUR, Status.PASS) for number in range(30)))
    with open_store(url) as store:
        measure(store, (AT + 300 * HOUR, Status.PASS))
        mixed = file.with_name("mixed.db")
        shutil.copy(file.with_name("copy.db"), mixed)
        shutil.copy(f"{file}-wal", f"{mixed}-wal")
    before = mixed.read_bytes()
    with pytest.raises(StoreCorrupt, match="the write-ahead log beside it may be that of another state or store"):
        open_store(f"sqlite:///{mixed}")
    assert mixed.read_bytes() == before


def test_what_is_missing_is_known_outside_of_the_store(file: Path) -> None:
    """A store that ends before what was saved of it, or has another history, is reported until a person decides."""
    url = f"sqlite:///{file}"
    with open_store(url) as store:
        _write(store, "first")
        backup(url, file.with_name("copy.db"))
        measure(store, (AT, Status.PASS))
        _write(store, "second")
        assert store.missing() is None
    assert json.loads(last_file(file).read_text())["event"] == 2
    shutil.copy(file.with_name("copy.db"), file)
    for _ in range(2):  # a later write does not hide it
        with open_store(url) as store:
            missing = store.missing()
            assert missing is not None
            assert "once held event 2 and run 1, but ends at event 1 and run 0" in missing
            measure(store, (AT, Status.PASS))
            store.prune(keep_measurements=timedelta(), keep_incidents=timedelta(days=9999), now=AT)
        shutil.copy(file.with_name("copy.db"), file)
    with open_store(url) as store:
        for number, name in enumerate(("other", "another")):
            _write(store, name)
            measure(store, (AT + number * HOUR, Status.PASS))
        missing = store.missing()
        assert missing is not None
        assert "another event 2" in missing
    restore(url, file.with_name("copy.db"), now=AT)
    with open_store(url) as store:
        assert store.missing() is None
