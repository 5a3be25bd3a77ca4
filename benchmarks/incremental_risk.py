"""k-anonymity of a growing table: counts that are kept from run to run, next to counting everything each time.

`--rows N --classes N` takes one other table.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from benchmarks._measure import Cost, measure, median, peak_mb, table
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.config.selector import select
from monitor.scan.run import run_checks
from store import Store

USUAL = ((10_000_000, 160_000), (10_000_000, 2_000_000))
"""Rows and classes."""
FEW = 1_600
RUNS = 3
ALL, APPEND = "everything each time", "append"
MODES = {ALL: "", APPEND: ", incremental: {mode: append, watermark: id}"}
NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
MAKE = """
INSERT INTO people
SELECT id, 1900 + (h % 100) AS born, 'P' || ((h // 100) % {postcodes}) AS postcode, ['f', 'm'][1 + (h // 7) % 2] AS sex
FROM (SELECT range AS id, (hash(range) >> 1)::BIGINT % {of} AS h FROM range({first}, {last}))
"""
CONFIG = """
version: 1
project: incremental-risk
storage: {{url: "sqlite:///{folder}/store.db"}}
sources: {{people: {{url: "duckdb:///{folder}/people.duckdb", query_timeout: 10m}}}}
tables:
  - name: people
    source: people
    checks:
      - {{type: k_anonymity, quasi_identifiers: [born, postcode, sex], k: 5, other_readings: false{incremental}}}
"""


@dataclass
class Table:
    """A table that grows."""

    folder: Path
    planned: int
    classes: int
    rows: int = 0

    def make(self) -> None:
        """Write its first rows."""
        with self._connect() as connection:
            connection.execute("CREATE TABLE people (id BIGINT, born BIGINT, postcode TEXT, sex TEXT)")
        self.grow(self.planned)

    def copy(self, folder: Path) -> "Table":
        """Return the same table elsewhere."""
        shutil.copy(self.folder / "people.duckdb", folder)
        return replace(self, folder=folder)

    def grow(self, more: int, of: int = 2**62) -> None:
        """Append rows, of any of `of` combinations."""
        first, self.rows = self.rows, self.rows + more
        made = {"postcodes": self.classes // 200, "of": of}
        with self._connect() as connection:
            connection.execute(MAKE.format(**made, first=first, last=self.rows))

    def _connect(self) -> duckdb.DuckDBPyConnection:
        return duckdb.connect(str(self.folder / "people.duckdb"))


def main() -> None:
    """Print the comparison; each table in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks incremental_risk")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--classes", type=int)
    given = parser.parse_args([one for one in sys.argv[1:] if one != "incremental_risk"])
    if given.rows:
        classes = given.classes or USUAL[0][1]
        _print(given.rows, classes, list(MODES))
        return
    for rows, classes in USUAL:
        command = [sys.executable, "-m", "benchmarks.incremental_risk", "--rows", str(rows), "--classes", str(classes)]
        subprocess.run(command, check=True)
        print()


def _print(rows: int, classes: int, modes: Sequence[str]) -> None:
    found = []
    with tempfile.TemporaryDirectory() as made:
        first = Table(Path(made), rows, classes)
        first.make()
        for mode in modes:
            with tempfile.TemporaryDirectory() as folder:
                found += _play(first.copy(Path(folder)), mode)
    full = next(cost for mode, run, cost in found if mode == ALL and run == "1 % more")
    told = [
        (mode, run, f"{cost.wall:.2f}", f"{cost.cpu:.2f}", f"{cost.cpu / full.cpu:.1%}") for mode, run, cost in found
    ]
    print(f"**{rows:,} rows in DuckDB, about {classes:,} classes of three quasi-identifiers.** The store on SQLite.")
    print(f"Medians of {RUNS} runs after the first; peak memory {peak_mb():,.0f} MB.\n")
    print(table(("counts", "run", "wall s", "cpu s", "cpu, of everything each time"), told))


def _play(people: Table, mode: str) -> list[tuple[str, str, Cost]]:
    """Return what runs cost: the first, those after 1 % of new rows, and those after nothing."""
    config = people.folder / "tablewatch.yaml"
    config.write_text(CONFIG.format(folder=people.folder, incremental=MODES[mode]), encoding="utf-8")
    project = Project(load(config), SimulatedClock(NOW))
    more = people.planned // 100
    with project.open_store() as store:
        found = [(mode, "first", measure(lambda: _run(project, store)))]
        runs = {"1 % more": (more, 2**62), f"1 % more, in {FEW:,} classes": (more, FEW), "nothing new": (0, 1)}
        for name, (new, of) in runs.items():
            if mode == ALL and name != "1 % more":
                continue  # what changed makes no difference
            costs = []
            for _ in range(RUNS):
                people.grow(new, of)
                costs.append(measure(lambda: _run(project, store)))
            found.append((mode, name, median(costs)))
    return found


def _run(project: Project, store: Store) -> None:
    report = run_checks(project, select([], project.config), store=store)
    if report.summary["unknown"]:
        raise RuntimeError(str(report.results[0].outcome.message))


if __name__ == "__main__":
    main()
