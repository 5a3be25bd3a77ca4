"""A 10-million-row Parquet table x 12 checks: one scan and one GROUP BY per key, next to what else one could use.

Also checks that cost much, alone, and what a sample or the catalogue in their place costs.
"""

import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from functools import partial
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
NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
CHECKS = """
      - {type: primary_key, columns: [id]}
      - {type: not_null, columns: [customer, amount, country, kind, loaded_at]}
      - {type: freshness, column: loaded_at, max_age: 400d}
      - {type: volume, min: 1}
      - {id: amount, type: range, column: amount, min: 0}
      - {id: quantity, type: range, column: quantity, min: 1, max: 10}
      - {id: kinds, type: accepted_values, column: kind, values: [a, b, c, d]}
      - {id: countries, type: accepted_values, column: country, values: [JP, US, DE, FR, GB]}
      - {id: total, type: metric, column: amount, aggregate: sum, min: 0}
      - {id: mean, type: metric, column: amount, aggregate: mean, min: 0}
      - {type: schema, columns: {id: int64, customer: int64, amount: float64}, extra: allow}
      - {type: sql, query: "select * from big where amount < 0"}"""
PATTERN = """
      - {type: pattern, column: country, pattern: "[A-Z]{2}", max_ratio: 0.01SAMPLE}"""
FRESHNESS = """
      - {type: freshness, column: loaded_at, max_age: 400dTIME}"""
MAKE = f"""
COPY (
  SELECT range AS id, (range * 7919) % 1000003 AS customer, (range % 9973) / 7.0 AS amount, 1 + range % 10 AS quantity,
         ['JP', 'US', 'DE', 'FR', 'GB'][1 + range % 5] AS country, ['a', 'b', 'c', 'd'][1 + range % 4] AS kind,
         TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (range // 40) SECOND AS loaded_at
  FROM range({ROWS})
) TO '{{file}}' (FORMAT parquet)
"""
AGGREGATES = """
SELECT count(*), count(customer), count(amount), count(country), count(kind), count(loaded_at), max(loaded_at),
       sum(amount), avg(amount), count(*) FILTER (amount < 0), count(*) FILTER (quantity NOT BETWEEN 1 AND 10),
       count(*) FILTER (kind NOT IN ('a', 'b', 'c', 'd')),
       count(*) FILTER (country NOT IN ('JP', 'US', 'DE', 'FR', 'GB'))
FROM '%s'
"""
ADDS_UP = "\n" + "\n".join(CHECKS.splitlines()[2:9])
"""The checks that add up over rows."""
INCREMENTAL = "\n    incremental: {column: loaded_at, lookback: 1h}"
DUPLICATES = "SELECT count(*), sum(n) FROM (SELECT count(*) n FROM '%s' GROUP BY id HAVING n > 1)"


def main() -> None:
    """Print the comparison; each contender runs in a process of its own."""
    if len(sys.argv) > 2:
        CONTENDERS[sys.argv[2]](Path(sys.argv[3]))
        return
    with tempfile.TemporaryDirectory() as folder:
        duckdb.execute(MAKE.replace("{file}", str(Path(folder) / "big.parquet")))
        rows = [_in_process(name, folder) for name in CONTENDERS]
    print(f"**{ROWS:,} rows in Parquet x 12 checks.** Median of 3 runs after the first.\n")
    print(table(("work", "wall s", "cpu s", "peak memory MB"), rows))


def _in_process(name: str, folder: str) -> list[str]:
    command = [sys.executable, "-c", "from benchmarks.one_big_table import main; main()"]
    done = subprocess.run([*command, "one_big_table", name, folder], check=True, capture_output=True, text=True)
    return done.stdout.strip().split("\t")


