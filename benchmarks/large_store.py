"""Every command, page and pass over a store with 1,000,000 incidents and 5,000,000 results: seconds and memory.

python -m benchmarks large_store [--share 0.1]

Each is a process of its own, from nothing to the end, run once: what a user or a daemon that was started waits for.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

from benchmarks._big_store import Size, configure, fill
from benchmarks._measure import table

SIZE: Final = Size(incidents=1_000_000, measurements=5_000_000, tables=1_000)
_PAGE: Final = """
import sys
from pathlib import Path
from monitor.config import load
from monitor.config.project import Project
from monitor.clock import SimulatedClock
from monitor.web.views.overview import NoQuery, show_overview
from benchmarks._big_store import END
project = Project(load(Path(sys.argv[1])), SimulatedClock(END))
with project.open_store() as store, store.reading() as tx:
    show_overview(project, tx, NoQuery(), END)
"""


def main() -> None:
    """Fill a store, and print what each command takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=1.0, help="of the incidents and results")
    parser.add_argument("--keep", type=Path, help="a folder for the store, which is used again")
    options = parser.parse_args(sys.argv[2:] if sys.argv[0].endswith("__main__.py") else sys.argv[1:])
    size = Size(round(SIZE.incidents * options.share), round(SIZE.measurements * options.share), SIZE.tables)
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(exist_ok=True)
        config = configure(folder, size, promises=True)
        if not (folder / "store.db").exists():
            # in a process of its own: a child's memory is counted from that of its parent
            filling = multiprocessing.get_context("spawn").Process(target=fill, args=(folder / "store.db", size))
            filling.start()
            filling.join()
        megabytes = (folder / "store.db").stat().st_size / 1e6
        print(f"**{size.incidents:,} incidents, {size.measurements:,} results, {megabytes:,.0f} MB.**\n")
        print(table(("command", "exit code", "wall s", "cpu s", "most memory MB"), ()))
        for row in _rows(config, size):
            print(f"| {' | '.join(row)} |", flush=True)


def _rows(config: Path, size: Size) -> Iterator[Sequence[str]]:
    middle, page = str(size.incidents - 1_000), str(config.with_name("page.html"))
    commands = (
        ("incident", "list"),
        ("incident", "show", middle),
        ("downtime",),
        ("report", "--period", "2026-W46", "--force", "--out", page),
        ("status",),
        ("run", "--once"),
    )
    for words in commands:
        command = [sys.executable, "-m", "monitor", *words, "--config", str(config)]
        yield f"`tablewatch {' '.join(words[:2])}`", *_in_child(command)
    yield "overview page, of a process that was just started", *_in_child([sys.executable, "-c", _PAGE, str(config)])
    command = [sys.executable, "-m", "monitor", "doctor", "--config", str(config)]
    yield "`tablewatch doctor`", *_in_child(command)  # the longest


def _in_child(command: Sequence[str]) -> tuple[str, ...]:
    """Run a command and return its exit code, seconds and memory, its children included."""
    began = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = perf_counter() - began
    cpu = used.ru_utime + used.ru_stime
    return str(process.returncode), f"{wall:.2f}", f"{cpu:.2f}", f"{used.ru_maxrss / 1e3:.0f}"
