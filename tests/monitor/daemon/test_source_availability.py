"""Operators hear of a source that is away for long, once, and of its return."""

from dataclasses import replace
from datetime import timedelta

from checks import Message, Outcome, Status, UnknownReason, unknown
from checks.primary_key import PrimaryKey
from incidents import Watch
from monitor.alerts.operational import Operation
from monitor.daemon.quarantine import LONG, SourceAvailability, TableAvailability
from monitor.scan.results import CheckResult
from tests.monitor.shop import NOW

_CHECK = PrimaryKey(columns=("id",))


def _found(minutes, *, away, source="shop", reason=UnknownReason.UNREACHABLE):
    outcome = unknown(reason, Message("away")) if away else Outcome(Status.PASS, Message("well"))
    return CheckResult("t.key", "t", _CHECK, outcome, NOW + timedelta(minutes=minutes), 0.1, source)


def test_a_source_that_is_away_for_long_is_told_once():
    """Not at its first failure, and not for each table."""
    reach, result = SourceAvailability(), []
    for minutes in (0, 5, 9, 10, 11, 60):
        result += reach.take([_found(minutes, away=True), _found(minutes, away=False, source="other")])
    assert [(one.operation, one.name, one.since) for one in result] == [(Operation.SOURCE_UNREACHABLE, "shop", NOW)]
    (back,) = reach.take([_found(70, away=False)])
    assert (back.operation, back.since) == (Operation.SOURCE_REACHABLE, NOW)
    assert list(reach.take([_found(71, away=False)])) == []


def test_the_other_source_of_a_comparison_is_reported_by_its_name():
    """A source that a table is compared with is away: it is named, not the table's own, and comes back by name."""
    away = [_found(minutes, away=True) for minutes in (0, 11)]
    away = [replace(result, outcome=replace(result.outcome, observed={"source": "copy"})) for result in away]
    reach = SourceAvailability()
    events = [*reach.take(away), *reach.take([_found(12, away=False)])]
    assert [(event.operation, event.name) for event in events] == [
        (Operation.SOURCE_UNREACHABLE, "copy"),
        (Operation.SOURCE_REACHABLE, "copy"),
    ]


def test_a_source_that_comes_back_soon_is_not_told_of():
    """A short outage concerns its tables only."""
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
    """It refuses at first, then it hangs: it is one outage, reported with its beginning, and only an answer ends it."""
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
    result = list(reach.take([_found(61, away=True), _found(66, away=True, reason=bug), _found(72, away=True)]))
    assert [one.operation for one in result] == [Operation.SOURCE_UNREACHABLE]


def _result(minutes, reason=None, check_id="t.key"):
    outcome = Outcome(Status.PASS, Message("well")) if reason is None else unknown(reason, Message("no such column"))
    return CheckResult(check_id, "t", _CHECK, outcome, NOW + timedelta(minutes=minutes), 0.1, "shop")


def test_a_table_that_can_no_longer_be_checked_is_reported_once_and_so_is_its_return():
    """At once where something is gone; what never worked is a matter of the configuration, and is not reported."""
    tables = TableAvailability()
    gone = UnknownReason.MISCONFIGURED
    assert list(tables.take([_result(0), _result(0, check_id="t.more"), _result(0, gone, "t.never")])) == []
    (lost,) = tables.take([_result(1, gone), _result(1, gone, "t.more"), _result(1, gone, "t.never")])
    assert (lost.operation, lost.name, lost.why, lost.since) == (Operation.TABLE_LOST, "t", "no such column", NOW)
    assert list(tables.take([_result(2, gone), _result(2, gone, "t.more"), _result(3)])) == []
    (back,) = tables.take([_result(4, check_id="t.more")])
    assert (back.operation, back.name) == (Operation.TABLE_BACK, "t")


def test_revoked_rights_are_reported_after_ten_minutes():
    """Rights are often given back at once, when a table is made again."""
    tables = TableAvailability()
    assert list(tables.take([_result(0), _result(5, UnknownReason.PERMISSION)])) == []
    (lost,) = tables.take([_result(10, UnknownReason.PERMISSION)])
    assert (lost.operation, lost.since) == (Operation.TABLE_LOST, NOW)


def test_a_place_that_the_configuration_changed_is_reported_after_ten_minutes():
    """Who changes a configuration sees at once what it says; a mistake that stays is reported like a revoked right."""
    tables, moved = TableAvailability(), replace(_result(5, UnknownReason.MISCONFIGURED), is_moved=True)
    assert list(tables.take([_result(0), moved])) == []
    (lost,) = tables.take([replace(moved, measured_at=NOW + LONG)])
    assert (lost.operation, lost.since) == (Operation.TABLE_LOST, NOW)


def test_what_worked_before_a_restart_is_known():
    """A table that vanishes while no daemon runs is reported by the next one."""
    tables = TableAvailability()
    tables.begin(
        [
            Watch("t.key", NOW, NOW, "unknown(misconfigured)", last_pass_ended_at=NOW, recent="P"),
            Watch("t.never", NOW, NOW, "unknown(misconfigured)"),
        ]
    )
    assert list(tables.take([_result(60, UnknownReason.MISCONFIGURED, "t.never")])) == []
    (lost,) = tables.take([_result(60, UnknownReason.MISCONFIGURED)])
    assert lost.since == NOW


def test_a_check_that_is_removed_does_not_hide_that_its_table_is_lost_again():
    """What is no longer configured is forgotten: else a table with such a check would stay lost for ever."""
    tables, gone = TableAvailability(), UnknownReason.MISCONFIGURED
    assert list(tables.take([_result(0), _result(0, check_id="t.more")])) == []
    assert len(list(tables.take([_result(1, gone), _result(1, gone, "t.more")]))) == 1
    tables.keep_only(["t.key"])
    (back,) = tables.take([_result(2)])
    (lost,) = tables.take([_result(3, gone)])
    assert (back.operation, lost.operation) == (Operation.TABLE_BACK, Operation.TABLE_LOST)
