"""What works on systems that have no fork, no signals but two, no locks of files: their absence is played on this one.

Windows has none of it; macOS has all but /proc and Unix sockets of packets.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import json, os, signal, socket, sys
for name in ("fcntl", "resource", "termios", "pwd", "grp", "pty", "tty", "syslog", "readline"):
    sys.modules[name] = None
GONE = {
    signal: ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGKILL", "SIGCHLD", "SIGALRM", "pthread_sigmask", "sigwait"),
    os: ("fork", "geteuid", "getuid", "setsid", "killpg", "O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY",
         "O_DIRECTORY", "sched_getaffinity", "pread", "fchmod", "chown", "sysconf"),
    socket: ("AF_UNIX", "SOCK_SEQPACKET", "SOCK_CLOEXEC", "send_fds", "recv_fds"),
}
for module, names in GONE.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
from monitor.cli import run
from monitor.terminal.output import Invocation
print(json.dumps([run(tuple(words), Invocation()) for words in json.loads(sys.argv[1])]))
"""
EXPECTATION = """
version: 1
project: p
sources: {s: {files: orders.csv}}
tables:
  - name: orders
    source: s
    checks:
      - {type: expectation, expectation: expect_column_values_to_not_be_null, kwargs: {column: id}}
      - {type: volume, min: 1}
"""
BUDGET = """
budgets:
  orders:
    total: 9
    unit: id
    rows_per_unit: 1
    domain: {id: {range: [0, 9], width: 1}}
"""


def _run(folder: Path, *lines: str) -> tuple[list[int], str, str]:
    """Run commands one after the other in one process; return their exit codes, what they print and their errors."""
    words = json.dumps([line.split() for line in lines])
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, words], cwd=folder, capture_output=True, text=True, timeout=200, check=False
    )
    assert "Traceback" not in done.stderr
    *printed, codes = done.stdout.splitlines()
    return json.loads(codes), "\n".join(printed), done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a small table and what `init` writes for it."""
    (tmp_path / "orders.csv").write_text("id,at\n1,2026-01-01 00:00:00\n2,2026-01-02 00:00:00\n", encoding="utf-8")
    return tmp_path


def test_the_commands_of_a_first_day_work(folder: Path) -> None:
    """From the first configuration to the weekly report, with a store on SQLite."""
    codes, printed, errors = _run(
        folder,
        "--help",
        "init",
        "config check",
        "check",
        "suggest orders",
        "status",
        "incident open --table orders --title late --occurred 2026-11-01T00:00Z --found-by person",
        "downtime --from 2026-11-01T00:00Z --to 2026-11-08T00:00Z",
        "report --out report.html",
        "doctor",
    )
    assert codes == [0] * 10, errors
    assert "PASS    orders.volume" in printed
    assert (folder / "report.html").is_file()


def test_the_daemon_says_what_it_needs(folder: Path) -> None:
    """It is refused before anything is opened; the message says what to do instead."""
    codes, _, errors = _run(folder, "init", "run", "run --once")
    assert codes == [0, 3, 3]
    needs = "the daemon needs Linux: this system has no fork, Unix sockets of packets, locks of files (fcntl)"
    assert errors.count(needs) == 2
    assert "run 'tablewatch check' from the system's scheduler" in errors


def test_an_expectation_is_unknown_without_worker_processes(folder: Path) -> None:
    """Great Expectations is called in one; the other checks of the table are run."""
    (folder / "tablewatch.yaml").write_text(EXPECTATION, encoding="utf-8")
    codes, printed, _ = _run(folder, "check --no-store")
    assert codes == [3]
    assert "worker processes need Linux" in printed
    assert "PASS    orders.volume" in printed


def test_a_budget_of_privacy_is_refused_without_locks(folder: Path) -> None:
    """Two processes could spend it twice."""
    _run(folder, "init")
    with (folder / "tablewatch.yaml").open("a", encoding="utf-8") as file:
        file.write(BUDGET)
    codes, _, errors = _run(folder, "config check", "privacy budget create orders")
    assert codes == [0, 3], errors
    assert "this system has no locks of files (fcntl); use Linux, macOS or WSL" in errors
