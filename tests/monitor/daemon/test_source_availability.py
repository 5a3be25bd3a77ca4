"""Operators hear of a source that is away for long, once, and of its return."""

from datetime import timedelta

from checks import Message, Outcome, Status, UnknownReason, unknown
from checks.primary_key import PrimaryKey
from monitor.alerts.operational import Operation
from monitor.daemon.quarantine import LONG, SourceAvailability
from monitor.scan.results import CheckResult
from tests.monitor.shop import NOW

_CHECK = PrimaryKey(columns=("id",))


def _found(minutes, *, away, source="shop", reason=UnknownReason.UNREACHABLE):
    outcome = unknown(reason, Message("away")) if away else Outcome(Status.PASS, Message("well"))
    return CheckResult("t.key", "t", _CHECK, outcome, NOW + timedelta(minutes=minutes), 0.1, source)


def test_a_source_that_is_away_for_long_is_told_once():
    """Not at its first failure, and not for each table."""
    reach, told = SourceAvailability(), []
    for minutes in (0, 5, 9, 10, 11, 60):
        told += reach.take([_found(minutes, away=True), _found(minutes, away=False, source="other")])
    assert [(one.operation, one.name, one.since) for one in told] == [(Operation.SOURCE_UNREACHABLE, "shop", NOW)]
    (back,) = reach.take([_found(70, away=False)])
    assert (back.operation, back.since) == (Operation.SOURCE_REACHABLE, NOW)
    assert list(reach.take([_found(71, away=False)])) == []


def test_a_source_that_comes_back_soon_is_not_told_of():
    """A short outage is nobody's business but its tables'."""
    reach = SourceAvailability()
    assert list(reach.take([_found(0, away=True), _found(9, away=False)])) == []
    assert list(reach.take([_found(9 + LONG.total_seconds() / 60, away=True)])) == []


def test_an_outage_is_reported_also_if_the_clock_is_set_back_in_it():
    """Ten minutes of the new clock are enough, whatever the old one showed."""
    reach = SourceAvailability()
    events = list(reach.take([_found(minutes, away=True) for minutes in (600, 5, 14, 15)]))
    assert [(event.operation, event.since) for event in events] == [
        (Operation.SOURCE_UNREACHABLE, NOW + timedelta(minutes=5))
    ]


def test_a_source_that_hangs_is_away_too():
    """It refuses at first, then it hangs: it is one outage, told with its beginning, and only an answer ends it."""
    reach = SourceAvailability()
    assert list(reach.take([_found(0, away=True), _found(6, away=True, reason=UnknownReason.TIMEOUT)])) == []
    (gone,) = reach.take([_found(11, away=True, reason=UnknownReason.TIMEOUT)])
    assert (gone.operation, gone.since) == (Operation.SOURCE_UNREACHABLE, NOW)
    for reason in (UnknownReason.TIMEOUT, UnknownReason.BUG, UnknownReason.UNREACHABLE):
        assert list(reach.take([_found(20, away=True, reason=reason)])) == []
    (back,) = reach.take([_found(30, away=True, reason=UnknownReason.PERMISSION)])
    assert back.operation is Operation.SOURCE_REACHABLE


def test_a_bug_says_nothing_of_its_source():
    """A check that ends its worker neither is an outage nor ends one."""
    reach, bug = SourceAvailability(), UnknownReason.BUG
    assert list(reach.take([_found(minutes, away=True, reason=bug) for minutes in (0, 60)])) == []
    told = list(reach.take([_found(61, away=True), _found(66, away=True, reason=bug), _found(72, away=True)]))
    assert [one.operation for one in told] == [Operation.SOURCE_UNREACHABLE]
