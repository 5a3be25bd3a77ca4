"""The process in which Great Expectations works."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from checks.gx.worker import Raised, Worker

SOON = timedelta(seconds=60)


@pytest.fixture
def worker() -> Iterator[Worker]:
    """Yield a worker that prepares nothing."""
    one = Worker(prepare=os.getpid)
    yield one
    one.close()


def test_runs_in_a_process_of_its_own(worker):
    """A function runs in another process, the same one for every call."""
    first = worker.call(os.getpid, deadline=SOON)
    second = worker.call(os.getpid, deadline=SOON)
    assert first == second == worker.pid != os.getpid()


def test_is_recycled():
    """After so many calls another process takes over, so that memory stays bounded."""
    worker = Worker(prepare=os.getpid, recycle_after=2)
    pids = [worker.call(os.getpid, deadline=SOON) for _ in range(4)]
    worker.close()
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_starts_on_first_use(worker):
    """No process is started before something is asked."""
    assert worker.pid is None


def test_gives_classes_of_an_exception_but_not_its_text(worker):
    """Only the names of the classes of an exception cross, causes first: its text may hold data."""
    answer = worker.call(int, "a secret value", deadline=SOON)
    assert answer == Raised(("ValueError",))


def test_is_killed_at_the_deadline_and_started_again(worker):
    """A function that hangs is killed at its deadline, and the next call gets a new process."""
    hung = worker.call(os.getpid, deadline=SOON)
    with pytest.raises(TimeoutError):
        worker.call(time.sleep, 3600, deadline=timedelta(milliseconds=50))
    assert worker.pid is None
    assert not Path(f"/proc/{hung}").exists()
    assert worker.call(os.getpid, deadline=SOON) != hung


def test_says_when_the_process_died(worker):
    """A crash of the process is told apart from an answer, and the next call gets a new process."""
    with pytest.raises(ChildProcessError, match="status 3"):
        worker.call(os._exit, 3, deadline=SOON)
    assert worker.call(len, "ab", deadline=SOON) == 2


def test_an_answer_that_came_too_late_is_not_taken_for_the_next(worker):
    """After a missed deadline, the next answer belongs to the next question."""
    with pytest.raises(TimeoutError):
        worker.call(time.sleep, 3600, deadline=timedelta(0))
    assert worker.call(len, "abc", deadline=SOON) == 3


def test_can_be_closed_amid_a_call_of_another_thread(worker):
    """Closing does not wait for a call under way; that call says that the process ended."""
    worker.call(os.getpid, deadline=SOON)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(worker.call, time.sleep, 3600, deadline=timedelta(hours=1))
        while not worker._lock.locked():
            pass
        worker.close()
        with pytest.raises(ChildProcessError, match="status -9"):
            asked.result()


def test_does_not_hear_interrupts(worker):
    """Ctrl-C at a terminal reaches every process of the group; the worker leaves the decision to its parent."""
    before = worker.call(os.getpid, deadline=SOON)
    os.kill(before, signal.SIGINT)
    assert worker.call(os.getpid, deadline=SOON) == before


def test_reports_a_preparation_that_failed():
    """A worker that cannot prepare (a library that cannot be imported) says so with the error's class."""
    broken = Worker(prepare=_cannot_prepare)
    with pytest.raises(ChildProcessError, match="ImportError"):
        broken.call(len, "", deadline=SOON)
    assert broken.pid is None


def _cannot_prepare() -> None:
    raise ImportError("a path that nobody needs to read")


_PARENT = """
import os, sys, time
from datetime import timedelta
from checks.gx.worker import Worker
worker = Worker(prepare=os.getpid)
print(worker.call(os.getpid, deadline=timedelta(seconds=60)), flush=True)
{then}
"""


@pytest.mark.parametrize(
    "then",
    ["", "os.kill(os.getpid(), 9)", "raise KeyboardInterrupt"],
    ids=["end", "killed", "interrupted"],
)
def test_ends_with_its_parent(then):
    """However the parent ends, even by SIGKILL, the worker ends too."""
    root = Path(__file__).resolve().parents[3]
    parent = subprocess.run(
        [sys.executable, "-c", _PARENT.format(then=then)], capture_output=True, text=True, check=False, cwd=root
    )
    _wait_until_gone(int(parent.stdout))


@pytest.mark.parametrize(
    "busy",
    ["__import__('time').sleep(3600)", "__import__('collections').deque(__import__('itertools').repeat(0), 0)"],
    ids=["sleeping", "holding the interpreter"],
)
def test_ends_with_its_parent_amid_a_request(busy):
    """A parent that is killed while the worker is busy takes the worker with it."""
    root = Path(__file__).resolve().parents[3]
    busy = f"__import__('os').kill({{}}, 9), {busy}"
    then = f"worker.call(eval, {busy!r}.format(os.getpid()), deadline=timedelta(hours=1))"
    parent = subprocess.run(
        [sys.executable, "-c", _PARENT.format(then=then)], capture_output=True, text=True, check=False, cwd=root
    )
    _wait_until_gone(int(parent.stdout))


def _wait_until_gone(pid: int) -> None:
    """Wait for a process that is no child of ours; the test's own time limit ends a wait in vain."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    select.select([descriptor], [], [])
    os.close(descriptor)


def test_a_forked_child_starts_its_own(worker):
    """A process that was forked while a worker runs does not talk to its parent's worker."""
    parents = worker.call(os.getpid, deadline=SOON)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        own = worker.call(os.getpid, deadline=SOON)
        os.write(write, str(own).encode())
        worker.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(read, 100)) != parents
    assert worker.call(os.getpid, deadline=SOON) == parents
    os.close(read)
    os.close(write)
