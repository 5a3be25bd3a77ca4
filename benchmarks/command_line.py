"""What the commands cost that people type most, next to a bare Typer application and to other command lines.

Processor seconds of a whole process, children included, in a copy of the demo's project; the least of several runs, in
turn: what else the machine does only adds. Bytecode is kept, as an installed package has it. `--rounds N`: how often;
`--dbt PROGRAM`: a `dbt` of another environment to measure beside them. `--soda PYTHON`: one with soda-duckdb that runs
the same four checks of a DuckDB file of 20,000 rows as `check`.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from benchmarks._measure import table

BARE = """
import typer
app = typer.Typer()
@app.command()
def one(name: str = "x") -> None:
    "One command."
@app.command()
def two(name: str = "x") -> None:
    "Another command."
app()
"""
FLOOR = """
import rich.console, rich.table, sqlmodel, typer, yaml
app = typer.Typer()
@app.command()
def one(name: str = "x") -> None:
    rich.console.Console().print(name)
app()
"""
"""What the packages cost that every command of the store needs, with an option that is read and a line printed."""
ENGINES = FLOOR.replace("import rich.console", "import ibis.backends.duckdb, ibis.backends.sqlite, rich.console")
"""The same for a command that opens sources of SQLite and DuckDB as well: Ibis loads pandas for either."""
COMMANDS = (
    "--help",
    "status",
    "incident list",
    "incident show 1",
    "incident comment 1 seen",
    "downtime",
    "alert log",
    "silence list",
    "table list",
    "privacy budget show",
    "config check",
    "doctor",
)
SMALL = """\
version: 1
project: small
sources: {s: {url: "duckdb:///small.duckdb"}}
tables:
  - name: orders
    source: s
    checks:
      - {type: primary_key, columns: [id]}
      - {type: not_null, columns: [customer]}
      - {type: range, column: amount, min: 0}
      - {type: volume, min: 1}
"""
SODA_SOURCE = """\
name: s
type: duckdb
connection: {database: small.duckdb, read_only: true}
"""
SODA_CONTRACT = """\
dataset: s/main/orders
columns:
  - {name: id, checks: [{duplicate: {threshold: {must_be: 0}}}]}
  - {name: customer, checks: [{missing: {threshold: {must_be: 0}}}]}
  - {name: amount, checks: [{invalid: {valid_min: 0, threshold: {must_be: 0}}}]}
checks: [{row_count: {threshold: {must_be_greater_than_or_equal: 1}}}]
"""
SODA = """
from soda_core.common.yaml import ContractYamlSource, DataSourceYamlSource
from soda_core.contracts.contract_verification import ContractVerificationSession
done = ContractVerificationSession.execute(
    [ContractYamlSource.from_file_path("contract.yml")],
    data_source_yaml_sources=[DataSourceYamlSource.from_file_path("source.yml")],
)
outcomes = [check.outcome.name for result in done.contract_verification_results for check in result.check_results]
assert outcomes == ["PASSED"] * 4, (outcomes, done.get_errors_str())
"""
ROUNDS = 7


def main() -> None:
    """Print the comparison."""
    options = argparse.ArgumentParser()
    options.add_argument("name", nargs="?")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--dbt")
    options.add_argument("--soda")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        _run([sys.executable, "-m", "monitor", "demo", "--dir", str(folder / "demo")], folder, environment)
        build_small(folder / "demo" / "small")
        check = [sys.executable, "-m", "monitor", "check", "-c", "small/tablewatch.yaml"]
        (folder / "bare.py").write_text(BARE, encoding="utf-8")
        (folder / "floor.py").write_text(FLOOR, encoding="utf-8")
        (folder / "engines.py").write_text(ENGINES, encoding="utf-8")
        programs = {
            "a bare Typer application, `--help`": [sys.executable, str(folder / "bare.py"), "--help"],
            "`python -c 'import sqlmodel'`": [sys.executable, "-c", "import sqlmodel"],
            "SQLModel, Typer, YAML and Rich, nothing of ours": [
                sys.executable,
                str(folder / "floor.py"),
                "--name",
                "y",
            ],
            "these and Ibis's engines of SQLite and DuckDB, nothing of ours": [
                sys.executable,
                str(folder / "engines.py"),
                "--name",
                "y",
            ],
            "`pip --version`": [sys.executable, "-m", "pip", "--version"],
            **({} if given.dbt is None else {"`dbt --version`": [given.dbt, "--version"]}),
            "`tablewatch check` of 20,000 rows, for the first time": [
                "sh",
                "-c",
                f"rm -f small/*.plans; {' '.join(check)}",
            ],
            "`tablewatch check` of 20,000 rows, again": check,
            **(
                {} if given.soda is None else {"Soda, the same checks": ["sh", "-c", f"cd small; {given.soda} soda.py"]}
            ),
            **{f"`tablewatch {words}`": [sys.executable, "-m", "monitor", *words.split()] for words in COMMANDS},
        }
        least = _least(programs, folder / "demo", environment, given.rounds)
    bare = next(iter(least.values()))
    rows = [(name, f"{seconds:.2f}", f"{seconds / bare:.1f}") for name, seconds in least.items()]
    print(f"**The command line.** Processor seconds, the least of {given.rounds} runs in turn.\n")
    print(table(("command", "cpu s", "to a bare Typer application"), rows))


def build_small(folder: Path) -> None:
    """Make a table of 20,000 rows, and its checks for both tools."""
    folder.mkdir()
    with duckdb.connect(str(folder / "small.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE orders AS SELECT i AS id, 'c' || i % 500 AS customer, i / 2 AS amount FROM range(20000) t(i)"
        )
    texts = {"tablewatch.yaml": SMALL, "source.yml": SODA_SOURCE, "contract.yml": SODA_CONTRACT, "soda.py": SODA}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _least(
    programs: Mapping[str, Sequence[str]], folder: Path, environment: Mapping[str, str], rounds: int
) -> dict[str, float]:
    least = dict.fromkeys(programs, float("inf"))
    for number in range(rounds + 1):  # the first one writes bytecode
        for name, command in programs.items():
            seconds = _seconds(command, folder, environment)
            least[name] = min(least[name], seconds) if number else least[name]
    return least


def _seconds(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(command, folder, environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    subprocess.run(command, cwd=folder, env=dict(environment), check=True, capture_output=True)


if __name__ == "__main__":
    main()
