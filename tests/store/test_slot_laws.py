"""Laws of slots, whatever daemons do: none is lost, none is run by two, and no stale result counts."""

import shutil
import tempfile
from datetime import datetime
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from store import Lease, Scheduled, Skip, SkipReason, SlotDecision, SlotState, open_store
from tests.store.made import AT, HOUR
from tests.tiers import examples

TABLES = ("a", "b", "c")
HOLDERS = st.sampled_from(["one", "two"])
LONG_AGO = AT - 10_000 * HOUR


class Slots(RuleBasedStateMachine):
    """Two daemons with a schedule of three tables that are due every hour; a model of what must then be so."""

    leases = Bundle("leases")

    def __init__(self, empty_file: Path) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = open_store(f"sqlite:///{shutil.copy(empty_file, self.folder.name)}")
        self.now = self.latest = AT
        self.epoch = 0
        self.passed = dict.fromkeys(TABLES, 0)
        self.seen: list[Scheduled] = []
        self.newest: dict[int, int] = {}
        self.running: dict[int, str] = {}
        self.finished: set[int] = set()

    def teardown(self) -> None:
        """Close the store."""
        self.store.close()
        self.folder.cleanup()

    @initialize()
    def plan(self) -> None:
        """Put the tables in the schedule."""
        with self.store.writing() as tx:
            tx.schedule.keep_time(self.now)
            tx.schedule.replace([Scheduled(table, "every 1h", "UTC", AT, AT) for table in TABLES])

    @rule(hours=st.integers(0, 3))
    def wait(self, hours: int) -> None:
        """Let time pass."""
        self.now += hours * HOUR

    @rule()
    def look(self) -> None:
        """See what is due, to claim it later."""
        with self.store.reading() as tx:
            self.seen = tx.schedule.due(self.now, 2)

    @rule(target=leases, holder=HOLDERS, fresh=st.booleans(), run=st.booleans())
    def claim(self, holder: str, fresh: bool, run: bool) -> object:
        """Claim what is due or what was seen: the newest slot is run, earlier ones are left out; or all of them."""
        with self.store.writing() as tx:
            due = tx.schedule.due(self.now, 3) if fresh else self.seen
            before = {row.table: row.next_slot for row in tx.schedule.tables()}
            claims = [self._claim_of(one, run=run) for one in due]
            got = tx.slots.claim(claims, holder=holder, now=self.now, lease_until=self.now + 2 * HOUR)
            after = {row.table: row.next_slot for row in tx.schedule.tables()}
        for table in TABLES:
            self.passed[table] += (after[table] - before[table]) // HOUR
        for lease in got:
            assert lease.id not in self.newest
            assert lease.table not in self.running.values()
            self._hold(lease)
        return multiple(*got)

    def _claim_of(self, due: Scheduled, *, run: bool) -> SlotDecision:
        newest = max(due.next_slot, _hour_of(self.now))
        last_out = newest - HOUR if run else newest
        missed = (last_out - due.next_slot) // HOUR + 1
        skip = Skip(due.table, due.next_slot, last_out, missed, SkipReason.LATE) if missed > 0 else None
        return SlotDecision(due, newest if run else None, newest + HOUR, newest + HOUR, skip)

    def _hold(self, lease: Lease) -> None:
        self.newest[lease.id] = lease.attempt
        self.running[lease.id] = lease.table

    @rule(target=leases, holder=HOLDERS, anyone=st.booleans())
    def take_over(self, holder: str, anyone: bool) -> object:
        """Take over what is over, or what others hold."""
        with self.store.writing() as tx:
            held = {slot.id: slot for slot in tx.slots.running()}
            got = tx.slots.take_over(self.now, holder=holder, lease_until=self.now + 2 * HOUR, limit=2, anyone=anyone)
        for lease in got:
            known = held[lease.id]
            assert known.lease_until <= self.now or (anyone and known.holder != holder)
            assert lease.attempt == self.newest[lease.id] + 1
            self._hold(lease)
        return multiple(*got)

    @rule(lease=leases)
    def finish(self, lease: Lease) -> None:
        """Finish a lease, stale or not: it counts if and only if it is the newest attempt of a running slot."""
        with self.store.writing() as tx:
            done = tx.slots.finish([lease], now=self.now, run_ids={lease.id: f"run {lease.attempt}"})
        assert done == ({lease.id} if self._holds(lease) else set())
        if done:
            assert lease.id not in self.finished
            self.finished.add(lease.id)
            del self.running[lease.id]

    @rule(lease=leases, back=st.booleans())
    def renew(self, lease: Lease, back: bool) -> None:
        """Renew or give back a lease, which only its holder can."""
        with self.store.writing() as tx:
            held = (
                tx.slots.give_up_leases([lease], self.now)
                if back
                else tx.slots.renew([lease], now=self.now, lease_until=self.now + HOUR)
            )
        assert held == ({lease.id} if self._holds(lease) else set())

    def _holds(self, lease: Lease) -> bool:
        return lease.id in self.running and self.newest[lease.id] == lease.attempt

    @rule(hours=st.integers(0, 5))
    def set_back(self, hours: int) -> None:
        """Set the clock back: a new epoch, in which tables are planned again."""
        self.now -= hours * HOUR
        with self.store.writing() as tx:
            epoch = tx.schedule.keep_time(self.now)
            if epoch != self.epoch:
                following = _hour_of(self.now) + HOUR
                tx.schedule.reschedule([Scheduled(table, "every 1h", "UTC", following, following) for table in TABLES])
        went_back = self.now < self.latest
        assert epoch == self.epoch + went_back
        self.epoch = epoch
        self.latest = self.now if went_back else max(self.latest, self.now)

    @invariant()
    def every_slot_is_recorded(self) -> None:
        """What the schedule has passed stands as a slot or as left out; a table runs once at a time."""
        with self.store.reading() as tx:
            slots, skips = tx.slots.since(LONG_AGO, 9999), tx.schedule.skips(LONG_AGO, 9999)
        for table in TABLES:
            recorded = sum(slot.table == table for slot in slots)
            recorded += sum(skip.count for skip in skips if skip.table == table)
            assert recorded == self.passed[table]
        running = [slot.table for slot in slots if slot.state is SlotState.RUNNING]
        assert sorted(running) == sorted(self.running.values())
        assert len(set(running)) == len(running)
        assert len({(slot.table, slot.slot, slot.epoch) for slot in slots}) == len(slots)
        assert {slot.id: f"run {self.newest[slot.id]}" for slot in slots if slot.id in self.finished} == {
            slot.id: slot.run_id for slot in slots if slot.state is SlotState.DONE
        }


def _hour_of(moment: datetime) -> datetime:
    return moment - (moment - LONG_AGO) % HOUR


def test_no_slot_is_lost_doubled_or_told_by_a_stale_attempt(empty_file: Path) -> None:
    """Whatever two daemons do, in whatever order, the schedule and the slots agree with the model."""
    run_state_machine_as_test(
        lambda: Slots(empty_file), settings=settings(max_examples=examples(40), stateful_step_count=30, deadline=None)
    )
