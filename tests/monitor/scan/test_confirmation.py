"""Failing checks are run again before their incidents open, by whichever daemon is there, and no others with them."""

import json
import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from checks import Status
from monitor.config.selector import select
from monitor.scan.backfill import PastIncidents, record_past
from monitor.scan.recorder import retire
from monitor.scan.results import targets_of
from monitor.scan.run import run_checks
from monitor.scan.scanner import scan_sources
from store import IncidentFilter, SlotState
from tests.monitor.daemon.plant import CHECKS, Plant
from tests.monitor.shop import NOW

MORE = "alerts: {confirm: {after: 5m}}\n"
MINUTE = timedelta(minutes=1)


@pytest.fixture
def plant(tmp_path):
    """Return a plant with one table that is due every hour, whose fails are confirmed after five minutes."""
    plant = Plant(tmp_path)
    plant.configure({"orders": "every 1h"}, more=MORE)
    yield plant
    plant.store.close()


def _spoil(plant):
    with closing(sqlite3.connect(plant.folder / "shop.sqlite")) as connection, connection:
        connection.execute("UPDATE orders SET customer = NULL WHERE id = 1")


def _mend(plant):
    with closing(sqlite3.connect(plant.folder / "shop.sqlite")) as connection, connection:
        connection.execute("UPDATE orders SET customer = 'ann' WHERE id = 1")


def _incidents(plant):
    with plant.store.reading() as tx:
        return tx.incidents.matching(IncidentFilter())


def _next(plant, table="orders"):
    with plant.store.reading() as tx:
        row = tx.schedule.get(table)
        return row.next_slot, row.due_at


def _slots(plant):
    with plant.store.reading() as tx:
        found = sorted(tx.slots.since(NOW - timedelta(days=1), 1000), key=lambda slot: slot.slot)
        return [(slot.slot, slot.state, slot.attempt) for slot in found]


def _asked(plant):
    return [[check_id for check_id, _ in target.subject.checks] for job in plant.pool.jobs for target in job.targets]


def test_a_retry_that_fails_opens_the_incident_as_of_the_first_fail(plant):
    """The failing check alone is run again, five minutes later; then the schedule goes on as it was."""
    _spoil(plant)
    work = plant.work()
    plant.turn(work)
    assert (_incidents(plant), _next(plant)) == ([], (NOW + 5 * MINUTE, NOW + 5 * MINUTE))
    plant.clock.advance(4 * MINUTE)
    plant.turn(work)
    assert len(plant.pool.jobs) == 1
    plant.clock.advance(MINUTE)
    plant.turn(work)
    assert _asked(plant) == [["orders.primary-key", "orders.not-null"], ["orders.not-null"]]
    (incident,) = _incidents(plant)
    assert (incident.last.detected_at, incident.last.first_failed_at) == (NOW, NOW)
    assert _next(plant)[0] == NOW + timedelta(hours=1)
    plant.clock.advance(55 * MINUTE)
    plant.turn(work)
    assert _asked(plant)[2] == ["orders.primary-key", "orders.not-null"]


def test_a_retry_that_passes_is_nobodys_alarm(plant):
    """No incident, no transition to announce, no downtime; both runs are stored as what they were."""
    _spoil(plant)
    work = plant.work()
    plant.turn(work)
    _mend(plant)
    plant.clock.advance(5 * MINUTE)
    plant.turn(work)
    assert _incidents(plant) == []
    with plant.store.reading() as tx:
        assert tx.outbox.due(plant.clock.now(), 10) == []
        moments = tx.results.moments(["orders.not-null"], NOW, plant.clock.now() + MINUTE)["orders.not-null"]
    assert [at for at, _ in moments] == [NOW, NOW + 5 * MINUTE]
    assert _next(plant)[0] == NOW + timedelta(hours=1)


def test_an_unknown_retry_leaves_the_decision_to_the_schedule(plant):
    """A source that does not answer is not asked every five minutes: the next run of the schedule decides."""
    _spoil(plant)
    work = plant.work()
    plant.turn(work)
    plant.clock.advance(5 * MINUTE)
    plant.pool.hanging.add("orders")
    plant.turn(work)
    plant.pool.jobs.pop(0)
    plant.pool.overdue("orders")
    plant.turn(work)
    assert (plant.results[-1].outcome.status, _incidents(plant)) == (Status.UNKNOWN, [])
    assert _next(plant)[0] == NOW + timedelta(hours=1)
    plant.clock.advance(55 * MINUTE)
    plant.turn(work)
    (incident,) = _incidents(plant)
    assert incident.last.detected_at == NOW


