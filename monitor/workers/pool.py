"""A pool of workers: hands jobs to processes, hears what they find, and ends those that hang, crash or are worn.

One thread uses a pool, the one that calls `events`, which waits and does all the work; `wake` may be called by any, and
by a signal handler. Deadlines are measured in the time during which the pool was watched: a daemon that was stopped, or
a machine that slept, does not make its workers late.
"""

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from math import inf
from socket import socketpair
from types import TracebackType
from typing import Final, Self

from checks import Outcome, UnknownReason
from monitor.clock import Clock, SystemClock
from monitor.scan.results import run_guarded
from monitor.workers.admission_queue import SILENCE, AdmissionQueue, Load
from monitor.workers.job import Event, FunctionCall, Job
from monitor.workers.messages import (
    CallAnswer,
    CallBegun,
    CallEnded,
    StatementStuck,
    TableProgress,
    TableStarted,
    Unportable,
    Word,
    WorkerReady,
    unpack,
)
from monitor.workers.process_control import allowed_memory, memory_of, missing_for_workers
from monitor.workers.spawner import ENGINES
from monitor.workers.task import CallTask, KeptPlans, Task
from monitor.workers.worker_processes import WorkerProcesses
from monitor.workers.worker_state import Phase, WorkerState

_LONGEST_TURN_S: Final = 5.0
"""At most so much of a turn counts as time in which the workers were watched."""
_WEIGHED_EVERY_S: Final = 0.5
"""The interval at which the memory of busy workers is checked."""
_NO_ANSWER: Final = frozenset({UnknownReason.UNREACHABLE, UnknownReason.TIMEOUT, UnknownReason.BUG})


@dataclass(frozen=True, slots=True)
class PoolState:
    """The state of a pool: workers alive, holding a job, silent for more than a second; waiting jobs.

    `trouble` says why no worker can be made at present.
    """

    size: int
    alive: int
    busy: int
    silent: int
    waiting: int
    trouble: str | None


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """A worker is worn after so many tables or calls, or when it has grown by so many bytes."""

    runs: int = 500
    memory: int = 1024**3


_WEAR: Final = WorkerLimits()


