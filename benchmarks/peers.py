"""The same checks by several tools on the same Parquet file with planted faults, each a command started from nothing.

`BENCH_SODA` names a Python with soda-duckdb, `BENCH_DBT` a dbt with dbt-duckdb, both with the version of DuckDB that is
used here; without one of them its row is left out. `--rows 1000000`. Each tool has to find the planted faults, and
nothing else.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

import duckdb
import yaml

from benchmarks._measure import table
from benchmarks.one_big_table import MAKE, ROWS

NULLS = ("customer", "amount", "country", "kind", "loaded_at")
LISTS = {"kinds": ("kind", ["a", "b", "c", "d"]), "countries": ("country", ["JP", "US", "DE", "FR", "GB"])}
PLANTED = {"unique_id", "null_customer", "amount", "kinds", "negative"}
"""The checks that have to fail: an id twice, a customer that is NULL, an amount below 0, a kind that is not listed."""
FAULTY = """
COPY (
  SELECT CASE id WHEN 7 THEN 8 ELSE id END AS id, CASE id WHEN 11 THEN NULL ELSE customer END AS customer,
         CASE id WHEN 13 THEN -1.0 ELSE amount END AS amount, quantity, country,
         CASE id WHEN 17 THEN 'z' ELSE kind END AS kind, loaded_at
  FROM '{plain}'
) TO '{file}' (FORMAT parquet)
"""
_GX = """
import json, sys
import great_expectations as gx, pandas as pd
context = gx.get_context(mode="ephemeral")
context.variables.progress_bars = {"globally": False, "metric_calculations": False}
made = context.data_sources.add_pandas("p").add_dataframe_asset("big").add_batch_definition_whole_dataframe("all")
e, checks = gx.expectations, {}
checks["unique_id"] = e.ExpectColumnValuesToBeUnique(column="id")
for name in NULLS: checks["null_" + name] = e.ExpectColumnValuesToNotBeNull(column=name)
for name, (column, values) in LISTS.items():
    checks[name] = e.ExpectColumnValuesToBeInSet(column=column, value_set=values)
checks["rows"] = e.ExpectTableRowCountToBeBetween(min_value=1)
checks["amount"] = e.ExpectColumnValuesToBeBetween(column="amount", min_value=0)
checks["negative"] = e.ExpectColumnMinToBeBetween(column="amount", min_value=0)
checks["quantity"] = e.ExpectColumnValuesToBeBetween(column="quantity", min_value=1, max_value=10)
checks["total"] = e.ExpectColumnSumToBeBetween(column="amount", min_value=0)
checks["mean"] = e.ExpectColumnMeanToBeBetween(column="amount", min_value=0)
checks["fresh"] = e.ExpectColumnMaxToBeBetween(column="loaded_at", min_value=pd.Timestamp("2025-01-01", tz="UTC"))
for name, check in checks.items(): check.meta = {"name": name}
batch = made.get_batch({"dataframe": pd.read_parquet("big.parquet")})
found = batch.validate(gx.ExpectationSuite(name="s", expectations=list(checks.values())), result_format="BOOLEAN_ONLY")
for result in found.results:
    if result.exception_info.get("raised_exception"): sys.exit("not evaluated: " + str(result.expectation_config.meta))
