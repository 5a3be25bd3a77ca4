"""10,000 tables due in one second, looked at by a daemon that was just started: time, memory, whose turn it was."""

import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from time import perf_counter, sleep

from benchmarks._measure import table

TABLES, FILES = 10_000, 10
_HEAD = """version: 1
project: bench
storage: {{url: "sqlite:///{folder}/store.db"}}
daemon: {{jitter: 0s, metrics: 'off'}}
sources: {{s: {{url: "sqlite:///{folder}/source.db", concurrency: 4}}}}
tables: []
"""
_TABLE = (
    "  - {{name: t{number:05}, source: s, schedule: every 1h, "
    "checks: [{{type: primary_key, columns: [id]}}, {{type: not_null, columns: [customer]}}]}}\n"
)


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _build(folder)
        seconds, peak = _watch(folder)
        with closing(sqlite3.connect(folder / "store.db")) as store:
            turns = store.execute("SELECT table_name, started_us FROM slot ORDER BY started_us, id").fetchall()
            tries = store.execute("SELECT max(attempt) FROM slot").fetchone()[0]
    in_order = sum(before <= after for (before, _), (after, _) in pairwise(turns)) + 1
    print(
        f"**{TABLES:,} SQLite tables x 2 checks, due in one second; a new daemon with 4 workers, no plan made yet.**\n"
    )
    rows = [
        ("until all were looked at and remembered, s", f"{seconds:.0f}"),
        ("tables a second", f"{TABLES / seconds:.0f}"),
        ("daemon, forkserver and workers together, peak MB (proportional set size)", f"{peak:.0f}"),
        ("tables in their turn (equally late ones by name)", f"{in_order:,} of {len(turns):,}"),
        ("attempts that a slot took at most", str(tries)),
    ]
    print(table(("figure", "value"), rows))


def _build(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "source.db")) as source, source:
        for number in range(TABLES):
            source.execute(f"CREATE TABLE t{number:05} (id INTEGER, customer TEXT)")
            source.execute(f"INSERT INTO t{number:05} VALUES (1, 'a'), (2, 'b')")
    (folder / "tablewatch").mkdir()
    (folder / "tablewatch" / "a.yaml").write_text(_HEAD.format(folder=folder), encoding="utf-8")
    for part in range(FILES):
        numbers = range(part * TABLES // FILES, (part + 1) * TABLES // FILES)
        rows = "".join(_TABLE.format(number=number) for number in numbers)
        (folder / "tablewatch" / f"t{part}.yaml").write_text(f"tables:\n{rows}", encoding="utf-8")


def _watch(folder: Path) -> tuple[float, float]:
    """Run a daemon until all is done; give seconds from the first claim on, and the peak of memory in MB."""
    command = [sys.executable, "-m", "monitor", "run", "-c", str(folder / "tablewatch")]
    daemon = subprocess.Popen(command, cwd=Path(__file__).parents[1], stderr=subprocess.DEVNULL)
    begun, peak, done = None, 0.0, 0
    try:
        while done < TABLES:
            sleep(0.5)
            peak = max(peak, sum(map(_shared_memory_mb, _family(daemon.pid))))
            claimed, done = _progress(folder / "store.db")
            if claimed and begun is None:
                begun = perf_counter()
        return perf_counter() - (begun or 0.0), peak
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()


def _progress(store: Path) -> tuple[int, int]:
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
            claimed, done = connection.execute("SELECT count(*), sum(state = 'done') FROM slot").fetchone()
            return claimed, done or 0
    except sqlite3.OperationalError:
        return 0, 0


def _family(process: int) -> set[int]:
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text(encoding="ascii").rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, before = {process}, 0
    while len(found) != before:
        before = len(found)
        found |= {child for child, parent in parents.items() if parent in found}
    return found


def _shared_memory_mb(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0) / 1e3


if __name__ == "__main__":
    main()
