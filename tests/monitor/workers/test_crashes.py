"""Whatever a check does to its worker: the pool goes on, and the check is found out."""

import os
import signal

import pytest

from checks import Measurement, Outcome
from monitor.workers import Ended, Overdue, TableBegan, TableScanned, WorkerDied
from tests.monitor.workers.conftest import CHECKS, MINUTE, job, target, wait_for_the_end_of
from tests.monitor.workers.deadly import Deadly, Odd

CRASHES = {
    "abort": "signal 6 (SIGABRT)",
    "stack": "signal 11 (SIGSEGV)",
    "segv": "signal 11 (SIGSEGV)",
    "leave": "exit status 0",
    "half": "signal 9 (SIGKILL)",
    "nonsense": "it sent an invalid response",
    "too-much": "it sent an invalid response",
}


def _of(ear, kind, job_):
    return [event for event in ear.heard if isinstance(event, kind) and event.job == job_.id]


def _workers_of(ear, job_):
    """Return the processes that are at a job; one that has just ended another may hold it until it asks for more."""
    members = ear.pool._crew.members.values()
    return [member.pid for member in members if member.task is not None and member.task.job.id == job_.id]


@pytest.mark.parametrize(("how", "cause"), CRASHES.items())
def test_a_worker_that_ends_is_told_with_the_table_in_hand(ear, shop, how, cause):
    """Tables before the crash are found; the one in hand is named, with how the worker ended."""
    crashing = job(target(shop, "a"), target(shop, "b", (("x", Deadly(how=how)),)), target(shop, "c"))
    ear.pool.submit(crashing)
    ear.until(lambda _: _of(ear, WorkerDied, crashing))
    assert [event.table_result.target.subject.name for event in _of(ear, TableScanned, crashing)] == ["a"]
    assert _of(ear, WorkerDied, crashing) == [WorkerDied(crashing.id, "b", None, cause)]
    after = job(target(shop, "a"))
    ear.run(after)
    assert _of(ear, Ended, after)


@pytest.mark.parametrize("how", ["abort", "stack", "leave", "nonsense"])
def test_check_by_check_the_guilty_one_is_found_out(ear, shop, how):
    """In a job that goes check by check only the check that ends its worker is unknown, and the job goes on."""
    checks = (CHECKS[0], ("x", Deadly(how=how)), CHECKS[1])
    alone = job(target(shop, "a", checks), target(shop, "b"), alone=True)
    ear.run(alone)
    assert [event.check_id for event in _of(ear, TableBegan, alone)] == [
        "a.not-null", "a.x", "a.volume", "b.not-null", "b.volume",
    ]  # fmt: skip
    (died,) = _of(ear, WorkerDied, alone)
    assert died.check_id == "a.x"
    results = {event.table_result.target.subject.name: event.table_result for event in _of(ear, TableScanned, alone)}
    assert [one.check_id for one in results["a"].measured] == ["a.not-null", "a.x", "a.volume"]
    first, guilty, last = (one.answer for one in results["a"].measured)
    assert isinstance(first, Measurement)
    assert isinstance(last, Measurement)
    assert isinstance(guilty, Outcome)
    assert (guilty.reason, str(guilty.message)) == (
        "bug", f"the worker process ended while running the check ({died.cause})",
    )  # fmt: skip
    assert all(isinstance(one.answer, Measurement) for one in results["b"].measured)


def test_a_check_that_hangs_alone_is_given_up_and_the_job_goes_on(ear, shop, tmp_path):
    """Check by check, the deadline ends the check that hangs."""
    place = tmp_path / "hangs"
    checks = (("x", Deadly(how="hang", place=str(place))), CHECKS[1])
    alone = job(target(shop, "a", checks), alone=True, deadline=MINUTE)
    ear.pool.submit(alone)
    ear.until_there(place)
    ear.pass_time(MINUTE)
    ear.until(lambda _: _of(ear, Ended, alone))
    assert [event.check_id for event in _of(ear, Overdue, alone)] == ["a.x"]
    (found,) = _of(ear, TableScanned, alone)
    hung, counted = (one.answer for one in found.table_result.measured)
    assert hung.reason == "timeout"
    assert isinstance(counted, Measurement)


@pytest.mark.parametrize("how", ["exit", "interrupt", "stumble"])
def test_an_error_of_any_class_costs_no_worker(ear, shop, how):
    """An exit or an interrupt that a check asks for makes its table unknown; its text stays behind."""
    stumbling = job(target(shop, "a", (("x", Deadly(how=how)),)), target(shop, "b"))
    ear.run(stumbling)
    first, second = (event.table_result.measured for event in _of(ear, TableScanned, stumbling))
    assert first[0].answer.reason == "bug"
    assert "canary" not in str(first[0].answer.message)
    assert isinstance(second[0].answer, Measurement)
    assert not _of(ear, WorkerDied, stumbling)


