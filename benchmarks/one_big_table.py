"""A 10-million-row Parquet table x 12 checks: one scan and one GROUP BY per key, next to what else one could use.

Of more rows (`--rows 100000000`) all checks and the statements by hand only. Tablewatch and the statements by hand have
the same limit of memory, that of a source by default, and spill to disk what does not fit. Also checks that cost much,
alone, and what a sample, the catalogue, or reading new rows only in their place costs.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from os import getloadavg
from pathlib import Path
from typing import Any

import duckdb

from benchmarks._measure import measure, median, peak_mb, table
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.scan.results import targets_of
from monitor.scan.run import Engine
from sources import SourceSpec

Contender = tuple[str, Callable[[], object]]

ROWS = 10_000_000
MEMORY = SourceSpec(name="", base=Path(), files="*").memory_limit
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
NO_ROW = """
      - {type: volume, min: 0, on_empty: pass, where: "amount > 1425"}"""
"""A comparison that the footer denies for all rows but those with NaN, which it leaves out."""
MAKE = """
COPY (
  SELECT range AS id, (range * 7919) % 1000003 AS customer, (range % 9973) / 7.0 AS amount, 1 + range % 10 AS quantity,
         ['JP', 'US', 'DE', 'FR', 'GB'][1 + range % 5] AS country, ['a', 'b', 'c', 'd'][1 + range % 4] AS kind,
         TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (range // 40) SECOND AS loaded_at
  FROM range({rows})
) TO '{file}' (FORMAT parquet)
"""
AGGREGATES = """
SELECT count(*), count(customer), count(amount), count(country), count(kind), count(loaded_at), max(loaded_at),
       sum(amount), avg(amount), count(*) FILTER (amount < 0), count(*) FILTER (quantity NOT BETWEEN 1 AND 10),
       count(*) FILTER (kind NOT IN ('a', 'b', 'c', 'd')),
       count(*) FILTER (country NOT IN ('JP', 'US', 'DE', 'FR', 'GB'))
FROM '%s'
"""
DUPLICATES = "SELECT count(*), sum(n) FROM (SELECT count(*) n FROM '%s' GROUP BY id HAVING n > 1)"

ADDS_UP = "\n" + "\n".join(CHECKS.splitlines()[2:9])
"""The checks that add up over rows."""
INCREMENTAL = "\n    incremental: {column: loaded_at, lookback: 1h}"


def main() -> None:
    """Print the comparison; each contender runs in a process of its own."""
    parser = argparse.ArgumentParser(prog="benchmarks one_big_table")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--contender")
    parser.add_argument("--once", action="store_true", help="measure the first run, and no other")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(sys.argv[2:])
    if options.contender is not None:
        _print(*CONTENDERS[options.contender](options.folder), once=options.once)
        return
    names = [name for name in CONTENDERS if options.rows <= ROWS or name in {"tablewatch", "hand"}]
    with tempfile.TemporaryDirectory() as folder:
        duckdb.execute(MAKE.format(rows=options.rows, file=Path(folder) / "big.parquet"))
        before = getloadavg()[0]
        rows = [_in_process(name, folder, once=options.once) for name in names]
    runs = "Once each" if options.once else "Median of 3 runs after the first"
    print(f"**{options.rows:,} rows in Parquet x 12 checks.** {runs}.")
    print(f"Load {before:.1f} before, {getloadavg()[0]:.1f} after.\n")
    print(table(("work", "wall s", "cpu s", "peak memory MB"), rows))


def _in_process(name: str, folder: str, *, once: bool) -> list[str]:
    command = [sys.executable, "-m", "benchmarks", "one_big_table", "--contender", name, "--folder", folder]
    command += ["--once"] if once else []
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip().split("\t")


def _tablewatch(folder: Path, *, checks: str = CHECKS, work: str = "12 checks", reading: str = "") -> Contender:
    config = folder / "tablewatch.yaml"
    config.write_text(
        f"version: 1\nproject: bench\nstorage: {{url: 'sqlite:///{folder}/store.db'}}\n"
        f"sources:\n  s: {{files: '*.parquet', query_timeout: 1h, run_timeout: 2h}}\n"
        f"tables:\n  - name: big\n    source: s{reading}\n    checks:{checks}\n",
        encoding="utf-8",
    )
    clock = SimulatedClock(NOW)
    project = Project(load(config), clock)
    targets = targets_of(project, ["big"])
    engine = Engine(clock, project.open_store(), project.policy_of, key=project.signature_key)

    def cycle() -> None:
        clock.advance(timedelta(minutes=1))
        results = engine.run(targets)
        unknown = [result for result in results if result.outcome.status not in {"pass", "fail"}]
        if unknown:
            raise RuntimeError(f"{unknown[0].check_id}: {unknown[0].outcome.message}")

    return f"tablewatch, {work} with store", cycle


def _hand_written(folder: Path) -> Contender:
    file = folder / "big.parquet"

    engine = duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": str(folder)})
    engine.execute("SET enable_progress_bar = false")

    def both() -> None:
        engine.execute(AGGREGATES % file).fetchall()
        engine.execute(DUPLICATES % file).fetchall()

    return "DuckDB by hand: one aggregate, one GROUP BY", both


def _new_rows(folder: Path) -> Contender:
    file, name = folder / "big.parquet", "DuckDB by hand: the aggregate of the rows of the last hour"
    duckdb.sql("SET enable_progress_bar = false")
    statement = AGGREGATES % file + "WHERE loaded_at >= TIMESTAMPTZ '2026-01-03 20:26:39+00' OR loaded_at IS NULL"
    return name, lambda: duckdb.sql(statement).fetchall()


def _great_expectations(folder: Path) -> Contender:
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

    return "Great Expectations Batch.validate on a pandas frame", validate


def _print(name: str, work: Callable[[], object], *, once: bool) -> None:
    first = measure(work)
    cost = first if once else median([measure(work) for _ in range(3)])
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
    "no row": partial(_tablewatch, checks=NO_ROW, work="a condition on a float that no row meets"),
    "whole": partial(_tablewatch, checks=ADDS_UP, work="the 7 checks that add up, all rows,"),
    "incremental": partial(_tablewatch, checks=ADDS_UP, reading=INCREMENTAL, work="the same with incremental,"),
    "new rows": _new_rows,
}

if __name__ == "__main__":
    main()
