"""Inject faults into the system calls of a life, at the files of its store, with strace."""

import shutil
import signal
import subprocess
from pathlib import Path

from tests.crash.nursery import Life, Nursery, until

INJECTED = "INJECTED"


def missing() -> str | None:
    """Describe why faults cannot be injected here; None if they can."""
    strace = shutil.which("strace")
    if strace is None:
        return "no strace: install Debian's package strace"
    sleeper = subprocess.Popen(["sleep", "30"])  # noqa: S607 - the system's
    try:
        words = ["timeout", "--signal=INT", "1", strace, "-p", str(sleeper.pid), "-e", "trace=none", "-o", "/dev/null"]
        tried = subprocess.run(words, capture_output=True, text=True, check=False)
    finally:
        sleeper.kill()
        sleeper.wait()
    return None if "attached" in tried.stderr else f"strace cannot trace here: {tried.stderr.strip()}"


def suffer(
    nursery: Nursery, act: str, folder: Path, inject: str, files: list[Path], **how: object
) -> tuple[Life, bool]:
    """Let a life do something under faults (`pwrite64:signal=KILL:when=3`); give it, ended, and whether there was one.

    Threads that it starts are left in peace.
    """
    life = nursery.begin(act, folder, stopped=True, **how)
    log = folder / "strace.log"
    call = inject.partition(":")[0]
    chosen = [word for file in files for word in ("-P", str(file))]
    program = ["strace", "-qq", "-o", str(log), "-p", str(life.pid)]
    strace = subprocess.Popen([*program, *chosen, "-e", f"trace={call}", "-e", f"inject={inject}"])
    try:
        until(lambda: _is_traced(life.pid) or strace.poll() is not None, "strace")
        assert strace.poll() is None, "strace refused its arguments"
        life.go()
        ended = life.wait()
        assert ended is not None
    finally:
        life.kill()
        strace.wait(60)
    return life, ended == -signal.SIGKILL or INJECTED in log.read_text(errors="replace")  # the dead leave no line


def _is_traced(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    return "TracerPid:\t0\n" not in status
