"""A store that is damaged is refused at the start, named, and left as it is: nothing is deleted, nothing repaired."""

import os
import random
import sqlite3
from contextlib import closing

import pytest

from store import StoreError, open_store
from tests.crash.invariants import Remains
from tests.crash.nursery import until
from tests.crash.places import Place

_PAGE = 4096


@pytest.fixture
def place(nursery, tmp_path):
    """Return a place with a store that was used and closed."""
    place = Place(tmp_path, tables=("t0",))
    place.turn("t0")
    assert nursery.lead("toil", tmp_path) == 0
    return place


def _garbage(number):
    return random.Random(number).randbytes(100)


def _overwrite_a_page(data):
    return data[: 2 * _PAGE] + random.Random(2).randbytes(_PAGE) + data[3 * _PAGE :]


_DAMAGE = {
    "a garbage header": lambda data: _garbage(1) + data[100:],
    "cut in half": lambda data: data[: len(data) // 2],
    "cut within a page": lambda data: data[:-100],
    "an overwritten page": _overwrite_a_page,
    "nothing in it": lambda _: b"",
    "something else": lambda _: b"id,name\n1,ann\n" * 50,
}


@pytest.mark.parametrize("kind", _DAMAGE)
def test_a_damaged_store_is_refused_at_the_start(nursery, place, kind):
    """`tablewatch run` ends with 3, says what to do, and changes no byte of the file."""
    damaged = _DAMAGE[kind](place.store.read_bytes())
    place.store.write_bytes(damaged)
    life = nursery.begin("command", place.folder, words=["run"])
    assert life.wait() == 3, life.said()
    assert "store.db" in life.said()
    assert "tablewatch restore" in " ".join(life.said().split())
    assert place.store.read_bytes() == damaged
    assert {path.name for path in place.folder.iterdir()} >= {"store.db", "store.db.lock"}


def test_flipped_bytes_are_found_or_do_no_harm(place):
    """Whatever bytes of the file change, it is refused, or it is a store that holds together.

    SQLite keeps no sum over what is in a row: that an incident's rows changed shows where its events say otherwise.
    """
    whole, refused = place.store.read_bytes(), 0
    for seed in range(60):
        dice, data = random.Random(seed), bytearray(whole)
        for _ in range(dice.choice((1, 8, 64))):
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        place.store.write_bytes(data)
        try:
            with open_store(place.url, thorough=True) as store:
                store.rebuild_check()
            assert Remains(place.store).ask("PRAGMA quick_check") == [("ok",)]
        except StoreError:
            refused += 1
            assert place.store.read_bytes() == data
    assert refused > 10


def test_a_store_that_lost_its_log_is_sound_or_refused(nursery, tmp_path):
    """Without its log a store may be an earlier one: it holds together, and the daemon goes on from there."""
    place = Place(tmp_path)
    place.turn("t0")
    life = nursery.begin("watch", tmp_path)
    until(lambda: len(life.acknowledged()) > 30, "some looks")
    assert life.kill() == -9
    log = tmp_path / "store.db-wal"
    assert log.stat().st_size > 0
    log.unlink()
    (tmp_path / "store.db-shm").unlink(missing_ok=True)
    Remains(place.store).are_sound()
    life = nursery.begin("watch", tmp_path, shift_s=60.0)
    until(life.acknowledged, "a look")
    assert life.kill() == -9
    left = Remains(place.store)
    left.are_sound()
    left.hold(life.acknowledged())
    left.fold()


def test_a_log_that_is_cut_off_ends_where_it_is_whole(nursery, tmp_path):
    """A torn end of the log, as a power failure leaves it, costs the last commits at most and nothing before."""
    place = Place(tmp_path)
    life = nursery.begin("watch", tmp_path)
    until(lambda: len(life.acknowledged()) > 60, "some looks")
    assert life.kill() == -9
    log, size = tmp_path / "store.db-wal", (tmp_path / "store.db-wal").stat().st_size
    last = 0
    for cut in (size // 4, size // 2, size - 5000, size - 1):
        os.truncate(log, size)
        copy = log.read_bytes()
        os.truncate(log, cut)
        left = Remains(place.store)
        left.are_sound()
        left.leave_no_gap()
        found = left.number("SELECT count(*) FROM measurement")
        assert found >= last
        last = found
        log.write_bytes(copy)
    with closing(sqlite3.connect(Remains(place.store).file)) as connection:
        assert connection.execute("SELECT count(*) FROM measurement").fetchone()[0] >= len(life.acknowledged())
