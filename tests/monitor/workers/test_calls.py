"""Functions in worker processes: one after the other in a worker that is kept, or many side by side."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from checks.gx.caller import Raised
from monitor.workers import CallFailed, WorkerCalls, call_each
from tests.monitor.workers.conftest import ROOT, wait_for_the_end_of

SOON = timedelta(minutes=2)


@pytest.fixture(scope="module")
def shared() -> Iterator[WorkerCalls]:
    """Yield a worker that a whole file of tests shares: whatever one does to it, the next has another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        with WorkerCalls() as calls:
            yield calls


def test_one_worker_answers_all_calls(shared: WorkerCalls) -> None:
    """A function runs in another process, the same one for every call."""
    first = shared.call(os.getpid, deadline=SOON)
    assert first == shared.call(os.getpid, deadline=SOON) != os.getpid()


def test_nothing_is_started_before_something_is_called() -> None:
    """No process exists before the first call."""
    with WorkerCalls() as calls:
        assert calls._pool is None


def test_of_an_exception_the_classes_come_back_and_no_text(shared: WorkerCalls) -> None:
    """Causes first: the text may hold data."""
    assert shared.call(int, "a secret value", deadline=SOON) == Raised(("ValueError",))
    assert shared.call(_fail_for_a_reason, deadline=SOON) == Raised(("KeyError", "LookupError", "ValueError"))
    assert shared.call(sys.exit, "a secret value", deadline=SOON) == Raised(("SystemExit",))


def _fail_for_a_reason() -> None:
    try:
        {}["a secret value"]
    except KeyError as error:
        raise ValueError("a secret value") from error


def test_what_cannot_travel_is_raised(shared: WorkerCalls) -> None:
    """An answer that is no pickle, or an argument that is none, costs no worker."""
    before = shared.call(os.getpid, deadline=SOON)
    answer = shared.call(_unpicklable, deadline=SOON)
    assert isinstance(answer, Raised)
    with pytest.raises(ChildProcessError, match="cannot be sent"):
        shared.call(len, (item for item in ()), deadline=SOON)
    assert shared.call(os.getpid, deadline=SOON) == before


def _unpicklable() -> object:
    return lambda: None


def test_a_call_that_hangs_is_ended_at_its_deadline(shared: WorkerCalls) -> None:
    """The worker is killed, the next call has a new one, forked at once, and no answer is taken for another."""
    hung = shared.call(os.getpid, deadline=SOON)
    for deadline in (timedelta(milliseconds=50), timedelta(0)):
        with pytest.raises(TimeoutError):
            shared.call(time.sleep, 3600, deadline=deadline)
    assert shared.call(len, "abc", deadline=SOON) == 3
    wait_for_the_end_of(hung)


def test_a_crash_is_told_apart_from_an_answer(shared: WorkerCalls) -> None:
    """How the process ended is reported, and the next call has another."""
    with pytest.raises(ChildProcessError, match="exit status 3"):
        shared.call(os._exit, 3, deadline=SOON)
    with pytest.raises(ChildProcessError, match="SIGSEGV"):
        shared.call(signal.raise_signal, signal.SIGSEGV, deadline=SOON)
    assert shared.call(len, "ab", deadline=SOON) == 2


def test_a_call_that_takes_too_much_memory_is_ended(shared: WorkerCalls) -> None:
    """It does not get to the point at which the kernel kills arbitrary processes."""
    shared.call(os.getpid, deadline=SOON)
    assert shared._pool is not None
    before, shared._pool._allowed = shared._pool._allowed, 700_000_000
    with pytest.raises(ChildProcessError, match="more than 0"):
        shared.call(_gorge, deadline=SOON)
    shared._pool._allowed = before


def _gorge() -> None:
    held = [bytearray(b"x") * 64 * 1024 * 1024 for _ in range(12)]
    signal.pause()
    del held


def test_what_travels_may_be_larger_than_a_pipe_holds(shared: WorkerCalls) -> None:
    """A frame of a table goes to the worker whole, and an answer back."""
    assert shared.call(bytes, bytearray(5_000_000), deadline=SOON) == bytes(5_000_000)


