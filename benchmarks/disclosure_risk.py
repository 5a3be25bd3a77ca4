"""k-anonymity and l-diversity of 10 million rows in Parquet: one two-level GROUP BY, next to what else one could use.

`--rows N` and `--groups N` take other tables, of which each work is done once, and by what needs no frame of the table.

pycanon pins its own versions of pandas and numpy, so it runs in an environment of its own where BENCH_PYCANON names
that environment's Python (`python -m venv DIR && DIR/bin/pip install pycanon pyarrow`); without it, it is left out.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb

from benchmarks._measure import Cost, measure, median, peak_mb, table
from checks._catalog import load_catalog
from monitor.clock import SystemClock
from monitor.scan.recorder import judge_only
from monitor.scan.results import Subject, Target
from monitor.scan.scanner import Plans, scan_source
from sources import SourceSpec

ROWS = 10_000_000
SMALL = 100_000
RUNS = 3
KEYS = ("born", "zip", "sex")
GROUPS = 160_000
MEMORY = "2GB"
"""What a source may use unless its configuration says otherwise; DuckDB by hand gets as much."""
MAKE = """
COPY (
  SELECT 1940 + n % 80 AS born, 100 + n // 160 AS zip, ['f', 'm'][1 + n // 80 % 2] AS sex,
         'illness ' || CAST(floor(10 * random()) AS INTEGER) AS ill
  FROM (SELECT {number} AS n FROM range({rows}))
) TO '{file}' (FORMAT parquet)
"""
HAND = """
WITH pairs AS (SELECT born, zip, sex, ill, count(*) AS n FROM '%s' GROUP BY ALL),
     classes AS (SELECT born, zip, sex, sum(n) AS size, count(*) AS l, ln(sum(n)) - sum(n * ln(n)) / sum(n) AS h
                 FROM pairs GROUP BY born, zip, sex)
SELECT min(size), count(*), count(*) FILTER (size = 1), sum(size) FILTER (size < 5), min(l), exp(min(h)) FROM classes
"""
PYCANON = """
import sys, time, resource
import pandas as pd
from pycanon import anonymity
frame = pd.read_parquet(sys.argv[1])
start, cpu = time.perf_counter(), time.process_time()
anonymity.k_anonymity(frame, ["born", "zip", "sex"])
if sys.argv[2] == "l":
    anonymity.l_diversity(frame, ["born", "zip", "sex"], ["ill"])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{time.perf_counter() - start:.2f}\\t{time.process_time() - cpu:.2f}\\t{peak:.0f}")
"""


def main() -> None:
    """Print the comparison; each contender runs in a process of its own."""
    if sys.argv[2:3] and sys.argv[2] in CONTENDERS:
        CONTENDERS[sys.argv[2]](Path(sys.argv[3]), int(sys.argv[4]))
        return
    wanted = _arguments()
    is_usual = (wanted.rows, wanted.groups) == (ROWS, GROUPS)
    with tempfile.TemporaryDirectory() as folder:
        _make(Path(folder) / "big.parquet", wanted.rows, wanted.groups)
        if is_usual:
            _make(Path(folder) / "small.parquet", SMALL, GROUPS)
        runs = RUNS if is_usual else 1
        rows = [_in_process(name, folder, runs) for name in CONTENDERS if is_usual or name in FRAMELESS]
        rows += _pycanon(Path(folder)) if is_usual else []
    title = f"k and l of {wanted.rows:,} rows in Parquet, 3 quasi-identifiers, {wanted.groups:,} groups"
    print(f"**{title}.** {'Median of 3 runs after the first' if is_usual else 'Once each'}.\n")
    print(table(("work", "wall s", "cpu s", "peak memory MB"), rows))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks disclosure_risk")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--groups", type=int, default=GROUPS)
    return parser.parse_args(sys.argv[2:])


def _make(file: Path, rows: int, groups: int) -> None:
    """Write a table; row groups are written as they are made."""
    number = "range" if groups >= rows else f"CAST(floor({groups} * random()) AS BIGINT)"
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SELECT setseed(0.5)")
        connection.execute(MAKE.format(number=number, rows=rows, file=file))


def _in_process(name: str, folder: str, runs: int) -> list[str]:
    command = [sys.executable, "-c", "from benchmarks.disclosure_risk import main; main()"]
    command += ["disclosure_risk", name, folder, str(runs)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip().split("\t")


def _asked(file: Path, *kinds: str) -> Any:
    spec = SourceSpec("bench", file.parent, files=file.name, table="people", query_timeout=timedelta(hours=1))
    given: dict[str, dict[str, Any]] = {"k_anonymity": {"k": 5}, "l_diversity": {"l": 2, "sensitive": ("ill",)}}
    catalogue: Any = load_catalog()
    checks = tuple((kind, catalogue[kind](quasi_identifiers=KEYS, **given[kind])) for kind in kinds)
    target = Target(Subject("people", "people", checks), spec)
    plans: Plans = {}  # kept from look to look, as a daemon keeps them

    def ask() -> None:
        looked = list(scan_source([target], clock=SystemClock(), plans=plans))
        for found in judge_only(looked, store=None):
            if found.outcome.status not in {"pass", "fail"}:
                raise RuntimeError(f"{found.check_id}: {found.outcome.message}")

    return ask


def _tablewatch(folder: Path, runs: int) -> None:
    asked = _asked(folder / "big.parquet", "k_anonymity", "l_diversity")
    _print("tablewatch: k_anonymity and l_diversity", asked, runs)


def _tablewatch_k(folder: Path, runs: int) -> None:
    _print("tablewatch: k_anonymity alone", _asked(folder / "big.parquet", "k_anonymity"), runs)


def _tablewatch_small(folder: Path, runs: int) -> None:
    asked = _asked(folder / "small.parquet", "k_anonymity", "l_diversity")
    _print(f"tablewatch: both, {SMALL:,} rows", asked, runs)


def _hand_written(folder: Path, runs: int) -> None:
    connection = duckdb.connect()
    connection.execute(f"SET enable_progress_bar = false; SET memory_limit = '{MEMORY}'")
    connection.execute(f"SET temp_directory = '{folder / 'spill'}'")
    asked = HAND % (folder / "big.parquet")
    _print("DuckDB by hand: one two-level GROUP BY", lambda: connection.execute(asked).fetchall(), runs)


def _pandas(folder: Path, runs: int) -> None:
    import pandas as pd

    def both() -> None:
        frame = pd.read_parquet(folder / "big.parquet")
        groups = frame.groupby(list(KEYS), dropna=False)["ill"]
        groups.size().min()
        groups.nunique(dropna=False).min()

    _print("pandas groupby: size and nunique", both, runs)


def _pycanon(folder: Path) -> list[list[str]]:
    python = os.environ.get("BENCH_PYCANON")
    if python is None:
        return []
    command = [python, "-c", PYCANON, str(folder / "small.parquet"), "l"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [[f"pycanon: k and l, {SMALL:,} rows, once", *done.stdout.strip().split("\t")]]


def _print(name: str, work: Any, runs: int) -> None:
    if runs > 1:
        work()
    cost: Cost = median([measure(work) for _ in range(runs)])
    print(f"{name}\t{cost.wall:.2f}\t{cost.cpu:.2f}\t{peak_mb():.0f}")


CONTENDERS = {
    "tablewatch": _tablewatch,
    "tablewatch_k": _tablewatch_k,
    "hand": _hand_written,
    "pandas": _pandas,
    "tablewatch_small": _tablewatch_small,
}
FRAMELESS = ("tablewatch", "tablewatch_k", "hand")

if __name__ == "__main__":
    main()
