"""Background jobs: each in its time, and reported when it fails."""

import threading

from monitor.clock import SystemClock
from monitor.daemon.background_jobs import BackgroundJobs, PeriodicJob
from store import StoreBusy


def test_a_chore_that_fails_is_told_once_and_done_again(caplog):
    """The journal names the job and our words, or the class of a bug, never its text; then not again."""
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

    jobs = BackgroundJobs({"bug": PeriodicJob(1, bug), "busy": PeriodicJob(1, busy)}, SystemClock())
    with caplog.at_level("ERROR", logger="tablewatch"):
        jobs.start()
        try:
            assert all(tried.acquire(timeout=60) for _ in range(6))
        finally:
            jobs.stop()
    said = sorted(record.getMessage() for record in caplog.records if record.name == "tablewatch")
    assert said == ["bug: internal error (ValueError); please report it", "busy: the store is locked"]


def test_how_long_a_chore_fails_or_hangs_is_known():
    """From its first failure in a row, or since it began what it does not end; nothing once it did its work."""

    class Ticks(SystemClock):
        now_s = 0.0

        def monotonic(self):
            return self.now_s

    clock, turns = Ticks(), threading.Semaphore(0)
    fails, hangs, may_end = True, threading.Event(), threading.Event()

    def alerts():
        clock.now_s += 100
        turns.release()
        if fails:
            raise KeyError
        hangs.set()
        may_end.wait()

    jobs = BackgroundJobs({"alerts": PeriodicJob(1, alerts)}, clock)
    assert jobs.failing_for("alerts") == 0
    jobs.start()
    try:
        assert all(turns.acquire(timeout=60) for _ in range(3))
        jobs.wait_for("alerts", 60)
        assert jobs.failing_for("alerts") >= 100
        assert jobs.failing_for("another") == 0
        fails = False
        assert hangs.wait(60)
        clock.now_s += 1000
        assert jobs.failing_for("alerts") >= 1000
        jobs.stop()
        may_end.set()
        jobs.wait_for("alerts", 60)
    finally:
        may_end.set()
        jobs.stop()


def test_after_the_clock_was_set_back_chores_go_on():
    """Their next time is planned again."""
    done = threading.Semaphore(0)
    jobs = BackgroundJobs({"tick": PeriodicJob(1, done.release)}, SystemClock())
    jobs.start()
    try:
        assert done.acquire(timeout=60)
        jobs.restart()
        assert done.acquire(timeout=60)
    finally:
        jobs.stop()


def test_a_chore_that_hangs_does_not_keep_the_process_from_ending():
    """It is waited for as long as is said; Python's end does not wait for its thread."""
    begun, may_end = threading.Event(), threading.Event()

    def hang():
        begun.set()
        may_end.wait()

    jobs = BackgroundJobs({"hang": PeriodicJob(1, hang)}, SystemClock())
    jobs.start()
    assert begun.wait(60)
    jobs.stop()
    assert not jobs.wait_for("hang", 0)
    assert jobs.wait_for("another", 0)
    (thread,) = [one for one in threading.enumerate() if one.name == "job hang"]
    assert thread.daemon
    may_end.set()
    assert jobs.wait_for("hang", 60)
    jobs.stop()
