"""Scheduled queries: each slot is answered once, charged once, and a budget is never burnt for nothing."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from unittest import mock

import pytest

from monitor.alerts.operational import Operation
from monitor.answers.data_set import DataSet
from monitor.clock import SimulatedClock
from monitor.daemon.leased_statistic import MOST_CHARGES
from monitor.daemon.scheduled_queries import MOST_FREE_TRIES, PAUSE
from monitor.workers import WorkerDied
from remedies.differential_privacy.epsilon import NANO
from store import SkipReason, SlotState, StoreBusy, StoredLedger, StoreUnavailable
from tests.monitor.daemon.counted import COUNT, HOUR, CountedPlant
from tests.monitor.daemon.plant import PlacedPool
from tests.monitor.shop import NOW


@pytest.fixture
def plant(tmp_path):
    """Return a plant with a budget of 1, of which a count may take 0.1 every hour."""
    plant = CountedPlant(tmp_path)
    plant.declare()
    plant.create()
    yield plant
    plant.store.close()


def _id(hours=0, name="hourly"):
    return f"orders/{name}/{NOW + hours * HOUR:%Y-%m-%dT%H:%M:%SZ}"


def test_each_slot_is_answered_once_and_charged_once(plant):
    """Every hour one answer, under the id of its slot, in the daemon's name; its slots are kept as those of tables."""
    plant.go(plant.work(), 3)
    assert plant.answers == [_id(0), _id(1), _id(2)]
    assert plant.spent == 300
    assert {answer.actor for answer in plant.ledger.answers("orders", "row")} == {"daemon"}
    assert plant.slots() == [("statistic:orders/hourly", NOW + hour * HOUR, SlotState.DONE) for hour in range(3)]
    assert plant.told == []
    answer = plant.ledger.answers("orders", "row")[0].answer
    assert isinstance(answer["value"], int)


def test_tables_and_statistics_are_served_by_one_daemon(plant):
    """The look at a table and the answer about it are different things, each with its schedule."""
    plant.declare(tables={"orders": "every 1h"})
    plant.go(plant.work(), 2)
    assert plant.answers == [_id(0), _id(1)]
    assert [result.check_id for result in plant.results] == ["orders.primary-key", "orders.not-null"] * 2


def test_of_many_missed_slots_only_the_newest_is_paid_for(plant):
    """Whatever `catch_up` says of tables: after four days one answer, and 95 slots on record as missed."""
    plant.declare(catch_up="all")
    plant.go(plant.work())
    plant.clock.advance(95 * HOUR)
    plant.go(plant.work())
    assert plant.answers == [_id(0), _id(96)]
    assert plant.spent == 200
    with plant.store.reading() as tx:
        (skip,) = tx.schedule.skips(NOW - HOUR, 10)
    assert (skip.table, skip.count, skip.reason) == ("statistic:orders/hourly", 95, SkipReason.LATE)


def test_without_catching_up_nothing_is_paid_for_late(plant):
    """With `catch_up: none` a slot that was missed is left out."""
    plant.declare(catch_up="none")
    plant.go(plant.work())
    plant.clock.advance(95 * HOUR + timedelta(minutes=30))
    plant.go(plant.work())
    assert plant.answers == [_id(0)]


def test_a_spent_budget_is_told_once_and_kept_quiet_about(plant, caplog):
    """Ten answers of 0.1 are all; afterwards the table is not read, and no message repeated, nor after a restart."""
    with caplog.at_level("WARNING", logger="tablewatch"):
        plant.go(plant.work(), 14)
        asked = len(plant.pool.jobs)
        plant.go(plant.work(), 3)
    assert len(plant.answers) == 10
    assert plant.spent == 1000
    assert len(plant.pool.jobs) == asked == 20
    assert plant.told == [(Operation.STATISTIC_HELD, "orders/hourly")] * 2  # once by each start; the store knows
    assert caplog.text.count("of the budget of orders (1 in total) less is left than the 0.1") == 2
    assert [state for _, _, state in plant.slots()][10:] == [SlotState.GIVEN_UP] * 7


