"""A clock that is set changes times, and nothing else: no run is ignored, no alarm lost, no time negative."""

import tempfile
from datetime import timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from checks import Message, Outcome, Severity, Status
from incidents import State
from monitor.clock import SimulatedClock
from monitor.scan.recorder import record_results
from monitor.scan.results import CheckMeasurement, TableResult, targets_of
from store import LastNotification, Scope
from store._schedule import ScheduleReader
from tests.incidents.histories import assert_valid
from tests.monitor.simulation.played import ROUTES, START, made
from tests.tiers import examples

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
POLICIES = ("", "  open_after: 3\n  resolve_after: 2\n", "  confirm: {after: 12m}\n  resolve_after: 1\n")


class SettableClock(SimulatedClock):
    """A clock that can be set; its monotonic seconds go on."""

    shift = timedelta()

    def now(self):
        """Return what the clock shows."""
        return super().now() + self.shift


class Checked:
    """One check that runs every five minutes, whatever the clock shows."""

    def __init__(self, folder, alerts):
        self.project, self.clock = made(folder, ROUTES + alerts), SettableClock(START)
        self.store = self.project.open_store()

    def run(self, status, table="orders", *, took=SECOND):
        """Let five minutes pass until a check has run; return the incidents of all."""
        self.clock.advance(5 * MINUTE + SECOND)
        (target,) = targets_of(self.project, [table])
        started = self.clock.now() - took
        outcome = Outcome(status, Message("as played"), {})
        measured = [CheckMeasurement(check_id, check, outcome) for check_id, check in target.subject.checks]
        table_result = TableResult(target, started, self.clock.now(), measured)
        record_results([table_result], store=self.store, policy_of=self.project.policy_of, clock=self.clock)
        with self.store.reading() as tx:
            return tx.incidents.matching()


def test_a_machine_whose_clock_is_behind_corrects_nothing(tmp_path):
    """Two machines share a store: a run ten seconds before one that is known moves no incident."""
    checked = Checked(tmp_path, "")
    before = [*checked.run(Status.FAIL), *checked.run(Status.FAIL, "lines")][1:]
    checked.clock.shift -= 5 * MINUTE + 11 * SECOND
    assert checked.run(Status.FAIL, "lines") == before
    checked.store.close()


def test_a_clock_that_was_set_back_leaves_the_incidents_of_others(tmp_path):
    """What another check found meanwhile, by the new clock, stays; what lies in the future is brought back."""
    checked = Checked(tmp_path, "")
    checked.clock.shift = 2 * HOUR
    checked.run(Status.FAIL)
    checked.clock.shift = timedelta()
    (other,) = (incident for incident in checked.run(Status.FAIL, "lines") if incident.table == "lines")
    by_table = {incident.table: incident for incident in checked.run(Status.FAIL, took=HOUR)}
    assert by_table["lines"] == other
    assert by_table["orders"].last.detected_at < checked.clock.now() - HOUR
    checked.store.close()


def test_a_run_without_a_daemon_takes_silences_and_messages_along(tmp_path):
    """A check that runs by the new clock brings back everything that the daemon would."""
    checked = Checked(tmp_path, "")
    checked.clock.shift = 2 * HOUR
    (incident,) = checked.run(Status.FAIL)
    later = checked.clock.now()
    with checked.store.writing() as tx:
        (transition,) = tx.outbox.waiting(10)
        tx.outbox.postpone([transition.id], later + MINUTE)
        tx.outbox.save_notifications([LastNotification(incident.id, "desk", "first", Severity.ERROR, 1, later, "m")])
        tx.external_items.begin(incident.id, "desk", "https://desk", later, settles_s=120)
        tx.silences.add(scope=Scope.ALL, name=None, starts_at=later, until=later + HOUR, reason="x", by="y")
    checked.clock.shift = timedelta()
    checked.run(Status.FAIL)
    now = checked.clock.now()
    with checked.store.reading() as tx:
        (notification,) = tx.outbox.last_notifications([incident.id])
        (item,) = tx.external_items.of_incident(incident.id)
        assert (notification.told_at, item.begun_at) == (now, now)
        assert [due.id for due in tx.outbox.due(now, 10)] == [transition.id]
        assert len(tx.silences.all(active_at=now)) == 1
    checked.store.close()


def test_a_machine_whose_clock_is_behind_makes_no_message_due(tmp_path, monkeypatch):
    """Messages go by the server's clock, which was not set: what waits for another attempt goes on waiting."""
    checked = Checked(tmp_path, "")
    checked.clock.shift = HOUR
    checked.run(Status.FAIL)
    later = checked.clock.now() + HOUR
    with checked.store.writing() as tx:
        (transition,) = tx.outbox.waiting(10)
        tx.outbox.postpone([transition.id], later)
    checked.clock.shift = timedelta()
    monkeypatch.setattr(ScheduleReader, "clock", lambda _, now: now + HOUR)
    checked.run(Status.FAIL)
    with checked.store.reading() as tx:
        assert not tx.outbox.due(later - SECOND, 10)
        assert [due.id for due in tx.outbox.due(later, 10)] == [transition.id]
    checked.store.close()


settings_of_clock = st.sampled_from(
    [None] * 6 + [-SECOND, SECOND, -2 * HOUR, 6 * HOUR, -90 * MINUTE, timedelta(400), -timedelta(800)]
)
runs = st.lists(st.tuples(settings_of_clock, st.sampled_from("PPFFF")), min_size=1, max_size=30)


@settings(deadline=None, max_examples=examples(25))
@given(st.sampled_from(POLICIES), runs)
def test_a_clock_that_is_set_hides_no_run(alerts, happenings):
    """Enough fails in a row after the clock was set last open an incident, enough passes end it; times are in order."""
    with tempfile.TemporaryDirectory() as folder:
        checked = Checked(Path(folder), alerts)
        policy = checked.project.policy_of(checked.project.config.tables[0].checks[0])
        to_open = policy.open_after if policy.confirm_after is None else 4
        fails_to_open = policy.open_after if policy.confirm_after is None else 2
        streak, fails, before, episodes = 0, 0, "", 0
        for shift, letter in happenings:
            checked.clock.shift += shift or timedelta()
            is_set = shift is not None and abs(shift) > SECOND
            streak, before = (streak if letter == before and not is_set else 0) + 1, letter
            fails = fails + 1 if letter == "F" else 0
            incidents = checked.run(Status.FAIL if letter == "F" else Status.PASS)
            lasts = any(incident.state is not State.RESOLVED for incident in incidents)
            assert lasts or letter == "P" or streak < to_open
            assert not lasts or letter == "F" or streak < policy.resolve_after
            opened = sum(len(incident.episodes) for incident in incidents)
            assert opened == episodes or fails >= fails_to_open
            episodes = opened
            for incident in incidents:
                assert_valid(incident)
            ends = [one.resolved_at or one.detected_at for incident in incidents for one in incident.episodes]
            assert all(time <= checked.clock.now() + SECOND for time in ends)
    checked.store.close()
