"""The working loop: claim what is due, hand it to the workers, remember what they found.

    store ──claim──> queue of the source ──job──> worker ──found──> judged and remembered, slot finished

A table is held by a lease from the claim until its results are remembered, in one transaction with the end of its slot;
a lease that somebody else took over meanwhile makes its results worthless, and they are dropped. Results that the store
does not take are kept and tried again, and nothing new is begun until it does.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Event as Flag
from typing import Final, Protocol

from checks import Message, Outcome, UnknownReason, unknown
from monitor.alerts.operational import OperationalEvent
from monitor.config.project import Project
from monitor.daemon.claims import MOST_PER_WORKER, Claims, LeasedTable
from monitor.daemon.job_queue import Jobs
from monitor.daemon.journal import LOG
from monitor.daemon.leased_statistic import LeasedStatistic
from monitor.daemon.quarantine import QuarantineTracker
from monitor.daemon.scheduled_queries import ScheduledQueries
from monitor.scan.confirmation import only_unconfirmed
from monitor.scan.incremental import with_count_states
from monitor.scan.recorder import record_slot_results
from monitor.scan.results import CheckResult, TableResult, Target, run_guarded, targets_of
from monitor.workers import Ended, Event, Overdue, Pool, TableScanned, WorkerDied
from store import FailPoint, Lease, ReadTransaction, Store, StoreBusy, StoreError, StoreUnavailable, reached

SIGN_OF_LIFE: Final = timedelta(seconds=10)
"""How often a daemon tells the store the time and that it still holds what it holds, and looks for what others left."""

_LOOK_ANYWAY_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 30.0
_MOST_REMEMBERED: Final = 50
_PAUSE_S: Final = 0.05
_LONGEST_IN_MEMORY_S: Final = 0.25
_MOST_DEATHS: Final = 3
_MOST_ATTEMPTS: Final = 5


class Listener(Protocol):
    """Hears what comes of the work."""

    def on_results(self, results: Sequence[CheckResult]) -> None:
        """Hear what was found and is remembered."""

    def on_happened(self, happened: OperationalEvent) -> None:
        """Hear what operators should know."""


@dataclass(frozen=True, slots=True)
class DaemonIdentity:
    """Who works: the name under which slots are held, and whether no other daemon uses the store.

    `only_until`: what has a slot by then is run, and nothing else.
    """

    holder: str
    alone: bool
    only_until: datetime | None = None


class WorkLoop:
    """What one daemon works at. Everything is done by `step`, in one thread."""

    def __init__(
        self,
        store: Store,
        pool: Pool,
        project: Project,
        *,
        me: DaemonIdentity,
        listener: Listener,
    ) -> None:
        """Begin with the schedule of a configuration.

        Raises:
            StoreError: the schedule cannot be written.
        """
        self.problem: str | None = None
        """Why the store takes nothing now, in our words; None while all is well."""
        self._store, self._pool, self._clock, self._listener = store, pool, project.clock, listener
        self._claims = Claims(store, project.clock, holder=me.holder, alone=me.alone, only_until=me.only_until)
        self._crashes = QuarantineTracker(store, project.clock, listener.on_happened)
        self._held_per_worker = MOST_PER_WORKER
        self._jobs = Jobs(pool)
        self.questions = ScheduledQueries(
            store,
            project.clock,
            jobs=self._jobs,
            claims=self._claims,
            tell=listener.on_happened,
            once=me.only_until is not None,
        )
        self._heard: deque[Event] = deque()
        self._held: dict[int, LeasedTable] = {}
        self._ended: list[tuple[LeasedTable, TableResult]] = []
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
        targets = {target.subject.name: target for target in targets_of(project, _scheduled(project))}
        with self._store.reading() as tx:
            answering = _answering(targets.values(), tx)
        self._crashes.refresh()
        self._claims.adopt(project)  # from here on nothing can fail: all of it is used, or nothing
        self._workers = project.config.daemon.workers
        self._policy_of = project.policy_of
        self._key = project.signature_key
        self._targets: dict[str, Target] = targets
        self.questions.adopt(project)
        self._jobs.adopt(project)
        self._concurrency = {name: source.concurrency for name, source in project.config.sources.items()}
        self._check_ids = {table.check_id(check) for table in project.config.tables for check in table.checks}
        self._pool.limit(self._concurrency, answering)
        self._ticked.set()

    @property
    def in_hand(self) -> int:
        """Return how many tables are in hand."""
        return len(self._held)

    @property
    def tables(self) -> int:
        """Return how many tables are watched by schedule."""
        return len(self._targets)

    @property
    def at_work(self) -> bool:
        """Check whether workers are at something, or results wait to be remembered."""
        return self._jobs.under_way or bool(self._ended) or self.questions.has_answers

    @property
    def exhausted(self) -> bool:
        """Check whether nothing is in hand, and nothing was due at the last look."""
        return not self._held and self._found_nothing

    def tick(self) -> None:
        """Look for what is due at the next step. Any thread may call it."""
        self._ticked.set()
        self._pool.wake()

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
            self._answer()
            if not self._stopping:
                self._jobs.hand_out()
            events = self._pool.events(min(longest_s, _PAUSE_S) if self._ended else longest_s)
            self._heard += events
            while self._heard and self._clock.monotonic() >= self._resume_at:  # what the store refused is taken later
                self._take(self._heard[0])
                self._heard.popleft()
            if not events or self._is_enough():
                self._remember()
        except (StoreBusy, StoreUnavailable) as error:
            self._pause(error)

    def give_up_leases(self) -> None:
        """Let others take what is in hand, now that no worker is at it.

        Raises:
            StoreError: it cannot be written; the leases end by themselves.
        """
        self._claims.give_up_leases([held.lease for held in self._held.values()])
        self._held.clear()

    def _answer(self) -> None:
        if self._clock.monotonic() < self._resume_at:
            return
        for asked in self.questions.step(stopping=self._stopping):
            self._held.pop(asked.lease.id, None)

    # --- claim --------------------------------------------------------------------------------------------------------

    def _claim(self) -> None:
        clock = self._clock.monotonic()
        if clock < self._resume_at or not (self._ticked.is_set() or clock >= self._look_at):
            return
        self._ticked.clear()
        self._look_at = clock + _LOOK_ANYWAY_S
        keeps = self.problem is not None and bool(self._ended)  # what the store has not taken yet
        begins = not self._stopping and not keeps
        share = self._claims.share(self._workers) if begins else 0
        self._held_per_worker = share or self._held_per_worker
        capacity = self._workers * self._held_per_worker if begins else 0
        leases: Sequence[Lease] = ()
        delayed = 0
        if clock >= self._sign_at or self.problem is not None or share:
            leases, kept, delayed = self._claims.take(
                capacity, [held.lease for held in self._held.values()], self._full()
            )
            self._sign_at = clock + SIGN_OF_LIFE.total_seconds()
            self._lose(self._held.keys() - kept)
            if not self._ended:
                self._is_well()
        for lease in leases:
            self._hold(lease)
        self._found_nothing = not leases and not delayed
        if capacity and len(leases) + delayed >= capacity:
            self._look_at = clock  # there may be more

    def _full(self) -> set[str]:
        """Name the tables of sources of which enough is in hand: one that hangs must not keep out the others."""
        in_hand = Counter(held.source for held in self._held.values())
        most = {name: limit * self._held_per_worker // 2 for name, limit in self._concurrency.items()}
        full = {name for name, number in in_hand.items() if number > most.get(name, 0)}
        if not full:
            return set()
        sources = {name: target.source.name for name, target in self._targets.items()} | self.questions.by_source
        return {name for name, source in sources.items() if source in full}

    def _lose(self, leases: Iterable[int]) -> None:
        for lost in leases:
            held = self._held.pop(lost)
            self._jobs.drop(held)
            self.questions.drop(held)
            LOG.warning("table %s: another daemon took it over", held.name)

    def _hold(self, lease: Lease) -> None:
        asked = self.questions.hold(lease)
        if asked is not None:
            self._held[lease.id] = asked
            return
        target = self._targets.get(lease.table)
        if target is None:  # left by a daemon with another configuration
            self._claims.give_up(lease)
            return
        if not self._claims.is_regular(lease):
            now = self._clock.now()
            target = only_unconfirmed(target, lease.slot, store=self._store, policy_of=self._policy_of, now=now)
        if target.subject.keeps:
            (target,) = with_count_states([target], store=self._store, key=self._key)
        leased_table = LeasedTable(lease, target, alone=lease.attempt > 1 or self._crashes.are_in(target))
        leased_table.given_up |= leased_table.answers(self._crashes.resting(target))
        if lease.attempt > _MOST_ATTEMPTS:
            ended = _ended_worker(f"with its daemon, {_MOST_ATTEMPTS} times")
            leased_table.given_up |= leased_table.answers(
                {check_id: ended for check_id, _ in leased_table.asked.subject.checks}
            )
        self._held[lease.id] = leased_table
        self._go_on(leased_table)

    def _go_on(self, leased_table: LeasedTable) -> None:
        """Let a table wait for a worker; when no worker is to be asked, its results are known already."""
        if leased_table.asked.subject.checks:
            self._jobs.wait(leased_table)
        else:
            self._ended.append((leased_table, leased_table.not_asked(self._clock.now())))

    # --- workers ------------------------------------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        match event:
            case TableScanned(job, looked) | Overdue(job, looked=TableResult() as looked):
                self._found(job, looked)
            case WorkerDied(job, table, None, cause):
                self._died(job, table, cause)
            case WorkerDied(_, _, str() as check_id, cause):
                self._crashes.add(check_id, cause)
        if isinstance(event, Ended) or (isinstance(event, WorkerDied | Overdue) and event.check_id is None):
            self._jobs.put_back(event.job)

    def _found(self, job: int, looked: TableResult) -> None:
        leased_table = self._take_out(job, looked.target.subject.name)
        if isinstance(leased_table, LeasedStatistic):
            self.questions.hear(leased_table, looked.told)
        elif leased_table is not None:
            if looked.closed is not None and (late := looked.closed.found_late) is not None:
                text = "table %s: a full look found late changes (figures changed: %d, rows: %+d)"
                LOG.warning(text, leased_table.name, late["figures"], late["rows"])
            self._ended.append((leased_table, leased_table.whole(looked)))
            self._jobs.learn(leased_table, looked)

    def _died(self, job: int, table: str, cause: str) -> None:
        """Ask for the checks of a table one by one after it ended a worker, to see which one does it."""
        leased_table = self._take_out(job, table)
        if isinstance(leased_table, LeasedStatistic):
            self.questions.hear(leased_table, None)
        if leased_table is None or isinstance(leased_table, LeasedStatistic):
            return
        LOG.warning("table %s: its worker process ended (%s); its checks are run one by one", table, cause)
        leased_table.alone = True
        leased_table.deaths += 1
        if leased_table.deaths > _MOST_DEATHS:
            ended = _ended_worker(cause)
            leased_table.given_up |= leased_table.answers(
                {check_id: ended for check_id, _ in leased_table.asked.subject.checks}
            )
        self._go_on(leased_table)

    def _take_out(self, job: int, table: str) -> LeasedTable | None:
        """Take a table out of its job; None where its lease was lost meanwhile."""
        held = self._jobs.take_out(job, table)
        return held if held is not None and held.lease.id in self._held else None

    # --- remember -----------------------------------------------------------------------------------------------------

    def _is_enough(self) -> bool:
        """Check whether to remember now what ended, though more is coming: a transaction costs much, a table little."""
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
            self._is_well()
            self._listener.on_results(results)
            self._crashes.forgive(results)

    def _conclude(self, batch: Sequence[tuple[LeasedTable, TableResult]]) -> Sequence[CheckResult]:
        """Conclude a batch; a table whose results we stumble over is given up alone, and not the others with it."""
        slots = [(held.lease, self._of_today(looked)) for held, looked in batch]
        concluded = run_guarded(
            lambda: record_slot_results(slots, store=self._store, policy_of=self._policy_of, clock=self._clock),
            passes_on=(StoreError, KeyboardInterrupt),
        )
        if not isinstance(concluded, Outcome):
            return concluded
        if len(batch) > 1:
            return [result for pair in batch for result in self._conclude([pair])]
        held, _ = batch[0]
        LOG.error("table %s: %s; its run is skipped", held.name, concluded.message)
        self._claims.give_up(held.lease)
        return ()

    def _of_today(self, looked: TableResult) -> TableResult:
        """Leave out what checks found that left the configuration meanwhile: nobody would close their incidents."""
        return replace(
            looked,
            measured=[
                check_measurement
                for check_measurement in looked.measured
                if check_measurement.check_id in self._check_ids
            ],
        )

    def _is_well(self) -> None:
        if self.problem is not None:
            LOG.info("the store accepts results again")
        self._pauses, self.problem = 0, None

    def _pause(self, error: StoreError) -> None:
        """Leave the store alone for a while: longer each time, half a minute at most."""
        if self.problem is None:
            LOG.error("%s; no results are lost, they are kept in memory until the store accepts them", error)
        self.problem = str(error)
        self._resume_at = self._clock.monotonic() + min(_LONGEST_PAUSE_S, 2.0**self._pauses)
        self._pauses += 1


def _scheduled(project: Project) -> Sequence[str]:
    return [table.name for table in project.config.tables if table.schedule is not None and table.own_checks]


def _answering(targets: Iterable[Target], tx: ReadTransaction) -> set[str]:
    """Return the sources that answered when they were last asked."""
    silent = {UnknownReason.UNREACHABLE, UnknownReason.TIMEOUT, UnknownReason.BUG}
    well = {check_id for check_id, watch in tx.results.watches().items() if watch.last_unknown not in silent}
    return {target.source.name for target in targets if any(check_id in well for check_id, _ in target.subject.checks)}


def _ended_worker(cause: str) -> Outcome:
    return unknown(UnknownReason.BUG, Message("the process that ran it ended ({cause})", {"cause": cause}))