class Pool:
    """Workers for jobs. Use it as a context manager, or close it: no process survives it."""

    def __init__(
        self,
        *,
        size: int,
        clock: Clock,
        concurrency: Mapping[str, int] | None = None,
        proven: Collection[str] = (),
        wear: WorkerLimits = _WEAR,
        preload: Sequence[str] = ENGINES,
    ) -> None:
        """Start the process that forks the workers; workers are made when there is something to do.

        Args:
            size: most jobs at the same time; a little more where all of these hang (see `limits`).
            clock: tells the time of what is found; how long things take is measured, whatever it says.
            concurrency: most jobs at the same time by source; 2 for those not named.
            proven: the sources that are known to answer.
            wear: when a worker is replaced.
            preload: modules to import once, for all workers.
        """
        if missing := missing_for_workers():
            raise ChildProcessError(f"worker processes need Linux; this system has no {', '.join(missing)}")
        self._clock = clock
        self._wear = wear
        self._allowed = allowed_memory()
        self._weigh_at = 0.0
        self._line = AdmissionQueue(size, dict(concurrency or {}), set(proven))
        self._plans = KeptPlans()
        self._heard: deque[Event] = deque()
        self._watch = SystemClock()
        self._looked_at = self._watch.monotonic()
        self._time = 0.0
        self._bell, self._ring = socketpair()
        for end in (self._bell, self._ring):
            end.setblocking(False)  # noqa: FBT003 - the socket's own word
        self._crew = WorkerProcesses(lambda: self._time, self._bell, preload)
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def limit(self, concurrency: Mapping[str, int], proven: Collection[str] = ()) -> None:
        """Take over other limits of the sources; those in `proven` are known to answer."""
        self._line.limit(concurrency, proven)

    def submit(self, job: Job | FunctionCall) -> None:
        """Take a job; it waits where it cannot be started yet. All that comes of it is in `events`."""
        self._line.put(CallTask(job) if isinstance(job, FunctionCall) else Task(job))

    def can_take(self, source: str) -> bool:
        """Check whether a job of a source, submitted now, would be started at once."""
        return self._line.can_take(source, self._load())

    def events(self, timeout: float) -> Sequence[Event]:
        """Return what has happened, in order; wait for it, at most so many seconds, or until `wake` is called."""
        until = self._watch.monotonic() + timeout
        while True:
            left = until - self._watch.monotonic()
            woken = self._turn(0.0 if self._heard else max(0.0, left))
            if self._heard or woken or left <= 0:
                heard, self._heard = self._heard, deque()
                return list(heard)

    def wake(self) -> None:
        """Let `events` return at once; from any thread."""
        with suppress(OSError):  # it was woken already, or the pool is closed
            self._ring.send(b"!")

    @property
    def state(self) -> PoolState:
        """Return what the pool is doing."""
        load = self._load()
        return PoolState(
            size=self._line.size,
            alive=sum(member.pid is not None for member in self._crew.members.values()),
            busy=load.running.total(),
            silent=load.silent.total(),
            waiting=len(self._line),
            trouble=self._crew.trouble,
        )

    @property
    def processes(self) -> Sequence[int]:
        """Return the ids of its processes at present: that of the one that forks first, then the workers'."""
        return self._crew.processes

    def close(self, deadline: timedelta = timedelta(seconds=2)) -> None:
        """End all workers, whatever they do: asked first, killed after the deadline. Jobs that wait are forgotten."""
        if self._closed:
            return
        self._closed = True
        self._line.clear()
        for member in self._crew.members.values():
            self._crew.stop(member)
        until = self._watch.monotonic() + deadline.total_seconds()
        while self._crew.members and (left := until - self._watch.monotonic()) > 0:
            self._crew.wait(left)
            deque(self._crew.news(), maxlen=0)
        self._crew.close()
        self._bell.close()
        self._ring.close()

    # --- one turn -----------------------------------------------------------------------------------------------------

    def _turn(self, longest: float) -> bool:
        """Start what may be started, wait, hear, end what is overdue; say whether `wake` was called."""
        self._start_waiting()
        spoken = self._crew.wait(min(longest, self._next_alarm()))
        now = self._watch.monotonic()
        self._time += min(_LONGEST_TURN_S, now - self._looked_at)
        self._looked_at = now
        for member in spoken:
            self._read(member)
        for member, cause, its_doing in self._crew.news():
            self._read(member)
            self._lost(member, cause, its_doing=its_doing)
        for member in list(self._crew.members.values()):
            self._end_if_overdue(member)
        self._kill_over_limit()
        self._crew.kill_unresponsive()
        self._refresh()
        self._start_waiting()
        if self._crew.rang:
            self._bell.recv(4096)
        return self._crew.rang

    def _next_alarm(self) -> float:
        """Return the seconds until something is to be done though nothing is heard."""
        alarms = [self._time + _LONGEST_TURN_S]
        for member in self._crew.members.values():
            if member.task is not None:
                alarms.append(self._weigh_at)
                alarms.append(_overdue_at(member.task))
                silent_at = member.heard + SILENCE.total_seconds()
                if len(self._line) and silent_at >= self._time:
                    alarms.append(silent_at)
        alarm = self._crew.next_alarm()
        until = min(alarms if alarm is None else [*alarms, alarm])
        return max(0.0, until - self._time) + 0.001  # a little later, so that it is over and not about to be

    def _load(self) -> Load:
        load = Load(Counter(), Counter())
        for member in self._crew.members.values():
            if member.source is not None:
                load.running[member.source] += 1
                load.silent[member.source] += self._time - member.heard > SILENCE.total_seconds()
        return load

    # --- hearing ------------------------------------------------------------------------------------------------------

    def _read(self, member: WorkerState) -> None:
        try:
            for payload in self._crew.receive(member):
                message = run_guarded(partial(unpack, payload))
                self._receive(member, message)
        except (Unportable, ValueError):
            task, member.task = member.task, None
            self._crew.stop(member)
            if task is not None:
                self._blame(task, "it sent an invalid response")

    def _receive(self, member: WorkerState, message: Word | Outcome) -> None:
        member.heard = self._time
        task = member.task
        if task is None:  # it was stopped meanwhile: what it still says comes too late
            return
        match message, task:
            case TableStarted(), Task():
                task.step_began = task.step_began if task.resumes else self._time
                self._heard.append(task.began())
            case TableProgress(), Task():
                task.step_began = self._time
                member.runs += 1
                self._crew.worked()
                self._heard.extend(self._take(task, message))
            case CallBegun(), Task():
                task.call, task.call_ends = message, self._time + message.limit.total_seconds()
            case CallEnded(), Task():
                task.call, task.call_ends = None, inf
            case CallAnswer(answer), CallTask():
                member.runs += 1
                self._crew.worked()
                self._heard.extend(task.returned(answer))
            case StatementStuck(limit), _:
                self._end_overdue(member, task, limit)
            case WorkerReady(grown), _:
                member.worn = member.runs >= self._wear.runs or grown > self._wear.memory
                member.task = member.source = None
                member.phase = Phase.IDLE
                if not task.is_over:
                    self._line.put_first(task)
            case _:
                raise ValueError("the response of the worker cannot be read")

    def _take(self, task: Task, table_progress: TableProgress) -> Sequence[Event]:
        target = task.job.targets[task.table]
        reasons = {
            answer.answer.reason
            if isinstance(answer.answer, Outcome) and "source" not in answer.answer.observed
            else None  # also where another source did not answer
            for answer in table_progress.answers
        }
        self._line.answered(task.job.source, really=not reasons <= _NO_ANSWER)
        if table_progress.plan is not None and task.keeps_plans:
            self._plans.keep(target.subject, table_progress.plan)
        return task.found(table_progress)

    def _lost(self, member: WorkerState, cause: str, *, its_doing: bool) -> None:
        """Take in that a worker is gone."""
        task, member.task = member.task, None
        if task is None or task.is_over:
            return
        if not its_doing and task.again():  # it was killed from outside: another worker takes the job
            self._line.put_first(task)
        else:
            self._blame(task, cause)

    def _blame(self, task: Task | CallTask, cause: str) -> None:
        if not task.is_over:
            self._heard.extend(task.died(cause, self._clock.now()))
            self._go_on(task)

    def _end_if_overdue(self, member: WorkerState) -> None:
        if not self._is_overdue(member):
            return
        self._read(member)  # it may have answered since the last read
        task = member.task
        if task is not None and self._is_overdue(member):
            self._end_overdue(member, task)

    def _end_overdue(self, member: WorkerState, task: Task | CallTask, statement: timedelta | None = None) -> None:
        member.task = None
        self._line.stopped(task.job.source)
        self._crew.stop(member)
        if not task.is_over:
            in_call = self._time >= task.call_ends and self._time < _table_overdue_at(task)
            self._heard.extend(task.overdue(self._clock.now(), statement, in_call=in_call))
            self._go_on(task)

    def _is_overdue(self, member: WorkerState) -> bool:
        return member.task is not None and self._time >= _overdue_at(member.task)

    def _kill_over_limit(self) -> None:
        """Kill the workers over their memory limit, before the kernel kills arbitrary ones."""
        if self._time < self._weigh_at:
            return
        self._weigh_at = self._time + _WEIGHED_EVERY_S
        for member in list(self._crew.members.values()):
            if member.task is None or member.pid is None or memory_of(member.pid) <= self._allowed:
                continue
            self._read(member)  # what it has found counts
            task, member.task = member.task, None
            self._crew.kill(member)
            if task is not None:
                self._blame(task, f"it took more than {self._allowed / 1e9:.1f} GB of memory")

    def _go_on(self, task: Task | CallTask) -> None:
        """Let a job that gave up one check go on with the next one; any other is over."""
        if task.goes_on:
            self._line.put_first(task)

    # --- starting -----------------------------------------------------------------------------------------------------

    def _start_waiting(self) -> None:
        if not len(self._line):
            return
        idle = [member for member in self._crew.members.values() if member.phase is Phase.IDLE]
        starting = sum(member.phase is Phase.STARTING for member in self._crew.members.values())
        for task in self._line.startable(self._load()):
            if idle:
                self._line.take(task)
                self._assign(min(idle, key=lambda member: member.worn), idle, task)
            elif starting:
                starting -= 1
            elif not self._crew.hire():
                return

    def _assign(self, member: WorkerState, idle: list[WorkerState], task: Task | CallTask) -> None:
        payload = run_guarded(partial(task.request, self._plans))
        if isinstance(payload, Outcome):
            self._blame(task, "it cannot be sent to a worker process")
            return
        idle.remove(member)
        member.task, member.source, member.phase = task, task.job.source, Phase.BUSY
        task.step_began = task.step_began if task.resumes else self._time
        member.heard = inf if task.may_be_silent else self._time
        self._crew.send(member, payload)

    def _refresh(self) -> None:
        """Replace worn workers, once their successor is there; let those go that are too many."""
        members = list(self._crew.members.values())
        for member in members:
            if member.worn and not member.succeeded and member.phase is not Phase.ENDING:
                member.succeeded = self._crew.hire()
        idle = [member for member in members if member.phase is Phase.IDLE]
        worn = [member for member in idle if member.worn]
        alive = sum(member.phase is not Phase.ENDING for member in members)
        if worn and len(worn) < len(idle):
            self._crew.retire(worn[0])
        elif idle and alive > self._line.size and not len(self._line):
            self._crew.retire((worn or idle)[0])


def _overdue_at(task: Task | CallTask) -> float:
    return min(_table_overdue_at(task), task.call_ends)


def _table_overdue_at(task: Task | CallTask) -> float:
    return task.step_began + task.job.deadline.total_seconds()
