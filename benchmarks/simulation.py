"""Simulate another schedule and other rules on a million stored measurements: processor seconds.

python -m benchmarks simulation

Twenty checks ran every ten minutes for a year, 50,000 times each. Each table fails for three to thirty runs about every
ten days, and for a single run now and then. The alerts of all are decided both ways: of one route, and of routes with
quiet hours, a cap, a digest, the next in line and lineage, which hold most of them back.
"""

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks._measure import table
from incidents import Window, to_us
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.cron import Schedule
from monitor.config.project import Project
from monitor.simulation.compare import simulate
from monitor.simulation.plan import RuleProposal, changes_of

END: Final = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)
TABLES: Final = 20
RUNS: Final = 50_000
STEP: Final = timedelta(minutes=10)
_HEAD: Final = """version: 1
project: large
storage: {{url: "sqlite:///{folder}/store.db"}}
sources: {{s: {{files: "*.csv"}}}}
cost: {{currency: JPY, tiers: {{gold: {{per_hour: 120000}}}}}}
{alerts}
tables:
"""
ALERTS: Final = {
    "one route": """alerts:
  mute_downstream: false
  channels: {desk: {apprise: "json://localhost:9/"}}
  routes: [{to: [desk]}]
""",
    "held back": """alerts:
  hourly_cap: 2
  channels:
    desk: {apprise: "json://localhost:9/"}
    lead: {apprise: "json://localhost:9/"}
    mail: {apprise: "json://localhost:9/"}
  quiet_hours: {night: {start: "20:00", end: "07:00"}}
  routes:
    - {to: [desk], quiet_hours: night}
    - {to: [lead], unacknowledged_for: 2h}
    - {to: [mail], digest: {at: "08:00"}}
""",
}
"""`held back`: by quiet hours, a cap, a digest, the next in line, and incidents upstream."""
_TABLE: Final = """  - name: t{0}
    source: s
    tier: gold
    upstream: [{1}]
    schedule: every 10m
    checks: [{{type: not_null, columns: [a]}}]
"""
PROPOSALS: Final = {
    "every 1h": RuleProposal(schedule=Schedule.parse("every 1h")),
    "every 5m": RuleProposal(schedule=Schedule.parse("every 5m")),
    "open_after 2": RuleProposal(open_after=2),
}


def main() -> None:
    """Make the store, simulate, and print what it took."""
    with TemporaryDirectory() as folder:
        path = Path(folder)
        projects = {name: _project(path / f"{name}.yaml", alerts) for name, alerts in ALERTS.items()}
        projects["one route"].open_store().close()
        _fill(path / "store.db")
        rows = [
            _row(project, alerts, name, proposal, 28)
            for alerts, project in projects.items()
            for name, proposal in PROPOSALS.items()
        ]
        print(table(("alerts", "proposal", "window", "runs", "incidents", "messages", "cpu s"), rows))


def _project(file: Path, alerts: str) -> Project:
    tables = "".join(_TABLE.format(number, f"t{(number - 1) // 2}" if number else "") for number in range(TABLES))
    file.write_text(_HEAD.format(folder=file.parent, alerts=alerts) + tables, encoding="utf-8")
    return Project(load(file, environment={}), SimulatedClock(END))


def _row(project: Project, alerts: str, name: str, proposal: RuleProposal, days: int) -> tuple[str, ...]:
    chosen = {f"t{number}.not-null" for number in range(TABLES)}
    begin = time.process_time()
    proposed = proposal.applied(project, chosen)
    changes = changes_of(project, proposed, chosen, schedule=proposal.schedule)
    with project.open_store() as store, store.reading() as tx:
        window = Window.of(END - timedelta(days=days), END)
        result = simulate(project, proposed, tx, changes=changes, window=window, as_of=END)
    seconds = time.process_time() - begin
    messages = sum(now.messages + worst.messages for now, _, worst in result.alarms.values())
    counts = (f"{result.cover.runs:,}", f"{result.now.downtime.n:,}", f"{messages:,}")
    return (alerts, name, f"{days} days", *counts, f"{seconds:.1f}")


def _fill(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute('INSERT INTO message_text (id, body) VALUES (1, \'{"text":"x"}\')')
        for number in range(TABLES):
            names = (number + 1, f"t{number}.not-null", f"t{number}")
            connection.execute("INSERT INTO series (id, check_id, table_name) VALUES (?, ?, ?)", names)
            first = number * RUNS
            moments = [to_us(END - STEP * (RUNS - place)) for place in range(RUNS)]
            connection.executemany(
                "INSERT INTO run (number, id, table_name, started_us, ended_us) VALUES (?, ?, ?, ?, ?)",
                [(first + i + 1, f"run-{first + i}", f"t{number}", at, at + 1_000_000) for i, at in enumerate(moments)],
            )
            statuses = list(_statuses(random.Random(number)))
            connection.executemany(
                "INSERT INTO measurement (run, series, measured_us, status, observed, text, duration_us)"
                " VALUES (?, ?, ?, ?, '{\"rows\":41203}', 1, 1000)",
                [
                    (first + i + 1, number + 1, at, status)
                    for i, (at, status) in enumerate(zip(moments, statuses, strict=True))
                ],
            )


def _statuses(rng: random.Random) -> Iterator[str]:
    made = 0
    while made < RUNS:
        for status, length in (("pass", rng.randint(200, 1_700)), ("fail", rng.choice([1, 1, rng.randint(3, 30)]))):
            for _ in range(min(length, RUNS - made)):
                yield status
                made += 1
