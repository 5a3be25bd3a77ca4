"""Kill at each named point, start again: nothing is lost, nothing half done is left."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from monitor.reporting.period import PERIODS
from store import FailPoint, StoreCorrupt, backup, open_store
from store._failpoint import _read
from tests.crash.invariants import Remains, Seen, columns_of, rows_of
from tests.crash.nursery import until
from tests.crash.places import Endpoint, Place
from tests.crash.settling import settle
from tests.monitor.alerts.receivers import listening
from tests.store.later import NEXT, make_store_with_rows

_ROOT = Path(__file__).resolve().parents[2]
_WORK = (FailPoint.AFTER_CLAIM, FailPoint.BEFORE_REMEMBER, FailPoint.AFTER_REMEMBER)
_SPEECH = (FailPoint.AFTER_ANNOUNCE, FailPoint.AFTER_LEASE, FailPoint.AFTER_ANSWER)
_REPORT = (FailPoint.BEFORE_REPORT_NAMED, FailPoint.AFTER_REPORT_NAMED)
_LEDGER = (FailPoint.BEFORE_CHARGE, FailPoint.AFTER_CHARGE, FailPoint.IN_ANCHOR)
_EXPORT = (FailPoint.BEFORE_EXPORT_PROVED, FailPoint.AFTER_EXPORT_HELD, FailPoint.BEFORE_EXPORT_NAMED)
_MOVE = (FailPoint.BEFORE_MOVE, FailPoint.IN_MOVE, FailPoint.AFTER_MOVE)  # tests/store/test_copy.py kills there
_RENAME = (FailPoint.AFTER_RENAME,)  # tests/monitor/commands/test_rename.py kills there
_FILES = (FailPoint.IN_MIGRATION, FailPoint.IN_BACKUP, FailPoint.IN_RESTORE, FailPoint.IN_RESTORE_LOG_MOVED)


def test_every_point_is_in_the_program_and_in_these_tests():
    """A point that is never passed, or that no test kills at, proves nothing."""
    text = "".join(path.read_text() for package in ("store", "monitor") for path in (_ROOT / package).rglob("*.py"))
    assert {FailPoint[name] for name in re.findall(r"reached\(FailPoint\.(\w+)\)", text)} == set(FailPoint)
    assert {*_WORK, *_SPEECH, *_REPORT, *_LEDGER, *_EXPORT, *_MOVE, *_RENAME, *_FILES} == set(FailPoint)


def test_points_are_inert_outside_these_tests():
    """It takes two variables of the environment, of which one says that this is a test."""
    armed = {"TABLEWATCH_FAILPOINT": "after-claim:2", "TABLEWATCH_CRASH_TEST": "1"}
    assert _read(armed) == {FailPoint.AFTER_CLAIM: 2}
    assert _read({"TABLEWATCH_FAILPOINT": "after-claim:2"}) == {}
    assert _read({"TABLEWATCH_CRASH_TEST": "1"}) == {}


@pytest.fixture
def endpoint():
    """Return the fair other end of a webhook, listening."""
    found = Endpoint(1)
    found.fair = True
    with listening(found) as receiver:
        found.port = receiver.port
        yield found


@pytest.mark.parametrize("passing", [1, 2])
@pytest.mark.parametrize("point", [*_WORK, *_SPEECH])
def test_a_daemon_that_dies_there_is_followed_by_one_that_misses_nothing(nursery, endpoint, tmp_path, point, passing):
    """Every slot is run or skipped, every incident is open once, and heard of under one id."""
    _kill_twice(nursery, endpoint, Place(tmp_path, port=endpoint.port), f"{point}:{passing}")


@pytest.mark.parametrize("point", _WORK)
def test_fails_that_wait_to_be_confirmed_outlive_the_daemon(nursery, endpoint, tmp_path, point):
    """The same holds where each incident needs a second run: what waits is confirmed by the next daemon."""
    place = Place(tmp_path, port=endpoint.port, more="  confirm: {after: 1s}")
    remains = _kill_twice(nursery, endpoint, place, f"{point}:2")
    assert remains.number("SELECT count(*) FROM episode WHERE detected_us <> first_failed_us") == 0


def _kill_twice(nursery, endpoint, place, failpoint):
    tmp_path, seen = place.folder, Seen()
    place.turn("t0")
    place.turn("t3")
    for shift_s in (0.0, 300.0):
        life = nursery.begin("watch", tmp_path, failpoint=failpoint, shift_s=shift_s)
        while life.wait(1.0) is None:
            place.turn("t1")  # else there is nothing to say any more
        assert life.wait() == -9, life.said()
        seen.acknowledged += life.acknowledged()
        remains = Remains(place.store)
        remains.are_sound()
        remains.hold(seen.acknowledged)
        place.turn("t4")
    remains = settle(nursery, place, seen, shift_s=600.0, step_s=120.0)
    remains.are_sound()
    remains.hold(seen.acknowledged)
    remains.leave_no_gap()
    remains.match(endpoint)
    remains.are_told(endpoint)
    remains.tell_the_truth({name: name in place.bad for name in place.tables})
    remains.fold()
    return remains


@pytest.mark.parametrize("kind", PERIODS, ids=lambda kind: kind.frequency)
@pytest.mark.parametrize("point", _REPORT)
def test_a_report_is_whole_or_not_there_and_is_sent_once(nursery, endpoint, tmp_path, point, kind):
    """A kill beside the renaming leaves a whole report or none; the next one makes what is missing, once."""
    due = kind.containing(datetime.now(UTC), "UTC").end + timedelta(hours=9)
    place = Place(tmp_path, port=endpoint.port, more=f"report: {{{kind.frequency}: {{keep: reports, to: [hook]}}}}")
    life = nursery.begin("watch", tmp_path)
    until(life.acknowledged, "a look")
    life.kill()
    assert nursery.lead("report", tmp_path, failpoint=point, now=due.isoformat()) == -9
    names = [path.name for path in (tmp_path / "reports").glob("*.html") if not path.name.startswith(".")]
    assert len(names) == (point is FailPoint.AFTER_REPORT_NAMED)
    for _ in range(2):
        assert nursery.lead("report", tmp_path, now=due.isoformat()) == 0
    (report,) = (path for path in (tmp_path / "reports").glob("*.html") if not path.name.startswith("."))
    assert report.read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert Remains(place.store).number("SELECT count(*) FROM delivery WHERE subject = 'report'") == 1


def test_a_migration_that_is_cut_off_leaves_the_old_tables(nursery, tmp_path):
    """The next start finds the old revision with every row, and brings it up to date."""
    url = f"sqlite:///{tmp_path}/store.db"
    make_store_with_rows(url)
    before, columns = rows_of(tmp_path / "store.db"), columns_of(tmp_path / "store.db")
    assert nursery.lead("upgrade", tmp_path, failpoint=FailPoint.IN_MIGRATION, url=url) == -9
    left = Remains(tmp_path / "store.db")
    assert left.ask("PRAGMA integrity_check") == [("ok",)]
    assert rows_of(left.file) == before
    assert nursery.lead("upgrade", tmp_path, url=url) == 0
    assert rows_of(tmp_path / "store.db")["store_revision"] == [f"('{NEXT}',)"]
    before.pop("store_revision")
    assert rows_of(tmp_path / "store.db", columns) == before


@pytest.fixture
def kept(tmp_path):
    """Return a store and a backup of it, which is two incidents behind."""
    place = Place(tmp_path)
    make_store_with_rows(place.url)
    open_store(place.url).close()
    backup(place.url, tmp_path / "copy.db")
    with open_store(place.url) as store, store.writing() as tx:
        tx.name_project("later")
    return place


@pytest.mark.parametrize("force", [False, True])
def test_a_backup_that_is_cut_off_has_no_name(nursery, kept, tmp_path, force):
    """Where a file of that name was, it is as it was; the next backup is whole."""
    to = tmp_path / ("copy.db" if force else "new.db")
    before = to.read_bytes() if force else None
    how = {"url": kept.url, "to": str(to), "force": force}
    assert nursery.lead("copy", tmp_path, failpoint=FailPoint.IN_BACKUP, **how) == -9
    assert (to.read_bytes() if to.exists() else None) == before
    assert nursery.lead("copy", tmp_path, **how) == 0
    assert rows_of(to) == rows_of(kept.store)


def test_a_restore_that_is_cut_off_leaves_the_old_store(nursery, kept, tmp_path):
    """The store is as it was until the copy is in its place, whole; what was there is kept beside it."""
    how = {"url": kept.url, "file": str(tmp_path / "copy.db")}
    before = rows_of(kept.store)
    assert nursery.lead("bring_back", tmp_path, failpoint=FailPoint.IN_RESTORE, **how) == -9
    assert rows_of(Remains(kept.store).file) == before
    assert nursery.lead("bring_back", tmp_path, **how) == 0
    assert rows_of(kept.store) == rows_of(tmp_path / "copy.db")
    asides = [path for path in tmp_path.glob("store.db.before-restore-*") if not path.name.endswith(("-wal", "-shm"))]
    assert len(asides) == 2
    assert all(rows_of(path) == before for path in asides)


def test_a_restore_over_a_broken_store_never_leaves_none(nursery, kept, tmp_path):
    """Between the broken store and the copy there is always a store: a daemon would make a new, empty one."""
    how = {"url": kept.url, "file": str(tmp_path / "copy.db")}
    broken = b"no database" + kept.store.read_bytes()[11:]
    kept.store.write_bytes(broken)
    assert nursery.lead("bring_back", tmp_path, failpoint=FailPoint.IN_RESTORE_LOG_MOVED, **how) == -9
    assert kept.store.read_bytes() == broken
    with pytest.raises(StoreCorrupt):
        open_store(kept.url)
    assert nursery.lead("bring_back", tmp_path, **how) == 0
    assert rows_of(kept.store) == rows_of(tmp_path / "copy.db")
    assert [path.read_bytes() for path in sorted(tmp_path.glob("store.db.before-restore-*"))] == [broken, broken]
