"""The working loop: claim what is due, hand it to the workers, remember what they found.

    store ──claim──> queue of the source ──job──> worker ──found──> judged and remembered, slot finished

A table is held by a lease from the claim until its results are remembered, in one transaction with the end of its slot;
a lease that somebody else took over meanwhile makes its results worthless, and they are dropped. Results that the store
does not take are kept and tried again, and nothing new is begun until it does.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from threading import Event as ThreadEvent
from typing import Final

from checks import Message, Outcome, UnknownReason, unknown
from incidents import Watch
from monitor.conclude import CheckResult, conclude_slots
from monitor.daemon.held import Held
from monitor.daemon.journal import LOG
from monitor.daemon.slots import Timetable
from monitor.looked import Looked
from monitor.target import Target
from monitor.wiring import Project
from monitor.workers import Died, Ended, Event, Found, Job, Overdue, Pool
from store import (
    Book,
    Lease,
    Quarantine,
    Scheduled,
    Skip,
    SlotState,
    Store,
    StoreBusy,
    StoreError,
    StoreUnavailable,
)

LEASE: Final = timedelta(minutes=2)
"""How long a table is held without a sign of life."""

SIGN_OF_LIFE: Final = timedelta(seconds=10)
"""How often a daemon tells the store the time and that it still holds what it holds, and looks for what others left."""

_LOOK_ANYWAY_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 30.0
_MOST_IN_A_JOB: Final = 20
_MOST_REMEMBERED: Final = 50
_HELD_PER_WORKER: Final = 25
_MOST_DEATHS: Final = 3
_MOST_CRASHES: Final = 5
_FIRST_REST: Final = timedelta(hours=1)
_LONGEST_REST: Final = timedelta(days=1)


class Work:
    """What one daemon works at. Everything is done by `step`, in one thread."""

    def __init__(
        self,
        store: Store,
        pool: Pool,
        project: Project,
        *,
        holder: str,
        alone: bool,
        on_results: Callable[[Sequence[CheckResult]], None] = lambda _: None,
    ) -> None:
        """Begin with the schedule of a configuration. `alone`: no other daemon uses the store.

        Raises:
            StoreError: the schedule cannot be written.
        """
        self.problem: str | None = None
        """Why the store takes nothing now, in our words; None while all is well."""
        self._store, self._pool, self._clock = store, pool, project.clock
        self._holder, self._on_results = holder, on_results
        self._left_by_anyone = alone
        self._queues: dict[str, deque[Held]] = {}
        self._jobs: dict[int, list[Held]] = {}
        self._held: dict[int, Held] = {}
        self._ended: list[tuple[Held, Looked]] = []
        self._numbers = count(1)
        self._busy_until: dict[str, datetime] = {}
        self._only_until: datetime | None = None
        self._ticked = ThreadEvent()
        self._found_nothing = False
        self._stopping = False
        self._look_at = self._resume_at = self._sign_at = self._clock.monotonic()
        self._pauses = 0
        self.adopt(project)

    def adopt(self, project: Project) -> None:
        """Work by a configuration from now on; what is in hand is finished as it was begun.

        Raises:
            StoreError: the schedule cannot be written.
        """
        timetables = _timetables(project)
        with self._store.writing() as book:
            now, before = book.clock(self._clock.now()), book.epoch()
            self._epoch = book.keep_time(now)
            rows = [timetable.first(now) for timetable in timetables.values()]
            book.set_schedule(rows, _dropped(book.schedule(), rows, now))
            if self._epoch != before:
                _plan_anew(book, timetables.values(), now)
            self._quarantine = {one.check_id: one for one in book.quarantines()}
            watches = book.watches()
        self._workers = project.config.daemon.workers
        self._timetables = timetables
        self._targets: dict[str, Target] = {one.subject.name: one for one in project.targets(list(timetables))}
        self._limits = {name: source.run_timeout for name, source in project.config.sources.items()}
        self._policy = project.policy
        sources = project.config.sources
        concurrency = {name: source.concurrency for name, source in sources.items()}
        self._pool.limit(concurrency, _answering(self._targets.values(), watches))
        self._ticked.set()

    @property
    def in_hand(self) -> int:
        """Give how many tables are in hand."""
        return len(self._held)

    @property
    def tables(self) -> int:
        """Give how many tables are watched by schedule."""
        return len(self._timetables)

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
        self._only_until = moment

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
            for event in self._pool.events(longest_s):
                self._take(event)
            self._remember()
        except (StoreBusy, StoreUnavailable) as error:
            self._pause(error)

    def give_back(self) -> None:
        """Let others take what is in hand, now that no worker is at it.

        Raises:
            StoreError: it cannot be written; the leases end by themselves.
        """
        with self._store.writing() as book:
            book.give_back([held.lease for held in self._held.values()], now=book.clock(self._clock.now()))
        self._held.clear()

    # --- claim --------------------------------------------------------------------------------------------------------

    def _claim(self) -> None:
        clock = self._clock.monotonic()
        if clock < self._resume_at or not (self._ticked.is_set() or clock >= self._look_at):
            return
        self._ticked.clear()
        self._look_at = clock + _LOOK_ANYWAY_S
        most = self._workers * _HELD_PER_WORKER
        room = 0 if self._stopping or len(self._held) > most // 2 else most - len(self._held)
        claimed = 0
        if clock >= self._sign_at or (room and self._is_anything_due()):
            claimed = self._claim_up_to(room)
            self._sign_at = clock + SIGN_OF_LIFE.total_seconds()
        self._found_nothing = claimed == 0
        if room and claimed == room:
            self._look_at = clock  # there may be more

    def _is_anything_due(self) -> bool:
        with self._store.reading() as view:
            due = view.next_due()
            return due is not None and due <= view.clock(self._clock.now())

    def _claim_up_to(self, room: int) -> int:
        """Claim so many tables at most, and give how many came."""
        with self._store.writing() as book:
            now = book.clock(self._clock.now())
            until = now + LEASE
            self._keep_time(book, now)
            kept = book.renew([held.lease for held in self._held.values()], now=now, lease_until=until)
            leases = list(
                book.take_over(now, holder=self._holder, lease_until=until, limit=room, anyone=self._left_by_anyone)
            )
            due = book.due(min(now, self._only_until or now), room - len(leases))
            claims = [
                self._timetables[one.table].claim(one, now, busy_until=self._busy_until.get(one.table)) for one in due
            ]
            leases += book.claim(claims, holder=self._holder, now=now, lease_until=until)
        self._left_by_anyone &= len(leases) == room
        for lost in self._held.keys() - kept:
            LOG.warning("table %s: another daemon took it over", self._held.pop(lost).name)
        for lease in leases:
            self._hold(lease)
        return len(leases)

    def _keep_time(self, book: Book, now: datetime) -> None:
        """Plan anew when the clock was set back: what was planned lies too far ahead."""
        epoch = book.keep_time(now)
        if epoch != self._epoch:
            self._epoch = epoch
            _plan_anew(book, self._timetables.values(), now)

    def _hold(self, lease: Lease) -> None:
        target = self._targets.get(lease.table)
        if target is None:  # left by a daemon with another configuration
            with self._store.writing() as book:
                book.finish([lease], now=book.clock(self._clock.now()), state=SlotState.GIVEN_UP)
            return
        crashed = [check_id for check_id, _ in target.subject.checks if check_id in self._quarantine]
        held = Held(lease, target, alone=lease.attempt > 1 or bool(crashed))
        self._held[lease.id] = held
        now = self._clock.now()
        for crashes in map(self._quarantine.__getitem__, crashed):
            if crashes.until is not None and now < crashes.until:
                held.give_up(_quarantined(crashes), [crashes.check_id])
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
        """Take what makes one job: enough that small tables need few messages, not so much that others starve."""
        portion = [queue.popleft()]
        most = min(_MOST_IN_A_JOB, len(queue) // (2 * self._workers) + 1)
        while queue and len(portion) < most and not portion[0].alone and not queue[0].alone:
            portion.append(queue.popleft())
        return portion

    def _submit(self, portion: Sequence[Held]) -> None:
        number = next(self._numbers)
        self._jobs[number] = list(portion)
        targets = tuple(held.asked for held in portion)
        deadline = self._limits[portion[0].source]
        self._pool.submit(Job(number, targets, deadline=deadline, alone=portion[0].alone))

    def _take(self, event: Event) -> None:
        match event:
            case Found(job, looked) | Overdue(job, looked=Looked() as looked):
                self._found(job, looked)
            case Died(job, table, None, cause):
                self._died(job, table, cause)
            case Died(_, _, str() as check_id, cause):
                self._crashed(check_id, cause)
        if isinstance(event, Ended) or (isinstance(event, Died | Overdue) and event.check_id is None):
            for held in reversed(self._jobs.pop(event.job, [])):  # what the job did not come to
                self._queue(held, first=True)

    def _found(self, job: int, looked: Looked) -> None:
        held = self._take_out(job, looked.target.subject.name)
        if held is not None:
            self._ended.append((held, held.whole(looked)))

    def _died(self, job: int, table: str, cause: str) -> None:
        """Ask for the checks of a table one by one after it ended a worker, to see which one does it."""
        held = self._take_out(job, table)
        if held is None:
            return
        LOG.warning("table %s: its worker ended (%s); its checks are run one by one", table, cause)
        held.alone = True
        held.deaths += 1
        if held.deaths > _MOST_DEATHS:
            held.give_up(_ended_worker(cause), [check_id for check_id, _ in held.asked.subject.checks])
        self._queue(held)

    def _crashed(self, check_id: str, cause: str) -> None:
        """Count a check that ended its worker; after a few times it is left out for a while."""
        with self._store.writing() as book:
            crashes = book.crashed(check_id, book.clock(self._clock.now()), _rest_after)
        self._quarantine[check_id] = crashes
        LOG.warning("check %s: it ended its worker (%s), crash %d", check_id, cause, crashes.crashes)

    def _take_out(self, job: int, table: str) -> Held | None:
        """Take a table out of its job; None where its lease was lost meanwhile."""
        tables = self._jobs.get(job, [])
        held = next((one for one in tables if one.name == table), None)
        if held is None:
            return None
        tables.remove(held)
        return held if held.lease.id in self._held else None

    # --- remember -----------------------------------------------------------------------------------------------------

    def _remember(self) -> None:
        while self._ended and self._clock.monotonic() >= self._resume_at:
            batch = self._ended[:_MOST_REMEMBERED]
            results = conclude_slots(
                [(held.lease, looked) for held, looked in batch],
                store=self._store,
                policy=self._policy,
                now=self._clock.now(),
            )
            self._forgive(results)
            del self._ended[: len(batch)]
            for held, looked in batch:
                self._busy_until[held.name] = looked.ended_at
                self._held.pop(held.lease.id, None)
            self._pauses, self.problem = 0, None
            self._on_results(results)

    def _forgive(self, results: Sequence[CheckResult]) -> None:
        """Forget the crashes of a check that did not crash this time."""
        well = [
            one.check_id
            for one in results
            if one.check_id in self._quarantine and one.outcome.reason not in {UnknownReason.BUG, UnknownReason.TIMEOUT}
        ]
        if well:
            with self._store.writing() as book:
                book.absolve(well)
            for check_id in well:
                del self._quarantine[check_id]

    def _pause(self, error: StoreError) -> None:
        """Leave the store alone for a while: longer each time, half a minute at most."""
        if self.problem is None:
            LOG.error("%s; nothing is lost, what was found is kept until the store takes it", error)
        self.problem = str(error)
        self._resume_at = self._clock.monotonic() + min(_LONGEST_PAUSE_S, 2.0**self._pauses)
        self._pauses += 1


def _timetables(project: Project) -> dict[str, Timetable]:
    daemon, zone = project.config.daemon, project.config.timezone
    return {
        table.name: Timetable.of(
            table, zone=table.schedule_timezone or zone, jitter=daemon.jitter, catch_up=daemon.catch_up
        )
        for table in project.config.tables
        if table.schedule is not None and table.checks
    }


def _answering(targets: Iterable[Target], watches: Mapping[str, Watch]) -> set[str]:
    """Give the sources that answered when they were last asked."""
    silent = {UnknownReason.UNREACHABLE, UnknownReason.TIMEOUT, UnknownReason.BUG}
    return {
        target.source.name
        for target in targets
        for check_id, _ in target.subject.checks
        if check_id in watches and watches[check_id].last_unknown not in silent
    }


def _plan_anew(book: Book, timetables: Iterable[Timetable], now: datetime) -> None:
    """Bring the schedule back from the future."""
    book.reschedule([timetable.after(now) for timetable in timetables])
    LOG.warning("the clock was set back; every table is planned anew from now on")


def _dropped(old: Sequence[Scheduled], new: Sequence[Scheduled], now: datetime) -> Sequence[Skip]:
    """Give the slots that had come and are run no more, because their schedule was changed or taken away."""
    kept = {(row.table, row.schedule, row.zone) for row in new}
    gone = [row for row in old if (row.table, row.schedule, row.zone) not in kept]
    skips = [Timetable.of_row(row).dropped(row, now) for row in gone]
    return [skip for skip in skips if skip is not None]


def _rest_after(crashes: int) -> timedelta | None:
    """Give for how long a check is left out that ended its worker so many times in a row."""
    if crashes < _MOST_CRASHES:
        return None
    return min(_LONGEST_REST, _FIRST_REST * 2 ** (crashes - _MOST_CRASHES))


def _ended_worker(cause: str) -> Outcome:
    return unknown(UnknownReason.BUG, Message("the process that ran it ended ({cause})", {"cause": cause}))


def _quarantined(crashes: Quarantine) -> Outcome:
    text = "not run before {until}: it killed its process {crashes} times in a row"
    until = "" if crashes.until is None else crashes.until.isoformat(timespec="minutes")
    return unknown(UnknownReason.BUG, Message(text, {"until": until, "crashes": crashes.crashes}))
