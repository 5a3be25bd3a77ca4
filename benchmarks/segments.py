"""Five checks in each of 50 segments of a 10-million-row Parquet table, next to the same in DuckDB by hand.

Also the same checks by a column of ten million values: what is bounded then, and what is not.
"""

import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from benchmarks._measure import Cost, measure, median, peak_mb, table
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.scan.results import targets_of
from monitor.scan.run import Engine

ROWS = 10_000_000
SEGMENTS = 50
NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
CHECKS = """
      - {type: not_null, columns: [customer], by: BY}
      - {type: volume, min: 1, by: BY}
      - {type: freshness, column: loaded_at, max_age: 400d, by: BY}
      - {type: metric, column: amount, aggregate: mean, min: 0, by: BY}
      - {type: range, column: amount, min: 0, by: BY}"""
MAKE = f"""
COPY (
  SELECT range AS id, (range * 7919) % 1000003 AS customer, (range % 9973) / 7.0 AS amount,
         'country ' || range % {SEGMENTS} AS country,
         TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (range % 86400) SECOND AS loaded_at
  FROM range({ROWS})
) TO '{{file}}' (FORMAT parquet)
"""
BY_HAND = """
SELECT %s, count(*), count(customer), max(loaded_at) FILTER (loaded_at <= TIMESTAMPTZ '2026-11-16 09:05:00+00'),
       count(*) FILTER (loaded_at > TIMESTAMPTZ '2026-11-16 09:05:00+00'), avg(amount), count(*) FILTER (amount < 0)
FROM '%s' GROUP BY 1 ORDER BY 2 DESC LIMIT 10001
"""


def main() -> None:
    """Print the comparison; each contender runs in a process of its own."""
    if len(sys.argv) > 2:
        _, _, contender, column, folder = sys.argv
        CONTENDERS[contender](column, Path(folder))
        return
    with tempfile.TemporaryDirectory() as folder:
        duckdb.execute(MAKE.replace("{file}", str(Path(folder) / "big.parquet")))
        rows = [_in_process(name, column, folder) for column in ("country", "id") for name in CONTENDERS]
    print(f"**{ROWS:,} rows in Parquet x 5 checks in segments.** Median of 3 runs after the first.\n")
    print(table(("work", "wall s", "cpu s", "peak memory MB"), rows))


def _in_process(name: str, column: str, folder: str) -> list[str]:
    command = [sys.executable, "-c", "from benchmarks.segments import main; main()"]
    done = subprocess.run([*command, "segments", name, column, folder], check=True, capture_output=True, text=True)
    return done.stdout.strip().split("\t")


def _tablewatch(column: str, folder: Path) -> None:
    config = folder / "tablewatch.yaml"
    checks = CHECKS.replace("BY", column)
    config.write_text(
        f"version: 1\nproject: bench\nstorage: {{url: 'sqlite:///{folder}/{column}.db'}}\n"
        f"sources:\n  s: {{files: '*.parquet'}}\ntables:\n  - name: big\n    source: s\n    checks:{checks}\n",
        encoding="utf-8",
    )
    clock = SimulatedClock(NOW)
    project = Project(load(config), clock)
    targets = targets_of(project, ["big"])
    with project.open_store() as store:
        engine = Engine(clock, store, project.policy_of, key=project.signature_key)

        def cycle() -> None:
            clock.advance(timedelta(minutes=1))
            results = engine.run(targets)
            expected = "pass" if column == "country" else "unknown"
            if any(result.outcome.status != expected for result in results):
                raise RuntimeError(f"{results[0].check_id}: {results[0].outcome.message}")

        _print(f"tablewatch, by {column}, with store", cycle)


def _hand_written(column: str, folder: Path) -> None:
    duckdb.sql("SET enable_progress_bar = false")

    def one() -> None:
        duckdb.sql(BY_HAND % (column, folder / "big.parquet")).fetchall()

    _print(f"DuckDB by hand: one GROUP BY {column}", one)


def _print(name: str, work: Any) -> None:
    work()
    cost: Cost = median([measure(work) for _ in range(3)])
    print(f"{name}\t{cost.wall:.2f}\t{cost.cpu:.2f}\t{peak_mb():.0f}")


CONTENDERS = {"tablewatch": _tablewatch, "hand": _hand_written}

if __name__ == "__main__":
    main()
