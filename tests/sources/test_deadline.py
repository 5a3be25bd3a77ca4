"""Work that takes too long is stopped."""

from datetime import timedelta
from threading import Event

import pytest

from sources import reporting_stuck
from sources._deadline import Deadline


def test_work_that_ends_in_time_is_left_alone() -> None:
    """Nothing is stopped, and nothing will be after the block."""
    stopped = Event()
    with Deadline(timedelta(hours=1), stopped.set) as deadline:
        pass
    assert not deadline.passed
    assert not stopped.is_set()
    assert not deadline._watch.is_alive()


def test_work_that_did_not_hear_is_told_again() -> None:
    """Being told once, before there was anything to stop, does not save the work from its deadline."""
    heard = Event()
    calls = []

    def stop() -> None:
        calls.append(1)
        if len(calls) == 2:
            heard.set()

    with Deadline(timedelta(0), stop) as deadline:
        assert heard.wait(60)
    assert deadline.passed


def test_work_that_cannot_be_stopped_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who began it hears the limit, while the work goes on; work that ends is not reported."""
    monkeypatch.setattr("sources._deadline.STUCK_AFTER", timedelta(0))
    stuck, limits = Event(), []

    def report(limit: timedelta) -> None:
        limits.append(limit)
        stuck.set()

    with reporting_stuck(report):
        with Deadline(timedelta(hours=1), lambda: None):
            pass
        with Deadline(timedelta(milliseconds=1), lambda: None):
            assert stuck.wait(60)
    assert limits == [timedelta(milliseconds=1)]