def test_a_budget_that_is_raised_is_used_again(plant):
    """The next slot is answered, and operators hear of it, also from a daemon that was started meanwhile."""
    plant.go(plant.work(), 11)
    plant.ledger.change_total("orders", "row", 2 * NANO, reason="agreed", actor="ann", now=NOW)
    plant.go(plant.work(), 2)
    assert plant.answers[-2:] == [_id(11), _id(12)]
    assert plant.told == [(Operation.STATISTIC_HELD, "orders/hourly"), (Operation.STATISTIC_ANSWERED, "orders/hourly")]


def test_without_a_budget_in_the_ledger_nothing_is_asked(tmp_path):
    """Declaring a budget does not create one: that is said once, and the daemon goes on."""
    plant = CountedPlant(tmp_path)
    plant.declare()
    plant.go(plant.work(), 3)
    (result,) = plant.happened
    assert "create one with 'tablewatch privacy budget create orders'" in result.why
    assert plant.pool.jobs == []
    plant.create()
    plant.go(plant.work())
    assert plant.answers == [_id(3)]
    plant.store.close()


def test_a_table_that_is_away_costs_nothing_and_is_asked_when_it_is_back(plant):
    """Before anything is charged, a worker sees that the table can be asked; it is tried again within the slot."""
    work = plant.work()
    with plant.away():
        plant.turn(work, steps=6)
        for _ in range(2):
            plant.clock.advance(2 * PAUSE)
            plant.turn(work, steps=6)
        assert plant.spent == 0
    plant.clock.advance(4 * PAUSE)
    plant.turn(work, steps=6)
    assert plant.answers == [_id(0)]
    assert plant.told == []


def test_a_table_that_stays_away_is_told_once_and_costs_nothing(plant):
    """After some tries the slot is given up, with what the source said; the next slots are quiet."""
    work = plant.work()
    with plant.away():
        for _ in range(3 * 40):
            plant.go(work, every=timedelta(minutes=2))
    (result,) = plant.happened
    assert "nothing was charged" in result.why
    assert plant.spent == 0
    assert [state for _, _, state in plant.slots()] == [SlotState.GIVEN_UP] * 4
    assert len(plant.pool.jobs) == 4 * (1 + MOST_FREE_TRIES)


def test_a_table_without_the_declared_columns_costs_nothing(plant):
    """What is declared of a column that is not there is found before the charge."""
    by_sex = "{schedule: every 1h, statistic: histogram, by: [sex], epsilon: 0.1}\n    domain: {sex: [f, m]}"
    plant.declare({"by-sex": by_sex})
    work = plant.work()
    plant.go(work, 40, every=PAUSE)
    (result,) = plant.happened
    assert "'sex'" in result.why
    assert plant.spent == 0


def test_a_statistic_that_is_due_often_does_not_wait_long_for_its_table(plant):
    """Between two tries lies its period at most, so it is answered a minute after the table is back."""
    plant.declare({"often": "{schedule: every 1m, statistic: count, epsilon: 0.1}"})
    work = plant.work()
    with plant.away():
        plant.go(work, 10, every=PAUSE)
    plant.go(work, 2, every=PAUSE)
    assert len(plant.answers) in {1, 2}
    assert plant.spent == 100 * len(plant.answers)


def test_a_key_that_is_missing_is_told_and_not_waited_for(plant, monkeypatch):
    """Rows of a unit are put in order by the key of the store; a PostgreSQL store without one answers nothing."""
    monkeypatch.setattr(DataSet, "of", mock.Mock(side_effect=StoreUnavailable("'signature_key' is needed")))
    work = plant.work()
    plant.go(work, 2)
    monkeypatch.undo()
    (result,) = plant.happened
    assert "'signature_key' is needed" in result.why
    plant.go(work)
    assert plant.answers == [_id(2)]


class Unanswering(PlacedPool):
    """Finds that tables can be asked; what is paid for is not answered, but for those in `well`."""

    well = False

    def submit(self, job):
        (target,) = job.targets
        if target.question.charged and not self.well:
            self.jobs.append(job)
            self._events.append(WorkerDied(job.id, target.subject.name, None, "signal SIGKILL"))
        else:
            super().submit(job)


