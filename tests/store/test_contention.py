"""Several daemons at one store: each slot is run once, whichever is killed."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from store import Lease, Scheduled, SlotDecision, SlotState, Store, StoreUnavailable, open_store
from tests.store.made import AT, HOUR
from tests.store.processes import start

TABLES, HOURS, BATCH = 40, 4, 7


def _plan(store: Store) -> None:
    with store.writing() as tx:
        tx.schedule.replace([Scheduled(f"t{number}", "every 1h", "UTC", AT, AT) for number in range(TABLES)])


def test_processes_share_the_slots(url: str) -> None:
    """Three processes that claim what they saw, as fast as they can, run each slot of each table exactly once."""
    with open_store(url) as store:
        _plan(store)
        workers = [start("claimer", url, f"d{number}", str(HOURS), str(BATCH)) for number in range(3)]
        said = [worker.communicate() for worker in workers]
        assert [worker.returncode for worker in workers] == [0] * 3, said
        result = Counter(line for out, _ in said for line in out.splitlines() if line.startswith("done"))
        expected = {
            f"done t{table} {(AT + hour * HOUR).isoformat()}" for table in range(TABLES) for hour in range(HOURS)
        }
        assert result == dict.fromkeys(expected, 1)
        with store.reading() as tx:
            slots = tx.slots.since(AT, 9999)
            assert len(slots) == TABLES * HOURS
            assert {(slot.state, slot.attempt, slot.run_id == f"{slot.holder}-{slot.id}") for slot in slots} == {
                (SlotState.DONE, 1, True)
            }


def test_killed_processes_lose_no_slot(url: str) -> None:
    """What processes that are killed one after the other leave is taken over: no slot is lost or doubled."""
    with open_store(url) as store:
        _plan(store)
        for number in range(3):
            worker = start("claimer", url, f"d{number}", str(HOURS), str(BATCH))
            assert worker.stdout is not None
            for _ in range(3 + number):
                worker.stdout.readline()
            worker.kill()
            worker.communicate()
        with store.writing() as tx:
            left = tx.slots.take_over(AT, holder="heir", lease_until=AT, limit=TABLES, anyone=True)
            assert tx.slots.finish(left, now=AT) == {lease.id for lease in left}
            assert {lease.attempt for lease in left} <= {2}
        last = start("claimer", url, "last", str(HOURS), str(BATCH))
        assert last.wait() == 0, last.communicate()
        last.communicate()
        with store.reading() as tx:
            slots = tx.slots.since(AT, 9999)
            assert Counter((slot.table, slot.slot) for slot in slots) == {
                (f"t{table}", AT + hour * HOUR): 1 for table in range(TABLES) for hour in range(HOURS)
            }
            assert {slot.state for slot in slots} == {SlotState.DONE}


def test_what_a_dead_daemon_left_goes_to_one_heir(url: str) -> None:
    """Two that take over at the same moment get each slot once between them, and the dead one's result is refused."""
    both_ready = threading.Barrier(2)
    minute = timedelta(minutes=1)

    def inherit(store: Store, holder: str) -> list[Lease]:
        both_ready.wait()
        with store.writing() as tx:
            return tx.slots.take_over(AT + HOUR, holder=holder, lease_until=AT + 2 * HOUR, limit=TABLES)

    with open_store(url) as one, open_store(url) as two, ThreadPoolExecutor(2) as pool:
        _plan(one)
        with one.writing() as tx:
            claims = [SlotDecision(due, due.next_slot, AT + HOUR, AT + HOUR) for due in tx.schedule.due(AT, TABLES)]
            dead = tx.slots.claim(claims, holder="dead", now=AT, lease_until=AT + minute)
        assert len(dead) == TABLES
        first, second = pool.map(inherit, [one, two], ["one", "two"])
        assert sorted(lease.id for lease in first + second) == sorted(lease.id for lease in dead)
        with two.writing() as tx:
            assert tx.slots.finish(dead, now=AT + HOUR, run_ids={lease.id: "stale" for lease in dead}) == set()
            assert len(tx.slots.finish([*first, *second], now=AT + HOUR)) == TABLES
            assert {slot.run_id for slot in tx.slots.since(AT, 999)} == {None}


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_writer_that_stands_still_is_sent_away(url: str) -> None:
    """A daemon that is stopped amid a transaction keeps the others out for a while only; nothing of it is kept.

    How long a store lets that be is what tests/store/test_engines.py reads.
    """
    with open_store(url) as other, open_store(url) as still:
        with pytest.raises(StoreUnavailable):
            _stand_still(still, other)
        with still.reading() as tx:
            assert tx.project() == "other"
        with still.writing() as again:
            assert again.project() == "other"


def _stand_still(still: Store, other: Store) -> None:
    with still.writing() as tx:
        tx.name_project("still")
        tx._connection.exec_driver_sql("SET idle_in_transaction_session_timeout = 1")
        with other.writing() as late:
            late.name_project("other")
        tx.schedule.epoch()
