"""Work side by side: what crashes takes nothing else down, and nothing goes on once nobody asks."""

import os
import signal
import sys
from contextlib import closing
from multiprocessing import forkserver
from pathlib import Path

import pytest

from monitor.workers.side_by_side import ProcessCrashed, run_in_processes


def _piece(what: str, folder: Path) -> str:
    (folder / what).write_text(str(os.getpid()))
    match what:
        case "crash":
            raise ValueError("4711 is a value of the table")
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "endless":
            signal.pause()
    return what


def test_a_crash_takes_nothing_else_down(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither does a process that is killed; what a crash would print is not shown."""
    forkserver._forkserver._stop()  # type: ignore[attr-defined] # one started earlier prints elsewhere
    pieces = [(what, tmp_path) for what in ("crash", "fine", "killed", "fine too")]
    found = dict(run_in_processes(_piece, pieces, workers=2))
    assert found == {0: ProcessCrashed(1), 1: "fine", 2: ProcessCrashed(-9), 3: "fine too"}
    assert "signal 9" in found[2].said  # type: ignore[union-attr] # a crash
    assert "without an answer" in found[0].said  # type: ignore[union-attr] # a crash
    assert "4711" not in "".join(capfd.readouterr())


def test_nothing_goes_on_once_nobody_asks(tmp_path: Path) -> None:
    """Whoever leaves, by Ctrl-C or otherwise, ends what still runs."""
    pieces = [("fine", tmp_path), ("endless", tmp_path)]
    with closing(run_in_processes(_piece, pieces, workers=2)) as ended:
        assert next(ended) == (0, "fine")
        while not (tmp_path / "endless").exists() or not (tmp_path / "endless").read_text():
            pass
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "endless").read_text()), 0)


def test_what_is_forked_has_one_thread_and_its_imports() -> None:
    """A thread would be missing in the copy; the environment and the signals of this process are as they were."""
    before = dict(os.environ), signal.pthread_sigmask(signal.SIG_BLOCK, ())
    ((_, seen),) = run_in_processes(_seen, [()], workers=1)
    assert seen == (1, True)
    assert (dict(os.environ), signal.pthread_sigmask(signal.SIG_BLOCK, ())) == before


def _seen() -> tuple[int, bool]:
    return len(list(Path("/proc/self/task").iterdir())), "monitor.releases.treat" in sys.modules
