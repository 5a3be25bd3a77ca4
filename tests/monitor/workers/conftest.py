"""Real workers for the tests, and tables for them."""

import os
import select
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from checks.not_null import NotNull
from checks.volume import Volume
from monitor.clock import SystemClock
from monitor.scan.results import Subject, Target
from monitor.workers import Ended, Event, Job, Pool
from sources import SourceSpec

ROOT = Path(__file__).resolve().parents[3]
LONG = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
GENEROUS_S = 120.0
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r"
CHECKS = (("not-null", NotNull(columns=("id",))), ("volume", Volume(min=1)))

_ids = count(1)


def make_tables(folder: Path, *names: str, file: str = "shop.sqlite") -> SourceSpec:
    """Make a SQLite file with small tables, and a view that never ends."""
    with closing(sqlite3.connect(folder / file)) as connection, connection:
        for name in names:
            connection.execute(f'CREATE TABLE "{name}" (id INTEGER)')
            connection.executemany(f'INSERT INTO "{name}" VALUES (?)', [(1,), (2,)])
        connection.execute(f"CREATE VIEW endless AS {ENDLESS}")
    return SourceSpec(file.partition(".")[0], folder, url=f"sqlite:///{file}", query_timeout=LONG)


def target(spec: SourceSpec, table: str, checks: Sequence[tuple[str, object]] = CHECKS) -> Target:
    """Return a table with checks, their ids beginning with the table's name."""
    named = tuple((f"{table}.{name}", check) for name, check in checks)
    return Target(Subject(table, table, named), spec)


def job(*targets: Target, deadline: timedelta = LONG, alone: bool = False) -> Job:
    """Return a job with an id of its own."""
    return Job(next(_ids), targets, deadline, alone=alone)


@dataclass
class Ear:
    """Listens to a pool and keeps what it heard."""

    pool: Pool
    heard: list[Event] = field(default_factory=list)

    def until(self, enough: Callable[[Sequence[Event]], object]) -> list[Event]:
        """Listen until enough was heard, and give all of it."""
        while not enough(self.heard):
            events = self.pool.events(GENEROUS_S)
            assert events, f"nothing was heard any more; until then: {self.heard}"
            self.heard += events
        return self.heard

    def run(self, *jobs: Job) -> list[Event]:
        """Submit jobs and listen until all have ended."""
        for job in jobs:
            self.pool.submit(job)
        ids = {job.id for job in jobs}
        return self.until(lambda heard: ids <= {event.job for event in heard if isinstance(event, Ended)})

    def until_there(self, place: Path) -> None:
        """Listen until a check in a worker has written something to a place."""
        while not (place.exists() and place.read_text()):
            self.heard += self.pool.events(0.05)

    def pass_time(self, length: timedelta) -> None:
        """Move the pool's own clock forward, as if the workers had been watched for so long."""
        self.pool._time += length.total_seconds()

    def of(self, kind: type) -> list[Event]:
        """Return what was heard of one kind."""
        return [event for event in self.heard if isinstance(event, kind)]


def wait_for_the_end_of(*pids: int) -> None:
    """Wait until processes have ended; a zombie without a waiting parent has ended, too."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            assert select.select([descriptor], [], [], GENEROUS_S)[0], f"process {pid} did not end"
        finally:
            os.close(descriptor)


@pytest.fixture(scope="module")
def shared_pool() -> Iterator[Pool]:
    """Yield two workers that a whole file of tests shares: whatever one does to them, the next finds them well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))  # where workers find the checks of these tests
        with Pool(size=2, clock=SystemClock()) as pool:
            yield pool


@pytest.fixture
def ear(shared_pool: Pool) -> Ear:
    """Listen to the shared workers."""
    return Ear(shared_pool)


@pytest.fixture
def shop(tmp_path: Path) -> SourceSpec:
    """Return a source with the tables a, b and c."""
    return make_tables(tmp_path, "a", "b", "c")
