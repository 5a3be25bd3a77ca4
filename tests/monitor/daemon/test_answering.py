"""Scheduled queries by a real daemon: a process of its own, real workers, kill -9, and a budget that holds."""

import json
import sqlite3
from contextlib import closing
from datetime import datetime

import pytest

from tests.monitor.daemon.running import Place, until

_BUDGET = """
budgets:
  orders:
    total: {total}
    domain: {{customer: [ann, bob]}}
    statistics:
      by-customer: {{schedule: {schedule}, statistic: histogram, by: [customer], epsilon: 0.001}}
"""
_TABLE = "  - {name: orders, source: shop}\n"
_ANSWERS = "SELECT count(*) FROM ledger_entry WHERE kind = 'answered'"
_CHARGES = "SELECT count(*) FROM ledger_entry WHERE kind = 'reserved'"


@pytest.fixture
def place(tmp_path):
    """Return a folder with a table that is asked every second, and its budget."""
    place = Place(tmp_path)
    place.configure(_TABLE, more=_BUDGET.format(total=1, schedule="every 1s"))
    assert place.command("privacy", "budget", "create", "orders").returncode == 0
    return place


def test_a_daemon_that_is_killed_again_and_again_answers_no_slot_twice(place):
    """Whatever a kill parts: each slot has one answer at most, its charges are two at most, and the ledger is whole."""
    for number in range(1, 4):
        with place.daemon():
            until(lambda number=number: place.number(_ANSWERS) >= 2 * number, "answers")
    charges = place.ask("SELECT request, count(*) FROM ledger_entry WHERE kind = 'reserved' GROUP BY request")
    answers = place.ask("SELECT request, count(*) FROM ledger_entry WHERE kind = 'answered' GROUP BY request")
    assert max(times for _, times in charges) <= 2
    assert {times for _, times in answers} == {1}
    assert {request for request, _ in answers} <= {request for request, _ in charges}
    for request, _ in charges:
        table, name, slot = request.split("/")
        assert (table, name) == ("orders", "by-customer")
        assert datetime.fromisoformat(slot).microsecond == 0
    assert place.command("privacy", "budget", "verify").returncode == 0


def test_its_answers_are_listed(place):
    """What the daemon gave is seen by the command line, at no cost."""
    with place.daemon():
        until(lambda: place.number(_ANSWERS) >= 1, "an answer")
    before = place.number(_CHARGES)
    listed = json.loads(place.command("--format", "json", "privacy", "answer", "list", "orders").stdout)["answers"]
    assert listed[0]["by"] == "daemon"
    assert listed[0]["request"]["statistic"] == "histogram"
    assert place.number(_CHARGES) == before


def test_once_answers_what_is_due(place):
    """From cron: the answer, and then nothing until the next slot; a table that is away is 3, a spent budget 0."""
    place.configure(_TABLE, more=_BUDGET.format(total=1, schedule="'cron: * * * * *'"))
    ended = until(lambda: _once_that_did(place), "an answer")
    assert ended["statistics"] == {"answered": 1, "not_answered": 0}
    place.configure(_TABLE, more=_BUDGET.format(total=1, schedule="every 1s"))
    hidden = (place.folder / "shop.sqlite").rename(place.folder / "hidden")
    away = place.command("run", "--once")
    assert away.returncode == 3
    assert "statistics: 0 answered, 1 not" in away.stdout
    hidden.rename(place.folder / "shop.sqlite")
    assert (
        place.command("privacy", "budget", "change", "orders", "--total", "0.001", "--reason", "a test").returncode == 0
    )
    spent = place.command("run", "--once")
    assert spent.returncode == 0
    assert "less is left than" in spent.stderr
    assert place.number(_CHARGES) == 1


def _once_that_did(place):
    ended = place.command("--format", "json", "run", "--once")
    assert ended.returncode == 0
    result = json.loads(ended.stdout)
    return result if result["statistics"]["answered"] else None


def test_a_look_that_takes_too_long_is_ended_and_stays_charged(place):
    """The deadline of the source holds for statistics too; the only message is that there is no answer."""
    with closing(sqlite3.connect(place.folder / "shop.sqlite")) as connection, connection:
        slow = (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'ann' AS customer FROM n"
        )
        connection.execute("DROP TABLE orders")
        connection.execute(f"CREATE VIEW orders AS {slow}")
    path = place.folder / "tablewatch.yaml"
    limits = "timezone: UTC, run_timeout: 15s"
    path.write_text(path.read_text().replace("timezone: UTC", limits), encoding="utf-8")
    ended = place.command("run", "--once")
    assert ended.returncode == 3
    assert "charged and could not be computed" in ended.stderr
    assert place.number(_CHARGES) == 1
    assert place.number(_ANSWERS) == 0
