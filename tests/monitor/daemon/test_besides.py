"""What is done besides the work: each in its time, and told when it fails."""

import threading

from monitor.clock import SystemClock
from monitor.daemon.besides import Besides, Chore
from store import StoreBusy


def test_a_chore_that_fails_is_told_once_and_done_again(caplog):
    """The journal names the chore and our words, or the class of a bug, never its text; then not again."""
    tried = threading.Semaphore(0)
    failing = True

    def bug():
        tried.release()
        if failing:
            raise ValueError("a value")

    def busy():
        tried.release()
        if failing:
            raise StoreBusy("the store is locked")

    besides = Besides({"bug": Chore(1, bug), "busy": Chore(1, busy)}, SystemClock())
    with caplog.at_level("ERROR", logger="tablewatch"):
        besides.start()
        try:
            assert all(tried.acquire(timeout=60) for _ in range(6))
        finally:
            besides.stop()
    said = sorted(record.getMessage() for record in caplog.records if record.name == "tablewatch")
    assert said == ["bug: stumbled (ValueError); please report it", "busy: the store is locked"]


def test_after_the_clock_was_set_back_chores_go_on():
    """Their next time is planned anew, whatever it was."""
    done = threading.Semaphore(0)
    besides = Besides({"tick": Chore(1, done.release)}, SystemClock())
    besides.start()
    try:
        assert done.acquire(timeout=60)
        besides.begin_anew()
        assert done.acquire(timeout=60)
    finally:
        besides.stop()
