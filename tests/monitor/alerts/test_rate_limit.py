"""How many messages a channel gets."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alerts.batch import HOUR, RateLimit, rate_limit
from tests.monitor.alerts.made import NOW


def minutes(*ago):
    """Return times so many minutes ago."""
    return [NOW - timedelta(minutes=one) for one in ago]


@pytest.mark.parametrize(
    ("given_before", "cap", "free", "wait"),
    [
        ([], 30, 24, None),
        (minutes(*[5] * 20), 30, 4, None),
        (minutes(*[5] * 24), 30, 0, 5),
        (minutes(*[15] * 24), 30, 1, None),
        (minutes(*[15] * 24, 5), 30, 0, 5),
        (minutes(*[59] * 24, 45, 35, 25, 20, 15, 12), 30, 0, 1),
        (minutes(*[60] * 24), 30, 24, None),
        (minutes(30), 1, 0, 30),
        ([], 1, 1, None),
        (minutes(30), 2, 0, 30),
        (minutes(*[30] * 50), 10, 0, 30),
    ],
)
def test_room(given_before, cap, free, wait):
    """Most of the cap may be used at once, the rest is handed out over the hour."""
    until = None if wait is None else NOW + timedelta(minutes=wait)
    assert rate_limit(given_before, cap, NOW) == RateLimit(free, until)


@given(
    cap=st.integers(1, 40),
    steps=st.lists(st.tuples(st.floats(0, 90), st.integers(0, 60)), max_size=60),
)
def test_no_hour_has_more_than_its_cap(cap, steps):
    """Whatever is due and when, no hour has more messages than the cap, and there is room again in time."""
    now, written = NOW, []
    for pause, wanted in steps:
        now += timedelta(minutes=pause)
        found = rate_limit(written, cap, now)
        written += [now] * min(wanted, found.free)
        if not found.free:
            assert now < found.until <= now + HOUR
            assert rate_limit(written, cap, found.until).free
    for moment in written:
        assert sum(moment - HOUR < one <= moment for one in written) <= cap


@given(cap=st.integers(12, 100))
def test_in_a_storm_a_channel_hears_every_ten_minutes(cap):
    """When everything is due at once, and more all the time, nothing waits longer than ten minutes."""
    now, written = NOW, []
    for _ in range(40):
        found = rate_limit(written, cap, now)
        if not found.free:
            assert found.until - now <= timedelta(minutes=10)
            now = found.until
            found = rate_limit(written, cap, now)
        written += [now] * found.free
