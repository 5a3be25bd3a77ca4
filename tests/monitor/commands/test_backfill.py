"""`tablewatch backfill`, and `tablewatch check --as-of`: checks as of past times."""

import math
from datetime import timedelta
from typing import Any

import pytest

from checks import Status
from incidents import State
from store import BACKFILL, open_store
from tests.monitor.commands.terminal import CONFIG, NOW, Terminal

DAYS = 66
CHECKS = """\
    loaded_at: loaded
    checks:
      - {id: rows, type: volume, min: 1}
      - {id: today, type: volume, column: loaded, window: 1d, limits: {learned: {false_alarms: 1 per 90d}}}
      - {type: primary_key, columns: [id]}
      - {type: schema, columns: [id, loaded]}
      - {type: foreign_key, column: id, references: refunds.id}
"""
OLD = """\
    consumers: [board report]
    checks:
      - {type: primary_key, columns: [id], severity: critical, why: Duplicates are billed twice.}
      - {type: not_null, columns: [customer]}
"""


@pytest.fixture
def history(terminal: Terminal) -> Terminal:
    """Return a shop whose orders were loaded over nine weeks, about 20 a day, 3 on one of the last days."""
    assert OLD in CONFIG
    terminal.configure(**{OLD: CHECKS})
    rows = []
    for day in range(DAYS, 0, -1):
        number = 3 if day == 6 else 20 + round(2 * math.sin(day * day))
        at = (NOW - day * timedelta(days=1) + timedelta(hours=1)).strftime("%Y-%m-%d %H:%M:%S")
        rows += [f"({len(rows) + n}, '{at}')" for n in range(number)]
    values = ", ".join(rows)
    terminal.sql(
        f"DROP TABLE orders; CREATE TABLE orders (id INTEGER, loaded TIMESTAMP); INSERT INTO orders VALUES {values}"
    )
    return terminal


def _backfill(terminal: Terminal, *words: str, days: int = DAYS - 1) -> Any:
    return terminal.json("backfill", "orders", "--from", f"{days}d", "--every", "1d", *words)


def _dump(terminal: Terminal) -> list[tuple[object, ...]]:
    with open_store(f"sqlite:///{terminal.folder}/store.db") as store, store.reading() as tx:
        ids = [f"orders.{name}" for name in ("rows", "today", "primary-key", "schema", "foreign-key")]
        moments = tx.results.moments(ids, NOW - timedelta(days=100), NOW + timedelta(days=1))
        return [(key, *moment) for key, values in sorted(moments.items()) for moment in values]


def test_a_backfill_makes_a_history_for_learned_limits(history: Terminal) -> None:
    """The learned limit is there on the first day, without a backfill it is unknown; a second one adds nothing."""
    assert history("check", "orders.today", "--no-store").code == 3
    value = _backfill(history)
    assert value["schema"] == "tablewatch.backfill/1"
    assert (value["times"], value["incidents"]) == (DAYS - 1, 0)
    assert value["results"]["fail"] == 1  # the day with 3 orders
    first = _dump(history)
    with history.at(NOW + timedelta(minutes=7)):
        again = _backfill(history)
    assert _dump(history) == first
    assert sum(again["results"].values()) == 0
    assert again["there_before"] == again["times"] * 5
    with history.at(NOW + timedelta(minutes=9)):
        said = history.json("check", "orders.today")
    assert said["summary"]["pass"] == 1


def test_a_table_is_seen_as_it_was(history: Terminal) -> None:
    """Rows that were loaded later are not there at a past time; nothing is stored."""
    now = history.json("check", "orders.rows", "--no-store")["results"][0]["observed"]["rows"]
    past = history.json("check", "orders.rows", "--as-of", "30d")["results"][0]["observed"]["rows"]
    assert 0 < past < now
    assert past == pytest.approx(now * (DAYS - 30) / DAYS, abs=30)
    assert _dump(history) == []


def test_real_measurements_are_not_replaced(history: Terminal) -> None:
    """Where a pass measured less than half a step away, a backfill measures nothing."""
    with history.at(NOW - timedelta(days=10, minutes=-20)):
        history("check", "orders")
    _backfill(history, days=12)
    near = [entry for entry in _dump(history) if abs(entry[1] - (NOW - timedelta(days=10))) < timedelta(hours=1)]
    assert near
    assert not any(entry[2] for entry in near)


