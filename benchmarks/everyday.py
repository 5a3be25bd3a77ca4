"""What a user feels, each beside another tool in the same run: a check, a command, a page, a report, disk and memory.

`BENCH_SODA`: a Python with soda-duckdb; `BENCH_DATASETTE`: the command of Datasette. Without one, its rows are left
out. Processor seconds are of a whole process, the least of several runs in turn; a page is the median.
"""

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks._big_store import Size, configure, fill
from benchmarks._measure import table
from benchmarks.command_line import BARE, FLOOR, build_small
from benchmarks.web_load import ask, free_port, served

_ROUNDS: Final = 5
_PAGES: Final = 40
_SIZE: Final = Size(100_000, 1_000_000, 1_000)
_READING = """
import sqlite3, sys
import pandas
with sqlite3.connect(sys.argv[1]) as connection:
    pandas.read_sql("SELECT i.id, table_name, severity, e.occurred_us, e.detected_us, e.resolved_us FROM incident i "
                    "JOIN episode e ON e.incident_id = i.id", connection)
"""
_IDLE = """
import time
import apscheduler.schedulers.background, pandas, sqlmodel
apscheduler.schedulers.background.BackgroundScheduler().start()
print("ready", flush=True)
time.sleep(600)
"""
_WATCHED = """\
version: 1
project: small
sources: {s: {url: "duckdb:///small.duckdb"}}
tables:
  - {name: orders, source: s, schedule: every 1h, checks: [{type: volume, min: 1}]}
"""

Row = tuple[str, str, str, str]


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        large = folder / "large"
        large.mkdir()
        configure(large, _SIZE)
        fill(large / "store.db", _SIZE)
        rows = [
            *_checks(folder, environment),
            *_commands(folder, large, environment),
            *_pages(large),
            *_disk(large / "store.db"),
            *_memory(folder, environment),
        ]
    print(f"**What a user feels**, the least of {_ROUNDS} runs in turn.\n")
    print(table(("what", "tablewatch", "beside it", "which is"), rows))


def _checks(folder: Path, environment: dict[str, str]) -> Iterator[Row]:
    small = folder / "small"
    build_small(small)
    check = [sys.executable, "-m", "monitor", "check", "-c", "tablewatch.yaml"]
    first = ["sh", "-c", f"rm -f {small}/*.plans; {' '.join(check)}"]
    soda = os.environ.get("BENCH_SODA")
    other = [soda, "soda.py"] if soda else [sys.executable, "-c", "import duckdb"]
    name = "Soda, the same checks" if soda else "`import duckdb`"
    costs = _least([first, check, other], small, environment)
    for what, cpu in zip(("for the first time", "again"), costs, strict=False):
        yield f"`check` of 20,000 rows, {what}: cpu s", f"{cpu:.2f}", f"{costs[2]:.2f}", name


def _commands(folder: Path, large: Path, environment: dict[str, str]) -> Iterator[Row]:
    texts = {"bare": BARE, "floor": FLOOR, "reading": _READING}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    ours = [sys.executable, "-m", "monitor", "-c", str(large)]
    pairs = {
        "`--help`: cpu s": ([*ours[:3], "--help"], ["bare.py", "--help"], "a bare Typer application"),
        "`incident list` of 100,000: cpu s": (
            [*ours, "incident", "list"],
            ["floor.py", "--name", "y"],
            "importing SQLModel, Typer, YAML and Rich",
        ),
        "weekly report of 100,000 incidents, 1,000 tables: cpu s": (
            [*ours, "report", "--force", "--out", str(folder / "report.html")],
            ["reading.py", str(large / "store.db")],
            "pandas reads the times of these incidents",
        ),
    }
    for what, (command, other, name) in pairs.items():
        mine, theirs = _least([command, [sys.executable, *other]], folder, environment)
        yield what, f"{mine:.2f}", f"{theirs:.2f}", name


