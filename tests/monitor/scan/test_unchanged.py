"""Tables that did not change are not read."""

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.cron import Schedule
from monitor.config.project import Project
from monitor.scan.recorder import judge_only
from monitor.scan.results import TableResult, targets_of
from monitor.scan.scanner import scan_source
from monitor.scan.unchanged import Known, depends_only_on
from sources import SourceSpec, open_source

NOW = datetime.now(UTC) + timedelta(days=1)  # after every file that a test writes, however late it runs
DAY = timedelta(days=1)
CONFIG = """\
version: 1
project: shop
sources: {{shop: {source}}}
tables:
  - name: orders
    source: shop
    schedule: every 15m when data changes
    checks:
      - {{type: not_null, columns: [customer]}}
      - {{type: freshness, column: at, max_age: 2h, timezone: UTC}}
      {more}
  - {{name: people, source: shop}}
"""


class Shop:
    """A shop whose orders are looked at again and again by one process."""

    def __init__(self, folder: Path, source: str, more: str = "") -> None:
        (folder / "tablewatch.yaml").write_text(CONFIG.format(source=source, more=more), encoding="utf-8")
        self.clock = SimulatedClock(NOW)
        self.project = Project(load(folder / "tablewatch.yaml"), self.clock)
        self.known: Known = {}
        self._plans: dict[str, Any] = {}

    def look(self, after: timedelta = timedelta(minutes=15)) -> TableResult:
        """Look at the orders, a while later."""
        self.clock.advance(after)
        targets = targets_of(self.project, ["orders"])
        (result,) = scan_source(targets, clock=self.clock, plans=self._plans, known=self.known)
        return result

    @staticmethod
    def statuses(result: TableResult) -> list[str]:
        """Return what its checks come to."""
        return [str(item.outcome.status) for item in judge_only([result], store=None)]


