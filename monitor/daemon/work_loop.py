"""The main loop: claim the slots that are due, give tables to workers, record the results.

    store ──claim──> queue of the source ──job──> worker ──result──> recorded, slot finished

A table is leased from the claim until its results are recorded, in one transaction with the end of its slot; results
whose lease another daemon took over are dropped. Results that the store does not accept are kept and tried again, and
nothing is claimed until it does.
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
from monitor.scan.results import CheckResult, TableResult, Target, run_guarded, targets_of, wait_for
from monitor.workers import Ended, Event, Overdue, Pool, TableScanned, WorkerDied
from store import FailPoint, Lease, ReadTransaction, Store, StoreBusy, StoreError, StoreUnavailable, reached

SIGN_OF_LIFE: Final = timedelta(seconds=10)
"""How often a daemon renews its leases and the time in the store, and looks for slots that other daemons left."""

_IDLE_SIGN_OF_LIFE_S: Final = 60.0
"""How often it saves the time where it holds nothing, and no other daemon uses the store."""
_CLAIM_EVERY_S: Final = 10.0
"""Seconds after which it claims also where no tick said that a slot may be due."""
_LONGEST_PAUSE_S: Final = 30.0
_RECORD_BATCH: Final = 50
_SHORTEST_IN_MEMORY_S: Final = 0.25
"""Seconds for which results are collected, or longer where recording is dear; a fifth without any ends it, too."""
_SHORTEST_SHARED_S: Final = 1.0
"""The same in a store that daemons share: they wait for each other's transactions."""
_MOST_DEATHS: Final = 3
_MOST_ATTEMPTS: Final = 5


class Listener(Protocol):
    """Is called with results."""

    def on_results(self, results: Sequence[CheckResult]) -> None:
        """Handle results that are recorded."""

    def on_event(self, event: OperationalEvent) -> None:
        """Handle an event for operators."""


@dataclass(frozen=True, slots=True)
class DaemonIdentity:
    """The holder of leases, and whether no other daemon uses the store.

    `only_until`: only slots until then are run.
    """

    holder: str
    alone: bool
    only_until: datetime | None = None