def test_closing_ends_a_call_of_another_thread() -> None:
    """Closing does not wait for a call under way; that call says so."""
    calls = WorkerCalls()
    worker = calls.call(os.getpid, deadline=SOON)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(calls.call, time.sleep, 3600, deadline=timedelta(hours=1))
        while not calls._lock.locked():
            pass
        calls.close()
        with pytest.raises(ChildProcessError, match="was ended"):
            asked.result()
    wait_for_the_end_of(worker)


def test_a_worker_that_cannot_be_had_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process can be started, the call says why, and the next one tries again."""
    from monitor.workers.worker_processes import Spawner

    with WorkerCalls() as calls:
        with monkeypatch.context() as patch:
            patch.setattr(Spawner, "program", "no.such.module")
            with pytest.raises(ChildProcessError, match="exit status 1"):
                calls.call(len, "", deadline=SOON)
        assert calls.call(len, "", deadline=SOON) == 0


_PARENT = """
import os, time
from datetime import timedelta
from monitor.workers import WorkerCalls
calls = WorkerCalls()
worker = calls.call(os.getpid, deadline=timedelta(minutes=2))
print(worker, *calls._pool.processes, flush=True)
{then}
"""


@pytest.mark.parametrize(
    "then",
    [
        "os.kill(os.getpid(), 9)",
        "raise KeyboardInterrupt",
        "calls.call(exec, f'import os, time; os.kill({os.getpid()}, 9); time.sleep(9999)', deadline=timedelta(1))",
        "calls.call(exec, f'import os; os.kill({os.getpid()}, 9)\\nwhile True: pass', deadline=timedelta(1))",
    ],
    ids=["killed", "interrupted", "killed amid a call", "killed amid one that is busy"],
)
def test_nothing_outlives_whoever_called(then: str) -> None:
    """However that process ends, even by SIGKILL, the worker and the process that forked it end too."""
    done = subprocess.run(
        [sys.executable, "-c", _PARENT.format(then=then)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    wait_for_the_end_of(*map(int, done.stdout.split()))


def _piece(what: str, folder: Path) -> str:
    (folder / what).write_text(str(os.getpid()))
    match what:
        case "raises":
            raise ValueError("4711 is a value of the table")
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "endless":
            signal.pause()
    return what


def test_side_by_side_a_crash_takes_nothing_else_down(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither does an exception; what either would print is not shown."""
    pieces = [(what, tmp_path) for what in ("raises", "fine", "killed", "fine too")]
    found = dict(call_each(_piece, pieces, workers=2))
    assert found == {0: Raised(("ValueError",)), 1: "fine", 2: CallFailed(2, "signal 9 (SIGKILL)"), 3: "fine too"}
    assert "4711" not in "".join(capfd.readouterr())


def test_nothing_goes_on_once_nobody_asks(tmp_path: Path) -> None:
    """Leaving, by Ctrl-C or otherwise, ends what still runs."""
    pieces = [("fine", tmp_path), ("endless", tmp_path)]
    with closing(call_each(_piece, pieces, workers=2)) as ended:
        assert next(ended) == (0, "fine")
        while not (tmp_path / "endless").exists() or not (tmp_path / "endless").read_text():
            pass
    wait_for_the_end_of(int((tmp_path / "endless").read_text()))


def test_no_piece_is_no_process() -> None:
    """Where there is nothing to do, nothing is started."""
    assert list(call_each(_piece, [], workers=2)) == []


@pytest.mark.parametrize("preload", ["checks.gx.caller.PRELOAD", "monitor.releases.compare._PRELOAD"])
def test_what_is_forked_has_one_thread_and_its_imports(preload: str) -> None:
    """A thread would be missing in the copy; the environment and the signals of this process are as they were."""
    module, _, name = preload.rpartition(".")
    modules = getattr(__import__(module, fromlist=[name]), name)
    before = dict(os.environ), signal.pthread_sigmask(signal.SIG_BLOCK, ())
    ((_, seen),) = call_each(_seen, [(modules,)], workers=1, preload=modules)
    assert seen == (1, set(modules))
    assert (dict(os.environ), signal.pthread_sigmask(signal.SIG_BLOCK, ())) == before


def _seen(modules: tuple[str, ...]) -> tuple[int, set[str]]:
    return len(list(Path("/proc/self/task").iterdir())), set(modules) & set(sys.modules)


def test_who_raised_travels() -> None:
    """What came of a call is a plain value."""
    assert pickle.loads(pickle.dumps(Raised(("ValueError",)))) == Raised(("ValueError",))  # noqa: S301 - our own bytes
