"""Crashes of checks are forgotten only when the check ran."""

import pytest

from checks import Message, UnknownReason, unknown
from checks.primary_key import PrimaryKey
from monitor.clock import SimulatedClock
from monitor.daemon.quarantine import QuarantineTracker
from monitor.scan.results import CheckResult
from store import open_store
from tests.monitor.shop import NOW

_CHECK = PrimaryKey(columns=("id",))


@pytest.mark.parametrize("reason", list(UnknownReason))
def test_only_a_check_that_ran_is_forgiven(tmp_path, reason):
    """A source that is away or a check that did not end absolves nobody: neither says that the crash is mended."""
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        crashes = QuarantineTracker(store, SimulatedClock(NOW), lambda _: None)
        crashes.add("t.key", "signal SIGSEGV")
        found = CheckResult("t.key", "t", _CHECK, unknown(reason, Message("x")), NOW, 0.1, "shop")
        crashes.forgive([found])
        with store.reading() as tx:
            known = [quarantine.check_id for quarantine in tx.daemons.quarantines()]
    did_not_run = {UnknownReason.UNREACHABLE, UnknownReason.TIMEOUT, UnknownReason.BUG}
    assert known == (["t.key"] if reason in did_not_run else [])
