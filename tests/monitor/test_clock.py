"""Where time comes from."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from monitor.clock import SimulatedClock, SystemClock

_START = datetime(2026, 11, 9, 9, 0, tzinfo=UTC)


def test_the_system_clock_is_in_utc_and_runs_forward() -> None:
    """The present moment is aware, in UTC; lengths of time are never negative."""
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    assert clock.monotonic() <= clock.monotonic()


def test_a_simulated_clock_stands_until_it_is_moved() -> None:
    """It tells its moment again and again, moves by lengths or to moments, and counts the seconds between."""
    clock = SimulatedClock(_START.astimezone(timezone(timedelta(hours=9))))
    assert clock.now() == clock.now() == _START
    assert clock.now().tzinfo is UTC
    assert clock.advance(timedelta(minutes=15)) == clock.now() == _START + timedelta(minutes=15)
    assert clock.advance_to(_START + timedelta(hours=1)) == _START + timedelta(hours=1)
    assert clock.monotonic() == 3600


def test_a_simulated_clock_never_goes_back() -> None:
    """Going back, or a moment without a zone, is an error that names both moments."""
    clock = SimulatedClock(_START)
    with pytest.raises(ValueError, match="only moves forward; it is at 2026-11-09T09:00:00"):
        clock.advance_to(_START - timedelta(seconds=1))
    with pytest.raises(ValueError, match="needs a time zone"):
        SimulatedClock(_START.replace(tzinfo=None))
