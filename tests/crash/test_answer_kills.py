"""Kill a process that asks a protected table, at each point between the charge and the answer, and ask again."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.answers import ask
from store import FailPoint, open_store
from tests.monitor.commands.terminal import Terminal

_ROOT = Path(__file__).resolve().parents[2]
_ASKED = ("privacy", "answer", "count", "people", "--epsilon", "1", "--request-id", "r1")
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
    """Return a terminal in a folder with a protected table and its budget of 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tablewatch.yaml").write_text(_CONFIG, encoding="utf-8")
    with closing(sqlite3.connect(tmp_path / "people.db")) as connection, connection:
        connection.execute("CREATE TABLE people (sex TEXT)")
        connection.execute("INSERT INTO people VALUES ('F'), ('M')")
    terminal = Terminal(tmp_path, capsys)
    terminal.json("privacy", "budget", "create", "people")
    return terminal


def _die(folder: Path, point: str) -> subprocess.CompletedProcess[str]:
    armed = {"PYTHONPATH": str(_ROOT), "TABLEWATCH_CRASH_TEST": "1", "TABLEWATCH_FAILPOINT": point}
    words = [sys.executable, "-m", "monitor", *_ASKED]
    return subprocess.run(words, cwd=folder, env={**os.environ, **armed}, capture_output=True, text=True, check=False)


def test_processes_that_ask_under_one_id_at_once_are_charged_once(asked: Terminal) -> None:
    """Eight processes, one id, a budget of two answers: one charge; each has the same answer, or waited in vain for it.

    On a busy machine the one that computes may take longer than the others wait: they fail, at no charge.
    """
    words = [sys.executable, "-m", "monitor", *_ASKED, "--format", "json"]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    eight = [
        subprocess.Popen(words, cwd=asked.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(8)
    ]
    outputs = [json.loads(process.communicate()[0]) for process in eight]
    answers = [output for output in outputs if output.get("ok", True)]
    refusals = [error["code"] for output in outputs if output not in answers for error in output["errors"]]
    assert set(refusals) <= {"answer.in-progress"}, outputs
    assert [answer["answer"] for answer in answers] == [answers[0]["answer"]] * (8 - len(refusals))
    assert sorted(answer["repeated"] for answer in answers) == [False] + [True] * (7 - len(refusals))
    later = asked.json(*_ASKED)
    assert (later["repeated"], later["answer"]) == (True, answers[0]["answer"])
    assert asked.json("privacy", "budget", "show")["budgets"][0]["spent"] == "1"


def test_a_request_in_flight_has_an_error_code_of_its_own(asked: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that stands still between the charge and the answer keeps its request; others pay nothing."""
    monkeypatch.setattr(ask, "LOCK_TIMEOUT", timedelta(0))
    with open_store(f"sqlite:///{asked.folder / 'store.db'}") as store:
        claim = store.claim_request("r1", lock_timeout=timedelta(0))
        assert claim is not None
        with claim:
            (refused,) = asked.refused(*_ASKED, code=1)
        assert refused["code"] == "answer.in-progress"
    assert asked.json("privacy", "budget", "show")["budgets"][0]["spent"] == "0"
    assert asked.json(*_ASKED)["repeated"] is False


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
    assert asked.json("privacy", "budget", "show")["budgets"][0]["spent"] == charged
    given = asked.json("privacy", "answer", "list", "people")["answers"]
    assert len(given) == stored
    again = asked.json(*_ASKED)
    assert again["repeated"] == bool(stored)
    if stored:
        assert again["answer"] == given[0]["answer"]
    assert again["budget"]["spent"] == str(int(charged) + (not stored))
    assert asked.json("privacy", "budget", "verify")["flaws"] == []
