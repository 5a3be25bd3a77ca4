"""What the commands cost that people type most, next to a bare Typer application and to other command lines.

Processor seconds of a whole process, children included, in a copy of the demo's project; the least of several runs, in
turn: what else the machine does only adds. Bytecode is kept, as an installed package has it. `--rounds N`: how often;
`--dbt PROGRAM`: a `dbt` of another environment to measure beside them.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

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
ROUNDS = 7


def main() -> None:
    """Print the comparison."""
    options = argparse.ArgumentParser()
    options.add_argument("name", nargs="?")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--dbt")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        _run([sys.executable, "-m", "monitor", "demo", "--dir", str(folder / "demo")], folder, environment)
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
            **{f"`tablewatch {words}`": [sys.executable, "-m", "monitor", *words.split()] for words in COMMANDS},
        }
        least = _least(programs, folder / "demo", environment, given.rounds)
    bare = next(iter(least.values()))
    rows = [(name, f"{seconds:.2f}", f"{seconds / bare:.1f}") for name, seconds in least.items()]
    print(f"**The command line.** Processor seconds, the least of {given.rounds} runs in turn.\n")
    print(table(("command", "cpu s", "to a bare Typer application"), rows))


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
