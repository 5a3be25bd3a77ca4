"""Work that takes too long is stopped."""

from datetime import timedelta
from threading import Event

import pytest

from sources import reporting_stuck
from sources._deadline import Deadlines


def test_work_that_ends_in_time_is_left_alone() -> None:
    """Nothing is stopped, and nothing will be after the block; no thread is left after the connection."""
    stopped = Event()
    with Deadlines(timedelta(hours=1), stopped.set) as deadlines:
        with deadlines.work() as deadline:
            pass
        assert not deadlines._active
    assert not deadline.passed
    assert not stopped.is_set()
    assert deadlines._watch is not None
    assert not deadlines._watch.is_alive()


def test_one_thread_watches_all_work_of_a_connection() -> None:
    """Work that ends in time starts no thread of its own, and a connection that does nothing has none."""
    with Deadlines(timedelta(hours=1), lambda: None) as deadlines:
        assert deadlines._watch is None
        watches = set()
        for _ in range(3):
            with deadlines.work():
                watches.add(deadlines._watch)
    assert len(watches) == 1


def test_work_that_did_not_hear_is_told_again() -> None:
    """A stop, once before there was anything to stop, does not save the work from its deadline."""
    heard = Event()
    calls = []

    def stop() -> None:
        calls.append(1)
        if len(calls) == 2:
            heard.set()

    with Deadlines(timedelta(0), stop) as deadlines, deadlines.work() as deadline:
        assert heard.wait(60)
    assert deadline.passed


def test_work_that_begins_while_nothing_is_watched_is_stopped_too() -> None:
    """A thread that found nothing to watch wakes for the next piece of work."""
    heard = Event()
    with Deadlines(timedelta(milliseconds=1), heard.set) as deadlines:
        for _ in range(3):
            heard.clear()
            with deadlines.work() as deadline:
                assert heard.wait(60)
            assert deadline.passed


def test_work_in_a_block_of_other_work_is_stopped_when_its_own_time_is_up() -> None:
    """An answer that is taken in pieces may be read while another statement runs: each has its deadline."""
    heard = Event()
    with Deadlines(timedelta(milliseconds=1), heard.set) as deadlines, deadlines.work() as outer:
        with deadlines.work() as inner:
            while not inner.passed:
                assert heard.wait(60)
                heard.clear()
        assert outer.passed


def test_work_that_cannot_be_stopped_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who began it hears the limit, while the work goes on; work that ends is not reported."""
    monkeypatch.setattr("sources._deadline.STUCK_AFTER", timedelta(0))
    stuck, limits = Event(), []

    def report(limit: timedelta) -> None:
        limits.append(limit)
        stuck.set()

    with reporting_stuck(report):
        with Deadlines(timedelta(hours=1), lambda: None) as slow, slow.work():
            pass
        with Deadlines(timedelta(milliseconds=1), lambda: None) as fast, fast.work():
            assert stuck.wait(60)
    assert limits == [timedelta(milliseconds=1)]
