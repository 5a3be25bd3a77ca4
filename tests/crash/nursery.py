"""Processes to kill: forked from one that has everything imported, so that a life costs milliseconds, not seconds.

The nursery is a process of its own with a single thread. It reads commands, one life at a time, as lines of JSON,
and answers with the process it forked and then with how that ended. Its user kills the lives.
"""

import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

ROOT: Final = Path(__file__).resolve().parents[2]
PATIENCE_S: Final = 60.0

_PRELOAD: Final = (
    "ibis.backends.sqlite",
    "sources.sqlite",
    "monitor.alerts.notify",
    "monitor.daemon.daemon",
    "monitor.daemon.journal",
    "monitor.config",
    "alembic.command",
    "tests.crash.lives",
)


class Life:
    """A process that was forked; it writes what it acknowledges, and what it says, to files in its folder."""

    def __init__(self, nursery: "Nursery", pid: int, folder: Path) -> None:
        self.pid = pid
        self._nursery = nursery
        self._acks, self._said = folder / "acks", folder / "said"
        self._status: int | None = None

    def go(self) -> None:
        """Let a life that was stopped at its start begin."""
        os.kill(self.pid, signal.SIGCONT)

    def wait(self, seconds: float = PATIENCE_S) -> int | None:
        """Wait for its end; give its exit code (negative: the signal), None while it lives."""
        if self._status is None and self._nursery.answers_within(seconds):
            self._status = os.waitstatus_to_exitcode(self._nursery.hear()["status"])
        return self._status

    def kill(self) -> int:
        """End it with SIGKILL, if it still lives; give how it ended."""
        if self.wait(0.0) is None:
            os.kill(self.pid, signal.SIGKILL)
        ended = self.wait()
        assert ended is not None
        return ended

    def acknowledged(self) -> list[list[str]]:
        """Return the words of each line that it has acknowledged so far; a line that was cut off is none."""
        lines = self._acks.read_text(encoding="utf-8").split("\n")[:-1]
        return [line.split()[1:] for line in lines if line.startswith("ACK ")]

    def said(self) -> str:
        """Return what it wrote to standard error."""
        return self._said.read_text(encoding="utf-8")


class Nursery:
    """Forks lives, one at a time. Use it as a context manager."""

    _last: Life | None = None

    def __enter__(self) -> Self:
        environment = {
            "PYTHONPATH": str(ROOT),
            "TABLEWATCH_CRASH_TEST": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "JE_ARROW_MALLOC_CONF": "background_thread:false",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.nursery"],
            env={**os.environ, **environment},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.hear() == {"ready": True}
        return self

    def __exit__(self, *_: object) -> None:
        if self._last is not None:
            self._last.kill()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        self._process.stdout.close()

    def begin(self, act: str, folder: Path, *, failpoint: str = "", stopped: bool = False, **how: Any) -> Life:
        """Fork a life that does what `lives.<act>` says; `stopped` lets it wait for `Life.go`."""
        assert self._process.stdin is not None
        if self._last is not None:
            self._last.kill()  # of a test that failed
        for name in ("acks", "said"):
            (folder / name).write_text("")
        wanted = {"act": act, "folder": str(folder), "failpoint": failpoint, "stopped": stopped, "how": how}
        self._process.stdin.write(json.dumps(wanted).encode() + b"\n")
        self._process.stdin.flush()
        self._last = Life(self, self.hear()["pid"], folder)
        return self._last

    def lead(self, act: str, folder: Path, *, failpoint: str = "", **how: Any) -> int:
        """Let a life go on to its end, and give its exit code."""
        life = self.begin(act, folder, failpoint=failpoint, **how)
        ended = life.wait()
        return life.kill() if ended is None else ended

    def answers_within(self, seconds: float) -> bool:
        """Check whether there is something to hear within a time."""
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], seconds)[0])

    def hear(self) -> Mapping[str, Any]:
        """Return the next answer."""
        assert self._process.stdout is not None
        line = os.read(self._process.stdout.fileno(), 1)
        assert line, "the nursery is gone"
        while not line.endswith(b"\n"):
            line += os.read(self._process.stdout.fileno(), 1)
        found: Mapping[str, Any] = json.loads(line)
        return found


def _serve() -> None:
    for name in _PRELOAD:
        importlib.import_module(name)
    importlib.import_module("tests.crash.lives").warm_up()
    importlib.import_module("duckdb").close()  # importing it opens a database, with a thread
    assert len([*Path("/proc/self/task").iterdir()]) == 1, "a process with threads cannot be forked"
    gc.collect()
    gc.freeze()
    _say({"ready": True})
    for line in sys.stdin:
        wanted = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _live(wanted)
        if wanted["stopped"]:
            os.waitpid(pid, os.WUNTRACED)
        _say({"pid": pid})
        _say({"status": os.waitpid(pid, 0)[1]})


def _live(wanted: Mapping[str, Any]) -> None:
    from store import _failpoint
    from tests.crash import lives

    code = 70
    try:
        os.setsid()
        folder = Path(wanted["folder"])
        os.chdir(folder)
        for number, name in ((1, "acks"), (2, "said")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        _failpoint._armed.update(_failpoint._read({**os.environ, "TABLEWATCH_FAILPOINT": wanted["failpoint"]}))
        if wanted["stopped"]:
            lives.allow_tracing()
            os.kill(os.getpid(), signal.SIGSTOP)
        code = getattr(lives, wanted["act"])(folder, **wanted["how"]) or 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001 - whatever it is must not reach the loop of the nursery
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _say(news: Mapping[str, Any]) -> None:
    os.write(1, json.dumps(news).encode() + b"\n")


def until(answer: "Any", what: str) -> Any:
    """Return the first answer that is true, asking again for a minute at most."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = answer()
        if found:
            return found
        select.select([], [], [], 0.01)
    raise AssertionError(f"waited {PATIENCE_S:g} s in vain for {what}")


if __name__ == "__main__":
    _serve()
