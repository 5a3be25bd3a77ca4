"""Keep the tables that wait for a worker and the jobs of workers: one large table is a job, or many small ones are."""

from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Final

from monitor.config.project import Project
from monitor.daemon.claims import LeasedTable
from monitor.scan.results import TableResult
from monitor.workers import Job, Pool

_MOST_IN_A_JOB: Final = 50
_JOB_S: Final = 1.0
"""The expected time of a job of several small tables."""
_FIRST_GUESS_S: Final = 0.2
_GUESS_WEIGHT: Final = 0.2
_UNKNOWN_SOURCE: Final = timedelta(minutes=5)
"""The most time for a table whose source left the configuration while it waited."""


class Jobs:
    """The leased tables without results: in the queue of their source, or in a job."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._queues: dict[str, deque[LeasedTable]] = {}
        self._jobs: dict[int, list[LeasedTable]] = {}
        self._pace: dict[str, float] = {}
        self._limits: dict[str, timedelta] = {}
        self._workers = 1
        self._numbers = count(1)

    def adopt(self, project: Project) -> None:
        """Use the limits of a configuration from now on."""
        self._workers = project.config.daemon.workers
        self._limits = {name: source.run_timeout for name, source in project.config.sources.items()}

    @property
    def under_way(self) -> bool:
        """Check whether workers are busy."""
        return bool(self._jobs)

    def wait(self, leased_table: LeasedTable, *, first: bool = False) -> None:
        """Queue a table for a worker, behind those of its source, or before them."""
        queue = self._queues.setdefault(leased_table.source, deque())
        if first:
            queue.appendleft(leased_table)
        else:
            queue.append(leased_table)

    def drop(self, leased_table: LeasedTable) -> None:
        """Remove a table from its queue."""
        if leased_table in self._queues.get(leased_table.source, ()):
            self._queues[leased_table.source].remove(leased_table)

    def hand_out(self) -> None:
        """Submit waiting tables to workers, the oldest slots first; of equally old ones of several sources, in turn."""
        while ready := [name for name, queue in self._queues.items() if queue and self._pool.can_take(name)]:
            self._submit(self._portion(self._queues[min(ready, key=self._oldest)]))

    def in_a_second(self) -> int:
        """Return how many tables a worker does in a second, by the slowest source; 0 while no pace is known."""
        return round(1.0 / max(self._pace.values())) if self._pace else 0

    def take_out(self, job: int, table: str) -> LeasedTable | None:
        """Remove a table from its job and return it; None if it is not in it."""
        tables = self._jobs.get(job, [])
        held = next((item for item in tables if item.name == table), None)
        if held is not None:
            tables.remove(held)
        return held

    def put_back(self, job: int) -> None:
        """End a job; tables without a result are queued again, before the others."""
        for held in reversed(self._jobs.pop(job, [])):
            self.wait(held, first=True)

    def learn(self, leased_table: LeasedTable, table_result: TableResult) -> None:
        """Update the expected time of tables of a source."""
        seconds = max((table_result.ended_at - table_result.started_at).total_seconds(), 0.001)
        guess = self._pace.get(leased_table.source, seconds)
        self._pace[leased_table.source] = guess + _GUESS_WEIGHT * (seconds - guess)

    def _oldest(self, source: str) -> tuple[datetime, int]:
        lease = self._queues[source][0].lease
        return lease.slot, lease.id

    def _portion(self, queue: deque[LeasedTable]) -> Sequence[LeasedTable]:
        portion = [queue.popleft()]
        pace = self._pace.get(portion[0].source, _FIRST_GUESS_S)
        most = max(1, min(_MOST_IN_A_JOB, round(_JOB_S / pace), len(queue) // self._workers + 1))
        while queue and len(portion) < most and not portion[0].apart and not queue[0].apart:
            portion.append(queue.popleft())
        return portion

    def _submit(self, portion: Sequence[LeasedTable]) -> None:
        number = next(self._numbers)
        self._jobs[number] = list(portion)
        targets = tuple(leased_table.asked for leased_table in portion)
        deadline = self._limits.get(portion[0].source, _UNKNOWN_SOURCE)
        self._pool.submit(Job(number, targets, deadline=deadline, alone=portion[0].alone))
