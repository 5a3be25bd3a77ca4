"""k-anonymity of a growing table: counts that are kept from run to run, next to counting everything each time."""

import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from benchmarks._measure import Cost, measure, peak_mb, table
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.look import look
from monitor.selector import select
from monitor.wiring import Project

ROWS = 10_000_000
CLASSES = (160_000, 2_000_000)
MOST_WITH_PARTITIONS = 200_000
"""With 20 partitions, more classes have more counts than are kept."""
MODES = {
    "append": "{mode: append, watermark: id}",
    "partition": "{mode: partition, column: day}",
}
NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
MAKE = """
INSERT INTO people
SELECT id, 1900 + (h % 100) AS born, 'P' || ((h // 100) % {postcodes}) AS postcode, ['f', 'm'][1 + (h // 7) % 2] AS sex,
       'day ' || (id // {a_day}) AS day
FROM (SELECT range AS id, (hash(range) >> 1)::BIGINT AS h FROM range({first}, {last}))
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


def main() -> None:
    """Print the comparison; each number of classes in a process of its own."""
    if len(sys.argv) > 2:
        _print(int(sys.argv[2]))
        return
    import subprocess

    print(f"**{ROWS:,} rows in DuckDB, three quasi-identifiers, then 1 % more.** Once each, the store on SQLite.\n")
    for classes in CLASSES:
        command = [sys.executable, "-m", "benchmarks.incremental_risk", "classes", str(classes)]
        subprocess.run(command, check=True)  # noqa: S603 - this file
        print()


def _print(classes: int) -> None:
    rows = []
    for mode, incremental in {"everything each time": None, **MODES}.items():
        if mode == "partition" and classes > MOST_WITH_PARTITIONS:
            continue
        with tempfile.TemporaryDirectory() as folder:
            rows += _play(Path(folder), classes, mode, incremental)
    full = next(row[2] for row in rows if row[0] == "everything each time" and row[1] == "1 % more")
    told = [(*row[:2], f"{row[2].wall:.2f}", f"{row[2].cpu:.2f}", f"{row[2].wall / full.wall:.1%}") for row in rows]
    print(f"About {classes:,} classes; peak memory {peak_mb():,.0f} MB:\n")
    print(table(("counts", "run", "wall s", "cpu s", "of everything each time"), told))


def _play(folder: Path, classes: int, mode: str, incremental: str | None) -> list[tuple[str, str, Cost]]:
    """Give what the runs cost: the first, one after 1 % of new rows, one after nothing."""
    config = folder / "tablewatch.yaml"
    kept = "" if incremental is None else f", incremental: {incremental}"
    config.write_text(CONFIG.format(folder=folder, incremental=kept), encoding="utf-8")
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE people (id BIGINT, born BIGINT, postcode TEXT, sex TEXT, day TEXT)")
    _grow(folder, classes, 0, ROWS)
    clock = SimulatedClock(NOW)
    project = Project(load(config), clock)
    found = []
    with project.open_store() as store:

        def run() -> None:
            report = look(project, select([], project.config), store=store)
            if report.summary["unknown"]:
                raise RuntimeError(str(report.results[0].outcome.message))

        for name, before in _runs(folder, classes):
            before()
            found.append((mode, name, measure(run)))
    return found


def _runs(folder: Path, classes: int) -> list[tuple[str, Callable[[], object]]]:
    more = ROWS // 100
    return [
        ("first", lambda: None),
        ("1 % more", lambda: _grow(folder, classes, ROWS, ROWS + more)),
        ("nothing new", lambda: None),
    ]


def _grow(folder: Path, classes: int, first: int, last: int) -> None:
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute(MAKE.format(postcodes=classes // 200, a_day=ROWS // 20, first=first, last=last))


if __name__ == "__main__":
    main()
