"""Eight checks of a table of 15 million rows in Spark, next to the same by hand in three statements of Spark SQL.

The table is Adult (30,162 records) 500 times, with a key of its own, in Parquet; both sides use a session `local[2]`.
Needs the extra `[spark]`, Java, and the reference data beside the repository. Processor time is that of Python and of
the JVM.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import duckdb

from benchmarks._measure import table
from benchmarks.generalisation import ADULT
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.scan.results import targets_of
from monitor.scan.run import Engine

TIMES = 500
NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
QUASI_IDENTIFIERS = ("sex", "age", "race", "education", "native-country", "workclass", "occupation")
CHECKS = f"""
      - {{type: primary_key, columns: [id]}}
      - {{type: not_null, columns: [sex, age, occupation]}}
      - {{type: volume, min: 1000000}}
      - {{type: range, column: age, min: 17, max: 90}}
      - {{type: accepted_values, column: sex, values: [Male, Female]}}
      - {{type: pattern, column: salary-class, pattern: "[<>]=?50K"}}
      - {{type: metric, id: mean-age, column: age, aggregate: mean, min: 30, max: 50}}
      - {{type: k_anonymity, quasi_identifiers: [{", ".join(QUASI_IDENTIFIERS)}], k: 5}}"""
MAKE = f"""
COPY (
  SELECT row_number() OVER () AS id, people.*
  FROM read_csv('{{csv}}', delim = ';', types = {{{{'age': 'INTEGER'}}}}) AS people, range({TIMES})
) TO '{{file}}' (FORMAT parquet)
"""
GROUP = ", ".join(f"`{name}`" for name in QUASI_IDENTIFIERS)
BY_HAND = (
    """
SELECT count(*), count(sex), count(age), count(occupation), avg(age),
       count_if(NOT age BETWEEN 17 AND 90), count_if(sex NOT IN ('Male', 'Female')),
       count_if(NOT `salary-class` RLIKE '^([<>]=?50K)$')
FROM people
""",
    "SELECT count(*), sum(n) FROM (SELECT count(*) AS n FROM people GROUP BY id HAVING count(*) > 1)",
    f"""
SELECT min(n), count_if(n < 5), sum(CASE WHEN n < 5 THEN n END)
FROM (SELECT count(*) AS n FROM people GROUP BY {GROUP})
""",
)


def main() -> None:
    """Print the comparison; each contender runs in a process of its own."""
    if len(sys.argv) > 2:
        CONTENDERS[sys.argv[2]](Path(sys.argv[3]))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.parquet"
        duckdb.execute(MAKE.format(csv=ADULT / "adult.csv", file=file))
        rows = duckdb.sql(f"SELECT count(*) FROM '{file}'").fetchall()[0][0]
        results = [_in_process(name, folder) for name in CONTENDERS]
    print(f"**{rows:,} rows of Adult in Parquet, 8 checks, Spark `local[2]`.** The second of two runs in a session.\n")
    print(table(("work", "wall s", "cpu s"), results))


def _in_process(name: str, folder: str) -> list[str]:
    command = [sys.executable, "-c", "from benchmarks.spark_table import main; main()", "spark_table", name, folder]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip().splitlines()[-1].split("\t")


def _session(folder: Path) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.memory", "4g").config("spark.sql.warehouse.dir", str(folder)).getOrCreate()
    session.sql(f"CREATE TABLE people USING parquet LOCATION '{folder}/people.parquet'")
    return session


def _tablewatch(folder: Path) -> None:
    session = _session(folder)
    (folder / "tablewatch.yaml").write_text(
        f"version: 1\nproject: bench\nstorage: {{url: 'sqlite:///{folder}/store.db'}}\n"
        "sources: {s: {spark: 'local[2]', query_timeout: 30m}}\n"
        f"tables:\n  - name: people\n    source: s\n    checks:{CHECKS}\n",
        encoding="utf-8",
    )
    clock = SimulatedClock(NOW)
    project = Project(load(folder / "tablewatch.yaml"), clock)
    targets = targets_of(project, ["people"])
    with project.open_store() as store:
        engine = Engine(clock, store, project.policy_of, key=project.signature_key)

        def cycle() -> None:
            clock.advance(timedelta(minutes=1))
            for result in engine.run(targets):
                if result.outcome.status != "pass":
                    raise RuntimeError(f"{result.check_id}: {result.outcome.message}")

        _print("tablewatch, 8 checks with store", cycle, session)


def _hand_written(folder: Path) -> None:
    session = _session(folder)

    def one() -> None:
        for statement in BY_HAND:
            session.sql(statement).collect()

    _print("Spark SQL by hand: one aggregate, two GROUP BY", one, session)


def _print(name: str, work: Callable[[], None], session: Any) -> None:
    jvm = session.sparkContext._gateway.proc.pid  # noqa: SLF001 - Spark does not tell it otherwise
    work()
    wall, cpu = perf_counter(), process_time() + _cpu_of(jvm)
    work()
    print(f"{name}\t{perf_counter() - wall:.1f}\t{process_time() + _cpu_of(jvm) - cpu:.1f}")


def _cpu_of(pid: int) -> float:
    """Return the processor seconds of a process and of those that it started, which still run (Linux)."""
    used: dict[int, tuple[int, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            cells = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        used[int(folder.name)] = int(cells[1]), int(cells[11]) + int(cells[12])
    family, size = {pid}, 0
    while len(family) > size:
        size = len(family)
        family |= {child for child, (parent, _) in used.items() if parent in family}
    return sum(used[member][1] for member in family if member in used) / os.sysconf("SC_CLK_TCK")


CONTENDERS = {"tablewatch": _tablewatch, "hand": _hand_written}

if __name__ == "__main__":
    main()