def test_what_has_no_past_is_unknown(history: Terminal) -> None:
    """Columns of now and other tables cannot be seen as of a past time: unknown, never a wrong number."""
    said = history("check", "orders", "--as-of", "30d", "--format", "json")
    assert said.code == 3
    outcomes = {one["check_id"]: (one["status"], one["message"]) for one in said.json["results"]}
    assert outcomes["orders.primary-key"][0] == "pass"
    for name, reason in (("schema", "reads the columns of now"), ("foreign-key", "also reads other tables")):
        assert outcomes[f"orders.{name}"][0] == "unknown"
        assert reason in outcomes[f"orders.{name}"][1]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE orders SET loaded = NULL WHERE id = 7", "1 row has no load time"),
        ("UPDATE orders SET loaded = 'soon' WHERE id = 7", "not a valid timestamp"),
    ],
)
def test_rows_without_a_load_time_are_no_past(history: Terminal, statement: str, reason: str) -> None:
    """If it is unknown when some rows arrived, the table cannot be seen as of a past time."""
    history.sql(statement)
    said = history("check", "orders.rows", "--as-of", "30d", "--format", "json")
    assert said.code == 3
    assert reason in said.json["results"][0]["message"]


def test_a_table_without_load_times_has_no_past(terminal: Terminal) -> None:
    """Without `loaded_at` every check is unknown as of a past time."""
    said = terminal("check", "orders", "--as-of", "1d", "--format", "json")
    assert said.code == 3
    assert {one["status"] for one in said.json["results"]} == {"unknown"}
    assert "has no 'loaded_at'" in said.json["results"][0]["message"]


def test_incidents_of_the_past_only_on_request(history: Terminal) -> None:
    """With --incidents the fault of the past is an incident with its times, without notifications."""
    value = _backfill(history, "--incidents")
    assert value["incidents"] == 1
    with open_store(f"sqlite:///{history.folder}/store.db") as store, store.reading() as tx:
        (incident,) = tx.incidents.matching()
        assert incident.check_id == "orders.today"
        assert incident.state is State.RESOLVED
        assert incident.last.detected_at == NOW - timedelta(days=5)
        assert tx.outbox.waiting(limit=9) == []
        assert tx.results.watches() == {}
        assert all(result.run_id.startswith(BACKFILL) for result in tx.results.latest().values())
        assert tx.results.latest()["orders.rows"].status is Status.PASS


def test_times_that_are_none(history: Terminal) -> None:
    """No time between the ends, a step of nothing, and a future are refused with what is expected."""
    assert history.refused("backfill", "--from", "1d", "--to", "3d")[0]["code"] == "backfill.times"
    assert history.refused("backfill", "--from", "30d", "--every", "0s")[0]["code"] == "backfill.every"
    assert history.refused("backfill", "--from", "30d", "--every", "1s")[0]["code"] == "backfill.times"
    assert history.refused("check", "--as-of", "2030-01-01")[0]["code"] == "check.as_of"


def test_files_of_one_day_each_are_seen_as_they_came(terminal: Terminal) -> None:
    """A past time sees the files that should have been there, to the second; a file of later days does not count."""
    for day in range(1, 20):
        rows = "".join(f"{day * 100 + n}\n" for n in range(day))
        (terminal.folder / f"orders-2026-11-{day:02}.csv").write_text(f"id\n{rows}", encoding="utf-8")
    (terminal.folder / "tablewatch.yaml").write_text(
        "version: 1\nproject: daily\ntimezone: UTC\nstorage: {url: 'sqlite:///store.db'}\nsources:\n"
        "  daily: {files: 'orders-*.csv', table: orders, timezone: UTC, "
        "file_times: {name: 'orders-%Y-%m-%d', after: 26h}}\n"
        "tables:\n  - name: orders\n    source: daily\n    loaded_at: file_time\n    checks:\n"
        "      - {id: all, type: volume, min: 1}\n"
        "      - {id: today, type: volume, column: file_time, window: 1d, min: 1}\n",
        encoding="utf-8",
    )
    for at, whole, today in (
        ("2026-11-12T01:59:59", sum(range(1, 11)), 10),
        ("2026-11-12T02:00:00", sum(range(1, 12)), 11),
    ):
        results = terminal.json("check", "--as-of", at)["results"]
        assert [result["observed"]["rows"] for result in results] == [whole, today]
    value = terminal.json("backfill", "--from", "2026-11-10T06:00", "--to", "2026-11-20T06:00", "--every", "1d")
    assert value["results"] == {"pass": 20, "warn": 0, "fail": 0, "unknown": 0}
