"""The working loop: claim what is due, hand it to the workers, remember what they found.

    store ──claim──> queue of the source ──job──> worker ──found──> judged and remembered, slot finished

A table is held by a lease from the claim until its results are remembered, in one transaction with the end of its slot;
a lease that somebody else took over meanwhile makes its results worthless, and they are dropped. Results that the store
does not take are kept and tried again, and nothing new is begun until it does.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import count
from threading import Event as Flag
from typing import Final, Protocol

from checks import Message, Outcome, UnknownReason, unknown
from monitor.alerts.notices import Happened
from monitor.boundary import attempt
from monitor.conclude import CheckResult, conclude_slots
from monitor.daemon.claims import Claims
from monitor.daemon.crashes import Crashes
from monitor.daemon.held import Held
from monitor.daemon.journal import LOG
from monitor.looked import Looked
from monitor.target import Target
from monitor.wiring import Project
from monitor.workers import Died, Ended, Event, Found, Job, Overdue, Pool
from store import FailPoint, Lease, Store, StoreBusy, StoreError, StoreUnavailable, View, reached

SIGN_OF_LIFE: Final = timedelta(seconds=10)
"""How often a daemon tells the store the time and that it still holds what it holds, and looks for what others left."""

_LOOK_ANYWAY_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 30.0
_MOST_IN_A_JOB: Final = 50
_JOB_S: Final = 1.0
"""Small tables go to a worker together, as many as it is expected to look at in this time."""
_FIRST_GUESS_S: Final = 0.2
_GUESS_WEIGHT: Final = 0.2
_MOST_REMEMBERED: Final = 50
_PAUSE_S: Final = 0.05
_LONGEST_IN_MEMORY_S: Final = 0.25
_HELD_PER_WORKER: Final = 25
_HELD_PER_WORKER_OF_SEVERAL: Final = 2
"""Daemons that share a store take little at a time, so that there is something left for the others."""
_MOST_DEATHS: Final = 3
_MOST_ATTEMPTS: Final = 5


class Listener(Protocol):
    """Hears what comes of the work."""

    def on_results(self, results: Sequence[CheckResult]) -> None:
        """Hear what was found and is remembered."""

    def on_happened(self, happened: Happened) -> None:
        """Hear what operators should know."""


class Work:
    """What one daemon works at. Everything is done by `step`, in one thread."""

    def __init__(
        self, store: Store, pool: Pool, project: Project, *, holder: str, alone: bool, listener: Listener
    ) -> None:
        """Begin with the schedule of a configuration. `alone`: no other daemon uses the store.

        Raises:
            StoreError: the schedule cannot be written.
        """
        self.problem: str | None = None
        """Why the store takes nothing now, in our words; None while all is well."""
        self._store, self._pool, self._clock, self._listener = store, pool, project.clock, listener
        self._claims = Claims(store, project.clock, holder=holder, alone=alone)
        self._crashes = Crashes(store, project.clock, listener.on_happened)
        self._held_per_worker = _HELD_PER_WORKER if alone else _HELD_PER_WORKER_OF_SEVERAL
        self._queues: dict[str, deque[Held]] = {}
        self._jobs: dict[int, list[Held]] = {}
        self._held: dict[int, Held] = {}
        self._pace: dict[str, float] = {}
        self._ended: list[tuple[Held, Looked]] = []
        self._numbers = count(1)
        self._ticked = Flag()
        self._found_nothing = False
        self._stopping = False
        self._look_at = self._resume_at = self._sign_at = self._remembered_at = self._clock.monotonic()
        self._pauses = 0
        self.adopt(project)

    def adopt(self, project: Project) -> None:
        """Work by a configuration from now on; what is in hand is finished as it was begun.

        Raises:
            StoreError: the schedule cannot be written; the old one stays.
        """
        targets = {one.subject.name: one for one in project.targets(_scheduled(project))}
        with self._store.reading() as view:
            answering = _answering(targets.values(), view)
        self._crashes.refresh()
        self._claims.adopt(project)  # from here on nothing can fail: all of it is used, or nothing
        self._workers = project.config.daemon.workers
        self._policy = project.policy
        self._targets: dict[str, Target] = targets
        self._limits = {name: source.run_timeout for name, source in project.config.sources.items()}
        self._pool.limit({name: source.concurrency for name, source in project.config.sources.items()}, answering)
        self._ticked.set()

    @property
    def in_hand(self) -> int:
        """Give how many tables are in hand."""
        return len(self._held)

    @property
    def tables(self) -> int:
        """Give how many tables are watched by schedule."""
        return len(self._targets)

    @property
    def at_work(self) -> bool:
        """Say whether workers are at something, or results wait to be remembered."""
        return bool(self._jobs or self._ended)

    @property
    def exhausted(self) -> bool:
        """Say whether nothing is in hand, and nothing was due at the last look."""
        return not self._held and self._found_nothing

    def tick(self) -> None:
        """Look for what is due at the next step. Any thread may call it."""
        self._ticked.set()
        self._pool.wake()

    def only_until(self, moment: datetime) -> None:
        """Leave what becomes due after a moment to others."""
        self._claims.only_until = moment

    def stop(self) -> None:
        """Begin nothing new."""
        self._stopping = True

    def step(self, longest_s: float) -> None:
        """Do what there is to do, waiting so many seconds at most for the workers.

        Raises:
            StoreError: the store is damaged or not ours any more; nothing can go on.
        """
        try:
            self._claim()
            if not self._stopping:
                self._hand_out()
            events = self._pool.events(min(longest_s, _PAUSE_S) if self._ended else longest_s)
            for event in events:
                self._take(event)
            if not events or self._is_enough():
                self._remember()
        except (StoreBusy, StoreUnavailable) as error:
            self._pause(error)

    def give_back(self) -> None:
        """Let others take what is in hand, now that no worker is at it.

        Raises:
            StoreError: it cannot be written; the leases end by themselves.
        """
        self._claims.give_back([held.lease for held in self._held.values()])
        self._held.clear()

    # --- claim --------------------------------------------------------------------------------------------------------

    def _claim(self) -> None:
        clock = self._clock.monotonic()
        if clock < self._resume_at or not (self._ticked.is_set() or clock >= self._look_at):
            return
        self._ticked.clear()
        self._look_at = clock + _LOOK_ANYWAY_S
        most = self._workers * self._held_per_worker
        room = 0 if self._stopping or len(self._held) > most // 2 else most - len(self._held)
        leases: Sequence[Lease] = ()
        if clock >= self._sign_at or (room and self._claims.is_anything_due()):
            leases, kept = self._claims.take(room, [held.lease for held in self._held.values()])
            self._sign_at = clock + SIGN_OF_LIFE.total_seconds()
            self._lose(self._held.keys() - kept)
        for lease in leases:
            self._hold(lease)
        self._found_nothing = not leases
        if room and len(leases) == room:
            self._look_at = clock  # there may be more

    def _lose(self, leases: Iterable[int]) -> None:
        for lost in leases:
            held = self._held.pop(lost)
            if held in self._queues.get(held.source, ()):
                self._queues[held.source].remove(held)
            LOG.warning("table %s: another daemon took it over", held.name)

    def _hold(self, lease: Lease) -> None:
        target = self._targets.get(lease.table)
        if target is None:  # left by a daemon with another configuration
            self._claims.give_up(lease)
            return
        held = Held(lease, target, alone=lease.attempt > 1 or self._crashes.are_in(target))
        held.given_up |= held.answers(self._crashes.resting(target))
        if lease.attempt > _MOST_ATTEMPTS:
            ended = _ended_worker(f"with its daemon, {_MOST_ATTEMPTS} times")
            held.given_up |= held.answers({check_id: ended for check_id, _ in held.asked.subject.checks})
        self._held[lease.id] = held
        self._queue(held)

    def _queue(self, held: Held, *, first: bool = False) -> None:
        """Let a table wait for a worker; when no worker is to be asked, its results are known already."""
        if not held.asked.subject.checks:
            self._ended.append((held, held.not_asked(self._clock.now())))
            return
        queue = self._queues.setdefault(held.source, deque())
        if first:
            queue.appendleft(held)
        else:
            queue.append(held)

    # --- workers ------------------------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        """Give the workers what waits, the oldest slots first."""
        for name in sorted((name for name, queue in self._queues.items() if queue), key=self._oldest):
            queue = self._queues[name]
            while queue and self._pool.can_take(name):
                self._submit(self._portion(queue))

    def _oldest(self, source: str) -> datetime:
        return self._queues[source][0].lease.slot

    def _portion(self, queue: deque[Held]) -> Sequence[Held]:
        """Take what makes one job: one large table, or many small ones."""
        portion = [queue.popleft()]
        pace = self._pace.get(portion[0].source, _FIRST_GUESS_S)
        most = max(1, min(_MOST_IN_A_JOB, round(_JOB_S / pace), len(queue) // self._workers + 1))
        while queue and len(portion) < most and not portion[0].alone and not queue[0].alone:
            portion.append(queue.popleft())
        return portion

    def _submit(self, portion: Sequence[Held]) -> None:
        number = next(self._numbers)
        self._jobs[number] = list(portion)
        targets = tuple(held.asked for held in portion)
        deadline = self._limits.get(portion[0].source, _UNKNOWN_SOURCE)
        self._pool.submit(Job(number, targets, deadline=deadline, alone=portion[0].alone))

    def _take(self, event: Event) -> None:
        match event:
            case Found(job, looked) | Overdue(job, looked=Looked() as looked):
                self._found(job, looked)
            case Died(job, table, None, cause):
                self._died(job, table, cause)
            case Died(_, _, str() as check_id, cause):
                self._crashes.add(check_id, cause)
        if isinstance(event, Ended) or (isinstance(event, Died | Overdue) and event.check_id is None):
            for held in reversed(self._jobs.pop(event.job, [])):  # what the job did not come to
                self._queue(held, first=True)

    def _found(self, job: int, looked: Looked) -> None:
        held = self._take_out(job, looked.target.subject.name)
        if held is not None:
            self._ended.append((held, held.whole(looked)))
            took = max((looked.ended_at - looked.started_at).total_seconds(), 0.001)
            guess = self._pace.get(held.source, took)
            self._pace[held.source] = guess + _GUESS_WEIGHT * (took - guess)

    def _died(self, job: int, table: str, cause: str) -> None:
        """Ask for the checks of a table one by one after it ended a worker, to see which one does it."""
        held = self._take_out(job, table)
        if held is None:
            return
        LOG.warning("table %s: its worker ended (%s); its checks are run one by one", table, cause)
        held.alone = True
        held.deaths += 1
        if held.deaths > _MOST_DEATHS:
            ended = _ended_worker(cause)
            held.given_up |= held.answers({check_id: ended for check_id, _ in held.asked.subject.checks})
        self._queue(held)

    def _take_out(self, job: int, table: str) -> Held | None:
        """Take a table out of its job; None where its lease was lost meanwhile."""
        tables = self._jobs.get(job, [])
        held = next((one for one in tables if one.name == table), None)
        if held is None:
            return None
        tables.remove(held)
        return held if held.lease.id in self._held else None

    # --- remember -----------------------------------------------------------------------------------------------------

    def _is_enough(self) -> bool:
        """Say whether to remember now what ended, though more is coming: a transaction costs much, a table little."""
        waited = self._clock.monotonic() - self._remembered_at
        return len(self._ended) >= _MOST_REMEMBERED or waited > _LONGEST_IN_MEMORY_S

    def _remember(self) -> None:
        self._remembered_at = self._clock.monotonic()
        while self._ended and self._clock.monotonic() >= self._resume_at:
            batch = self._ended[:_MOST_REMEMBERED]
            reached(FailPoint.BEFORE_REMEMBER)
            results = self._conclude(batch)
            reached(FailPoint.AFTER_REMEMBER)
            del self._ended[: len(batch)]
            for held, looked in batch:
                self._claims.was_busy(held.name, looked.ended_at)
                self._held.pop(held.lease.id, None)
            self._pauses, self.problem = 0, None
            self._listener.on_results(results)
            self._crashes.forgive(results)

    def _conclude(self, batch: Sequence[tuple[Held, Looked]]) -> Sequence[CheckResult]:
        """Conclude a batch; a table whose results we stumble over is given up alone, and not the others with it."""
        slots = [(held.lease, looked) for held, looked in batch]
        concluded = attempt(
            lambda: conclude_slots(slots, store=self._store, policy=self._policy, now=self._clock.now()),
            passes_on=(StoreError, KeyboardInterrupt),
        )
        if not isinstance(concluded, Outcome):
            return concluded
        if len(batch) > 1:
            return [result for one in batch for result in self._conclude([one])]
        held, _ = batch[0]
        LOG.error("table %s: %s; its slot is given up", held.name, concluded.message)
        self._claims.give_up(held.lease)
        return ()

    def _pause(self, error: StoreError) -> None:
        """Leave the store alone for a while: longer each time, half a minute at most."""
        if self.problem is None:
            LOG.error("%s; nothing is lost, what was found is kept until the store takes it", error)
        self.problem = str(error)
        self._resume_at = self._clock.monotonic() + min(_LONGEST_PAUSE_S, 2.0**self._pauses)
        self._pauses += 1


_UNKNOWN_SOURCE: Final = timedelta(minutes=5)
"""The most time for a table whose source left the configuration while it waited."""


def _scheduled(project: Project) -> Sequence[str]:
    return [table.name for table in project.config.tables if table.schedule is not None and table.checks]


def _answering(targets: Iterable[Target], view: View) -> set[str]:
    """Give the sources that answered when they were last asked."""
    silent = {UnknownReason.UNREACHABLE, UnknownReason.TIMEOUT, UnknownReason.BUG}
    well = {check_id for check_id, watch in view.watches().items() if watch.last_unknown not in silent}
    return {one.source.name for one in targets if any(check_id in well for check_id, _ in one.subject.checks)}


def _ended_worker(cause: str) -> Outcome:
    return unknown(UnknownReason.BUG, Message("the process that ran it ended ({cause})", {"cause": cause}))