def _pages(large: Path) -> Iterator[Row]:
    command = os.environ.get("BENCH_DATASETTE")
    with served(large) as (_, host, cookie):
        ours = {path: _median_ms(host, path, cookie) for path in ("/", "/incidents", "/downtime")}
    theirs = None
    if command:
        port = free_port()
        words = [command, "serve", "--immutable", str(large / "store.db"), "--port", str(port)]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            next(line for line in process.stderr or () if "Uvicorn running" in line)
            theirs = _median_ms(f"127.0.0.1:{port}", "/store/incident?_sort_desc=id&_size=50", "")
            process.terminate()
    for path, milliseconds in ours.items():
        other = f"{theirs:.0f}" if path == "/incidents" and theirs is not None else ""
        yield f"page `{path}`: ms", f"{milliseconds:.0f}", other, "Datasette, the same list" if other else ""


def _median_ms(host: str, path: str, cookie: str) -> float:
    times = []
    for _ in range(_PAGES):
        started = time.perf_counter()
        ask(host, path, cookie)
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e3


def _disk(store: Path) -> Iterator[Row]:
    """Compare bytes of a result in the store, with its indexes, with the JSON of one of Great Expectations."""
    with sqlite3.connect(store) as connection:
        parts = "SELECT name FROM sqlite_master WHERE tbl_name IN ('measurement', 'run', 'series', 'message_text')"
        pages = f"SELECT sum(pgsize) FROM dbstat WHERE name IN ({parts})"
        (size,), (results,) = (
            connection.execute(sql).fetchone() for sql in (pages, "SELECT count(*) FROM measurement")
        )
    yield (
        "a result in the store: bytes",
        f"{size / results:.0f}",
        f"{_bytes_of_gx():.0f}",
        "Great Expectations, its JSON",
    )


def _bytes_of_gx() -> float:
    import great_expectations as gx
    import pandas as pd

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    asset = context.data_sources.add_pandas("p").add_dataframe_asset("orders")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": pd.DataFrame({"id": range(9)})})
    expectations: list[Any] = [
        gx.expectations.ExpectColumnValuesToNotBeNull(column="id"),
        gx.expectations.ExpectTableRowCountToBeBetween(min_value=1),
    ]
    suite = gx.ExpectationSuite(name="s", expectations=expectations)
    document = batch.validate(suite, result_format="BOOLEAN_ONLY").to_json_dict()
    return len(json.dumps(document, default=str)) / len(expectations)


def _memory(folder: Path, environment: dict[str, str]) -> Iterator[Row]:
    """Compare a daemon that waits, with its workers, with a process that has a scheduler, a store and pandas."""
    small = folder / "small"
    (small / "tablewatch.yaml").write_text(_WATCHED, encoding="utf-8")
    daemon = [sys.executable, "-m", "monitor", "run", "-c", str(small / "tablewatch.yaml")]
    ours = _held_mb(daemon, "watching", environment)
    theirs = _held_mb([sys.executable, "-c", _IDLE], "ready", environment)
    yield "a daemon that waits: MB", f"{ours:.0f}", f"{theirs:.0f}", "APScheduler, SQLModel and pandas imported"


def _held_mb(command: Sequence[str], ready: str, environment: dict[str, str]) -> float:
    """Return the memory (proportional set size) that a process and its children hold once it wrote a word."""
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            printed = []
            for line in process.stdout or ():
                printed.append(line)
                if ready in line:
                    break
            else:
                raise SystemExit(f"{command}: {printed}")
            return sum(map(_pss_mb, _family(process.pid)))
        finally:
            process.terminate()


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [pid, *(member for child in children for member in _family(int(child)))]


def _pss_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return int(text.partition("Pss:")[2].split()[0]) / 1024


def _least(commands: Sequence[Sequence[str]], folder: Path, environment: dict[str, str]) -> list[float]:
    """Return the least processor seconds of each command over several rounds; the first one writes bytecode."""
    figures: list[list[float]] = [[] for _ in commands]
    for number in range(_ROUNDS + 1):
        for mine, command in zip(figures, commands, strict=True):
            with (folder / "out").open("wb") as out:
                process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out)
                _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise SystemExit(f"{command}: {(folder / 'out').read_text(encoding='utf-8')[-2000:]}")
            if number:
                mine.append(used.ru_utime + used.ru_stime)
    return [min(each) for each in figures]


if __name__ == "__main__":
    main()