class WorkLoop:
    """The work of one daemon. Everything is done by `step`, in one thread."""

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
        """Why the store does not accept results now, without secrets; None while it does."""
        self._store, self._pool, self._clock, self._listener = store, pool, project.clock, listener
        self._claims = Claims(store, project.clock, holder=me.holder, alone=me.alone, only_until=me.only_until)
        self._crashes = QuarantineTracker(store, project.clock, listener.on_event)
        self._held_per_worker = MOST_PER_WORKER
        self._idle_s = _IDLE_SIGN_OF_LIFE_S if me.alone else SIGN_OF_LIFE.total_seconds()
        self._jobs = Jobs(pool)
        self.questions = ScheduledQueries(
            store,
            project.clock,
            jobs=self._jobs,
            claims=self._claims,
            tell=listener.on_event,
            once=me.only_until is not None,
        )
        self._events: deque[Event] = deque()
        self._held: dict[int, LeasedTable] = {}
        self._ended: list[tuple[LeasedTable, TableResult]] = []
        self._ticked = Flag()
        self._found_nothing = self._more = False
        self._stopping = False
        self._claim_at = self._resume_at = self._renew_at = self._recorded_at = self._clock.monotonic()
        self._pauses = 0
        self._collect_s = self._shortest_s = _SHORTEST_IN_MEMORY_S if me.alone else _SHORTEST_SHARED_S
        self.adopt(project)

    def step(self, longest_s: float) -> None:
        """Claim, give out and record what is due, waiting at most so many seconds for the workers.

        Raises:
            StoreError: the store is damaged, or was replaced.
        """
        try:
            # 1. Claim what is due, and move the scheduled queries on.
            self._claim()
            self._answer()
            # 2. Give tables to workers, and wait for what they report.
            if not self._stopping:
                self._jobs.hand_out()
            events = self._pool.events(min(longest_s, self._collect_s / 5) if self._ended else longest_s)
            self._events += events
            # 3. Take their reports, while the store accepts results.
            while self._events and self._clock.monotonic() >= self._resume_at:
                self._take(self._events[0])
                self._events.popleft()
            # 4. Record the results of many tables in one transaction.
            if not events or self._is_enough():
                self._record()
        except (StoreBusy, StoreUnavailable) as error:
            self._pause(error)

    def adopt(self, project: Project) -> None:
        """Use a configuration from now on; tables that are leased are finished by the one before.

        Raises:
            StoreError: the schedule cannot be written; the old one stays.
        """
        targets = {target.subject.name: target for target in targets_of(project, scheduled_tables(project))}
        with self._store.reading() as tx:
            answering = _answering(targets.values(), tx)
        self._crashes.refresh()
        self._claims.adopt(project)  # nothing fails from here on, so the configuration is used as a whole or not at all
        self._workers = project.config.daemon.workers
        self._policy_of = project.policy_of
        self._key = project.signature_key
        self._targets: dict[str, Target] = targets
        self.questions.adopt(project)
        self._source_of = {name: target.source.name for name, target in targets.items()} | self.questions.by_source
        self._jobs.adopt(project)
        self._concurrency = {name: source.concurrency for name, source in project.config.sources.items()}
        self._check_ids = {table.check_id(check) for table in project.config.tables for check in table.checks}
        self._pool.limit(self._concurrency, answering)
        self._ticked.set()

    def tick(self, step_s: float = 1.0) -> float:
        """Claim what is due at the next step, if anything may be; return in how many seconds to do so again."""
        if self._claims.may_be_due():
            self._ticked.set()
        return self._claims.next_look_in(step_s)

    def stop(self) -> None:
        """Claim nothing more."""
        self._stopping = True

    def give_up_leases(self) -> None:
        """Release the leases, now that no worker is busy.

        Raises:
            StoreError: it cannot be written; the leases expire.
        """
        self._claims.give_up_leases([held.lease for held in self._held.values()])
        self._held.clear()

    @property
    def in_hand(self) -> int:
        """Return the number of leased tables."""
        return len(self._held)

    @property
    def tables(self) -> int:
        """Return the number of tables with a schedule."""
        return len(self._targets)

    @property
    def at_work(self) -> bool:
        """Check whether workers are busy, or results wait to be recorded."""
        return self._jobs.under_way or bool(self._ended) or self.questions.has_answers

    @property
    def exhausted(self) -> bool:
        """Check whether no table is leased, and nothing was due at the last claim."""
        return not self._held and self._found_nothing

    def _answer(self) -> None:
        if self._clock.monotonic() < self._resume_at:
            return
        for statistic in self.questions.step(stopping=self._stopping):
            self._held.pop(statistic.lease.id, None)

    # --- claim --------------------------------------------------------------------------------------------------------

    def _claim(self) -> None:
        clock = self._clock.monotonic()
        runs_low = self._more and len(self._held) - len(self._ended) <= self._workers * self._held_per_worker // 2
        if clock < self._resume_at or not (self._ticked.is_set() or runs_low or clock >= self._claim_at):
            return
        self._ticked.clear()
        self._claim_at = clock + _CLAIM_EVERY_S
        is_behind = self.problem is not None and bool(self._ended)  # the store has not accepted all results yet
        claims = not self._stopping and not is_behind
        share = self._claims.share(self._workers, self._jobs.in_a_second()) if claims else 0
        self._held_per_worker = share or self._held_per_worker
        capacity = self._workers * self._held_per_worker if claims else 0
        leases: Sequence[Lease] = ()
        delayed = 0
        if clock >= self._renew_at or self.problem is not None or share or self._claims.went_back():
            full = self._full()
            current = [held.lease for held in self._held.values()]
            leases, kept, delayed = self._claims.take(
                capacity, current, lambda table: self._source_of.get(table) in full
            )
            self._renew_at = clock + (self._idle_s if not self._held and not leases else SIGN_OF_LIFE.total_seconds())
            self._drop_lost(self._held.keys() - kept)
            if not self._ended:
                self._store_works()
        for lease in leases:
            self._hold(lease)
        self._found_nothing = not leases and not delayed
        self._more = bool(capacity) and len(leases) + delayed >= capacity

    def _full(self) -> set[str]:
        """Return the sources with enough leased tables: one that hangs must not block the others."""
        leased = Counter(held.source for held in self._held.values())
        most = {name: limit * self._held_per_worker // 2 for name, limit in self._concurrency.items()}
        return {name for name, number in leased.items() if number > most.get(name, 0)}

    def _drop_lost(self, leases: Iterable[int]) -> None:
        for lost in leases:
            held = self._held.pop(lost)
            self._jobs.drop(held)
            self.questions.drop(held)
            LOG.warning("table %s: another daemon took it over", held.name)

    def _hold(self, lease: Lease) -> None:
        statistic = self.questions.hold(lease)
        if statistic is not None:
            self._held[lease.id] = statistic
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
        leased_table.given_up |= leased_table.answers(self._crashes.suspended(target))
        if lease.attempt > _MOST_ATTEMPTS:
            ended = _ended_worker(f"with its daemon, {_MOST_ATTEMPTS} times")
            leased_table.given_up |= leased_table.answers(
                {check_id: ended for check_id, _ in leased_table.asked.subject.checks}
            )
        self._held[lease.id] = leased_table
        self._enqueue(leased_table)

    def _enqueue(self, leased_table: LeasedTable) -> None:
        """Queue a table for a worker; one of which all results are known needs none."""
        if leased_table.asked.subject.checks:
            self._jobs.wait(leased_table)
        else:
            self._ended.append((leased_table, leased_table.not_asked(self._clock.now())))

    # --- workers ------------------------------------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        match event:
            case TableScanned(job, table_result) | Overdue(job, table_result=TableResult() as table_result):
                self._found(job, table_result)
            case WorkerDied(job, table, None, cause):
                self._died(job, table, cause)
            case WorkerDied(_, _, str() as check_id, cause):
                self._crashes.add(check_id, cause)
        if isinstance(event, Ended) or (isinstance(event, WorkerDied | Overdue) and event.check_id is None):
            self._jobs.put_back(event.job)

    def _found(self, job: int, table_result: TableResult) -> None:
        leased_table = self._take_out(job, table_result.target.subject.name)
        if isinstance(leased_table, LeasedStatistic):
            self.questions.hear(leased_table, table_result.answer)
        elif leased_table is not None:
            if table_result.closed is not None and (late := table_result.closed.found_late) is not None:
                text = "table %s: a full look found late changes (figures changed: %d, rows: %+d)"
                LOG.warning(text, leased_table.name, late["figures"], late["rows"])
            self._ended.append((leased_table, leased_table.whole(table_result)))
            self._jobs.learn(leased_table, table_result)

    def _died(self, job: int, table: str, cause: str) -> None:
        """Run the checks of a table one by one after its worker died, to find the one at fault."""
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
        self._enqueue(leased_table)

    def _take_out(self, job: int, table: str) -> LeasedTable | None:
        """Remove a table from its job and return it; None if its lease was lost meanwhile."""
        held = self._jobs.take_out(job, table)
        return held if held is not None and held.lease.id in self._held else None

    # --- record -------------------------------------------------------------------------------------------------------

    def _is_enough(self) -> bool:
        """Check whether to record results now, though more are coming: transactions are expensive, tables cheap."""
        waited = self._clock.monotonic() - self._recorded_at
        return len(self._ended) >= _RECORD_BATCH or waited > self._collect_s

    def _record(self) -> None:
        while self._ended and self._clock.monotonic() >= self._resume_at:
            batch, began = self._ended[:_RECORD_BATCH], self._clock.monotonic()
            reached(FailPoint.BEFORE_REMEMBER)
            results = self._record_batch(batch)
            reached(FailPoint.AFTER_REMEMBER)
            del self._ended[: len(batch)]
            for held, table_result in batch:
                self._claims.was_busy(held.name, table_result.ended_at)
                self._held.pop(held.lease.id, None)
            self._store_works()
            self._listener.on_results(results)
            self._crashes.forgive(results)
            self._collect_s = wait_for(self._clock.monotonic() - began, shortest_s=self._shortest_s)
        self._recorded_at = self._clock.monotonic()

    def _record_batch(self, batch: Sequence[tuple[LeasedTable, TableResult]]) -> Sequence[CheckResult]:
        """Record results; only a table whose results raise an error is given up."""
        slots = [(held.lease, self._configured_only(table_result)) for held, table_result in batch]
        results = run_guarded(
            lambda: record_slot_results(slots, store=self._store, policy_of=self._policy_of, clock=self._clock),
            passes_on=(StoreError, KeyboardInterrupt),
        )
        if not isinstance(results, Outcome):
            return results
        if len(batch) > 1:
            return [result for pair in batch for result in self._record_batch([pair])]
        held, _ = batch[0]
        LOG.error("table %s: %s; its run is skipped", held.name, results.message)
        self._claims.give_up(held.lease)
        return ()

    def _configured_only(self, table_result: TableResult) -> TableResult:
        """Drop results of checks that were removed from the configuration: nothing would close their incidents."""
        return replace(
            table_result,
            measured=[
                check_measurement
                for check_measurement in table_result.measured
                if check_measurement.check_id in self._check_ids
            ],
        )

    def _store_works(self) -> None:
        if self.problem is not None:
            LOG.info("the store accepts results again")
        self._pauses, self.problem = 0, None

    def _pause(self, error: StoreError) -> None:
        """Wait before the store is used again: longer each time, at most half a minute."""
        if self.problem is None:
            LOG.error("%s; no results are lost, they are kept in memory until the store accepts them", error)
        self.problem = str(error)
        self._resume_at = self._clock.monotonic() + min(_LONGEST_PAUSE_S, 2.0**self._pauses)
        self._pauses += 1


def scheduled_tables(project: Project) -> Sequence[str]:
    """Return the tables with checks and a schedule."""
    return [table.name for table in project.config.tables if table.schedule is not None and table.own_checks]


def _answering(targets: Iterable[Target], tx: ReadTransaction) -> set[str]:
    """Return the sources that answered when they were last queried."""
    silent = {UnknownReason.UNREACHABLE, UnknownReason.TIMEOUT, UnknownReason.BUG}
    well = {check_id for check_id, watch in tx.results.watches().items() if watch.last_unknown not in silent}
    return {target.source.name for target in targets if any(check_id in well for check_id, _ in target.subject.checks)}


def _ended_worker(cause: str) -> Outcome:
    return unknown(UnknownReason.BUG, Message("the process that ran it ended ({cause})", {"cause": cause}))