print(json.dumps([r.expectation_config.meta["name"] for r in found.results if not r.success]))
"""
_SODA = """
import json, sys
from soda_core.common.yaml import ContractYamlSource, DataSourceYamlSource
from soda_core.contracts.contract_verification import ContractVerificationSession
done = ContractVerificationSession.execute(
    [ContractYamlSource.from_file_path("contract.yml")],
    data_source_yaml_sources=[DataSourceYamlSource.from_file_path("source.yml")],
)
checks = [check for result in done.contract_verification_results for check in result.check_results]
failed = [check.check.name for check in checks if check.outcome.name == "FAILED"]
other = [check.check.name for check in checks if check.outcome.name not in {"FAILED", "PASSED"}]
if other or len(checks) != EXPECTED: sys.exit(f"not evaluated: {other}, of {len(checks)}: {done.get_errors_str()}")
print(json.dumps(failed))
"""


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(prog="benchmarks peers")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args(sys.argv[2:])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _build(folder, options.rows)
        before = os.getloadavg()[0]
        contenders = {**_tablewatch(folder), **_great_expectations(folder), **_soda(folder), **_dbt(folder)}
        rows = [(title, *_cost(command, folder, options.runs)) for title, command in contenders.items()]
    print(f"**{options.rows:,} rows in Parquet, {_number_of_checks()} checks, {len(PLANTED)} of which fail.**")
    print(f"Median of {options.runs} runs; load {before:.1f} before, {os.getloadavg()[0]:.1f} after.\n")
    least = min(float(row[2]) for row in rows)
    head = ("command", "wall s", "cpu s", "peak memory MB", "cpu / least")
    print(table(head, [(*row, f"{float(row[2]) / least:.1f}") for row in rows]))


def _number_of_checks() -> int:
    return 1 + len(NULLS) + len(LISTS) + 7


def _build(folder: Path, rows: int) -> None:
    plain = folder / "plain.db.parquet"
    duckdb.execute(MAKE.format(rows=rows, file=plain))
    duckdb.execute(FAULTY.format(plain=plain, file=folder / "big.parquet"))
    plain.unlink()
    with duckdb.connect(str(folder / "peers.duckdb")) as database:
        database.execute(f"CREATE VIEW big AS SELECT * FROM '{folder / 'big.parquet'}'")


def _tablewatch(folder: Path) -> Mapping[str, Sequence[str]]:
    checks = [
        {"id": "unique_id", "type": "primary_key", "columns": ["id"]},
        *({"id": f"null_{name}", "type": "not_null", "columns": [name]} for name in NULLS),
        *({"id": name, "type": "accepted_values", "column": c, "values": v} for name, (c, v) in LISTS.items()),
        {"id": "fresh", "type": "freshness", "column": "loaded_at", "max_age": "3650d"},
        {"id": "rows", "type": "volume", "min": 1},
        {"id": "amount", "type": "range", "column": "amount", "min": 0},
        {"id": "quantity", "type": "range", "column": "quantity", "min": 1, "max": 10},
        {"id": "total", "type": "metric", "column": "amount", "aggregate": "sum", "min": 0},
        {"id": "mean", "type": "metric", "column": "amount", "aggregate": "mean", "min": 0},
        {"id": "negative", "type": "sql", "query": "select * from big where amount < 0"},
    ]
    source = {"files": "big.parquet", "query_timeout": "1h", "run_timeout": "2h"}
    project = {
        "version": 1,
        "project": "peers",
        "storage": {"url": f"sqlite:///{folder}/store.db"},
        "sources": {"s": source},
        "tables": [{"name": "big", "source": "s", "checks": checks}],
    }
    (folder / "tablewatch.yaml").write_text(yaml.safe_dump(project, sort_keys=False), encoding="utf-8")
    return {"tablewatch check, with its store": [sys.executable, "-m", "monitor", "check", "--format", "json"]}


def _great_expectations(folder: Path) -> Mapping[str, Sequence[str]]:
    (folder / "run_gx.py").write_text(f"NULLS, LISTS = {NULLS!r}, {LISTS!r}\n{_GX}", encoding="utf-8")
    return {"Great Expectations, a pandas frame": [sys.executable, "run_gx.py"]}


def _soda(folder: Path) -> Mapping[str, Sequence[str]]:
    python = os.environ.get("BENCH_SODA")
    if python is None:
        return {}
    none = {"must_be": 0}
    columns: dict[str, list[object]] = {"id": [{"duplicate": {"name": "unique_id", "threshold": none}}]}
    for name in NULLS:
        columns.setdefault(name, []).append({"missing": {"name": f"null_{name}", "threshold": none}})
    for name, (column, values) in LISTS.items():
        columns[column].append({"invalid": {"name": name, "valid_values": values, "threshold": none}})
    columns["amount"].append({"invalid": {"name": "amount", "valid_min": 0, "threshold": none}})
    columns["quantity"] = [{"invalid": {"name": "quantity", "valid_min": 1, "valid_max": 10, "threshold": none}}]
    fresh = {"unit": "day", "must_be_less_than": 3650}
    positive = {"must_be_greater_than_or_equal": 0}
    for name, function in (("total", "sum"), ("mean", "avg")):
        columns["amount"].append(
            {"aggregate": {"name": name, "qualifier": name, "function": function, "threshold": positive}}
        )
    checks = [
        {"row_count": {"name": "rows", "threshold": {"must_be_greater_than_or_equal": 1}}},
        {"freshness": {"name": "fresh", "column": "loaded_at", "threshold": fresh}},
        {"failed_rows": {"name": "negative", "query": "select * from main.big where amount < 0", "threshold": none}},
    ]
    contract = {
        "dataset": "s/main/big",
        "columns": [{"name": name, "checks": wanted} for name, wanted in columns.items()],
        "checks": checks,
    }
    connection = {"database": str(folder / "peers.duckdb"), "read_only": True}
    (folder / "contract.yml").write_text(yaml.safe_dump(contract, sort_keys=False), encoding="utf-8")
    (folder / "source.yml").write_text(yaml.safe_dump({"name": "s", "type": "duckdb", "connection": connection}))
    (folder / "run_soda.py").write_text(f"EXPECTED = {_number_of_checks()}\n{_SODA}", encoding="utf-8")
    return {"Soda contract verification": [python, "run_soda.py"]}


def _dbt(folder: Path) -> Mapping[str, Sequence[str]]:
    dbt = os.environ.get("BENCH_DBT")
    if dbt is None:
        return {}
    columns: dict[str, list[object]] = {"id": [{"unique": {"name": "unique_id"}}]}
    for name in NULLS:
        columns.setdefault(name, []).append({"not_null": {"name": f"null_{name}"}})
    for name, (column, values) in LISTS.items():
        columns[column].append({"accepted_values": {"name": name, "arguments": {"values": values}}})
    tested = {"name": "big", "columns": [{"name": name, "data_tests": tests} for name, tests in columns.items()]}
    (folder / "models").mkdir()
    (folder / "tests").mkdir()
    sources = {"version": 2, "sources": [{"name": "main", "schema": "main", "tables": [tested]}]}
    (folder / "models" / "sources.yml").write_text(yaml.safe_dump(sources, sort_keys=False), encoding="utf-8")
    (folder / "dbt_project.yml").write_text("name: peers\nprofile: peers\nversion: '1.0'\n", encoding="utf-8")
    output = {"type": "duckdb", "path": str(folder / "peers.duckdb"), "threads": 2}
    (folder / "profiles.yml").write_text(yaml.safe_dump({"peers": {"target": "d", "outputs": {"d": output}}}))
    big = "{{ source('main', 'big') }}"
    for name, sql in {
        "fresh": f"select 1 from {big} having max(loaded_at) < now() - interval 3650 day",
        "rows": f"select 1 from {big} having count(*) < 1",
        "amount": f"select 1 from {big} where amount < 0",
        "negative": f"select * from {big} where amount < 0",
        "quantity": f"select 1 from {big} where quantity not between 1 and 10",
        "total": f"select 1 from {big} having sum(amount) < 0",
        "mean": f"select 1 from {big} having avg(amount) < 0",
    }.items():
        (folder / "tests" / f"{name}.sql").write_text(sql, encoding="utf-8")
    return {"dbt test, 2 threads": [dbt, "test", "--profiles-dir", ".", "--no-send-anonymous-usage-stats"]}


def _cost(command: Sequence[str], folder: Path, runs: int) -> tuple[str, str, str]:
    """Return wall and processor seconds and memory of a command; end where it found something else than planted."""
    measured = [_once(command, folder) for _ in range(runs)]
    wall, cpu, peak = (statistics.median(figures) for figures in zip(*measured, strict=True))
    return f"{wall:.1f}", f"{cpu:.1f}", f"{peak:.0f}"


def _once(command: Sequence[str], folder: Path) -> tuple[float, float, float]:
    home = str(Path(__file__).parents[1])
    ours = {"PYTHONPATH": home} if command[0] == sys.executable else {"PYTHONPATH": ""}
    quiet = {"OTEL_SDK_DISABLED": "true", "DO_NOT_TRACK": "1"}
    started = perf_counter()
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        environment = {**os.environ, **ours, **quiet}
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=err, env=environment)
        _, _, used = os.wait4(process.pid, 0)
    wall = perf_counter() - started
    process.returncode = 0
    failed = _failed(command, folder)
    if failed != PLANTED:
        sys.exit(f"{command}: {failed}\n{(folder / 'err').read_text()[-3000:]}\n{(folder / 'out').read_text()[-3000:]}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3


def _failed(command: Sequence[str], folder: Path) -> set[str]:
    """Return the names of the checks that failed, as the tool reports them."""
    text = (folder / "out").read_text(encoding="utf-8")
    if "monitor" in command:
        results = json.loads(text)["results"]
        return {result["check_id"].partition(".")[2] for result in results if result["status"] != "pass"}
    if command[-1].endswith(".py"):
        last = text.strip().splitlines()[-1:]
        return set(json.loads(last[0])) if last else {"nothing was printed"}
    run = json.loads((folder / "target" / "run_results.json").read_text(encoding="utf-8"))
    return {test["unique_id"].split(".")[2] for test in run["results"] if test["status"] != "pass"}


if __name__ == "__main__":
    main()
