"""The working loop on a real store: every slot is run, retried or recorded, and nothing found is lost."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from unittest import mock

import duckdb
import pytest

from checks import Kind, Severity, Status
from incidents import Resolution, WarningSpell
from monitor.alerts.operational import Operation, enqueue
from monitor.clock import SimulatedClock
from monitor.daemon import work_loop as module
from monitor.daemon.claims import Claims
from monitor.daemon.job_queue import Jobs
from monitor.daemon.quarantine import QuarantineTracker
from monitor.scan.recorder import record_slot_results
from monitor.triage.incident_editor import IncidentEditor
from store import LastNotification, MessageSubject, Scope, SkipReason, SlotState, StoreBusy, StoreUnavailable
from tests.monitor.daemon.plant import CHECKS, Plant
from tests.monitor.shop import NOW


@pytest.fixture
def plant(tmp_path):
    """Return a plant with one table that is due every quarter of an hour."""
    plant = Plant(tmp_path)
    yield plant
    plant.store.close()


def _slots(plant):
    with plant.store.reading() as tx:
        return sorted(tx.slots.since(NOW - timedelta(days=1), 1000), key=lambda slot: (slot.slot, slot.table))


def _skips(plant):
    with plant.store.reading() as tx:
        return tx.schedule.skips(NOW - timedelta(days=1), 1000)


def _outcomes(plant):
    with plant.store.reading() as tx:
        return {
            check_id: (latest_result.status, latest_result.reason)
            for check_id, latest_result in tx.results.latest().items()
        }


def test_a_table_that_is_due_is_looked_at_once_per_slot(plant):
    """A new table is looked at at once, then at each of its slots, and each slot ends as done."""
    work = plant.work()
    for _ in range(4):
        plant.turn(work)
        plant.turn(work)
        plant.clock.advance(timedelta(minutes=15))
    slots = _slots(plant)
    assert [slot.slot for slot in slots] == [NOW + timedelta(minutes=15 * number) for number in range(4)]
    assert {slot.state for slot in slots} == {SlotState.DONE}
    assert all(slot.run_id is not None for slot in slots)
    assert _skips(plant) == []
    assert _outcomes(plant) == {"orders.primary-key": ("pass", None), "orders.not-null": ("pass", None)}


def test_after_a_long_stop_the_newest_slot_is_run_and_the_rest_is_recorded(plant):
    """A daemon that comes back after a day runs each table once, and tells what was missed."""
    plant.turn(plant.work())
    plant.clock.advance(timedelta(days=1))
    plant.turn(plant.work())
    assert [slot.slot for slot in _slots(plant)] == [NOW, NOW + timedelta(days=1)]
    (skip,) = _skips(plant)
    assert (skip.count, skip.reason) == (95, SkipReason.LATE)


def test_a_run_that_takes_longer_than_its_period_does_not_pile_up(plant):
    """While a table is looked at, no second look begins; what came meanwhile is one run and a recorded overrun."""
    work = plant.work()
    plant.pool.hanging.add("orders")
    for _ in range(4):
        plant.turn(work)
        plant.clock.advance(timedelta(minutes=15))
    assert len(plant.pool.jobs) == 1
    plant.pool.overdue("orders")
    plant.turn(work)
    plant.turn(work)
    assert [(slot.slot, slot.state) for slot in _slots(plant)] == [
        (NOW, SlotState.DONE), (NOW + timedelta(hours=1), SlotState.DONE),
    ]  # fmt: skip
    (skip,) = _skips(plant)
    assert (skip.count, skip.reason) == (3, SkipReason.OVERRUN)


@pytest.mark.parametrize("back", [timedelta(minutes=30), timedelta(hours=3), timedelta(days=400)])
def test_a_clock_that_is_set_back_stops_nothing(plant, back):
    """The tables are planned again from the new time on; slots that come a second time are run a second time."""
    plant.turn(plant.work())
    plant.clock = SimulatedClock(NOW - back)
    work = plant.work()
    ran = []
    for _ in range(3):
        plant.turn(work)
        ran.append(len(plant.pool.jobs))
        plant.clock.advance(timedelta(minutes=15))
    assert ran == [1, 2, 3]
    with plant.store.reading() as tx:
        assert tx.schedule.epoch() == 1


def test_a_clock_that_is_set_back_while_the_daemon_runs(plant):
    """Within ten seconds the daemon notices, without a restart."""

    class Settable(SimulatedClock):
        shift = timedelta()

        def now(self):
            return super().now() + self.shift

    plant.clock = Settable(NOW)
    work = plant.work()
    plant.turn(work)
    plant.clock.advance(timedelta(minutes=5))
    plant.clock.shift = -timedelta(hours=2)
    for _ in range(70):
        plant.clock.advance(timedelta(seconds=15))
        plant.turn(work)
    assert len(plant.pool.jobs) == 2
    assert {slot.epoch for slot in _slots(plant)} == {0, 1}


def test_a_clock_that_is_set_back_lets_what_waits_to_be_told_be_decided_on(plant):
    """A decision that was put off to a moment of the other clock is due at once by the new one."""
    with closing(sqlite3.connect(plant.folder / "shop.sqlite")) as connection, connection:
        connection.execute("INSERT INTO orders VALUES (1, 'ann')")
    plant.turn(plant.work())
    with plant.store.writing() as tx:
        (waiting,) = tx.outbox.due(NOW, 10)
        tx.outbox.postpone([waiting.id], NOW + timedelta(minutes=5), {"why": None, "channels": {}})
        assert tx.outbox.due(NOW, 10) == []
    plant.clock = SimulatedClock(NOW - timedelta(hours=3))
    plant.turn(plant.work())
    with plant.store.reading() as tx:
        assert [transition.id for transition in tx.outbox.due(plant.clock.now(), 10)] == [waiting.id]


def test_a_clock_that_is_set_back_takes_incidents_and_messages_along(plant):
    """What happened in the future of the new clock happened just now: people may resolve it, and messages are sent."""
    with closing(sqlite3.connect(plant.folder / "shop.sqlite")) as connection, connection:
        connection.execute("INSERT INTO orders VALUES (1, 'ann')")
    plant.turn(plant.work())
    with plant.store.writing() as tx:
        tx.deliveries.add([enqueue("desk", MessageSubject.OPERATIONS, {}, now=NOW)])
    plant.clock = SimulatedClock(NOW - timedelta(days=400))
    plant.work().tick()
    with plant.store.reading() as tx:
        (incident,) = tx.incidents.matching()
        (message,) = tx.deliveries.since(plant.clock.now(), 10)
        recorded_at = {transition.recorded_at for transition in tx.outbox.waiting(10)}
    now = plant.clock.now()
    assert (incident.last.onset.at, incident.last.detected_at, message.next_try_at) == (now, now, now)
    assert recorded_at == {now}
    resolved = IncidentEditor(plant.project(), plant.store, actor="sato").resolve(
        incident.id, Resolution.EXPECTED, force=True
    )
    assert resolved.last.resolved_at == now


def test_a_clock_that_is_set_back_takes_acknowledgements_and_notifications_along(plant):
    """TTA has no hours that did not pass, reminders do not wait for them, and a silence holds from now on."""
    with closing(sqlite3.connect(plant.folder / "shop.sqlite")) as connection, connection:
        connection.execute("INSERT INTO orders VALUES (1, 'ann')")
    plant.turn(plant.work())
    plant.clock = SimulatedClock(NOW + timedelta(hours=3))
    IncidentEditor(plant.project(), plant.store, actor="sato").acknowledge(1)
    later = plant.clock.now()
    with plant.store.writing() as tx:
        message = enqueue("desk", MessageSubject.OPERATIONS, {}, now=later)
        tx.deliveries.add([message])
        tx.deliveries.mark_sent(message.id, later, "me")
        result = LastNotification(1, "desk", "first", Severity.ERROR, 1, later, message.id)
        tx.outbox.save_notifications([result])
        transitions = [transition.id for transition in tx.outbox.waiting(10)]
        tx.outbox.settle(transitions, later, {"why": None, "channels": {}})
        tx.silences.add(
            scope=Scope.ALL, name=None, starts_at=later, until=later + timedelta(hours=1), reason="x", by="y"
        )
    plant.work().tick()
    plant.clock = SimulatedClock(NOW + timedelta(minutes=1))
    plant.work().tick()
    now = plant.clock.now()
    with plant.store.reading() as tx:
        (incident,) = tx.incidents.matching()
        last = tx.incidents.histories([incident.id])[incident.id][-1]
        (notification,) = tx.outbox.last_notifications([1])
        (transition,) = tx.outbox.of_incident(1, 10)
        (sent,) = tx.deliveries.since(NOW, 10)
        silences = tx.silences.all(active_at=now)
    assert (incident.last.detected_at, incident.acknowledged_at) == (NOW, now)
    assert (last.actor, last.change.acknowledged_at) == ("tablewatch", now)
    assert (notification.told_at, transition.recorded_at) == (now, NOW)
    assert (sent.created_at, sent.sent_at) == (now, now)
    assert len(silences) == 1


def test_a_clock_that_is_set_back_takes_warnings_along(plant):
    """Its end is taken along; its beginning, by which messages name it, stays, and it does not end before."""
    later = NOW + timedelta(hours=3)
    warning = WarningSpell(
        series="orders.key",
        table="orders",
        check_id="orders.key",
        kind=Kind.QUALITY,
        severity=Severity.WARNING,
        title="a few rows",
        title_values={},
        began_at=later,
        passing_since=later + timedelta(minutes=15),
        passes=1,
    )
    plant.clock = SimulatedClock(later + timedelta(minutes=20))
    plant.work().tick()
    with plant.store.writing() as tx:
        tx.warnings.save(warning, later)
    plant.clock = SimulatedClock(NOW)
    plant.work().tick()
    with plant.store.reading() as tx:
        (warning,) = tx.warnings.lasting().values()
    assert (warning.began_at, warning.passing_since) == (later, NOW)


def test_a_clock_that_is_set_forward_runs_each_table_once(plant):
    """A jump of a day is one run per table, and the slots in between are recorded."""
    work = plant.work()
    plant.turn(work)
    plant.clock.advance(timedelta(days=1))
    plant.turn(work)
    plant.turn(work)
    assert len(plant.pool.jobs) == 2
    assert sum(skip.count for skip in _skips(plant)) == 95


def test_what_a_daemon_left_when_it_died_is_run_by_the_next(plant):
    """The slot keeps its time and gets another attempt, and its checks go one by one: one of them may have done it."""
    plant.pool.hanging.add("orders")
    plant.turn(plant.work(holder="dead"))
    plant.pool.hanging.clear()
    plant.turn(plant.work(holder="next"))
    (slot,) = _slots(plant)
    assert (slot.attempt, slot.state, slot.holder) == (2, SlotState.DONE, "next")
    assert plant.pool.jobs[-1].alone


def test_results_of_a_lease_that_was_lost_are_dropped(plant):
    """Who was taken over while hanging comes too late: its results are not remembered a second time."""
    first = plant.work(holder="slow")
    first.tick()
    first.step(0.0)  # claimed, found, not yet remembered by the next line's taking over
    plant.pool.hanging.add("orders")
    slow = plant.pool
    plant.pool = type(plant.pool)(plant.clock)
    plant.turn(plant.work(holder="other"))
    plant.pool = slow
    with plant.store.reading() as tx:
        before = tx.counts().measurements
    plant.turn(first)
    with plant.store.reading() as tx:
        assert tx.counts().measurements == before
    assert [(slot.holder, slot.attempt) for slot in _slots(plant)] == [("other", 2)]


def test_while_the_store_is_locked_nothing_is_lost_and_nothing_new_begins(plant):
    """What was found waits for the store, is remembered when it is free again, and the reason is reported meanwhile."""
    plant.configure({"orders": "every 15m", "others": "every 15m"})
    work = plant.work()
    plant.pool.hanging.add("others")
    plant.pool.hanging.add("orders")
    plant.turn(work)
    with closing(sqlite3.connect(plant.folder / "store.db", isolation_level=None)) as rival:
        rival.execute("BEGIN IMMEDIATE")
        plant.pool.overdue("orders")
        plant.turn(work)
        assert "locked" in work.problem
        assert _outcomes(plant) == {}
        rival.execute("ROLLBACK")
    plant.clock.advance(timedelta(seconds=31))
    plant.turn(work)
    assert work.problem is None
    assert _outcomes(plant)["orders.primary-key"] == ("unknown", "timeout")


def test_a_store_that_takes_claims_but_no_results_is_asked_for_nothing_new(plant, monkeypatch):
    """A disk that is nearly full has room for little: results must not pile up in memory until there is more."""
    plant.configure({"orders": "every 15m", "later": f"cron: {(NOW + timedelta(minutes=40)).minute} * * * *"})
    work = plant.work()
    refuses = mock.Mock(side_effect=StoreUnavailable("full"))
    with monkeypatch.context() as full:
        full.setattr(module, "record_slot_results", refuses)
        for _ in range(5):
            plant.turn(work)
            plant.clock.advance(timedelta(minutes=20))
    assert refuses.call_count > 1
    assert plant.pool.tables == ["orders"]
    for _ in range(2):
        plant.turn(work)
        plant.clock.advance(timedelta(seconds=31))
    assert {check_id.partition(".")[0] for check_id in _outcomes(plant)} == {"orders", "later"}


def test_a_store_that_was_busy_while_nothing_was_found_is_well_again(plant, caplog):
    """It does not take a result to see that the store takes what comes."""
    work = plant.work()
    plant.turn(work)
    plant.clock.advance(timedelta(minutes=15))
    plant.pool.hanging.add("orders")
    with closing(sqlite3.connect(plant.folder / "store.db", isolation_level=None)) as rival:
        rival.execute("BEGIN IMMEDIATE")
        plant.turn(work)
        assert "locked" in work.problem
        rival.execute("ROLLBACK")
    plant.clock.advance(timedelta(seconds=31))
    with caplog.at_level("INFO", logger="tablewatch"):
        plant.turn(work)
    assert work.problem is None
    assert caplog.records[-1].getMessage() == "the store accepts results again"


def test_a_check_that_ends_its_worker_is_found_and_left_out_after_five_times(plant):
    """The other checks of its table go on; it rests, is tried again, and is forgiven when it behaves."""
    work = plant.work()
    plant.pool.deadly.add("orders.not-null")
    for _ in range(6):
        plant.turn(work, steps=6)
        assert _outcomes(plant)["orders.primary-key"] == ("pass", None)
        plant.clock.advance(timedelta(minutes=15))
    asked = [target.subject.checks for job in plant.pool.jobs for target in job.targets]
    assert [len(checks) for checks in asked[-1:]] == [1]
    with plant.store.reading() as tx:
        (crashes,) = tx.daemons.quarantines()
    assert crashes.crashes == 5
    assert crashes.until > plant.clock.now()
    assert [one.operation for one in plant.happened] == [Operation.CHECK_QUARANTINED]
    plant.pool.deadly.clear()
    plant.clock.advance_to(crashes.until)
    plant.turn(work, steps=6)
    assert _outcomes(plant)["orders.not-null"] == ("pass", None)
    with plant.store.reading() as tx:
        assert tx.daemons.quarantines() == []
    assert [one.operation for one in plant.happened][1:] == [Operation.CHECK_RELEASED]


def test_a_table_that_ends_every_worker_before_any_check_is_given_up(plant):
    """A source that kills every worker that opens it is unknown in the end, and does not go round for ever."""

    class Hopeless(type(plant.pool)):
        def submit(self, job):
            self.jobs.append(job)
            from monitor.workers import WorkerDied

            self._events.append(WorkerDied(job.id, "orders", None, "signal SIGSEGV"))

    plant.pool = Hopeless(plant.clock)
    plant.turn(plant.work(), steps=10)
    assert set(_outcomes(plant).values()) == {("unknown", "bug")}
    assert [slot.state for slot in _slots(plant)] == [SlotState.DONE]


def test_the_table_that_waits_longest_comes_first(plant):
    """However many are due at once, they are looked at in the order of their slots."""
    plant.configure({"late": "cron: 0 8 * * *", "later": "cron: 30 8 * * *", "latest": "cron: 0 9 * * *"})
    plant.clock = SimulatedClock(NOW - timedelta(hours=3))
    plant.work()
    plant.clock.advance(timedelta(hours=3))
    plant.turn(plant.work())
    assert plant.pool.tables == ["late", "later", "latest"]


def test_a_table_that_leaves_the_configuration_leaves_no_slot_unrecorded(plant):
    """Slots that had come are recorded as dropped by the change."""
    plant.turn(plant.work())
    plant.clock.advance(timedelta(hours=1))
    plant.configure({"orders": "every 1h", "new": "every 15m"}, checks=CHECKS)
    work = plant.work()
    (skip,) = _skips(plant)
    assert (skip.table, skip.count, skip.reason) == ("orders", 4, SkipReason.CHANGED)
    plant.turn(work)
    assert {slot.table for slot in _slots(plant)} == {"orders", "new"}


def test_a_configuration_that_is_adopted_between_claim_and_result(plant):
    """What is in hand is finished as it was begun; what was claimed for a table that is gone is given up, on record."""
    plant.pool.hanging.add("orders")
    plant.turn(plant.work(holder="dead"))
    plant.configure({"new": "every 15m"})
    plant.turn(plant.work())
    assert [(slot.table, slot.state) for slot in _slots(plant)] == [
        ("new", SlotState.DONE), ("orders", SlotState.GIVEN_UP),
    ]  # fmt: skip


def test_what_is_given_back_is_taken_at_once(plant):
    """A daemon that stops amid a run leaves its slots to the next, which need not wait for the lease to end."""
    plant.pool.hanging.add("orders")
    work = plant.work(holder="stopping")
    plant.turn(work)
    work.stop()
    work.give_up_leases()
    plant.pool.hanging.clear()
    plant.turn(plant.work(holder="next"))
    assert [(slot.attempt, slot.state) for slot in _slots(plant)] == [(2, SlotState.DONE)]


def test_a_run_until_now_leaves_what_comes_due_meanwhile(plant):
    """`--once` ends, even where a table is due every second."""
    plant.configure({"orders": "every 1s"})
    work = plant.work(once=True)
    for _ in range(3):
        plant.turn(work)
        plant.clock.advance(timedelta(seconds=1))
    assert work.exhausted
    assert len(plant.pool.jobs) == 1


def test_outcomes_are_counted_by_who_listens(plant):
    """The results of each pass are handed on once they are remembered."""
    plant.turn(plant.work())
    assert [result.outcome.status for result in plant.results] == [Status.PASS, Status.PASS]


def test_sources_that_answered_before_the_start_are_known_to_answer(plant):
    """After a restart the workers know which sources can be relied on."""
    plant.turn(plant.work())
    plant.work()
    assert plant.pool.proven == {"shop"}
    assert plant.pool.concurrency == {"shop": 2}


def test_results_that_we_stumble_over_are_given_up_alone(plant, monkeypatch):
    """A bug in what follows from one table's results ends neither the daemon nor the others' results."""
    plant.configure({"good": "every 15m", "bad": "every 15m", "other": "every 15m"})

    def stumble(batch, **given):
        if any(table_result.target.subject.name == "bad" for _, table_result in batch):
            raise ZeroDivisionError
        return record_slot_results(batch, **given)

    monkeypatch.setattr("monitor.daemon.work_loop.record_slot_results", stumble)
    plant.turn(plant.work())
    assert {slot.table: slot.state for slot in _slots(plant)} == {
        "good": SlotState.DONE, "bad": SlotState.GIVEN_UP, "other": SlotState.DONE,
    }  # fmt: skip


def test_a_table_that_ends_daemon_after_daemon_is_not_looked_at_for_ever(plant):
    """After five daemons that died amid it, its checks are unknown, and its slot is done."""
    plant.pool.hanging.add("orders")
    for number in range(6):
        plant.turn(plant.work(holder=f"daemon {number}"))
    (slot,) = _slots(plant)
    assert (slot.attempt, slot.state) == (6, SlotState.DONE)
    assert set(_outcomes(plant).values()) == {("unknown", "bug")}


def test_a_configuration_that_the_store_does_not_take_is_not_half_used(plant, monkeypatch):
    """When the schedule cannot be written, the old configuration stays in use as a whole."""
    work = plant.work()
    plant.turn(work)
    plant.configure({"new": "every 15m"})
    with monkeypatch.context() as failing:
        failing.setattr(Claims, "adopt", mock.Mock(side_effect=StoreBusy("locked")))
        with pytest.raises(StoreBusy):
            work.adopt(plant.project())
    plant.clock.advance(timedelta(minutes=15))
    plant.turn(work)
    assert [slot.table for slot in _slots(plant)] == ["orders", "orders"]


def test_what_is_heard_while_the_store_is_busy_is_not_forgotten(plant, monkeypatch):
    """A crash that cannot be counted at once is counted later, and what was heard after it is taken too."""
    work = plant.work()
    plant.pool.deadly.add("orders.not-null")
    real, refused = QuarantineTracker.add, []

    def busy_at_first(self, check_id, cause):
        if not refused:
            refused.append(check_id)
            raise StoreBusy("locked")
        real(self, check_id, cause)

    monkeypatch.setattr(QuarantineTracker, "add", busy_at_first)
    plant.turn(work)
    plant.clock.advance(timedelta(seconds=2))
    plant.turn(work)
    assert refused
    assert _outcomes(plant) == {"orders.primary-key": ("pass", None), "orders.not-null": ("unknown", "bug")}
    with plant.store.reading() as tx:
        assert [quarantine.crashes for quarantine in tx.daemons.quarantines()] == [1]


def test_a_source_that_hangs_with_many_tables_does_not_keep_the_others_from_being_claimed(plant):
    """However many tables of one source are in hand and hang, those of another are looked at."""
    hanging = {f"h{number}": "every 15m" for number in range(300)}
    plant.configure(hanging)
    text = (plant.folder / "tablewatch.yaml").read_text(encoding="utf-8")
    other = text.replace("sources: {shop: {", 'sources: {other: {url: "sqlite:///shop.sqlite"}, shop: {')
    well = "{name: well, source: other, table: orders, schedule: every 1h, checks: [{type: not_null, columns: [id]}]}"
    other += f"  - {well}\n"
    (plant.folder / "tablewatch.yaml").write_text(other, encoding="utf-8")
    plant.pool.hanging |= set(hanging)
    work = plant.work()
    for _ in range(10):
        plant.turn(work)
    assert _outcomes(plant) == {"well.not-null": ("pass", None)}
    assert work.in_hand < 300


def test_a_daemon_leaves_tables_alone_that_it_does_not_know(plant):
    """Of several daemons, one has loaded the changed configuration before the others."""
    late = plant.work(holder="late", alone=False)
    plant.turn(late)
    plant.configure({"orders": "every 15m", "new": "every 15m"})
    plant.pool.hanging.add("new")
    plant.turn(plant.work(holder="early", alone=False))
    plant.clock.advance(timedelta(minutes=5))
    plant.turn(late)
    assert [(slot.table, slot.holder) for slot in _slots(plant) if slot.table == "new"] == [("new", "early")]
    plant.clock.advance(timedelta(minutes=10))
    plant.turn(late)
    assert [slot.state for slot in _slots(plant) if slot.table == "new"] == [SlotState.GIVEN_UP]


def test_once_goes_by_the_slot_itself_however_the_tables_are_spread(plant):
    """Called at the minute of a cron line, the table is looked at now, not a day later because of its delay."""
    plant.configure({"orders": "cron: 0 9 * * *"}, catch_up="none")
    text = (plant.folder / "tablewatch.yaml").read_text(encoding="utf-8").replace("jitter: 0s", "jitter: 30m")
    (plant.folder / "tablewatch.yaml").write_text(text, encoding="utf-8")
    plant.clock = SimulatedClock(NOW - timedelta(hours=2))
    plant.work()
    plant.clock = SimulatedClock(NOW + timedelta(seconds=3))
    plant.turn(plant.work(once=True))
    assert [slot.slot for slot in _slots(plant)] == [NOW]
    plant.clock.advance(timedelta(days=1, minutes=10))
    plant.turn(plant.work(once=True))
    assert [slot.slot for slot in _slots(plant)] == [NOW, NOW + timedelta(days=1)]


def test_the_first_once_means_the_line_of_this_minute(plant):
    """Without a schedule in the store yet, a cron line that has just come is run, not left for tomorrow."""
    plant.configure({"orders": "cron: 0 9 * * *"})
    plant.clock = SimulatedClock(NOW + timedelta(seconds=3))
    plant.turn(plant.work(once=True))
    assert [slot.slot for slot in _slots(plant)] == [NOW]


def test_what_left_the_configuration_while_it_was_looked_at_opens_no_incident(plant):
    """It would stay open: the table is not looked at again."""
    with closing(sqlite3.connect(plant.folder / "shop.sqlite")) as connection, connection:
        connection.execute("INSERT INTO orders VALUES (1, NULL)")
    plant.configure({"orders": "every 15m", "stays": "every 15m"})
    plant.pool.hanging.add("orders")
    work = plant.work()
    plant.turn(work)
    plant.configure({"stays": "every 15m"})
    work.adopt(plant.project())
    plant.pool.overdue("orders")
    plant.turn(work)
    with plant.store.reading() as tx:
        assert {incident.table for incident in tx.incidents.matching()} <= {"stays"}
    assert {slot.table: slot.state for slot in _slots(plant)}["orders"] == SlotState.DONE
    assert not any(check_id.startswith("orders.") for check_id in _outcomes(plant))


@pytest.mark.parametrize(
    ("tables", "taken"), [(3, [3]), (30, [8, 8, 8, 6]), (300, [36, 32, 28])], ids=["few", "some", "many"]
)
def test_a_daemon_that_shares_the_store_leaves_most_of_what_waits_to_the_others(plant, monkeypatch, tables, taken):
    """It takes an eighth of what waits, and at least two for each of its four workers; one alone takes all it can."""
    monkeypatch.setattr(Jobs, "learn", lambda *_: None)  # they take an instant here
    plant.configure({f"t{number:03}": "every 15m" for number in range(tables)})
    work = plant.work(alone=False)
    claimed = []
    for _ in taken:
        before = len(_slots(plant))
        plant.turn(work)
        claimed.append(len(_slots(plant)) - before)
    assert claimed == taken


def test_small_tables_are_claimed_by_the_second(plant):
    """Once it is known that tables are quick, a daemon claims as many at once as its workers do in a second."""
    plant.configure({f"t{number:03}": "every 15m" for number in range(140)})
    work = plant.work(alone=False)
    plant.turn(work, steps=1)
    first = len(_slots(plant))
    plant.turn(work, steps=1)
    assert (first, len(_slots(plant)) - first) == (16, 100)


def test_equally_late_tables_of_several_sources_take_turns(plant):
    """However many tables of a source are due, those of another are looked at when their names come."""
    more = "  - {name: t0105, source: other, table: orders, schedule: every 15m, checks: [{type: volume, min: 1}]}"
    plant.configure({f"t{number:03}": "every 15m" for number in range(40)}, more=more)
    path = plant.folder / "tablewatch.yaml"
    other = 'sources: {other: {url: "sqlite:///shop.sqlite", timezone: UTC}, '
    path.write_text(path.read_text(encoding="utf-8").replace("sources: {", other), encoding="utf-8")
    plant.turn(plant.work())
    names = plant.pool.tables
    assert len(names) == 41
    assert names.index("t0105") < 20


def test_late_changes_that_a_full_look_finds_are_logged(plant, caplog):
    """A table with `incremental` is read in part until a full look is due; what had changed before is in the log."""
    file = plant.folder / "tablewatch.yaml"
    text = file.read_text(encoding="utf-8").replace("sqlite:///shop.sqlite", "duckdb:///shop.duckdb")
    asked = "source: shop, incremental: {column: customer, full: daily},"
    file.write_text(text.replace("source: shop,", asked), encoding="utf-8")
    with duckdb.connect(str(plant.folder / "shop.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE orders AS SELECT i AS id, DATE '2026-11-01' + i::INT AS customer FROM range(20) r(i)"
        )
    work = plant.work()
    with caplog.at_level("WARNING", logger="tablewatch"):
        for change in ("DELETE FROM orders WHERE id < 3", "SELECT 1", "SELECT 1"):
            plant.turn(work)
            with duckdb.connect(str(plant.folder / "shop.duckdb")) as connection:
                connection.execute(change)
            plant.clock.advance(timedelta(days=1))
    said = [record.getMessage() for record in caplog.records if "late changes" in record.getMessage()]
    assert said == ["table orders: a full look found late changes (figures changed: 1, rows: -3)"]


def test_results_are_collected_by_the_cost_of_recording(plant, monkeypatch):
    """On a busy machine, where a batch takes two seconds and a table half of one, no table is a batch of its own."""
    plant.configure({f"t{number}": "every 1d" for number in range(40)})
    work, batches, waits = plant.work(), [], []
    real_events, real_record = plant.pool.events, module.record_slot_results
    arriving = []

    def events(timeout):
        arriving.extend(real_events(timeout))
        waits.append(timeout)
        plant.clock.advance(timedelta(seconds=0.5))
        return [arriving.pop(0)] if arriving else []

    def record(*args, **named):
        plant.clock.advance(timedelta(seconds=2))
        results = real_record(*args, **named)
        batches.append(len({result.table for result in results}))
        return results

    monkeypatch.setattr(plant.pool, "events", events)
    monkeypatch.setattr(module, "record_slot_results", record)
    work.tick()
    while work.in_hand or not batches:
        work.step(1.0)
    assert sum(batches) == 40
    assert len(batches) <= 10
    assert max(waits) <= 2
