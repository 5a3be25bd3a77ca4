"""Who is next: the oldest job of a source that may have another worker."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.workers import Job
from monitor.workers.admission_queue import AdmissionQueue, Load
from monitor.workers.task import Task
from sources import SourceSpec
from tests.monitor.workers.conftest import target

IDLE = Load(Counter(), Counter())


def _task(number, source):
    spec = SourceSpec(source, Path(), url=f"sqlite:///{source}.db")
    return Task(Job(number, (target(spec, "a"),), timedelta(minutes=1)))


def _ids(tasks):
    return [task.job.id for task in tasks]


def _line(*sources, size=4, proven=()):
    line = AdmissionQueue(size, {}, set(proven))
    for number, source in enumerate(sources):
        line.put(_task(number, source))
    return line


def test_the_oldest_first_across_sources():
    """Jobs are started in the order in which they came, as far as each source's limit allows."""
    line = _line("x", "x", "x", "y", "x", "z", proven="xyz")
    assert _ids(line.startable(IDLE)) == [0, 1, 3, 5]


def test_a_full_source_does_not_hold_up_the_others():
    """Behind jobs that may not be started, those of other sources are."""
    line = _line("x", "x", "y", proven="xy")
    assert _ids(line.startable(Load(Counter(x=2), Counter(x=2)))) == [2]


def test_a_job_that_was_begun_is_the_first_again():
    """What goes on, goes on before what has not started."""
    line = _line("x", "y", proven="xy")
    line.put_first(_task(7, "y"))
    line.put_first(_task(8, "y"))
    assert _ids(line.startable(IDLE)) == [8, 7, 0]


def test_a_source_that_answered_is_trusted_until_it_must_be_stopped():
    """The very last worker is for sources that answered; the last free one for those that need not be stopped."""
    line, full_but_one = _line(size=2), Load(Counter(other=1), Counter())
    very_last = Load(Counter(other=3), Counter(other=3))
    assert (line.can_take("x", full_but_one), line.can_take("x", very_last)) == (True, False)
    line.answered("x", really=True)
    assert (line.can_take("x", full_but_one), line.can_take("x", very_last)) == (True, True)
    line.stopped("x")
    assert (line.can_take("x", full_but_one), line.can_take("x", very_last)) == (False, False)
    line.answered("x", really=True)
    assert (line.can_take("x", full_but_one), line.can_take("x", very_last)) == (True, True)
    line.answered("x", really=False)
    assert (line.can_take("x", full_but_one), line.can_take("x", very_last)) == (True, False)


def test_a_silent_job_makes_its_source_suspect():
    """While one of its jobs is silent, a source does not get the last worker."""
    line = _line(size=2, proven="x")
    assert line.can_take("x", Load(Counter(x=1), Counter()))
    assert not line.can_take("x", Load(Counter(x=1), Counter(x=1)))


def test_what_waits_counts_before_what_comes():
    """A source whose job waits takes no other; what may be started holds its worker already."""
    line = _line("x", "x", "x", "y", size=4, proven="xyz")
    assert not line.can_take("x", IDLE)
    assert line.can_take("z", IDLE)
    line.put(_task(9, "y"))
    assert not line.can_take("z", IDLE)


def test_limits_can_be_changed():
    """A new configuration's limits hold at once, and nothing is forgotten of who answers."""
    line = _line("x", "x", "x", proven="x")
    line.limit({"x": 1}, ["y"])
    assert _ids(line.startable(IDLE)) == [0]
    assert line.proven == {"x", "y"}


@given(st.lists(st.sampled_from("abcdef"), max_size=40), st.integers(1, 6))
def test_everything_is_started_in_the_end(sources, size):
    """When jobs end, whatever the sources, each waiting job is started exactly once, those of a source in order."""
    line, started = _line(*sources, size=size), []
    while tasks := line.startable(IDLE):
        for task in tasks:
            line.take(task)
            started.append(task)
    assert len(line) == 0
    assert sorted(_ids(started)) == list(range(len(sources)))
    for source in set(sources):
        mine = [task.job.id for task in started if task.job.source == source]
        assert mine == sorted(mine)


def test_a_job_has_tables_of_one_source():
    """No table, or tables of two sources, are no job."""
    with pytest.raises(ValueError, match="all of one source"):
        Job(1, (), timedelta(minutes=1))
    one, other = (_task(0, source).job.targets for source in "xy")
    with pytest.raises(ValueError, match="all of one source"):
        Job(1, (*one, *other), timedelta(minutes=1))
