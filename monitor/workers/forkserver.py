"""The process that forks the workers. It imports what they need once, starts no thread, and opens nothing.

It obeys a control socket: asked for a worker it forks one, which keeps the descriptor sent along; it reports a
worker's end, and waits for it only on request, so that until then its process id is not reused. When the
daemon ends, however that happens, it kills all workers with everything they started, removes their files and ends. When
it ends itself, the kernel kills the workers.
"""

import errno
import fcntl
import gc
import importlib
import json
import os
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from checks import load_catalog
from monitor.workers.process_control import adopt_orphans, die_with_parent, kill_session, outlive_parent

_LONGEST_NAP_S: Final = 5.0
_OURS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(descriptor: int, daemon: int, folder: str, *preload: str) -> NoReturn:
    """Serve a control socket until the daemon ends."""
    die_with_parent(daemon)  # there is no worker to clean up after yet, and importing takes seconds
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # a daemon that waits for signals has blocked them
    for number in _OURS:
        signal.signal(number, signal.SIG_IGN)  # the daemon decides what ends
    _preload(preload)
    own = Path(folder)
    _sweep(own.parent, own.name.rpartition("-")[0])
    own.mkdir(mode=0o700)
    _hold(own)
    server = _ForkServer(socket.socket(fileno=descriptor), daemon, own)
    outlive_parent()
    adopt_orphans()  # where the daemon is the first process of a container, no other process would wait for them
    server.serve()


def _sweep(place: Path, prefix: str) -> None:
    """Remove the folders of forkservers that were killed together with their daemon: their locks are free."""
    for folder in place.glob(f"{prefix}-*"):
        with suppress(OSError):
            held = _hold(folder)
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)


def _hold(folder: Path) -> int:
    """Lock a folder, for as long as this process or one that it forks lives.

    Raises:
        OSError: it is held already, or another user's.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PermissionError
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _preload(names: Sequence[str]) -> None:
    importlib.import_module("monitor.workers.worker")
    for name in names:
        with suppress(ImportError):  # of an extra that is not installed; a worker that needs it says so
            importlib.import_module(name)
    dict(load_catalog())  # imports the file of each check
    importlib.import_module("duckdb").close()  # importing it opens a database, with a thread
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nothing, stream)  # what libraries print may hold data
    gc.collect()
    gc.disable()
    gc.freeze()  # else the first collection of each worker copies all of this


class _ForkServer:
    def __init__(self, control: socket.socket, daemon: int, folder: Path) -> None:
        self._control = control
        self._daemon = daemon
        self._folder = folder
        self._ours = os.getpid()
        self._running: dict[int, int] = {}
        self._ended: dict[int, int] = {}
        self._bell, self._ring = os.pipe()
        for end in (self._bell, self._ring):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._ring, warn_on_full_buffer=False)

    def serve(self) -> NoReturn:
        """Obey until the daemon has ended."""
        self._send_message(threads=sum(1 for _ in Path("/proc/self/task").iterdir()))
        while os.getppid() == self._daemon:
            ready = set(select.select([self._control.fileno(), self._bell], [], [], _LONGEST_NAP_S)[0])
            if self._bell in ready:
                os.read(self._bell, 4096)
                self._bury_orphans()
            if self._control.fileno() in ready and not self._obey():
                break
            self._report_ended()
        self._end()

    def _obey(self) -> bool:
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, 4096, 1)
        except ConnectionResetError:  # the daemon ended before it read all messages
            return False
        if not message:
            return False
        order = json.loads(message)
        if "fork" in order and not descriptors:
            self._send_message(worker=order["fork"], errno=errno.EMFILE)  # the process has no free descriptor
        elif "fork" in order:
            self._fork(order["fork"], descriptors[0])
        else:
            self._bury(order["bury"])
        return True

    def _fork(self, number: int, descriptor: int) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            os.close(descriptor)
            self._send_message(worker=number, errno=error.errno or 0)
            return
        if pid == 0:
            self._be_worker(number, descriptor)
        os.close(descriptor)
        self._running[pid] = number
        self._send_message(worker=number, pid=pid)

    def _be_worker(self, number: int, descriptor: int) -> NoReturn:
        try:
            os.setsid()
            die_with_parent(self._ours)
            _restore_signals()
            self._control.close()
            os.close(self._bell)
            os.close(self._ring)
            os.set_inheritable(descriptor, False)  # noqa: FBT003 - the system's own word
            _take_place(self._folder / str(number))
            from monitor.workers.worker import serve

            serve(socket.socket(fileno=descriptor))
            os._exit(0)
        finally:
            os._exit(1)  # whatever it was: nothing of the forkserver's may go on in here, nor be printed

    def _report_ended(self) -> None:
        for pid, number in list(self._running.items()):
            gone = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if gone is not None:
                self._ended[pid] = self._running.pop(pid)
                exited = gone.si_code == os.CLD_EXITED
                self._send_message(worker=number, ended=gone.si_status if exited else -gone.si_status)

    def _bury(self, pid: int) -> None:
        kill_session(pid)
        os.waitpid(pid, 0)
        shutil.rmtree(self._folder / str(self._ended.pop(pid)), ignore_errors=True)

    def _bury_orphans(self) -> None:
        """Wait for what workers started and left behind."""
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
        for pid in set(map(int, children)) - {*self._running, *self._ended}:
            os.waitpid(pid, os.WNOHANG)

    def _send_message(self, **news: int) -> None:
        with suppress(OSError):  # the daemon is gone, which the loop notices
            self._control.send(json.dumps(news).encode())

    def _end(self) -> NoReturn:
        for pid in (*self._running, *self._ended):
            kill_session(pid)
        shutil.rmtree(self._folder, ignore_errors=True)
        os._exit(0)


def _restore_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (*_OURS, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)


def _take_place(folder: Path) -> None:
    """Keep temporary files in one folder, leave no core dump, which would hold data, and be the first to go."""
    gc.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder.mkdir(mode=0o700, parents=True)
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