def _tablewatch(folder: Path, *, checks: str = CHECKS, work: str = "12 checks", reading: str = "") -> None:
    config = folder / "tablewatch.yaml"
    config.write_text(
        f"version: 1\nproject: bench\nstorage: {{url: 'sqlite:///{folder}/store.db'}}\n"
        f"sources:\n  s: {{files: '*.parquet'}}\ntables:\n  - name: big\n    source: s{reading}\n    checks:{checks}\n",
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
            unknown = [result for result in results if result.outcome.status not in {"pass", "fail"}]
            if unknown:
                raise RuntimeError(f"{unknown[0].check_id}: {unknown[0].outcome.message}")

        _print(f"tablewatch, {work} with store", cycle)


def _hand_written(folder: Path) -> None:
    file = folder / "big.parquet"

    duckdb.sql("SET enable_progress_bar = false")

    def both() -> None:
        duckdb.sql(AGGREGATES % file).fetchall()
        duckdb.sql(DUPLICATES % file).fetchall()

    _print("DuckDB by hand: one aggregate, one GROUP BY", both)


def _new_rows(folder: Path) -> None:
    file, name = folder / "big.parquet", "DuckDB by hand: the aggregate of the rows of the last hour"
    duckdb.sql("SET enable_progress_bar = false")
    statement = AGGREGATES % file + "WHERE loaded_at >= TIMESTAMPTZ '2026-01-03 20:26:39+00' OR loaded_at IS NULL"
    _print(name, lambda: duckdb.sql(statement).fetchall())


def _great_expectations(folder: Path) -> None:
    import great_expectations as gx
    import pandas as pd

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    definition = (
        context.data_sources.add_pandas("p").add_dataframe_asset("big").add_batch_definition_whole_dataframe("all")
    )
    expect: Any = gx.expectations
    columns = ("customer", "amount", "country", "kind", "loaded_at")
    suite = gx.ExpectationSuite(
        name="s",
        expectations=[
            expect.ExpectColumnValuesToBeUnique(column="id"),
            *(expect.ExpectColumnValuesToNotBeNull(column=column) for column in columns),
            expect.ExpectTableRowCountToBeBetween(min_value=1),
            expect.ExpectColumnValuesToBeBetween(column="amount", min_value=0),
            expect.ExpectColumnValuesToBeBetween(column="quantity", min_value=1, max_value=10),
            expect.ExpectColumnValuesToBeInSet(column="kind", value_set=["a", "b", "c", "d"]),
            expect.ExpectColumnValuesToBeInSet(column="country", value_set=["JP", "US", "DE", "FR", "GB"]),
            expect.ExpectColumnSumToBeBetween(column="amount", min_value=0),
            expect.ExpectColumnMeanToBeBetween(column="amount", min_value=0),
        ],
    )

    def validate() -> None:
        frame = pd.read_parquet(folder / "big.parquet")
        definition.get_batch({"dataframe": frame}).validate(suite, result_format="BOOLEAN_ONLY")

    _print("Great Expectations Batch.validate on a pandas frame", validate)


def _print(name: str, work: Any) -> None:
    work()
    cost: Cost = median([measure(work) for _ in range(3)])
    print(f"{name}\t{cost.wall:.2f}\t{cost.cpu:.2f}\t{peak_mb():.0f}")


CONTENDERS = {
    "tablewatch": _tablewatch,
    "hand": _hand_written,
    "gx": _great_expectations,
    "pattern": partial(_tablewatch, checks=PATTERN.replace("SAMPLE", ""), work="a pattern"),
    "sample": partial(
        _tablewatch, checks=PATTERN.replace("SAMPLE", ", sample: {share: 0.01}"), work="a pattern of a sample of 1 %"
    ),
    "freshness": partial(_tablewatch, checks=FRESHNESS.replace("TIME", ""), work="freshness"),
    "footer": partial(
        _tablewatch, checks=FRESHNESS.replace("TIME", ", time: catalogue"), work="freshness from the footer"
    ),
    "whole": partial(_tablewatch, checks=ADDS_UP, work="the 7 checks that add up, all rows,"),
    "incremental": partial(_tablewatch, checks=ADDS_UP, reading=INCREMENTAL, work="the same with incremental,"),
    "new rows": _new_rows,
}

if __name__ == "__main__":
    main()
