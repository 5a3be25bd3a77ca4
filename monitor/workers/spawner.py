"""The daemon's side of the forkserver: start it, ask it for workers, hear how they end."""

import errno
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, Popen
from tempfile import gettempdir
from typing import ClassVar, Final, TypeAlias

from monitor.workers.messages import WorkerChannel

_ENVIRONMENT: Final = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "GX_ANALYTICS_ENABLED": "false",
    "TQDM_DISABLE": "1",
}
"""In it importing libraries starts no threads, which a fork does not copy, and Great Expectations sends nothing."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The forkserver has imported what workers need; it has that many threads."""

    threads: int


@dataclass(frozen=True, slots=True)
class WorkerStarted:
    """A worker runs."""

    worker: int
    pid: int


@dataclass(frozen=True, slots=True)
class WorkerNotStarted:
    """A worker could not be made: the operating system's reason."""

    worker: int
    why: str


@dataclass(frozen=True, slots=True)
class WorkerEnded:
    """A worker has ended: with an exit status, or by a signal (negative). It has to be waited for."""

    worker: int
    status: int


News: TypeAlias = Ready | WorkerStarted | WorkerNotStarted | WorkerEnded


ENGINES: Final = (
    "monitor.scan.scanner",
    "ibis.backends.duckdb",
    "ibis.backends.postgres",
    "ibis.backends.sqlite",
    "sources.duckdb_file",
    "sources.files",
    "sources.postgresql",
    "sources.sqlite",
)
"""The modules of workers that scan tables."""


class Spawner:
    """One forkserver, from its start to its end."""

    program: ClassVar = "monitor.workers.forkserver"

    def __init__(self, preload: Sequence[str] = ENGINES) -> None:
        """Start it; it is ready to fork some seconds later, and takes orders at once.

        `preload`: modules that it imports, where they are installed, for all workers.

        Raises:
            OSError: there is no process, memory or descriptor for it.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._folder = str(Path(gettempdir()) / f"tablewatch-workers-{secrets.token_hex(8)}")  # it makes it
        self._control = ours
        ours.setblocking(False)  # noqa: FBT003 - the socket's own word
        found_here = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        command = [sys.executable, "-P", "-W", "ignore", "-m", self.program]
        try:
            self._process = Popen(  # noqa: S603 - our own interpreter and our own words
                [*command, str(theirs.fileno()), str(os.getpid()), self._folder, *preload],
                env={**os.environ, **_ENVIRONMENT, "PYTHONPATH": found_here},
                pass_fds=[theirs.fileno()],
                stdin=DEVNULL,
                stdout=DEVNULL,
                start_new_session=True,  # Ctrl-C on a terminal reaches the daemon alone
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._to_bury: list[int] = []
        self.lost = False
        """It has ended, or does not listen any more."""

    @property
    def pid(self) -> int:
        """Return its process id."""
        return self._process.pid

    def fileno(self) -> int:
        """Return the descriptor of the control socket, for a selector."""
        return self._control.fileno()

    def fork(self, worker: int) -> WorkerChannel:
        """Ask for a worker under a number of ours; give our end of its socket.

        Raises:
            OSError: there is no descriptor for it, or the forkserver does not listen.
        """
        ours, theirs = socket.socketpair()
        try:
            order = json.dumps({"fork": worker}).encode()
            socket.send_fds(self._control, [order], [theirs.fileno()])
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        return WorkerChannel(ours)

    def bury(self, pid: int) -> None:
        """Let a worker that has ended be waited for; what is left of its session is killed first."""
        self._to_bury.append(pid)
        self._order_burials()

    def news(self) -> list[News]:
        """Return what came since the last time."""
        current_news: list[News] = []
        self._order_burials()
        while not self.lost:
            try:
                message = self._control.recv(4096)
            except BlockingIOError:
                break
            except OSError:
                message = b""
            if message:
                current_news.append(_news(json.loads(message)))
            else:
                self.lost = True
        return current_news

    def _order_burials(self) -> None:
        with suppress(OSError):  # it does not listen just now; or it is lost, and so are they
            while self._to_bury and not self.lost:
                self._control.send(json.dumps({"bury": self._to_bury[0]}).encode())
                self._to_bury.pop(0)

    def close(self, *, within_s: float) -> str:
        """End it, and with it all workers; say how it ended."""
        self._control.close()
        self.lost = True
        try:
            status = self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGKILL)  # the kernel then kills the workers
            status = self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        return how(status)


def how(status: int) -> str:
    """Describe how a process ended, by its exit status or, negative, its signal."""
    if status >= 0:
        return f"exit status {status}"
    with suppress(ValueError):
        return f"signal {-status} ({signal.Signals(-status).name})"
    return f"signal {-status}"


def _news(message: dict[str, int]) -> News:
    if "threads" in message:
        return Ready(message["threads"])
    worker = message["worker"]
    if "pid" in message:
        return WorkerStarted(worker, message["pid"])
    if "errno" in message:
        return WorkerNotStarted(worker, errno.errorcode.get(message["errno"], "no reason given"))
    return WorkerEnded(worker, message["ended"])
