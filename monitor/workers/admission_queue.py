"""The jobs that wait, and what is known of their sources: which may be started next."""

import heapq
from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Final

from monitor.workers.task import CallTask, Task

_CONCURRENCY: Final = 2


@dataclass(frozen=True, slots=True)
class Load:
    """The number of jobs of each source that hold a worker, and how many of these are silent."""

    running: Counter[str]
    silent: Counter[str]


@dataclass
class AdmissionQueue:
    """Jobs in the order in which they came, by source; the sources' limits and whether they answer."""

    size: int
    concurrency: Mapping[str, int]
    proven: set[str]
    _stopped: set[str] = field(default_factory=set)
    """Sources whose last job had to be stopped."""
    _waiting: dict[str, deque[tuple[int, Task | CallTask]]] = field(default_factory=dict)
    _later: "count[int]" = field(default_factory=count)
    _sooner: "count[int]" = field(default_factory=lambda: count(-1, -1))

    def __len__(self) -> int:
        return sum(len(tasks) for tasks in self._waiting.values())

    def limit(self, concurrency: Mapping[str, int], proven: Collection[str]) -> None:
        """Take over other limits."""
        self.concurrency = dict(concurrency)
        self.proven |= set(proven)

    def put(self, task: Task | CallTask) -> None:
        """Let a job wait behind all others."""
        self._waiting.setdefault(task.job.source, deque()).append((next(self._later), task))

    def put_first(self, task: Task | CallTask) -> None:
        """Let a job that was begun wait before all others."""
        self._waiting.setdefault(task.job.source, deque()).appendleft((next(self._sooner), task))

    def take(self, task: Task | CallTask) -> None:
        """Let a job that may be started leave the line."""
        tasks = self._waiting[task.job.source]
        tasks.popleft()
        if not tasks:
            del self._waiting[task.job.source]

    def clear(self) -> None:
        """Forget all that waits."""
        self._waiting.clear()

    def answered(self, source: str, *, really: bool) -> None:
        """Note whether a source gave an answer, or only a reason why there is none."""
        if really:
            self.proven.add(source)
            self._stopped.discard(source)
        else:
            self.proven.discard(source)

    def stopped(self, source: str) -> None:
        """Note that a job of a source had to be stopped."""
        self._stopped.add(source)

    def startable(self, load: Load) -> Sequence[Task | CallTask]:
        """Return the jobs that may be started now, the oldest first. Of each source they are the first that wait."""
        running, results = load.running.copy(), []
        heads = [(tasks[0][0], source, 0) for source, tasks in self._waiting.items()]
        heapq.heapify(heads)
        while heads:
            _, source, place = heapq.heappop(heads)
            if not self._admits(source, running, load.silent):
                continue
            tasks = self._waiting[source]
            results.append(tasks[place][1])
            running[source] += 1
            if place + 1 < len(tasks):
                heapq.heappush(heads, (tasks[place + 1][0], source, place + 1))
        return results

    def can_take(self, source: str, load: Load) -> bool:
        """Check whether a job of a source, if it came now, would be started at once."""
        if source in self._waiting:
            return False
        running = load.running.copy()
        for task in self.startable(load):
            running[task.job.source] += 1
        return self._admits(source, running, load.silent)

    def _admits(self, source: str, running: Counter[str], silent: Counter[str]) -> bool:
        return admits(
            PoolLoad(self.size, running.total(), silent.total()),
            SourceLoad(
                running=running[source],
                concurrency=self.concurrency.get(source, _CONCURRENCY),
                proven=source in self.proven,
                suspect=silent[source] > 0 or source in self._stopped,
            ),
        )


SILENCE: Final = timedelta(seconds=1)
"""A job of which nothing is heard for longer makes its source suspect."""
_STRETCH: Final = 2


@dataclass(frozen=True, slots=True)
class SourceLoad:
    """The state of a source.

    `running` counts its jobs that hold a worker. `proven`: it has answered. `suspect`: one of its jobs is silent, or
    the last that ended had to be stopped.
    """

    running: int
    concurrency: int
    proven: bool
    suspect: bool

    @property
    def trusted(self) -> bool:
        """Check whether it answers, as far as is known."""
        return self.proven and not self.suspect


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """The state of the pool: how many jobs hold a worker, and how many of these are silent."""

    size: int
    running: int
    silent: int


def admits(pool: PoolLoad, source: SourceLoad) -> bool:
    """Check whether another job of the source may be started."""
    if source.running >= source.concurrency:
        return False
    free = pool.size - pool.running
    if free > 0:
        return free > 1 or pool.running == 0 or not source.suspect
    most = _STRETCH * pool.size - (0 if source.trusted else 1)
    return not source.suspect and pool.silent >= pool.running and pool.running < most
