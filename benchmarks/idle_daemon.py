"""A daemon of five SQLite tables of which none is due: processor seconds an hour, by thread."""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from time import perf_counter, sleep

from benchmarks._measure import table
from benchmarks.due_at_once import _family

TABLES, WARM_UP_S, SECONDS = 5, 30, 300
_HOUR_NS = 3600 / 1e9
_HEAD = """version: 1
project: bench
storage: {{url: "sqlite:///{folder}/store.db"}}
daemon: {{jitter: 0s, metrics: 'off'}}
sources: {{s: {{url: "sqlite:///{folder}/source.db"}}}}
tables:
"""
_TABLE = "  - {{name: t{number}, source: s, schedule: every 24h, checks: [{{type: not_null, columns: [id]}}]}}\n"


def main() -> None:
    """Print the figures."""
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else SECONDS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _build(folder)
        used, runs, elapsed = _watch(folder, seconds)
    load = os.getloadavg()[0]
    print(f"**A daemon of {TABLES} SQLite tables, none due, for {elapsed:.0f} s at a load of {load:.1f}.**\n")
    rows = [
        (place, f"{used[place] / elapsed * _HOUR_NS:.2f}", f"{runs[place] / elapsed:.2f}")
        for place in sorted(used, key=used.__getitem__, reverse=True)
    ]
    total = ("all", f"{used.total() / elapsed * _HOUR_NS:.1f}", f"{runs.total() / elapsed:.2f}")
    print(table(("thread", "cpu s an hour", "runs a second"), [total, *rows]))


def _build(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "source.db")) as source, source:
        for number in range(TABLES):
            source.execute(f"CREATE TABLE t{number} (id INTEGER)")
            source.execute(f"INSERT INTO t{number} VALUES (1)")
    text = _HEAD.format(folder=folder) + "".join(_TABLE.format(number=number) for number in range(TABLES))
    (folder / "tablewatch.yaml").write_text(text, encoding="utf-8")


def _watch(folder: Path, seconds: int) -> tuple[Counter[str], Counter[str], float]:
    """Return the nanoseconds of a processor and the runs by thread, and how long that was."""
    command = [sys.executable, "-m", "monitor", "run", "-c", str(folder / "tablewatch.yaml")]
    daemon = subprocess.Popen(command, cwd=Path(__file__).parents[1], stderr=subprocess.DEVNULL)
    try:
        sleep(WARM_UP_S)
        (used, runs), begun = _threads(daemon.pid), perf_counter()
        sleep(seconds)
        (used_after, runs_after), elapsed = _threads(daemon.pid), perf_counter() - begun
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()
    return used_after - used, runs_after - runs, elapsed


def _threads(daemon: int) -> tuple[Counter[str], Counter[str]]:
    """Return what each thread has used so far, by the kernel's count in nanoseconds (Linux)."""
    used, runs = Counter[str](), Counter[str]()
    for process in _family(daemon):
        for number, thread in enumerate(
            sorted(Path(f"/proc/{process}/task").glob("*"), key=lambda path: int(path.name))
        ):
            nanoseconds, _, times = map(int, (thread / "schedstat").read_text(encoding="ascii").split())
            place = "daemon" if process == daemon else "its forkserver and workers"
            place += f", thread {number}" if number else ", main thread"
            used[place] += nanoseconds
            runs[place] += times
    return used, runs


if __name__ == "__main__":
    main()