def test_a_worker_that_is_ended_from_outside_is_nobodys_fault(ear, shop):
    """When a worker is killed from outside, another one takes over where it was."""
    job_ = job(target(shop, "a"), target(shop, "endless"))
    ear.pool.submit(job_)
    ear.until(lambda _: [event for event in _of(ear, TableBegan, job_) if event.table == "endless"])
    (worker,) = _workers_of(ear, job_)
    os.kill(worker, signal.SIGTERM)
    ear.until(lambda _: len([event for event in _of(ear, TableBegan, job_) if event.table == "endless"]) == 2)
    (other,) = _workers_of(ear, job_)
    assert other != worker
    assert not _of(ear, WorkerDied, job_)
    os.kill(other, signal.SIGKILL)
    ear.until(lambda _: _of(ear, WorkerDied, job_))


def test_a_check_that_terminates_its_worker_again_and_again_is_to_blame(ear, shop):
    """Three workers in a row end no job by chance."""
    job_ = job(target(shop, "a", (("x", Deadly(how="term")),)))
    ear.pool.submit(job_)
    ear.until(lambda _: _of(ear, WorkerDied, job_))
    assert _of(ear, WorkerDied, job_) == [WorkerDied(job_.id, "a", None, "signal 15 (SIGTERM)")]
    assert len(_of(ear, TableBegan, job_)) == 3


@pytest.mark.parametrize("how", ["hang", "deaf", "stop", "half-stop"])
def test_a_worker_that_hangs_is_killed_at_its_deadline(ear, shop, tmp_path, how):
    """At the deadline its worker is ended: one that holds the interpreter, is deaf, or stopped, also amid a message."""
    place = tmp_path / "hangs"
    checks = (("x", Deadly(how=how, place=str(place))), CHECKS[0])
    hung = job(target(shop, "a"), target(shop, "b", checks), target(shop, "c"), deadline=MINUTE)
    ear.pool.submit(hung)
    ear.until_there(place)
    (worker,) = [member.pid for member in ear.pool._crew.members.values() if member.task is not None]
    ear.pass_time(MINUTE)
    ear.until(lambda _: _of(ear, Overdue, hung))
    (overdue,) = _of(ear, Overdue, hung)
    assert (overdue.table, overdue.check_id) == ("b", None)
    assert [(one.check_id, one.answer.reason) for one in overdue.table_result.measured] == [
        ("b.x", "timeout"), ("b.not-null", "timeout"),
    ]  # fmt: skip
    assert "no answer within 1 min" in str(overdue.table_result.measured[0].answer.message)
    ear.run(job(target(shop, "a")), job(target(shop, "c")))
    while worker in {member.pid for member in ear.pool._crew.members.values()}:
        ear.pool.events(1.0)
    wait_for_the_end_of(worker)


def test_a_worker_that_takes_too_much_memory_is_killed_and_its_check_blamed(ear, shop):
    """It does not get to the point at which the kernel kills arbitrary processes; the other checks are run."""
    ear.pool._allowed = 800_000_000
    greedy = job(target(shop, "a"), target(shop, "b", (("x", Deadly(how="gorge")),)))
    ear.pool.submit(greedy)
    ear.until(lambda _: _of(ear, WorkerDied, greedy))
    cause = "it took more than 0.8 GB of memory"
    assert _of(ear, WorkerDied, greedy) == [WorkerDied(greedy.id, "b", None, cause)]
    assert [event.table_result.target.subject.name for event in _of(ear, TableScanned, greedy)] == ["a"]
    alone = job(target(shop, "b", (CHECKS[0], ("x", Deadly(how="gorge")), CHECKS[1])), alone=True)
    ear.run(alone)
    (found,) = _of(ear, TableScanned, alone)
    first, guilty, last = (one.answer for one in found.table_result.measured)
    assert isinstance(first, Measurement)
    assert isinstance(last, Measurement)
    assert (guilty.reason, str(guilty.message)) == (
        "bug",
        f"the worker process ended while running the check ({cause})",
    )


def test_what_a_worker_started_ends_with_it(ear, shop, tmp_path):
    """Processes that a worker started, in its group or in one of their own, are killed with it."""
    place = tmp_path / "children"
    hung = job(target(shop, "a", (("x", Deadly(how="children", place=str(place))),)), deadline=MINUTE)
    ear.pool.submit(hung)
    ear.until_there(place)
    ear.pass_time(MINUTE)
    ear.until(lambda _: _of(ear, Overdue, hung))
    children = [int(pid) for pid in place.read_text().split()]
    assert len(children) == 2
    while any(member.kill_at is not None for member in ear.pool._crew.members.values()):
        ear.pool.events(1.0)
    wait_for_the_end_of(*children)


def test_what_a_check_prints_is_heard_by_nobody(ear, shop, capfd):
    """A library that prints in a worker prints no data anywhere."""
    ear.run(job(target(shop, "a", (("x", Deadly(how="print")),))))
    assert "canary" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("large", [False, True])
def test_an_answer_that_cannot_leave_the_worker_is_a_bug_of_its_check_alone(ear, shop, large):
    """What is no plain value, or too large, is not sent; the other checks of the table are."""
    odd = job(target(shop, "a", (CHECKS[0], ("odd", Odd(large=large)), CHECKS[1])))
    ear.run(odd)
    (found,) = _of(ear, TableScanned, odd)
    first, refused, last = (one.answer for one in found.table_result.measured)
    assert isinstance(first, Measurement)
    assert isinstance(last, Measurement)
    assert refused.reason == "bug"
    assert "cannot be serialized" in str(refused.message)
