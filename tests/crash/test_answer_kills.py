"""Kill whoever asks a protected table, at each point between the charge and the answer, and ask again."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from store import FailPoint
from tests.monitor.commands.terminal import Terminal

_ROOT = Path(__file__).resolve().parents[2]
_ASKED = ("answer", "count", "people", "--epsilon", "1", "--request-id", "r1")
_CONFIG = """\
version: 1
project: p
storage: {url: "sqlite:///store.db"}
sources: {shop: {url: "sqlite:///people.db"}}
tables: [{name: people, source: shop}]
budgets: {people: {total: 2, domain: {sex: [F, M]}}}
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Give a terminal in a folder with a protected table and its budget of 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tablewatch.yaml").write_text(_CONFIG, encoding="utf-8")
    with closing(sqlite3.connect(tmp_path / "people.db")) as connection, connection:
        connection.execute("CREATE TABLE people (sex TEXT)")
        connection.execute("INSERT INTO people VALUES ('F'), ('M')")
    terminal = Terminal(tmp_path, capsys)
    terminal.json("budget", "create", "people")
    return terminal


def _die(folder: Path, point: str) -> subprocess.CompletedProcess[str]:
    armed = {"PYTHONPATH": str(_ROOT), "TABLEWATCH_CRASH_TEST": "1", "TABLEWATCH_FAILPOINT": point}
    words = [sys.executable, "-m", "monitor", *_ASKED]
    return subprocess.run(words, cwd=folder, env={**os.environ, **armed}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("die", "charged", "stored"),
    [
        (FailPoint.BEFORE_CHARGE, "0", 0),
        (FailPoint.AFTER_CHARGE, "1", 0),
        (FailPoint.IN_ANCHOR, "1", 0),
        (f"{FailPoint.BEFORE_CHARGE}:2", "1", 0),
        (f"{FailPoint.AFTER_CHARGE}:2", "1", 1),
    ],
)
def test_whoever_dies_while_asking_never_under_counts(asked: Terminal, die: str, charged: str, stored: int) -> None:
    """Before the commit nothing is charged; after it the charge stays; an answer that was stored is given again."""
    died = _die(asked.folder, die)
    assert (died.returncode, died.stdout) == (-signal.SIGKILL, "")
    assert asked.json("budget", "show")["budgets"][0]["spent"] == charged
    given = asked.json("answer", "list", "people")["answers"]
    assert len(given) == stored
    again = asked.json(*_ASKED)
    assert again["repeated"] == bool(stored)
    if stored:
        assert again["answer"] == given[0]["answer"]
    assert again["budget"]["spent"] == str(int(charged) + (not stored))
    assert asked.json("budget", "verify")["flaws"] == []
