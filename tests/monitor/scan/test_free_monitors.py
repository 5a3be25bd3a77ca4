"""A whole schema is watched by one word: from the catalogue, with limits that its tables learn together."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from checks import Status
from monitor.alerts.notify import notify
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.config.selector import select
from monitor.scan.results import CheckResult
from monitor.scan.run import run_checks
from monitor.suggest.expansion import refresh_tables
from monitor.summaries.promises import POOLED, pooled_promises

NOW = datetime(2026, 6, 1, 6, tzinfo=UTC)
DAY = timedelta(days=1)
CONFIG = """\
version: 1
project: warehouse
sources:
  dwh: {url: "URL"}
tables:
  - match: "watched.*"
    source: dwh
    schedule: every 1d
    monitors: free
cost: {tables: {watched.t03: {per_hour: 9000}}}
alerts:
  channels: {team: {webhook: {url: "https://example.org/hook"}}}
  routes:
    - {to: [team]}
    - {match: {outcome: warn}, to: [team], digest: {at: "08:00"}}
"""
TABLES = 24


@pytest.fixture
def schema(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[psycopg.Connection]:
    """Yield a connection to a database with tables of a thousand rows and more, and a configuration of 15 lines."""
    monkeypatch.chdir(tmp_path)
    Path("tablewatch.yaml").write_text(CONFIG.replace("URL", postgres_url), encoding="utf-8")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS watched CASCADE; CREATE SCHEMA watched")
        for number in range(TABLES):
            connection.execute(f"CREATE TABLE watched.t{number:02} (id int, note text) WITH (autovacuum_enabled = off)")
            _load(connection, number, 1_000 + 100 * number)
        yield connection
        connection.execute("DROP SCHEMA watched CASCADE")


def _load(connection: psycopg.Connection, number: int, rows: int) -> None:
    connection.execute(f"INSERT INTO watched.t{number:02} SELECT g, 'canary' FROM generate_series(1, {rows}) g")


class Days:
    """Passes over the schema, a day apart."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.connection, self.clock = connection, SimulatedClock(NOW)
        refresh_tables(Path("tablewatch.yaml"), self.clock)
        self.project = Project(load(Path("tablewatch.yaml")), self.clock)
        self.names = [table.name for table in self.project.config.tables]

    def run(self, days: int, *, quiet: Sequence[int] = ()) -> dict[str, CheckResult]:
        """Load some rows into each table but the quiet ones and look, day by day; return the last results."""
        results: Sequence[CheckResult] = []
        with self.project.open_store(alone=True) as store:
            for _ in range(days):
                self.clock.advance(DAY)
                for number in set(range(TABLES)) - set(quiet):
                    _load(self.connection, number, 10 + (number * 7 + self.clock.now().day * 3) % 11)
                self.connection.execute("SELECT pg_stat_force_next_flush()")
                result = run_checks(self.project, select([], self.project.config), store=store)
                assert result.problem is None
                results = result.results
        return {result.check_id: result for result in results}

    def messages(self) -> Sequence[dict[str, Any]]:
        """Write the digest of the day and return the messages that are written, oldest first."""
        with self.project.open_store(alone=True) as store:
            notify(self.project, store, self.clock.now() + timedelta(hours=4))
            with store.reading() as tx:
                return [dict(delivery.payload) for delivery in tx.deliveries.since(NOW, 100)]


@pytest.mark.postgres
@pytest.mark.timeout(300)
def test_one_word_watches_a_schema_and_a_loss_is_in_the_digest_of_its_day(schema: psycopg.Connection) -> None:
    """Nothing is judged before the pool carries it; then a loss of a third is a line of the day, no incident yet."""
    days = Days(schema)
    assert len(Path("tablewatch.yaml").read_text(encoding="utf-8").splitlines()) == 15
    assert len(days.names) == TABLES
    first = days.run(5)
    assert {result.outcome.status for result in first.values() if result.check.type != "schema"} == {Status.UNKNOWN}
    before = days.run(12)
    assert {result.outcome.status for result in before.values()} == {Status.PASS}
    schema.execute("DELETE FROM watched.t03 WHERE ctid IN (SELECT ctid FROM watched.t03 LIMIT 600)")
    schema.execute("DELETE FROM watched.t05 WHERE ctid IN (SELECT ctid FROM watched.t05 LIMIT 600)")
    schema.execute("ALTER TABLE watched.t07 ADD COLUMN more int")
    after = days.run(1, quiet=[9])
    unusual = {key: result for key, result in after.items() if result.outcome.status is not Status.PASS}
    assert unusual.keys() == {
        "watched.t03.rows", "watched.t05.rows", "watched.t07.columns", "watched.t09.last-write"
    }  # fmt: skip
    assert {result.outcome.status for result in unusual.values()} == {Status.WARN}
    (digest,) = days.messages()
    assert digest["digest"] is not None
    assert next(line["table"] for line in digest["warnings"]) == "watched.t03"  # the dearest, as rare as t05
    assert {line["check_id"] for line in digest["warnings"]} == unusual.keys()
    assert "canary" not in str(digest)
    checks = {
        table.check_id(check): check
        for table in days.project.config.tables
        for check in table.checks
        if check.is_pooled
    }
    with days.project.open_store(alone=True) as store, store.reading() as tx:
        known = tx.results.watches(checks), tx.results.latest(checks)
    (promise,) = pooled_promises(checks, [], *known, now=days.clock.now())
    assert (promise.check_id, promise.promised, promise.answers.alarms) == (POOLED, "1 per 7d of pooled checks", 0)
    assert str(promise.power_messages[0]).startswith("48 of 48 pooled checks have a limit.")
    later = days.run(2)
    assert later["watched.t07.columns"].outcome.status is Status.PASS
