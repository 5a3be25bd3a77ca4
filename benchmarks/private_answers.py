"""Noisy answers about 10 million rows: what declared cells, limits and a cut by unit cost beside a GROUP BY by hand.

`python -m benchmarks private_answers [rows]`. Each contender runs in a process of its own, on one Parquet file; medians
of three runs after one to warm up. The ledger is measured by itself: charges a second, each on the disk.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Final

import duckdb

from benchmarks._measure import Cost, measure, median, peak_mb, table

ROWS = 10_000_000
RUNS = 3
CHARGES = 300
MAKE = """
COPY (
  SELECT range // 3 AS person, ['F', 'M', NULL][1 + range % 3] AS sex, 18 + range % 70 AS age,
         (range % 9973) / 7.0 AS amount
  FROM range({rows})
) TO '{file}' (FORMAT parquet)
"""
CONFIG = """
version: 1
project: bench
storage: {{url: "sqlite:///{folder}/store.db"}}
sources: {{s: {{files: "*.parquet", query_timeout: 10m}}}}
tables: [{{name: data, source: s}}]
budgets:
  data:
    unit: {unit}
    rows_per_unit: {rows}
    total: 1000
    domain:
      sex: [F, M]
      age: {{range: [18, 87], width: 10}}
      amount: {{low: 0, high: 1000, grid: 0.01}}
"""
BY_HAND: Final[Mapping[str, str]] = {
    "histogram by sex, age": "SELECT sex, age // 10, count(*) FROM '{file}' GROUP BY ALL",
    "sum of amount by sex": "SELECT sex, sum(amount) FROM '{file}' GROUP BY ALL",
}


def main() -> None:
    """Print the comparison."""
    if len(sys.argv) > 3:
        CONTENDERS[sys.argv[2]](Path(sys.argv[3]), *sys.argv[4:])
        return
    rows = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[1] == "private_answers" else ROWS
    with tempfile.TemporaryDirectory() as folder:
        duckdb.execute(MAKE.format(rows=rows, file=Path(folder) / "data.parquet"))
        found = []
        for asked in BY_HAND:
            found.append((asked, "DuckDB by hand", *_in_process("by_hand", folder, asked)))
            found.append((asked, "answer, a row is a unit", *_in_process("answered", folder, asked, "row", "1")))
            found.append((asked, "answer, 2 rows a person", *_in_process("answered", folder, asked, "person", "2")))
        print(f"**{rows:,} rows in Parquet**, medians of {RUNS} runs after the first.\n")
        print(table(("asked", "by", "wall s", "cpu s", "peak memory MB"), found))
        print(f"\nThe ledger: {_in_process('charged', folder)[0]} charges a second, one process, SQLite, on the disk.")


def _in_process(name: str, *words: str) -> list[str]:
    command = [sys.executable, "-c", "from benchmarks.private_answers import main; main()", "private_answers", name]
    done = subprocess.run([*command, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip().split("\t")


def _by_hand(folder: Path, asked: str) -> None:
    query = BY_HAND[asked].format(file=folder / "data.parquet")
    connection = duckdb.connect()
    _report(lambda: connection.execute(query).fetchall())


def _answered(folder: Path, asked: str, unit: str, rows: str) -> None:
    from monitor.answers.ask import AnswerService
    from monitor.answers.data_set import DataSet
    from remedies.differential_privacy.answers import STATISTICS, Statistic

    by_sum = asked.startswith("sum")
    words = {"statistic": "sum", "column": "amount", "by": ["sex"]} if by_sum else {"by": ["sex", "age"]}
    statistic: Statistic = STATISTICS["sum" if by_sum else "histogram"].model_validate({**words, "epsilon": "0.1"})
    project, store = _project(folder, unit, rows)
    with store:
        data_set = DataSet.of(project, "data")
        ledger = project.ledger(store)
        ledger.create(data_set.budget, actor="bench", now=project.clock.now())
        teller = AnswerService(ledger, project.clock, "bench")
        _report(lambda: teller.answer(data_set, statistic))


def _charged(folder: Path) -> None:
    from remedies.differential_privacy.ledger import Charge

    project, store = _project(folder, "row", "1")
    with store:
        budget = project.config.budgets["data"].in_ledger("charges")
        ledger, now = project.ledger(store), project.clock.now()
        ledger.create(budget, actor="bench", now=now)
        begun = perf_counter()
        for number in range(CHARGES):
            names = budget.data_set, budget.unit, str(number), budget.accounting, budget.adjacency
            ledger.reserve(Charge(*names, nano=1, request={"statistic": "count"}), actor="bench", now=now)
        print(f"{CHARGES / (perf_counter() - begun):.0f}")


def _project(folder: Path, unit: str, rows: str):  # type: ignore[no-untyped-def] # noqa: ANN202 - types of two packages
    from monitor.config import load
    from monitor.config.project import Project

    config = folder / "tablewatch.yaml"
    for old in folder.glob("store.db*"):
        old.unlink()
    config.write_text(CONFIG.format(folder=folder, unit=unit, rows=rows), encoding="utf-8")
    project = Project(load(config))
    return project, project.open_store()


def _report(work: Callable[[], object]) -> None:
    work()
    cost: Cost = median([measure(work) for _ in range(RUNS)])
    print(f"{cost.wall:.2f}\t{cost.cpu:.2f}\t{peak_mb():.0f}")


CONTENDERS: Final[Mapping[str, Callable[..., None]]] = {
    "by_hand": _by_hand,
    "answered": _answered,
    "charged": _charged,
}

if __name__ == "__main__":
    main()
