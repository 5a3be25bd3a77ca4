"""1000 small SQLite tables x 5 checks: cycles of the engine with its store, the command, and Great Expectations."""

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks._measure import Cost, measure, measure_command, median, memory_mb, table
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.scan.results import targets_of
from monitor.scan.run import Engine

TABLES, ROWS, CYCLES, GX_TABLES = 1000, 100, 20, 1000
NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
CHECKS = """
      - {type: primary_key, columns: [id]}
      - {type: not_null, columns: [customer, amount]}
      - {type: freshness, column: loaded_at, max_age: 26h}
      - {type: volume, min: 1, max: 1000000}
      - {type: range, column: amount, min: 0}"""


def main() -> None:
    """Print the comparison."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "source.db"
        build(database)
        first, later, statements, memory = _tablewatch(Path(folder), database)
        commands = _commands(Path(folder))
        gx = _great_expectations(database)
    later_cycles = f"tablewatch, later cycles (median of {CYCLES - 1})"
    rows = [
        ("tablewatch, first cycle (plans and compiles)", f"{first.wall:.2f}", f"{first.cpu:.2f}", "", ""),
        (later_cycles, f"{later.wall:.2f}", f"{later.cpu:.2f}", statements, memory),
        *((f"`tablewatch check`, {name}", f"{cost.wall:.2f}", f"{cost.cpu:.2f}", "", "") for name, cost in commands),
        *((f"Great Expectations, {name}", f"{cost.wall:.1f}", f"{cost.cpu:.1f}", "", "") for name, cost in gx.items()),
    ]
    print(f"**{TABLES} SQLite tables of {ROWS} rows x 5 checks, one process.** Ours also judges, decides and stores.\n")
    print(table(("work", "wall s", "cpu s", "statements per table", "memory MB after cycles 2, 10, 20"), rows))
    ratio = gx["second cycle"].cpu / later.cpu
    print(f"\nA later cycle of Great Expectations takes {ratio:.0f} times its processor time.")
    print(f"The command, run again, takes {commands[-1][1].cpu / later.cpu:.1f} times that of a later cycle.")


def build(database: Path, now: datetime = NOW) -> None:
    """Make the tables, loaded three hours before `now`."""
    loaded = (now - timedelta(hours=3)).strftime("%Y-%m-%d %H:%M:%S")
    with sqlite3.connect(database) as source:
        for number in range(TABLES):
            source.execute(f"CREATE TABLE t{number:04} (id INTEGER, customer TEXT, amount REAL, loaded_at TEXT)")
            rows = [(row, f"c{row % 17}", row * 1.5, loaded) for row in range(ROWS)]
            source.executemany(f"INSERT INTO t{number:04} VALUES (?, ?, ?, ?)", rows)


def config(folder: Path, database: Path) -> str:
    """Return a configuration that watches them."""
    lines = [
        f"version: 1\nproject: bench\nstorage: {{url: 'sqlite:///{folder}/store.db'}}",
        f"sources:\n  s: {{url: 'sqlite:///{database}', timezone: UTC}}\ntables:",
    ]
    lines += [
        f"  - name: t{number:04}\n    source: s\n    schedule: every 1h\n    checks:{CHECKS}"
        for number in range(TABLES)
    ]
    return "\n".join(lines)


def _tablewatch(folder: Path, database: Path) -> tuple[Cost, Cost, str, str]:
    file = folder / "tablewatch.yaml"
    file.write_text(config(folder, database), encoding="utf-8")
    clock = SimulatedClock(NOW)
    project = Project(load(file), clock)
    targets = targets_of(project, [table.name for table in project.config.tables])
    costs, memories, counted = [], [], Counter[str]()
    with project.open_store(alone=True) as store, _counted_fetches(counted):
        engine = Engine(clock, store, project.policy_of)
        for cycle in range(1, CYCLES + 1):
            counted.clear()
            costs.append(measure(lambda: engine.run(targets)))
            clock.advance(timedelta(minutes=1))
            if cycle in {2, 10, CYCLES}:
                memories.append(f"{memory_mb():.0f}")
    return costs[0], median(costs[1:]), f"{counted['fetch'] / TABLES:g}", ", ".join(memories)


def _commands(folder: Path) -> list[tuple[str, Cost]]:
    """Measure the command as a process of its own, with a store that does not exist, and again."""
    home = folder / "command"
    home.mkdir()
    build(home / "source.db", datetime.now(UTC))
    (home / "tablewatch.yaml").write_text(config(home, home / "source.db"), encoding="utf-8")
    check = [sys.executable, "-m", "monitor", "check", "-c", str(home)]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([*check[:-3], "--help"], env=environment, check=True, capture_output=True)
    return [(name, measure_command(check, environment)) for name in ("for the first time", "again")]


class _counted_fetches:  # noqa: N801 - reads as a word in a `with`
    def __init__(self, counted: Counter[str]) -> None:
        from sources._engine import EngineSource

        self._kind: Any = EngineSource
        self._fetch = EngineSource.fetch
        self._counted = counted

    def __enter__(self) -> None:
        counted, fetch = self._counted, self._fetch

        def counting(source: Any, sql: str) -> Any:
            counted["fetch"] += 1
            return fetch(source, sql)

        self._kind.fetch = counting

    def __exit__(self, *_: object) -> None:
        self._kind.fetch = self._fetch


def _great_expectations(database: Path) -> dict[str, Cost]:
    import great_expectations as gx

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    source = context.data_sources.add_sqlite("s", connection_string=f"sqlite:///{database}")
    expect = gx.expectations
    checks = [
        expect.ExpectCompoundColumnsToBeUnique(column_list=["id", "customer"]),
        expect.ExpectColumnValuesToNotBeNull(column="customer"),
        expect.ExpectColumnValuesToNotBeNull(column="amount"),
        expect.ExpectTableRowCountToBeBetween(min_value=1, max_value=1000000),
        expect.ExpectColumnMinToBeBetween(column="amount", min_value=0),
    ]
    batches: list[Any] = []

    def register() -> None:
        for number in range(GX_TABLES):
            name = f"t{number:04}"
            batches.append(
                source.add_table_asset(name, table_name=name).add_batch_definition_whole_table("all").get_batch()
            )

    def validate() -> None:
        for batch in batches:
            suite = gx.ExpectationSuite(name="s", expectations=checks)
            batch.validate(suite, result_format="BOOLEAN_ONLY")

    return {
        "registering the tables": measure(register),
        "first cycle": measure(validate),
        "second cycle": measure(validate),
    }


if __name__ == "__main__":
    main()
