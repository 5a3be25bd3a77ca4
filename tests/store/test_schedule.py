"""When tables are due and who looks at them: claims, leases, attempts, the clock's epoch."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from store import Lease, Scheduled, Skip, SkipReason, SlotDecision, SlotState, Store, StoreError
from tests.store.made import AT, HOUR

MINUTE = timedelta(minutes=1)


def scheduled(table: str = "crm.customers", slot: datetime = AT, *, jitter: timedelta = timedelta()) -> Scheduled:
    """Return a table that is due every hour."""
    return Scheduled(table, "every 1h", "UTC", slot, slot + jitter)


def claim(due: Scheduled, *, skip: Skip | None = None, run: bool = True) -> SlotDecision:
    """Return the claim that runs the slot which is due and waits for the next hour."""
    following = due.next_slot + HOUR
    return SlotDecision(due, due.next_slot if run else None, following, following, skip)


def take(store: Store, *tables: str, holder: str = "one", now: datetime = AT) -> list[Lease]:
    """Claim tables as they are in the schedule, for ten minutes."""
    with store.writing() as tx:
        known = {row.table: row for row in tx.schedule.tables()}
        claims = [claim(known[table]) for table in tables]
        return tx.slots.claim(claims, holder=holder, now=now, lease_until=now + 10 * MINUTE)


def plan(store: Store, *tables: str) -> None:
    """Put tables in the schedule, due in this order, a minute apart."""
    with store.writing() as tx:
        tx.schedule.replace([scheduled(table, AT + place * MINUTE) for place, table in enumerate(tables)])


def test_a_schedule_keeps_what_did_not_change(store: Store) -> None:
    """A new configuration moves only the tables whose schedule or zone it changes, and drops those it does not have."""
    plan(store, "a", "b", "c", "d")
    later = [scheduled(table, AT + 9 * HOUR) for table in "abce"]
    new = [later[0], replace(later[1], schedule="every 2h"), replace(later[2], zone="Asia/Tokyo"), later[3]]
    skip = Skip("d", AT, AT + HOUR, 2, SkipReason.CHANGED)
    with store.writing() as tx:
        tx.schedule.replace(new, [skip])
    with store.reading() as tx:
        assert tx.schedule.tables() == [scheduled("a", AT), *new[1:]]
        assert tx.schedule.skips(AT, 9) == [skip]
    with store.writing() as tx:
        tx.schedule.replace([])
        assert tx.schedule.tables() == []


def test_a_step_of_the_clock_moves_every_table(store: Store) -> None:
    """When the clock steps, tables get new times though their schedules are as they were."""
    plan(store, "a", "b")
    with store.writing() as tx:
        tx.schedule.reschedule([scheduled("a", AT - HOUR, jitter=MINUTE)])
        assert tx.schedule.tables() == [scheduled("a", AT - HOUR, jitter=MINUTE), scheduled("b", AT + MINUTE)]


def test_what_waits_longest_is_due_first(store: Store) -> None:
    """Due tables come oldest first, the requested number, without those that are being looked at."""
    plan(store, "c", "a", "b", "future")
    now = AT + 2 * MINUTE
    with store.reading() as tx:
        assert [row.table for row in tx.schedule.due(now, 2)] == ["c", "a"]
        assert [row.table for row in tx.schedule.due(now, 9)] == ["c", "a", "b"]
        assert (tx.schedule.next_due(), tx.schedule.lag(now), tx.schedule.lag(AT - MINUTE)) == (AT, AT, None)
    take(store, "c")
    with store.reading() as tx:
        assert [row.table for row in tx.schedule.due(now + 99 * HOUR, 9)] == ["a", "b", "future"]
        assert tx.schedule.next_due() == AT + MINUTE


def test_a_table_in_hand_waits_too_after_a_minute(store: Store) -> None:
    """A claimed table that is not done in time is late, as if it had not been taken."""
    plan(store, "a")
    take(store, "a")
    with store.reading() as tx:
        (slot,) = tx.slots.running()
        assert tx.schedule.lag(slot.started_at + MINUTE - timedelta(seconds=1)) is None
        assert tx.schedule.lag(slot.started_at + MINUTE) == slot.started_at


def test_an_empty_schedule_has_nothing_due(store: Store) -> None:
    """Without tables nothing is due, ever."""
    with store.writing() as tx:
        assert tx.slots.claim([], holder="one", now=AT, lease_until=AT) == []
        assert (tx.schedule.due(AT, 9), tx.schedule.next_due(), tx.schedule.lag(AT)) == ([], None, None)
        assert (tx.slots.since(AT, 9), tx.slots.running(), tx.schedule.epoch()) == ([], [], 0)


def test_a_claim_takes_the_slot_and_moves_the_table_on(store: Store) -> None:
    """A claim writes down the running slot, the next one, and what is left out, all at once."""
    plan(store, "a")
    skip = Skip("a", AT - 2 * HOUR, AT - HOUR, 2, SkipReason.LATE)
    with store.writing() as tx:
        (lease,) = tx.slots.claim([claim(scheduled("a"), skip=skip)], holder="one", now=AT, lease_until=AT + HOUR)
    with store.reading() as tx:
        (slot,) = tx.slots.since(AT, 9)
        assert lease == Lease(slot.id, "a", AT, 1, 0)
        assert (slot.state, slot.holder, slot.lease_until, slot.heartbeat_at) == (
            SlotState.RUNNING,
            "one",
            AT + HOUR,
            None,
        )
        assert tx.slots.running() == [slot]
        assert tx.schedule.tables() == [scheduled("a", AT + HOUR)]
        assert tx.schedule.skips(AT - HOUR, 9) == [skip]
        assert tx.schedule.skips(AT, 9) == []


def test_a_claim_of_what_was_seen_before_changes_nothing(store: Store) -> None:
    """A process that saw the schedule before another one moved it takes nothing, and leaves no trace."""
    plan(store, "a", "b")
    seen = [scheduled("a"), scheduled("b", AT + MINUTE)]
    taken = take(store, "a")
    with store.writing() as tx:
        tx.slots.finish(taken, now=AT)
        skip = Skip("a", AT, AT, 1, SkipReason.POLICY)
        again = tx.slots.claim([claim(seen[0], skip=skip), claim(seen[1])], holder="two", now=AT, lease_until=AT)
    assert [lease.table for lease in again] == ["b"]
    with store.reading() as tx:
        assert len(tx.slots.since(AT, 9)) == 2
        assert tx.schedule.skips(AT, 9) == []


@pytest.mark.parametrize("other", [{"schedule": "every 5m"}, {"zone": "Asia/Tokyo"}])
def test_a_claim_by_an_older_configuration_changes_nothing(store: Store, other: dict[str, str]) -> None:
    """A next slot that was computed from another schedule or zone is not taken."""
    plan(store, "a")
    with store.writing() as tx:
        assert tx.slots.claim([claim(replace(scheduled("a"), **other))], holder="one", now=AT, lease_until=AT) == []
        assert tx.schedule.tables() == [scheduled("a")]


def test_a_table_is_looked_at_by_one_at_a_time(store: Store) -> None:
    """While a slot of a table runs, no other one can begin; slots may still be left out."""
    plan(store, "a")
    take(store, "a")
    due = scheduled("a", AT + HOUR)
    skip = Skip("a", AT + HOUR, AT + HOUR, 1, SkipReason.OVERRUN)
    with store.writing() as tx:
        assert tx.slots.claim([claim(due, skip=skip)], holder="two", now=AT, lease_until=AT) == []
        assert (tx.schedule.tables(), tx.schedule.skips(AT, 9)) == ([due], [])
        assert tx.slots.claim([claim(due, skip=skip, run=False)], holder="two", now=AT, lease_until=AT) == []
        assert (tx.schedule.tables(), tx.schedule.skips(AT, 9)) == ([scheduled("a", AT + 2 * HOUR)], [skip])


def test_a_slot_is_not_run_twice(store: Store) -> None:
    """A slot that ran is passed over when it comes again, unless the clock went back before."""
    plan(store, "a")
    with store.writing() as tx:
        tx.schedule.keep_time(AT)
        tx.slots.finish(take_in(tx), now=AT)
        tx.schedule.reschedule([scheduled("a")])
        assert take_in(tx) == []
        assert tx.schedule.tables() == [scheduled("a", AT + HOUR)]
        assert tx.schedule.keep_time(AT - HOUR) == 1
        tx.schedule.reschedule([scheduled("a")])
        (again,) = take_in(tx)
    assert (again.slot, again.epoch, again.attempt) == (AT, 1, 1)


def take_in(tx: object) -> list[Lease]:
    """Claim table a inside a transaction."""
    due = tx.schedule.tables()[0]
    return tx.slots.claim([claim(due)], holder="one", now=AT, lease_until=AT + HOUR)


def test_two_claims_for_one_table_are_refused(store: Store) -> None:
    """One call claims a table once."""
    plan(store, "a")
    with pytest.raises(StoreError, match="same table"), store.writing() as tx:
        tx.slots.claim([claim(scheduled("a")), claim(scheduled("a"))], holder="one", now=AT, lease_until=AT)


def test_leases_come_in_the_order_of_the_claims(store: Store) -> None:
    """Claims in an order of importance get the slots in that order."""
    tables = [f"t{number}" for number in range(300)]
    plan(store, *tables)
    assert [lease.table for lease in take(store, *reversed(tables))] == tables[::-1]


def test_a_lease_is_renewed_while_it_is_held(store: Store) -> None:
    """Renewing puts off the end and leaves a heartbeat."""
    plan(store, "a")
    leases = take(store, "a")
    with store.writing() as tx:
        assert tx.slots.renew(leases, now=AT + MINUTE, lease_until=AT + HOUR) == {leases[0].id}
        (slot,) = tx.slots.running()
        assert (slot.heartbeat_at, slot.lease_until, slot.started_at) == (AT + MINUTE, AT + HOUR, AT)
        assert tx.slots.take_over(AT + HOUR - MINUTE, holder="two", lease_until=AT + 2 * HOUR, limit=9) == []
        assert tx.slots.renew([], now=AT, lease_until=AT) == set()


def test_a_slot_that_never_had_a_heartbeat_is_taken_over(store: Store) -> None:
    """A process that died before the first heartbeat is found like any other."""
    plan(store, "a")
    (lost,) = take(store, "a")
    with store.writing() as tx:
        (found,) = tx.slots.take_over(AT + 10 * MINUTE, holder="two", lease_until=AT + HOUR, limit=9)
        assert found == replace(lost, attempt=2)
        (slot,) = tx.slots.running()
        assert (slot.holder, slot.started_at, slot.heartbeat_at) == ("two", AT, AT + 10 * MINUTE)


def test_the_result_of_a_stale_attempt_is_refused(store: Store) -> None:
    """After a slot was taken over, the first holder can neither renew, give back nor finish it."""
    plan(store, "a", "b")
    stale, kept = take(store, "a", "b")
    with store.writing() as tx:
        tx.slots.renew([kept], now=AT, lease_until=AT + HOUR)
        (fresh,) = tx.slots.take_over(AT + 10 * MINUTE, holder="two", lease_until=AT + HOUR, limit=9)
        assert tx.slots.renew([stale, kept], now=AT, lease_until=AT + 9 * HOUR) == {kept.id}
        assert tx.slots.give_up_leases([stale], now=AT) == set()
        assert tx.slots.finish([stale, kept], now=AT, run_ids={stale.id: "old", kept.id: "kept"}) == {kept.id}
        assert tx.slots.finish([fresh], now=AT + HOUR, run_ids={fresh.id: "new"}) == {fresh.id}
        result = {slot.table: (slot.state, slot.run_id, slot.ended_at) for slot in tx.slots.since(AT, 9)}
    assert result == {"a": (SlotState.DONE, "new", AT + HOUR), "b": (SlotState.DONE, "kept", AT)}


def test_a_slot_ends_once(store: Store) -> None:
    """What is finished stays as it ended."""
    plan(store, "a")
    leases = take(store, "a")
    with store.writing() as tx:
        assert tx.slots.finish(leases, now=AT, state=SlotState.GIVEN_UP) == {leases[0].id}
        assert tx.slots.finish(leases, now=AT + HOUR, run_ids={leases[0].id: "late"}) == set()
        assert tx.slots.take_over(AT + HOUR, holder="two", lease_until=AT, limit=9, anyone=True) == []
        (slot,) = tx.slots.since(AT, 9)
        assert (slot.state, slot.ended_at, slot.run_id) == (SlotState.GIVEN_UP, AT, None)
    with pytest.raises(StoreError, match="done or given-up"), store.writing() as tx:
        tx.slots.finish(leases, now=AT, state=SlotState.RUNNING)


def test_what_is_given_back_may_be_taken_at_once(store: Store) -> None:
    """Who stops ends his leases, and the next one need not wait for them."""
    plan(store, "a")
    leases = take(store, "a")
    with store.writing() as tx:
        assert tx.slots.give_up_leases(leases, now=AT) == {leases[0].id}
        assert [lease.attempt for lease in tx.slots.take_over(AT, holder="two", lease_until=AT, limit=9)] == [2]


def test_the_only_daemon_takes_over_what_others_left(store: Store) -> None:
    """A single daemon need not wait for the leases of dead ones, and keeps its own."""
    plan(store, "a", "b", "c")
    take(store, "a", "b", holder="dead")
    take(store, "c", holder="alive")
    with store.writing() as tx:
        assert tx.slots.take_over(AT, holder="alive", lease_until=AT + HOUR, limit=9) == []
        first = tx.slots.take_over(AT, holder="alive", lease_until=AT + HOUR, limit=1, anyone=True)
        rest = tx.slots.take_over(AT, holder="alive", lease_until=AT + HOUR, limit=9, anyone=True)
    assert [lease.table for lease in first + rest] == ["a", "b"]


def test_a_removed_table_can_still_be_finished(store: Store) -> None:
    """A table that leaves the schedule while it is looked at ends like any other."""
    plan(store, "a")
    leases = take(store, "a")
    with store.writing() as tx:
        tx.schedule.replace([])
        assert tx.slots.finish(leases, now=AT, run_ids={leases[0].id: "run"}) == {leases[0].id}


def test_an_epoch_begins_when_the_clock_goes_back(store: Store) -> None:
    """Small corrections and steps forward stay in an epoch; going back by more than 2 s begins one, each time."""
    steps = [
        (AT, 0), (AT + HOUR, 0), (AT + HOUR - timedelta(seconds=2), 0), (AT + HOUR - timedelta(seconds=3), 1),
        (AT + HOUR, 1), (AT + 99 * HOUR, 1), (AT, 2), (AT + MINUTE, 2),
    ]  # fmt: skip
    with store.writing() as tx:
        assert [tx.schedule.keep_time(moment) for moment, _ in steps] == [epoch for _, epoch in steps]
        assert tx.schedule.epoch() == 2


def test_the_server_tells_the_time(store: Store, url: str) -> None:
    """On PostgreSQL leases go by the server's clock, whatever a machine thinks; on SQLite by the given time."""
    with store.reading() as tx:
        result = tx.schedule.clock(AT)
    assert result.utcoffset() == timedelta()
    if url.startswith("sqlite"):
        assert result == AT
    else:
        assert abs(result - datetime.now(UTC)) < HOUR


def test_the_slot_that_ended_last(store: Store) -> None:
    """Of a table, whatever runs now and whatever other tables did."""
    plan(store, "a", "b")
    with store.reading() as tx:
        assert tx.slots.last_ended("a") is None
    (first,) = take(store, "a")
    with store.writing() as tx:
        tx.slots.finish([first], now=AT + MINUTE)
    (second,) = take(store, "a", now=AT + HOUR)
    take(store, "b", now=AT + HOUR)
    with store.reading() as tx:
        ended = tx.slots.last_ended("a")
        assert ended is not None
        assert (ended.id, ended.state) == (first.id, SlotState.DONE)
    with store.writing() as tx:
        tx.slots.finish([second], now=AT + HOUR, state=SlotState.GIVEN_UP)
    with store.reading() as tx:
        ended = tx.slots.last_ended("a")
        assert ended is not None
        assert (ended.id, ended.state) == (second.id, SlotState.GIVEN_UP)
        assert tx.slots.last_ended("b") is None
