"""Unobserved time."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from checks import UnknownReason
from incidents import NOT_RUN, Gap, Unobserved, Watch, Window, gaps_after, unobserved
from tests.incidents.histories import BASE_US, at, tick

PERIOD = timedelta(microseconds=100)


def watch(last, status="pass", check="orders.fresh"):
    """Make what is known of a check whose last run was at a tick."""
    return Watch(check, monitored_since=at(0), last_run_at=at(last), last_status=status)


def gap(start, end, reason=NOT_RUN, table="orders", check="orders.fresh"):
    """Make a gap between ticks."""
    return Gap(check, table, at(start), at(end), reason)


def after(known, until, period=PERIOD):
    """Return the gaps up to a tick."""
    return gaps_after(known, table="orders", until=at(until), period=period)


def test_what_runs_in_time_is_observed():
    """Pass, warn and fail alike: what a run found holds until the next one, up to a tenth of the period late."""
    for status in ("pass", "warn", "fail"):
        assert after(watch(0, status), 100) == ()
        assert after(watch(0, status), 110) == ()


def test_an_overdue_run_leaves_a_gap_from_when_it_was_due():
    """Later than that, the time since it was due is not-run."""
    assert after(watch(0), 111) == (gap(100, 111),)


def test_an_unknown_run_leaves_the_time_after_it_unobserved():
    """Until the next run, for its reason; the whole time if that run comes a little late."""
    assert after(watch(0, "unknown(timeout)"), 60) == (gap(0, 60, "timeout"),)
    assert after(watch(0, "unknown(timeout)"), 105) == (gap(0, 105, "timeout"),)


def test_an_unknown_run_before_an_overdue_one_leaves_both_gaps():
    """First its own reason, then not-run, side by side."""
    assert after(watch(0, "unknown(unreachable)"), 300) == (gap(0, 100, "unreachable"), gap(100, 300))


def test_a_check_without_a_schedule_is_never_overdue():
    """It has no schedule; an unknown run still leaves its time unobserved."""
    assert after(watch(0), 10**9, period=None) == ()
    assert after(watch(0, "unknown(no-data)"), 10**9, period=None) == (gap(0, 10**9, "no-data"),)


def test_before_the_first_run_there_is_nothing_to_observe():
    """No run, no gap; and none for a run that comes out of order."""
    assert after(None, 500) == ()
    assert after(watch(50), 50) == ()
    assert after(watch(50), 40) == ()


def test_the_end_of_summer_time_is_no_missed_run():
    """A daily run comes after 25 hours once a year."""
    known = watch(0)
    assert gaps_after(known, table="t", until=at(0) + timedelta(hours=25), period=timedelta(days=1)) == ()
    assert gaps_after(known, table="t", until=at(0) + timedelta(hours=26), period=timedelta(days=1)) != ()


def test_every_reason_of_unknown_is_a_reason_of_a_gap():
    """What a watch remembers of an unknown run is read back, whatever the reason."""
    for reason in UnknownReason:
        assert after(watch(0, f"unknown({reason})"), 60) == (gap(0, 60, reason.value),)


def test_gaps_side_by_side_are_one():
    """The same check, the same reason, no time between: one longer gap; otherwise two."""
    first = gap(0, 50, "timeout")
    assert first.joined(gap(50, 90, "timeout")) == gap(0, 90, "timeout")
    assert first.joined(gap(20, 40, "timeout")) == first
    assert first.joined(gap(51, 90, "timeout")) is None
    assert gap(10, 50).joined(gap(0, 20)) is None, "what came before is not what goes on"
    assert first.joined(gap(50, 90)) is None
    assert first.joined(gap(50, 90, "timeout", check="orders.key")) is None


@given(st.lists(st.tuples(st.integers(1, 300), st.sampled_from(["pass", "fail", "unknown(timeout)"])), max_size=20))
def test_gaps_follow_one_another(runs):
    """Run by run, gaps lie in order and never overlap."""
    known, gaps, now = watch(0), [], 0
    for later, status in runs:
        now += later
        gaps += after(known, now)
        known = replace(known, last_run_at=at(now), last_status=status)
    assert all(before.end <= following.start for before, following in pairwise(gaps))
    assert all(gap.start < gap.end for gap in gaps)


names = st.sampled_from(["a", "b"])
stretches = st.tuples(names, names, st.integers(-10, 60), st.integers(0, 30), st.sampled_from(["timeout", NOT_RUN]))


@given(st.lists(stretches, max_size=12), st.integers(0, 40), st.integers(1, 40))
def test_a_table_is_unobserved_while_one_of_its_checks_is(drawn, start, length):
    """The union over its checks, and over the checks for each reason, tick by tick."""
    gaps = [gap(begin, begin + long, reason, table, check) for table, check, begin, long, reason in drawn]
    found = unobserved(gaps, Window(BASE_US + start, BASE_US + start + length))
    ticks = {}
    for one in gaps:
        inside = set(range(max(tick(one.start), start), min(tick(one.end), start + length)))
        if inside:
            ticks.setdefault(one.table, {}).setdefault(one.reason, set()).update(inside)
    assert found == {
        table: Unobserved(len(set().union(*by.values())), {reason: len(some) for reason, some in by.items()})
        for table, by in ticks.items()
    }