def test_a_retry_outlives_the_daemon_that_asked_for_it(plant):
    """It is in the schedule of the store: another daemon claims it, and when that dies amid it, the next one."""
    _spoil(plant)
    plant.turn(plant.work(holder="first"))
    plant.clock.advance(5 * MINUTE)
    plant.pool.hanging.add("orders")
    plant.turn(plant.work(holder="second"))
    plant.pool.hanging.clear()
    plant.turn(plant.work(holder="third"))
    assert _asked(plant)[1:] == [["orders.not-null"], ["orders.not-null"]]
    assert _slots(plant)[1:] == [(NOW + 5 * MINUTE, SlotState.DONE, 2)]
    assert [incident.last.detected_at for incident in _incidents(plant)] == [NOW]


def test_daemons_that_share_a_store_run_a_retry_once(plant):
    """One daemon claims the slot and runs it; the others find nothing due."""
    _spoil(plant)
    works = [plant.work(holder=name, alone=False) for name in ("a", "b")]
    plant.turn(works[0])
    plant.clock.advance(5 * MINUTE)
    for work in works:
        plant.turn(work)
    assert _asked(plant)[1:] == [["orders.not-null"]]
    assert len(_incidents(plant)) == 1


def test_a_table_that_is_due_before_its_retry_is_not_moved(plant):
    """A schedule that is faster than the retry confirms with its first run that is late enough."""
    plant.configure({"orders": "every 2m"}, more=MORE)
    _spoil(plant)
    work = plant.work()
    opened = []
    for _ in range(4):
        plant.turn(work)
        opened.append((plant.clock.now() - NOW, len(_incidents(plant))))
        plant.clock.advance(2 * MINUTE)
    assert opened == [(0 * MINUTE, 0), (2 * MINUTE, 0), (4 * MINUTE, 0), (6 * MINUTE, 1)]
    assert _incidents(plant)[0].last.detected_at == NOW
    assert _slots(plant)[3][0] == NOW + 6 * MINUTE


def test_a_retry_at_a_slot_of_the_schedule_runs_every_check(plant):
    """Where the two fall together, the table is checked as its schedule wants it."""
    plant.configure({"orders": "every 5m"}, more=MORE)
    _spoil(plant)
    work = plant.work()
    plant.turn(work)
    plant.clock.advance(5 * MINUTE)
    plant.turn(work)
    assert _asked(plant)[1] == ["orders.primary-key", "orders.not-null"]
    assert len(_incidents(plant)) == 1


def test_a_pass_by_hand_waits_for_nothing(plant):
    """`check` and `run --once` leave the retry to the schedule, or to the next of them that is late enough."""
    _spoil(plant)
    project = plant.project()
    for advance, incidents in ((MINUTE, 0), (4 * MINUTE, 0), (MINUTE, 1)):
        run_checks(project, select([], project.config), store=plant.store)
        assert len(_incidents(plant)) == incidents
        plant.clock.advance(advance)
    assert _incidents(plant)[0].last.detected_at == NOW


def test_a_daemon_takes_over_the_retry_of_a_pass_by_hand(plant):
    """A table in the schedule of the store is due for its retry, whichever daemon saw it fail."""
    plant.turn(plant.work())
    plant.clock.advance(10 * MINUTE)
    _spoil(plant)
    project = plant.project()
    run_checks(project, select([], project.config), store=plant.store)
    assert _next(plant)[0] == NOW + 15 * MINUTE
    plant.clock.advance(5 * MINUTE)
    plant.turn(plant.work())
    assert [incident.last.detected_at for incident in _incidents(plant)] == [NOW + 10 * MINUTE]


def test_a_run_once_leaves_a_retry_to_the_next(plant):
    """`run --once` runs what is due when it begins, and does not wait."""
    _spoil(plant)
    plant.turn(plant.work(once=True))
    plant.turn(plant.work(once=True))
    assert (len(plant.pool.jobs), _incidents(plant)) == (1, [])
    plant.clock.advance(6 * MINUTE)
    plant.turn(plant.work(once=True))
    assert [incident.last.detected_at for incident in _incidents(plant)] == [NOW]


