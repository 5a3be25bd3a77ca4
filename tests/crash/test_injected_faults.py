"""Kill at each write and sync of the store, and let each fail: the store is sound, nothing acknowledged is lost.

By default one write in `_EVERY` fails (15, and 45 for a change), one in `_KILLED` is killed, and one sync in `_SYNCED`;
`make soak` takes every one of them.
"""

import os
import shutil
from itertools import count
from pathlib import Path

import pytest

from store import backup, open_store
from tests.crash import strace
from tests.crash.invariants import Remains, columns_of, rows_of
from tests.crash.places import Place
from tests.crash.toil import REFUSED
from tests.store.later import NEXT, make_store_with_rows
from tests.tiers import examples

_EVERY = int(os.environ.get("TABLEWATCH_CRASH_EVERY") or 1500 // examples(100))
_KILLED = max(1, _EVERY // 2)
_SYNCED = max(1, min(3, _EVERY // 5))  # there are few
_MIGRATED = max(1, min(7, _EVERY // 2))
_HOUR_S = 3600.0
_KILLS = {"killed at a write": "pwrite64:signal=KILL:when={n}", "killed at a sync": "fdatasync:signal=KILL:when={n}"}
_FAILURES = {
    "full once": "pwrite64:error=ENOSPC:when={n}",
    "full from then on": "pwrite64:error=ENOSPC:when={n}+",
    "a failing write": "pwrite64:error=EIO:when={n}",
    "a disk that dies": "pwrite64:error=EIO:when={n}+",
}
_SYNCS = {"a failing sync": "fdatasync:error=EIO:when={n}", "no sync any more": "fdatasync:error=EIO:when={n}+"}

pytestmark = [pytest.mark.timeout(14_400 if _EVERY == 1 else 1800), pytest.mark.usefixtures("tracing")]


def _numbers(kind):
    """Return at which calls there is to be a fault, one after the other."""
    if kind == "killed at a write":
        return count(1, _KILLED)
    return count(1, _SYNCED if kind in {*_KILLS, *_SYNCS} else _EVERY)


@pytest.fixture(scope="module")
def template(nursery, tmp_path_factory):
    """Return a folder with a table that has just gone bad, and a store that has seen it well."""
    place = Place(tmp_path_factory.mktemp("template"), tables=("t0",))
    assert nursery.lead("toil", place.folder) == 0
    place.turn("t0")
    return place.folder


def _sent(folder):
    return {line.split()[1] for line in (folder / "acks").read_text().splitlines() if line.startswith("SENT ")}


@pytest.mark.parametrize("kind", [*_KILLS, *_SYNCS, *_FAILURES])
def test_a_fault_at_any_write_of_the_store(nursery, template, tmp_path, kind, record_property):
    """A daemon's work that is cut off or fails anywhere is gone on with: nothing is lost, doubled or left unsaid."""
    inject, faults = {**_KILLS, **_SYNCS, **_FAILURES}[kind], 0
    for number in _numbers(kind):
        folder = tmp_path / str(number)
        shutil.copytree(template, folder)
        store = folder / "store.db"
        files = [store, Path(f"{store}-wal")]
        life, was_hit = strace.suffer(nursery, "toil", folder, inject.format(n=number), files, shift_s=_HOUR_S)
        ended = life.wait()
        if not was_hit:
            break
        assert ended in ({-9} if kind in _KILLS else {0, REFUSED}), (number, life.said())
        faults += 1
        said, sent = life.acknowledged(), _sent(folder)
        left = Remains(store)
        left.are_sound()
        left.hold(said)
        left.leave_no_gap()
        after = nursery.begin("toil", folder, shift_s=_HOUR_S + 600.0, pause_s=60.0)
        assert after.wait() == 0, (number, life.said(), after.said())
        said += after.acknowledged()
        _all_is_well(Remains(store), sent | _sent(folder), failed=any(status == "fail" for _, _, status, _ in said))
        shutil.rmtree(folder)
    record_property("faults", faults)
    print(f"{kind}: {faults} faults")  # noqa: T201 - the numbers of a soak
    assert faults > 5


def _all_is_well(remains, sent, *, failed):
    remains.are_sound()
    remains.leave_no_gap()
    remains.tell_the_truth({"t0": False})
    assert remains.number("SELECT count(*) FROM transition WHERE settled_us IS NULL") == 0
    assert {name for (name,) in remains.ask("SELECT id FROM delivery")} == sent
    assert remains.number("SELECT count(*) FROM delivery WHERE state <> 'sent'") == 0
    assert remains.number("SELECT count(*) FROM incident") in ({1} if failed else {0, 1})


def _sound_rows(store):
    remains = Remains(store)
    assert remains.ask("PRAGMA integrity_check") == [("ok",)]
    assert remains.ask("PRAGMA foreign_key_check") == []
    return rows_of(remains.file)


@pytest.mark.parametrize("kind", [*_KILLS, *_SYNCS, "full once", "a disk that dies"])
def test_a_fault_at_any_write_of_a_migration(nursery, tmp_path, kind):
    """The tables are the old ones with every row, or the new ones, and never anything in between."""
    template, inject, faults = tmp_path / "template.db", {**_KILLS, **_SYNCS, **_FAILURES}[kind], 0
    make_store_with_rows(f"sqlite:///{template}")
    columns = columns_of(template)
    old = rows_of(template)
    old_revision = old.pop("store_revision")
    for number in count(1, 1 if "sync" in kind else _MIGRATED):
        folder = tmp_path / str(number)
        folder.mkdir()
        store = folder / "store.db"
        shutil.copyfile(template, store)
        files = [store, Path(f"{store}-wal")]
        inject_here = inject.format(n=number)
        life, was_hit = strace.suffer(nursery, "upgrade", folder, inject_here, files, url=f"sqlite:///{store}")
        found = _sound_rows(store)
        revision = found.pop("store_revision")
        if revision == old_revision:
            assert found == old, (number, life.said())
        else:
            assert revision == [f"('{NEXT}',)"], (number, life.said())
            assert rows_of(store, columns) == old, (number, life.said())
        if not was_hit:
            break
        faults += 1
        assert nursery.lead("upgrade", folder, url=f"sqlite:///{store}") == 0
        assert rows_of(store)["store_revision"] == [f"('{NEXT}',)"]
        shutil.rmtree(folder)
    assert faults > 2


@pytest.mark.parametrize("act", ["copy", "bring_back"])
@pytest.mark.parametrize("kind", ["killed at a write", "killed at a sync", "full from then on", "a failing write"])
def test_a_fault_at_any_write_of_a_copy(nursery, tmp_path, act, kind):
    """A backup has its name only when it is whole; a store that is restored is the old one or the copy."""
    template, kept, faults = tmp_path / "template.db", tmp_path / "kept.db", 0
    make_store_with_rows(f"sqlite:///{template}")
    with open_store(f"sqlite:///{template}") as store:
        backup(f"sqlite:///{template}", kept)
        with store.writing() as tx:
            tx.name_project("later")
    states = {"copy": rows_of(template), "kept": rows_of(kept)}
    for number in count(1, 1 if "sync" in kind else _KILLED):
        folder = tmp_path / str(number)
        folder.mkdir()
        store = folder / "store.db"
        shutil.copyfile(template, store)
        inject = {**_KILLS, **_FAILURES}[kind].format(n=number)
        how = {"to": str(folder / "new.db")} if act == "copy" else {"file": str(kept)}
        _, was_hit = strace.suffer(nursery, act, folder, inject, [], url=f"sqlite:///{store}", **how)
        found = _sound_rows(store)
        if act == "copy":
            assert found == states["copy"]
            assert not (folder / "new.db").exists() or _sound_rows(folder / "new.db") == states["copy"]
        else:
            assert found in (states["copy"], states["kept"])
            asides = [one for one in folder.glob("store.db.before*") if not one.name.endswith(("-wal", "-shm"))]
            assert all(_sound_rows(aside) == states["copy"] for aside in asides)
            assert found == states["copy"] or len(asides) == 1
        if not was_hit:
            break
        faults += 1
        again = {**how, "force": True} if act == "copy" else how
        assert nursery.lead(act, folder, url=f"sqlite:///{store}", **again) == 0
        made = folder / "new.db" if act == "copy" else store
        assert rows_of(made) == states["copy" if act == "copy" else "kept"]
        shutil.rmtree(folder)
    assert faults > 2