def _sql(file: Path, statements: str, *, age: int = 60) -> None:
    """Change a database; its file is as old as one that was written a minute before."""
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(statements)
    past = NOW.timestamp() - age
    os.utime(file, (past, past))


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Return a shop in a SQLite file with one order of now."""
    _sql(tmp_path / "shop.db", "CREATE TABLE orders (customer TEXT, at TEXT); CREATE TABLE people (name TEXT)")
    _sql(tmp_path / "shop.db", f"INSERT INTO orders VALUES ('ann', '{NOW.replace(tzinfo=None).isoformat()}')")
    return Shop(tmp_path, '{url: "sqlite:///shop.db"}')


def test_a_table_that_did_not_change_is_not_read_and_grows_old(shop: Shop) -> None:
    """Its numbers are those of before, and checks of time are judged by the time of the look."""
    first, second = shop.look(), shop.look()
    assert (first.cost is not None, second.cost) == (True, None)
    assert [Shop.statuses(item) for item in (first, second)] == [["pass", "pass"]] * 2
    late = shop.look(timedelta(hours=3))
    assert (late.cost, Shop.statuses(late)) == (None, ["pass", "fail"])


def test_each_change_is_read(shop: Shop, tmp_path: Path) -> None:
    """A changed file is read at the next look, and so is all once in the time of the schedule."""
    shop.look()
    _sql(tmp_path / "shop.db", "UPDATE orders SET customer = NULL", age=30)
    changed = shop.look()
    assert changed.cost is not None
    assert Shop.statuses(changed)[0] == "fail"
    assert shop.look().cost is None
    assert shop.look(timedelta(days=1)).cost is not None


def test_a_file_that_was_written_just_now_is_read_again(shop: Shop, tmp_path: Path) -> None:
    """It may be written again without another time."""
    _sql(tmp_path / "shop.db", "UPDATE orders SET customer = 'bob'", age=-3600)
    assert [shop.look().cost is not None for _ in range(2)] == [True, True]
    assert shop.known == {}


def test_what_reads_more_than_the_table_is_run_each_time(tmp_path: Path) -> None:
    """Statements with another table, or with a function that may be a clock, are never spared."""
    _sql(tmp_path / "shop.db", "CREATE TABLE orders (customer TEXT, at TEXT); CREATE TABLE people (name TEXT)")
    _sql(tmp_path / "shop.db", f"INSERT INTO orders VALUES ('ann', '{NOW.replace(tzinfo=None).isoformat()}')")
    more = "- {type: sql, query: \"SELECT * FROM orders WHERE at > datetime('now')\"}"
    shop = Shop(tmp_path, '{url: "sqlite:///shop.db"}', more)
    assert [shop.look().cost is not None for _ in range(2)] == [True, True]


@pytest.mark.parametrize(
    ("sql", "alone"),
    [
        ("SELECT count(*) FROM orders", True),
        ('SELECT count(*) FROM "main"."orders" AS t0 WHERE t0."a" IS NULL', True),
        ("WITH x AS (SELECT a FROM orders) SELECT count(*) FROM x", True),
        ("SELECT count(*) FROM orders JOIN people ON true", False),
        ("SELECT count(*) FROM orders WHERE at < current_timestamp", False),
        ("SELECT count(*) FROM orders WHERE some_function(at)", False),
        ("SELECT 1", False),
        ("SELECT FROM WHERE", False),
    ],
)
def test_a_statement_depends_on_one_table(sql: str, *, alone: bool) -> None:
    """What cannot be read, or may be anything, does not."""
    assert depends_only_on(sql, "duckdb", "orders") is alone


@pytest.mark.parametrize(
    ("text", "written", "full"),
    [
        ("when data changes", "every 5m when data changes, at least every 1d", DAY),
        (
            "cron: 0 6 * * * when data changes",
            "cron: 0 6 * * * when data changes, at least every 1d",
            timedelta(days=1),
        ),
        (
            "every 1h when data changes, at least every 12h",
            "every 1h when data changes, at least every 12h",
            timedelta(hours=12),
        ),
    ],
)
def test_a_schedule_says_how_often_all_is_read(text: str, written: str, full: timedelta) -> None:
    """Its text is read again as it is, and its slots are those of the schedule before these words."""
    schedule = Schedule.parse(text)
    assert (str(schedule), schedule.full_every, Schedule.parse(written)) == (written, full, schedule)
    plain = Schedule.parse(written.partition(" when")[0])
    assert schedule.next_after(NOW, "UTC") == plain.next_after(NOW, "UTC")
    for wrong in ("when data changes often", "when data changes, at least every 0s"):
        with pytest.raises(ValueError, match=r"when data changes|duration"):
            Schedule.parse(wrong)


def test_files_have_signs(tmp_path: Path) -> None:
    """A CSV file is not read again while it is the same."""
    file = tmp_path / "orders.csv"
    (tmp_path / "people.csv").write_text("name\nann\n", encoding="utf-8")
    file.write_text(f"customer,at\nann,{NOW.isoformat()}\n", encoding="utf-8")
    os.utime(file, (NOW.timestamp() - 60,) * 2)
    spec = SourceSpec(name="shop", base=tmp_path, files="*.csv")
    later = NOW + timedelta(minutes=10)
    with open_source(spec) as source:
        before = source.change_sign("orders", later)
        assert before is not None
        assert source.change_sign("orders", later) == before
    file.write_text(f"customer,at\nbob,{NOW.isoformat()}\n", encoding="utf-8")
    with open_source(spec) as source:
        assert source.change_sign("orders", later + timedelta(hours=1)) != before


@pytest.mark.postgres
def test_postgresql_counts_changes(postgres_url: str, tmp_path: Path) -> None:
    """Rows that are inserted, updated, deleted or truncated, and columns, change the sign; reading does not."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE signed (id int); CREATE VIEW seen AS SELECT * FROM signed")
        spec = SourceSpec(name="shop", base=tmp_path, url=postgres_url)
        signs = []
        for statement in (
            *("INSERT INTO signed VALUES (1)", "UPDATE signed SET id = 2", "DELETE FROM signed", "TRUNCATE signed"),
            *("ALTER TABLE signed ADD b int", "ALTER TABLE signed RENAME b TO c", "SELECT count(*) FROM signed"),
        ):
            connection.execute(statement)
            connection.execute("SELECT pg_stat_force_next_flush()")
            with open_source(spec) as source:
                signs.append(source.change_sign("signed", NOW))
                assert source.change_sign("seen", NOW) is None
        connection.execute("DROP VIEW seen; DROP TABLE signed")
    assert len(set(signs)) == len(signs) - 1
    assert signs[-1] == signs[-2]
