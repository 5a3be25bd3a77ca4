"""Crashes of checks suspend them, and are forgotten only when the check ran."""

from contextlib import closing
from datetime import timedelta

import pytest

from checks import Message, UnknownReason, unknown
from checks.primary_key import PrimaryKey
from monitor.clock import SimulatedClock
from monitor.daemon.quarantine import QuarantineTracker
from monitor.scan.results import CheckResult, targets_of
from store import open_store
from tests.monitor.daemon.plant import Plant
from tests.monitor.shop import NOW

_CHECK = PrimaryKey(columns=("id",))


@pytest.mark.parametrize("reason", list(UnknownReason))
def test_only_a_check_that_ran_is_forgiven(tmp_path, reason):
    """A source that is away or a check that did not end is no proof: neither says that the crash is mended."""
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        crashes = QuarantineTracker(store, SimulatedClock(NOW), lambda _: None)
        crashes.add("t.key", "signal SIGSEGV")
        found = CheckResult("t.key", "t", _CHECK, unknown(reason, Message("x")), NOW, 0.1, "shop")
        crashes.forgive([found])
        with store.reading() as tx:
            known = [quarantine.check_id for quarantine in tx.daemons.quarantines()]
    did_not_run = {UnknownReason.UNREACHABLE, UnknownReason.TIMEOUT, UnknownReason.BUG}
    assert known == (["t.key"] if reason in did_not_run else [])


def test_a_check_that_kills_its_worker_is_suspended_ever_longer(tmp_path):
    """The fifth crash suspends it for an hour, each further one for twice as long, for a day at most."""
    hours = []
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        for _ in range(12):
            QuarantineTracker(store, SimulatedClock(NOW), lambda _: None).add("t.key", "signal SIGSEGV")
            with store.reading() as tx:
                (crash,) = tx.daemons.quarantines()
            hours.append(None if crash.until is None else (crash.until - NOW) / timedelta(hours=1))
    assert hours == [None, None, None, None, 1, 2, 4, 8, 16, 24, 24, 24]


@pytest.mark.parametrize(("days", "is_suspended"), [(0, True), (-2, False)])
def test_a_suspension_does_not_last_longer_for_a_clock_that_is_set_back(tmp_path, days, is_suspended):
    """Nor is a check left out for a year whose worker died under a clock that was a year ahead."""
    plant = Plant(tmp_path)
    (target,) = targets_of(plant.project(), ["orders"])
    check_id = target.subject.checks[0][0]
    with closing(plant.store):
        ahead = QuarantineTracker(plant.store, SimulatedClock(NOW), lambda _: None)
        for _ in range(5):
            ahead.add(check_id, "signal SIGSEGV")
        crashes = QuarantineTracker(plant.store, SimulatedClock(NOW + timedelta(days=days)), lambda _: None)
        crashes.refresh()
        assert list(crashes.suspended(target)) == ([check_id] if is_suspended else [])