def test_segments_are_confirmed_as_checks_are(plant):
    """A check of whose segments one fails is run again for it."""
    checks = "{type: not_null, columns: [customer], by: {columns: [id]}}, {type: primary_key, columns: [id]}"
    plant.configure({"orders": "every 1h"}, checks=checks, more=MORE)
    _spoil(plant)
    work = plant.work()
    plant.turn(work)
    assert _incidents(plant) == []
    plant.clock.advance(5 * MINUTE)
    plant.turn(work)
    assert _asked(plant)[1] == ["orders.not-null"]
    (incident,) = _incidents(plant)
    assert (incident.last.detected_at, incident.series) == (NOW, incident.fingerprint)


def test_a_backfill_confirms_by_its_own_times(plant):
    """As of past times nothing is run again: the next of them that is late enough confirms."""
    plant.configure({"orders": "every 1h"}, checks=CHECKS + "], loaded_at: at, upstream: [", more=MORE)
    _spoil(plant)
    project = plant.project()
    past = PastIncidents(project.policy_of, NOW)
    with closing(sqlite3.connect(plant.folder / "shop.sqlite")) as connection, connection:
        connection.execute("ALTER TABLE orders ADD at TEXT DEFAULT '2026-01-01 00:00:00'")
    (target,) = targets_of(project, ["orders"])
    times = [NOW - timedelta(hours=hours) for hours in (3, 2, 1)]
    for at in times:
        for batch in scan_sources([target.at(at)], clock=plant.clock, plans={}):
            record_past(batch, store=plant.store, past=past, now=NOW)
    assert [incident.last.detected_at for incident in _incidents(plant)] == times[:1]


@pytest.mark.parametrize(
    ("rules", "opens"),
    [
        ({}, 0),
        ({"open_after": 1}, 1),
        ({"confirm": {"after": "1h"}}, 0),
    ],
)
def test_the_rule_of_a_check_goes_before_that_of_the_project(plant, rules, opens):
    """A check that counts its failing runs is not confirmed, and one with a retry of its own waits for that."""
    checks = CHECKS.replace("{type: not_null", json.dumps({"type": "not_null", **rules})[:-1].replace('"', ""))
    plant.configure({"orders": "every 2h"}, checks=checks, more=MORE)
    _spoil(plant)
    plant.turn(plant.work())
    assert len(_incidents(plant)) == opens
    if "confirm" in rules:
        assert _next(plant)[0] == NOW + timedelta(hours=1)


def test_every_check_that_waits_is_run_at_its_own_time(plant):
    """Checks of one table with different waits are confirmed one after the other, none of them by the next slot."""
    checks = (
        "{type: not_null, columns: [customer], confirm: {after: 5m}}, "
        "{type: not_null, id: slow, columns: [customer], confirm: {after: 20m}}, {type: primary_key, columns: [id]}"
    )
    plant.configure({"orders": "every 1h"}, checks=checks)
    _spoil(plant)
    work = plant.work()
    plant.turn(work)
    for minutes, incidents in ((5, 1), (15, 2)):
        plant.clock.advance(minutes * MINUTE)
        plant.turn(work)
        assert len(_incidents(plant)) == incidents
    assert _asked(plant)[1:] == [["orders.not-null"], ["orders.slow"]]
    assert _next(plant)[0] == NOW + timedelta(hours=1)


@pytest.mark.parametrize("more", [MORE, "alerts: {open_after: 2}\n"])
def test_a_check_that_is_configured_again_begins_anew(plant, more):
    """A fail of weeks ago, before the check was taken out, confirms nothing and dates nothing."""
    _spoil(plant)
    work = plant.work()
    plant.turn(work)
    plant.configure({"orders": "every 1h"}, more=more, checks="{type: primary_key, columns: [id]}")
    work.adopt(plant.project())
    retire(plant.project(), plant.store)
    plant.clock.advance(timedelta(days=21))
    plant.configure({"orders": "every 1h"}, more=more)
    work.adopt(plant.project())
    retire(plant.project(), plant.store)
    again = plant.clock.advance(timedelta(hours=1))
    plant.turn(work)
    assert _incidents(plant) == []
    plant.clock.advance(timedelta(hours=1))
    plant.turn(work)
    (incident,) = _incidents(plant)
    assert (incident.last.onset.at, incident.last.first_failed_at) == (again, again)
