"""`import incidents` of the tickets of many years, as the command: into an empty store, then the same file again.

Wall and processor seconds and the most memory of the process, next to what pandas takes to read the same file with its
times. `--rows N` (may be given again) for other sizes.
"""

import argparse
import csv
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

from benchmarks._measure import table

ROWS = (100_000, 1_000_000)
TABLES = 200
START = datetime(2020, 1, 1, tzinfo=UTC)
HEAD = ("Key", "Dataset", "Summary", "Started", "Opened", "Closed", "Priority", "Result", "Root cause")
MAPPING = {
    "Key": "id",
    "Dataset": "table",
    "Summary": "title",
    "Started": "occurred",
    "Opened": "detected",
    "Closed": "resolved",
    "Priority": "severity",
    "Result": "resolution",
    "Root cause": "cause",
}
WORDS = ("severity:Highest=critical", "severity:High=error", "severity:Low=warning", "resolution:Done=fixed")
PEER = "import sys, pandas; pandas.read_csv(sys.argv[1], parse_dates=['Started', 'Opened', 'Closed'])"


def main() -> None:
    """Print what the import takes."""
    options = argparse.ArgumentParser()
    options.add_argument("name", nargs="?")
    options.add_argument("--rows", type=int, action="append")
    rows = []
    for count in options.parse_args().rows or ROWS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "tablewatch.yaml").write_text(_configuration(), encoding="utf-8")
            _write_tickets(folder / "tickets.csv", count)
            words = [word for column, field in MAPPING.items() for word in ("--map", f"{column}={field}")]
            words += [word for one in WORDS for word in ("--value", one)]
            command = [sys.executable, "-m", "monitor", "import", "incidents", "tickets.csv", *words]
            for what, program in {
                "pandas reads the file": [sys.executable, "-c", PEER, "tickets.csv"],
                "`import incidents`": command,
                "the same file again": command,
            }.items():
                rows.append((f"{count:,}", what, *_cost(program, folder)))
    print(f"**Import of tickets** on {TABLES} tables, one ticket in fifty without an end.\n")
    print(table(("tickets", "work", "wall s", "cpu s", "peak MB"), rows))


def _configuration() -> str:
    tables = "\n".join(f"  - {{name: sales.t{number}, source: s, checks: []}}" for number in range(TABLES))
    return f'version: 1\nproject: tickets\nsources: {{s: {{url: "sqlite:///source.db"}}}}\ntables:\n{tables}\n'


def _write_tickets(file: Path, count: int) -> None:
    chance = random.Random(11)
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(HEAD)
        for number in range(count):
            began = START + timedelta(seconds=150 * number + chance.randrange(150))
            noticed = began + timedelta(seconds=chance.randrange(100_000))
            ended = noticed + timedelta(seconds=chance.randrange(100_000))
            is_over = number % 50 != 0
            writer.writerow(
                (
                    f"DATA-{number}",
                    f"sales.t{chance.randrange(TABLES)}",
                    f"Rows of {chance.choice(('Tokyo', 'Osaka', 'Nagoya'))} missing since batch {number % 977}",
                    began.isoformat(),
                    noticed.isoformat(),
                    ended.isoformat() if is_over else "",
                    chance.choice(("Highest", "High", "Low")),
                    "Done" if is_over else "",
                    "a late upstream file" if is_over else "",
                )
            )


def _cost(command: Sequence[str], folder: Path) -> tuple[str, str, str]:
    """Run a command; return its wall seconds, processor seconds and most memory."""
    begin = perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    text = process.stderr.read().decode() if process.stderr else ""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(text)
    return f"{perf_counter() - begin:.1f}", f"{_seconds(usage):.1f}", f"{usage.ru_maxrss / 1e3:.0f}"


def _seconds(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
