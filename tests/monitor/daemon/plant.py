"""A daemon's work without processes: real tables, a real store, and a pool that looks in place or does not answer."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from checks import Message, UnknownReason, unknown
from monitor.alerts.operational import OperationalEvent
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.daemon.work_loop import DaemonIdentity, WorkLoop
from monitor.scan.results import CheckResult, unscanned
from monitor.scan.scanner import scan_source
from monitor.workers import Ended, Event, Job, Overdue, PoolState, TableScanned, WorkerDied
from store import open_store
from tests.monitor.shop import NOW

_CONFIG = """
version: 1
project: plant
storage: {{url: "sqlite:///{folder}/store.db"}}
daemon: {{jitter: 0s, catch_up: {catch_up}}}
sources: {{shop: {{url: "sqlite:///shop.sqlite", timezone: UTC}}}}
tables:
{tables}
"""
_TABLE = "  - {{name: {name}, source: shop, table: orders, schedule: {schedule}, checks: [{checks}]}}\n"
CHECKS = "{type: primary_key, columns: [id]}, {type: not_null, columns: [customer]}"


_ENDED = unknown(UnknownReason.BUG, Message("the process ended"))


class PlacedPool:
    """Looks at a table as soon as a job is submitted, except those configured to hang or to die."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.clock = clock
        self.jobs: list[Job] = []
        self.hanging: set[str] = set()
        self.deadly: set[str] = set()
        self._events: list[Event] = []

    @property
    def tables(self) -> list[str]:
        """Return the tables in the order in which they were asked for."""
        return [target.subject.name for job in self.jobs for target in job.targets]

    @property
    def state(self) -> PoolState:
        """Return that all is well."""
        return PoolState(size=2, alive=2, busy=0, silent=0, waiting=0, trouble=None)

    def can_take(self, source: str) -> bool:
        """Take everything."""
        return bool(source)

    def submit(self, job: Job) -> None:
        """Look at each table in turn."""
        self.jobs.append(job)
        for target in job.targets:
            name = target.subject.name
            deadly = next((check_id for check_id, _ in target.subject.checks if check_id in self.deadly), None)
            if name in self.hanging:
                return
            if deadly is not None and not job.alone:
                self._events.append(WorkerDied(job.id, name, None, "signal SIGABRT"))
                return
            if deadly is not None:
                self._events.append(WorkerDied(job.id, name, deadly, "signal SIGABRT"))
            for found in scan_source([target], clock=self.clock, plans={}):
                answers = [replace(one, answer=_ENDED) if one.check_id == deadly else one for one in found.measured]
                self._events.append(TableScanned(job.id, replace(found, measured=answers)))
        self._events.append(Ended(job.id))

    def overdue(self, table: str) -> None:
        """Stop the table that hangs."""
        job = next(job for job in self.jobs if table in {target.subject.name for target in job.targets})
        target = next(target for target in job.targets if target.subject.name == table)
        outcome = unknown(UnknownReason.TIMEOUT, Message("too slow"))
        self.hanging.discard(table)
        self._events.append(Overdue(job.id, table, None, unscanned(target, outcome, self.clock.now())))

    def events(self, timeout: float) -> list[Event]:
        """Return what was found."""
        assert timeout >= 0
        found, self._events = self._events, []
        return found

    def limit(self, concurrency: Mapping[str, int], proven: Collection[str] = ()) -> None:
        """Remember what is said of the sources."""
        self.concurrency, self.proven = concurrency, proven

    def wake(self) -> None:
        """No wait here."""


class Plant:
    """A folder with one shop table under several names, a configuration, a store, and the work of a daemon."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = SimulatedClock(NOW)
        self.results: list[CheckResult] = []
        self.happened: list[OperationalEvent] = []
        self.pool = PlacedPool(self.clock)
        with closing(sqlite3.connect(folder / "shop.sqlite")) as connection, connection:
            connection.execute("CREATE TABLE orders (id INTEGER, customer TEXT)")
            connection.execute("INSERT INTO orders VALUES (1, 'ann'), (2, 'bob')")
        self.configure({"orders": "every 15m"})
        self.store = open_store(f"sqlite:///{folder}/store.db", lock_timeout=timedelta(milliseconds=200))

    def configure(
        self, schedules: dict[str, str], *, catch_up: str = "latest", checks: str = CHECKS, more: str = ""
    ) -> None:
        """Write the configuration: tables with their schedules, and what comes after them."""
        tables = "".join(
            _TABLE.format(name=name, schedule=f"'{text}'", checks=checks) for name, text in schedules.items()
        )
        text = _CONFIG.format(folder=self.folder, tables=tables, catch_up=catch_up) + more
        (self.folder / "tablewatch.yaml").write_text(text, encoding="utf-8")

    def project(self) -> Project:
        """Load the configuration."""
        return Project(load(self.folder / "tablewatch.yaml"), self.clock)

    def work(self, *, holder: str = "me", alone: bool = True, once: bool = False) -> WorkLoop:
        """Begin to work."""
        self.pool.clock = self.clock
        me = DaemonIdentity(holder, alone, self.clock.now() if once else None)
        return WorkLoop(self.store, self.pool, self.project(), me=me, listener=self)

    def on_results(self, results: Sequence[CheckResult]) -> None:
        """Keep what was found."""
        self.results += results

    def on_event(self, happened: OperationalEvent) -> None:
        """Keep what operators should know."""
        self.happened.append(happened)

    def turn(self, work: WorkLoop, *, steps: int = 3) -> None:
        """Let a tick and a few steps pass."""
        work.tick()
        for _ in range(steps):
            work.step(0.0)
