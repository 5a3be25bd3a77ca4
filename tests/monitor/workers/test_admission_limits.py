"""May another job of a source be started? Every answer stands in a table."""

import pytest

from monitor.workers.admission_queue import PoolLoad, SourceLoad, admits

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
        (4, 3, 0, 0, 2, UNPROVEN, True, "a source that is new is not taken for one that hangs"),
        (4, 3, 3, 0, 2, SUSPECT, False, "the last worker is not for those that hang"),
        (4, 4, 0, 0, 2, TRUSTED, False, "all work: it waits for one that comes free"),
        (4, 4, 3, 0, 2, TRUSTED, False, "one of them will soon come free"),
        (4, 4, 4, 0, 2, TRUSTED, True, "all hang: one more for a source that answers"),
        (4, 4, 4, 0, 2, UNPROVEN, True, "all hang: one more for a source that is new, too"),
        (4, 4, 4, 0, 2, SUSPECT, False, "one more is not for those that hang"),
        (4, 7, 7, 0, 2, UNPROVEN, False, "the very last is kept for those that answer"),
        (4, 7, 7, 0, 2, TRUSTED, True, "the very last is for those that answer"),
        (4, 4, 4, 2, 2, TRUSTED, False, "one more, but not beyond its limit"),
        (4, 5, 4, 1, 2, TRUSTED, False, "the one more is at work"),
        (4, 5, 5, 1, 2, TRUSTED, True, "the one more hangs as well"),
        (4, 8, 8, 0, 2, TRUSTED, False, "twice the size is the end"),
        (1, 1, 1, 0, 2, TRUSTED, True, "a pool of one whose worker hangs gets one more"),
        (1, 1, 0, 0, 2, TRUSTED, False, "a pool of one whose worker works does not"),
        (2, 1, 1, 0, 1, SUSPECT, False, "the last of two is kept as well"),
    ],
)
def test_admission(size, running, silent, mine, concurrency, known, admitted, why):  # noqa: PLR0917 - a column each
    """A job is admitted exactly when the table says so."""
    pool, source = PoolLoad(size, running, silent), SourceLoad(running=mine, concurrency=concurrency, **known)
    assert admits(pool, source) is admitted, why


@pytest.mark.parametrize("size", range(1, 6))
def test_new_sources_that_all_hang_leave_a_worker_for_one_that_answers(size):
    """However many unproven sources there are, they never hold every worker there can be."""
    running = 0
    while admits(PoolLoad(size, running, running), SourceLoad(running=0, concurrency=2, **UNPROVEN)):
        running += 1
    assert admits(PoolLoad(size, running, running), SourceLoad(running=0, concurrency=2, **TRUSTED))
    assert running == 2 * size - 1