def test_a_charge_that_brings_no_answer_is_made_again_once_and_then_ever_more_rarely(plant):
    """A statistic that can never be computed costs two charges, then one after 1, 2, 4, 8 ... slots."""
    plant.declare(total=1)
    plant.pool = Unanswering(plant.clock)
    work = plant.work()
    spent = []
    for _ in range(32):
        for _ in range(4):
            plant.go(work, every=timedelta(minutes=15))
        spent.append(plant.spent // 100)
    assert [spent.index(number) for number in range(2, 8)] == [0, 1, 3, 7, 15, 31]
    assert MOST_CHARGES == 2
    (result,) = plant.happened
    assert "charged and could not be computed" in result.why
    plant.pool.well = True
    plant.clock.advance(40 * HOUR)
    plant.go(work, 3)
    assert len(plant.answers) == 3  # the first of them ended the rest
    assert plant.told[-1] == (Operation.STATISTIC_ANSWERED, "orders/hourly")


def test_why_a_paid_question_failed_is_never_said(plant, caplog):
    """What the source says about a failed statement may tell of the data: neither journal nor operators hear it."""
    with closing(sqlite3.connect(plant.folder / "shop.sqlite")) as connection, connection:
        connection.execute("ALTER TABLE orders ADD COLUMN amount INTEGER")
        connection.execute("UPDATE orders SET amount = 9223372036854775807")
    plant.declare({"hourly": "{schedule: every 1h, statistic: sum, column: amount, epsilon: 0.1}\n"
                   "    domain: {amount: {low: 0, high: 10}}"})  # fmt: skip
    with (
        caplog.at_level("DEBUG"),
        mock.patch("remedies.differential_privacy.answers.Sum.answer", side_effect=OverflowError("canary 92233720")),
    ):
        plant.go(plant.work(), 3)
    assert plant.spent > 0
    assert plant.answers == []
    assert "canary" not in caplog.text + "".join(one.why for one in plant.happened)


def test_a_crash_between_charge_and_answer_is_one_charge_more(plant):
    """The next daemon takes the slot over; what was charged stays charged, and the answer is stored once."""
    dead = plant.work(holder="dead")
    plant.pool.hanging.clear()
    plant.turn(dead, steps=1)  # claimed
    charged = PlacedPool(plant.clock)
    dead._pool, dead._jobs._pool = charged, charged
    while plant.spent == 0:
        dead.step(0.0)
    plant.kill(dead)
    plant.go(plant.work(holder="next"))
    assert plant.spent == 200
    assert plant.answers == [_id(0)]
    assert plant.slots() == [("statistic:orders/hourly", NOW, SlotState.DONE)]


def test_a_slot_that_another_daemon_still_computes_is_not_charged_again(plant):
    """A daemon that lost its lease, by a clock that was set or a pause, and goes on computing, keeps its request."""
    slow = plant.work(holder="slow")
    plant.pool.hanging.clear()
    plant.turn(slow, steps=1)  # claimed
    silent = Silent(plant.clock)
    slow._pool, slow._jobs._pool = silent, silent
    while plant.spent == 0:
        slow.step(0.0)
    other = plant.work(holder="other")
    plant.go(other)
    plant.clock.advance(5 * PAUSE)
    plant.go(other)
    assert (plant.spent, plant.answers) == (100, [])
    plant.kill(slow)
    plant.clock.advance(5 * PAUSE)
    plant.go(other)
    assert (plant.spent, plant.answers) == (200, [_id(0)])


def test_daemons_that_die_amid_one_slot_again_and_again_charge_it_twice_at_most(plant):
    """However often a daemon is killed between the charge and the answer."""
    plant.pool = Unanswering(plant.clock)
    plant.pool._events = mock.Mock(append=lambda *_: None)  # nothing is ever heard of a paid question
    for number in range(6):
        work = plant.work(holder=f"daemon {number}")
        heard = plant.pool = Silent(plant.clock)
        work._pool, work._jobs._pool = heard, heard
        plant.turn(work, steps=6)
        plant.kill(work)
        plant.clock.advance(PAUSE)
    assert plant.spent == 100 * MOST_CHARGES
    assert plant.slots() == [("statistic:orders/hourly", NOW, SlotState.GIVEN_UP)]


class Silent(PlacedPool):
    """Never answers what is paid for."""

    def submit(self, job):
        (target,) = job.targets
        if not target.question.charged:
            super().submit(job)


def test_a_crash_between_answer_and_the_end_of_the_slot_costs_nothing(plant, monkeypatch):
    """The stored answer is found by the id of the slot; the table is not asked again."""
    with monkeypatch.context() as dying:
        dying.setattr("monitor.daemon.claims.Claims.end", mock.Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            plant.go(plant.work(holder="dead"))
    before = plant.ledger.answers("orders", "row")
    asked = len(plant.pool.jobs)
    plant.go(plant.work(holder="next"))
    assert plant.ledger.answers("orders", "row") == before
    assert len(plant.pool.jobs) == asked
    assert plant.spent == 100
    assert [state for _, _, state in plant.slots()] == [SlotState.DONE]


def test_two_daemons_answer_a_slot_once(plant):
    """One process claims it first: the other finds nothing to do."""
    works = [plant.work(holder=name, alone=False) for name in ("one", "two")]
    for _ in range(3):
        for work in works:
            work.tick()
        for _ in range(6):
            for work in works:
                work.step(0.0)
        plant.clock.advance(HOUR)
    assert plant.answers == [_id(0), _id(1), _id(2)]
    assert plant.spent == 300


def test_a_daemon_that_lost_its_slot_stores_nothing(plant):
    """Too late: the slot was answered by the process that took it over."""
    slow = plant.work(holder="slow")
    plant.turn(slow, steps=1)
    plant.go(plant.work(holder="other"), every=timedelta(seconds=30))
    plant.turn(slow, steps=6)
    assert plant.answers == [_id(0)]
    assert slow.in_hand == 0


def test_a_store_that_takes_nothing_is_waited_for(plant, monkeypatch):
    """An answer that cannot be stored is kept until it can; it is charged once."""
    real, refusals = StoredLedger.store_answer, [StoreBusy("locked")] * 3

    def busy(self, *given, **said):
        if refusals:
            raise refusals.pop()
        return real(self, *given, **said)

    monkeypatch.setattr(StoredLedger, "store_answer", busy)
    work = plant.work()
    plant.go(work, 6, every=timedelta(seconds=6))
    assert plant.answers == [_id(0)]
    assert plant.spent == 100


def test_a_ledger_that_cannot_be_vouched_for_does_not_hold_up_tables(plant, monkeypatch, caplog):
    """A full disk under the anchor: tables are watched, statistics wait, and no slot is charged more than twice."""
    plant.declare(tables={"orders": "every 1h"})
    real = StoredLedger._advance
    monkeypatch.setattr(StoredLedger, "_advance", mock.Mock(side_effect=StoreUnavailable("no space for the anchor")))
    work = plant.work()
    with caplog.at_level("ERROR", logger="tablewatch"):
        for _ in range(200):
            plant.go(work, every=timedelta(seconds=10))
    assert work.problem is None
    assert len(plant.results) == 2
    assert plant.spent == 100 * MOST_CHARGES
    assert plant.answers == []
    assert "no space for the anchor" in caplog.text
    monkeypatch.setattr(StoredLedger, "_advance", real)
    plant.clock.advance_to(NOW + HOUR)
    plant.go(work)
    assert plant.answers == [_id(1)]


def test_a_broken_ledger_is_told_once_and_ends_nothing(plant):
    """An anchor that was replaced by that of another ledger: nothing is charged until a person resumes it."""
    plant.go(plant.work())
    with closing(sqlite3.connect(plant.folder / "store.db")) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DELETE FROM ledger_entry WHERE number > 1")
        connection.commit()
    plant.go(plant.work(), 3)
    assert plant.told == [(Operation.STATISTIC_HELD, "orders/hourly")]


def test_a_changed_statistic_is_asked_as_it_is_from_its_next_slot_on(plant):
    """Another epsilon under the same name is another question, and is not refused for ever."""
    work = plant.work()
    plant.go(work)
    plant.declare({"hourly": "{schedule: every 1h, statistic: count, epsilon: 0.25}"})
    work.adopt(plant.project())
    plant.go(work, 2)
    assert plant.answers == [_id(0), _id(1), _id(2)]
    assert plant.spent == 600
    assert plant.told == []


def test_a_statistic_that_changes_before_it_is_charged_is_asked_from_its_next_slot_on(plant):
    """A worker checked the earlier question; the new one is unchecked, and nothing is charged."""
    work = plant.work()
    plant.turn(work, steps=1)
    plant.declare({"hourly": "{schedule: every 1h, statistic: count, epsilon: 0.25}"})
    work.adopt(plant.project())
    plant.go(work, 2)
    assert plant.answers == [_id(1)]
    assert plant.spent == 250
    assert plant.slots()[0] == ("statistic:orders/hourly", NOW, SlotState.GIVEN_UP)


def test_a_statistic_that_is_taken_out_and_put_back_changed_is_refused_for_one_slot_at_most(plant):
    """Its newest slot was answered as something else already; the next one is asked as it is."""
    work = plant.work()
    plant.go(work, every=timedelta(minutes=5))
    plant.declare({"other": "{schedule: every 1d, statistic: count, epsilon: 0.1}"})
    work.adopt(plant.project())
    plant.declare({"hourly": "{schedule: every 1h, statistic: count, epsilon: 0.25}"})
    plant.clock = work._clock
    work.adopt(plant.project())
    plant.go(work, 13, every=timedelta(minutes=5))
    assert plant.answers == [_id(0), _id(1)]
    assert plant.spent == 350


def test_a_slot_that_was_asked_as_something_else_is_given_up_without_a_look(plant):
    """Where a user used the id of a slot: that slot only is refused, and nothing is charged for it."""
    from monitor.answers.ask import AnswerService
    from remedies.differential_privacy.answers import Count

    data_set = DataSet.of(plant.project(), "orders")
    AnswerService(plant.ledger, plant.clock, "eve").answer(data_set, Count(epsilon="0.2"), _id(0))
    plant.go(plant.work(), 2)
    assert plant.answers == [_id(0), _id(1)]
    assert plant.spent == 300


def test_a_statistic_that_leaves_the_configuration_is_not_charged(plant):
    """Between the claim and the charge; what was charged already is finished."""
    work = plant.work()
    plant.turn(work, steps=1)
    plant.declare({"other": "{schedule: 'cron: 0 0 1 1 *', statistic: count, epsilon: 0.1}"})
    work.adopt(plant.project())
    plant.go(work, 2)
    assert plant.spent == 0
    assert plant.slots() == [("statistic:orders/hourly", NOW, SlotState.GIVEN_UP)]
    assert plant.happened == []


def test_a_clock_that_is_set_back_gives_the_same_answers_again_at_no_cost(plant):
    """Slots that come a second time are the same requests."""
    plant.go(plant.work(), 3)
    plant.clock = SimulatedClock(NOW - timedelta(minutes=30))
    work = plant.work()
    before = plant.answers
    plant.go(work, 4)
    assert (plant.spent, plant.answers) == (300, before)
    assert len(plant.slots()) == 6
    plant.go(work)
    assert (plant.spent, plant.answers) == (400, [*before, _id(3)])


def test_once_answers_what_is_due_and_tries_nothing_again(plant):
    """A run from cron does not wait for a table that is away."""
    work = plant.work(once=True)
    with plant.away():
        plant.turn(work, steps=8)
        plant.turn(work)
    assert work.exhausted
    assert (work.questions.answered, work.questions.unanswered) == (0, 1)
    plant.clock.advance(HOUR)
    later = plant.work(once=True)
    plant.turn(later, steps=8)
    plant.turn(later)
    assert later.exhausted
    assert (later.questions.answered, later.questions.unanswered) == (1, 0)
    assert plant.answers == [_id(1)]


def test_once_ends_though_the_ledger_cannot_be_written(plant, monkeypatch):
    """The slot is left to the next run."""
    with monkeypatch.context() as full:
        full.setattr(StoredLedger, "reserve", mock.Mock(side_effect=StoreUnavailable("full")))
        work = plant.work(once=True)
        plant.turn(work, steps=8)
        plant.turn(work)
        assert work.exhausted
        assert work.questions.unanswered == 1
    plant.go(plant.work(holder="next", once=True))
    assert plant.answers == [_id(0)]


def test_a_stopping_daemon_stores_the_answer_it_has_and_charges_nothing_more(plant):
    """What was paid for is not thrown away; what was not is left to the next."""
    plant.declare({"a": COUNT, "b": COUNT})
    work = plant.work()
    work.tick()
    while plant.spent == 0:
        work.step(0.0)
    work.stop()
    while work.at_work:
        work.step(0.0)
    work.give_up_leases()
    paid = plant.spent // 100
    assert len(plant.answers) == paid
    plant.go(plant.work(holder="next"))
    assert plant.spent == 200
    assert sorted(plant.answers) == [_id(0, "a"), _id(0, "b")]
