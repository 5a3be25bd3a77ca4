"""May another job of a source be started? Every answer stands in a table."""

import pytest

from monitor.workers.limits import PoolLoad, SourceLoad, admits

TRUSTED = {"proven": True, "suspect": False}
UNPROVEN = {"proven": False, "suspect": False}
SUSPECT = {"proven": True, "suspect": True}


@pytest.mark.parametrize(
    ("size", "running", "silent", "mine", "concurrency", "known", "admitted", "why"),
    [
        (4, 0, 0, 0, 2, UNPROVEN, True, "an idle pool takes anything"),
        (4, 0, 0, 0, 2, SUSPECT, True, "an idle pool takes anything"),
        (1, 0, 0, 0, 2, SUSPECT, True, "a pool of one would never prove it"),
        (4, 1, 0, 1, 2, UNPROVEN, True, "within its limit"),
        (4, 2, 0, 2, 2, TRUSTED, False, "its limit is reached"),
        (4, 2, 2, 2, 2, SUSPECT, False, "its limit is reached"),
        (64, 2, 0, 2, 2, TRUSTED, False, "its limit holds however large the pool is"),
        (4, 3, 0, 0, 2, TRUSTED, True, "the last worker is for those that answer"),
        (4, 3, 0, 0, 2, UNPROVEN, False, "the last worker is not for those that never answered"),
        (4, 3, 3, 0, 2, SUSPECT, False, "the last worker is not for those that hang"),
        (4, 4, 0, 0, 2, TRUSTED, False, "all work: it waits for one that comes free"),
        (4, 4, 3, 0, 2, TRUSTED, False, "one of them will soon come free"),
        (4, 4, 4, 0, 2, TRUSTED, True, "all hang: one more for a source that answers"),
        (4, 4, 4, 0, 2, UNPROVEN, False, "one more is only for those that answer"),
        (4, 4, 4, 2, 2, TRUSTED, False, "one more, but not beyond its limit"),
        (4, 5, 4, 1, 2, TRUSTED, False, "the one more is at work"),
        (4, 5, 5, 1, 2, TRUSTED, True, "the one more hangs as well"),
        (4, 8, 8, 0, 2, TRUSTED, False, "twice the size is the end"),
        (1, 1, 1, 0, 2, TRUSTED, True, "a pool of one whose worker hangs gets one more"),
        (1, 1, 0, 0, 2, TRUSTED, False, "a pool of one whose worker works does not"),
        (2, 1, 0, 0, 1, UNPROVEN, False, "the last of two is kept as well"),
    ],
)
def test_admission(size, running, silent, mine, concurrency, known, admitted, why):  # noqa: PLR0917 - a column each
    """A job is admitted exactly when the table says so."""
    pool, source = PoolLoad(size, running, silent), SourceLoad(running=mine, concurrency=concurrency, **known)
    assert admits(pool, source) is admitted, why


@pytest.mark.parametrize("size", range(1, 6))
def test_sources_that_never_answered_leave_a_worker(size):
    """However many unproven sources there are, they never hold the whole pool, unless it has one worker only."""
    running = 0
    while admits(PoolLoad(size, running, running), SourceLoad(running=0, concurrency=2, **UNPROVEN)):
        running += 1
    assert running == max(1, size - 1)
