"""How many files a reader goes through who follows a command (`benchmarks.files_run`): in which functions run.

Each command runs in a process of its own, in a project that has each section of a configuration. Make the counts
smaller; a feature is not to lengthen the path of a reader.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import monitor
from tests.monitor.commands.terminal import CONFIG, NOW, Terminal

_ROOT = Path(monitor.__file__).parents[1]
_SECTIONS = """
releases:
  survey:
    table: orders
    audience: a university
    columns: {id: direct-identifier, customer: quasi-identifier}
    hierarchies: {customer: {type: mask, keep: [1]}}
    limits: {k: 2}
    remedies: [{remedy: suppress}]
budgets: {refunds: {total: 1, unit: id, rows_per_unit: 1, adjacency: add-remove}}
contracts: {board: {tables: [orders], availability: 0.9}}
slo: {orders: {ttd: 1h}}
products: {shop: {tables: [orders], owner: desk}}
rules: {owned: {tables: ["tier:gold"], require: [owner]}}
alerts: {resolve_after: 2}
report: {weekly: {cron: "0 8 * * mon"}}
web: {listen: "127.0.0.1:8700"}
"""
_COUNT = """
import sys, time_machine
from benchmarks.files_run import count_files
with time_machine.travel(sys.argv[1]):
    print(*count_files(sys.argv[2:]), sep="\\n", file=sys.stderr)
"""
_MOST_FILES = {
    "incident ack 1": 50,
    "incident list": 52,
    "check orders": 89,
    "run --once": 123,
    "report": 132,
    "release export survey --remedy suppress --out survey.csv": 131,
}


@pytest.mark.parametrize("words", _MOST_FILES)
def test_a_command_runs_in_few_files(words: str, terminal: Terminal) -> None:
    """Sections that a command does not need are not typed, and nothing is computed that it does not show."""
    config = CONFIG.replace("    tier: gold\n", "    tier: gold\n    schedule: every 1h\n") + _SECTIONS
    (terminal.folder / "tablewatch.yaml").write_text(config, encoding="utf-8")
    terminal.sql("INSERT INTO orders VALUES (3, NULL), (4, 'ann'), (5, 'bob')")
    assert terminal("check").code == 1
    if words.startswith("release"):
        approved = terminal(*["release", "approve", "survey", "--remedy", "suppress", "--by", "desk", "--note", "seen"])
        assert approved.code == 0, approved
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TABLEWATCH")}
    done = subprocess.run(
        [sys.executable, "-c", _COUNT, NOW.isoformat(), *words.split()],
        capture_output=True,
        text=True,
        cwd=terminal.folder,
        env={**variables, "PYTHONPATH": str(_ROOT)},
        check=True,
    )
    files = [line for line in done.stderr.splitlines() if line.startswith(str(_ROOT))]
    assert str(_ROOT / "monitor/cli.py") in files
    assert len(files) <= _MOST_FILES[words], "\n".join(files)
