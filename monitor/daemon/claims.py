"""Claim slots that are due, by the schedule of a configuration, which is kept in the store."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from checks import Outcome
from monitor.clock import Clock
from monitor.config.answer_series import AnswerSeries
from monitor.config.project import Project
from monitor.daemon.journal import LOG
from monitor.daemon.timetable import Timetable
from monitor.scan.clock_change import bring_back, bring_notifications_back
from monitor.scan.results import CheckMeasurement, TableResult, Target
from store import FailPoint, Lease, Scheduled, Skip, SlotState, Store, WriteTransaction, reached

if TYPE_CHECKING:
    from monitor.daemon.daily_limit import DailyLimits


@dataclass
class LeasedTable:
    """A table whose slot this daemon has leased.

    `alone`: its checks are run one by one, because one of them may kill its worker. `deaths`: workers that died during
    it, by no single check. `given_up`: results of checks that are not run.
    """

    lease: Lease
    target: Target
    alone: bool = False
    deaths: int = 0
    given_up: dict[str, CheckMeasurement] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of the table."""
        return self.target.subject.name

    @property
    def apart(self) -> bool:
        """Check whether it goes to a worker by itself."""
        return self.alone

    @property
    def source(self) -> str:
        """Return the name of its source."""
        return self.target.source.name

    @property
    def asked(self) -> Target:
        """Return the table with the checks to run."""
        checks = tuple(check for check in self.target.subject.checks if check[0] not in self.given_up)
        return replace(self.target, subject=replace(self.target.subject, checks=checks))

    def answers(self, outcomes: Mapping[str, Outcome]) -> dict[str, CheckMeasurement]:
        """Return outcomes as the results of checks that are not run, by check id."""
        checks = dict(self.target.subject.checks)
        return {
            check_id: CheckMeasurement(check_id, checks[check_id], outcome) for check_id, outcome in outcomes.items()
        }

    def whole(self, table_result: TableResult) -> TableResult:
        """Return the result of a worker with those of the checks that were not run, in the order of the checks."""
        answers = {
            check_measurement.check_id: check_measurement for check_measurement in table_result.measured
        } | self.given_up
        return replace(
            table_result, target=self.target, measured=[answers[check_id] for check_id, _ in self.target.subject.checks]
        )

    def not_asked(self, now: datetime) -> TableResult:
        """Return the result of a table of which no check is run."""
        return self.whole(TableResult(self.target, now, now, ()))


_NEVER: Final = datetime.max.replace(tzinfo=UTC)
LEASE: Final = timedelta(seconds=40)
"""How long a table is leased; a daemon renews its leases every ten seconds."""
MOST_PER_WORKER: Final = 25
_LEAST_PER_WORKER: Final = 2
_SHARE: Final = 8
"""Daemons that share a store claim an eighth of what waits, so that the others can claim too: but at least the work of
about a second, since a transaction costs as much as several small tables."""
_READ_AHEAD: Final = 64
"""How many times as many due tables as it may claim a daemon reads to find some of sources that are not full."""
_ALL: Final = 1_000_000
CLOCK_STEP_S: Final = 2.0
"""A clock that goes back by no more than this was only put right."""


_UNKNOWN_AFTER: Final = timedelta(minutes=10)


class Claimed(NamedTuple):
    """New leases, the ids of those that are still held, and the number of tables that were delayed."""

    leases: Sequence[Lease]
    kept: set[int]
    delayed: int = 0


class Claims:
    """The claims of one daemon on the schedule."""

    def __init__(
        self, store: Store, clock: Clock, *, holder: str, alone: bool, only_until: datetime | None = None
    ) -> None:
        """Claim as `holder` of the leases.

        `alone`: no other daemon uses the store, so all leases in it are taken over. `only_until`: slots until then are
        run at once, however late; later ones are not claimed.
        """
        self.only_until = only_until
        self._alone = alone
        self._store, self._clock, self._holder = store, clock, holder
        self._left_by_anyone = alone
        self._timetables: dict[str, Timetable] = {}
        self._busy_until: dict[str, datetime] = {}
        self._epoch = 0
        self._limits: DailyLimits | None = None
        self._nothing_before: datetime | None = None
        self._changes_seen: int | None = None
        self._ahead = 0.0

    @property
    def tables(self) -> Iterable[str]:
        """Return the names of the tables with a schedule."""
        return self._timetables.keys()

    def adopt(self, project: Project) -> None:
        """Replace the schedule in the store by that of a configuration; an unchanged table keeps its next slot.

        Raises:
            StoreError: it cannot be written.
        """
        timetables = _timetables(project, at_once=self.only_until is not None)
        with self._store.writing() as tx:
            now, before = tx.schedule.clock(self._clock.now()), tx.schedule.epoch()
            self._epoch = self._save_time(tx, now)
            rows = [timetable.first(self.only_until or now) for timetable in timetables.values()]
            tx.schedule.replace(rows, _dropped(tx.schedule.tables(), rows, now))
            if self._epoch != before:
                _plan_again(tx, timetables.values(), now)
            elif self.only_until is not None:
                tx.schedule.reschedule([replace(row, due_at=row.next_slot) for row in tx.schedule.tables()])
            waiting = [transition.id for transition in tx.outbox.waiting(_ALL)]
            tx.outbox.postpone(waiting, now)  # their holds may be over
            due_at = self.only_until or now  # their limits may have changed
            tx.schedule.reschedule([replace(row, due_at=due_at) for row in tx.schedule.delayed()])
        self._timetables, self._limits = timetables, _limits_of(project, timetables)

    def share(self, workers: int, least: int = _LEAST_PER_WORKER) -> int:
        """Return how many of the tables that are due to claim for each worker; 0 if none is due.

        `least`: claim as many, if there are: what a worker does in a second.

        Raises:
            StoreError: the store cannot be read.
        """
        counted = 1 if self._alone else workers * MOST_PER_WORKER * _SHARE
        self._nothing_before, self._changes_seen = None, self._store.change_counter()
        with self._store.reading() as tx:
            waiting = tx.schedule.waiting(tx.schedule.clock(self._clock.now()), counted)
            if not waiting:
                self._nothing_before = tx.schedule.next_due() or _NEVER
        if self._alone or not waiting:
            return MOST_PER_WORKER if waiting else 0
        return min(max(waiting // (workers * _SHARE), least, _LEAST_PER_WORKER), MOST_PER_WORKER)

    def next_look_in(self, step_s: float) -> float:
        """Return in how many seconds to look again whether a slot is due: in a step, or when the next one is due.

        Where no other daemon uses the store and none is due earlier, in two steps.
        """
        if self._nothing_before is None:
            return step_s
        left = (self._nothing_before - self._clock.now()).total_seconds()
        return min(left, step_s * 2 if self._alone else step_s) if left > 0 else step_s

    def went_back(self) -> bool:
        """Check whether the clock was set back since a transaction saved the time last."""
        return self._clock.now().timestamp() - self._clock.monotonic() < self._ahead - CLOCK_STEP_S

    def may_be_due(self) -> bool:
        """Check whether a slot may be due since `share` was 0 last: by the time, a changed store or a changed clock."""
        if self.went_back():
            return True
        is_later = self._nothing_before is None or self._clock.now() >= self._nothing_before
        return is_later or self._changes_seen is None or self._changes_seen != self._store.change_counter()

    def take(
        self, capacity: int, current_leases: Iterable[Lease], is_full: Callable[[str], bool] = lambda _: False
    ) -> Claimed:
        """Claim up to so many slots: expired ones of other daemons, then those due longest. Renew the present leases.

        No table that `is_full` is claimed, and none that this daemon does not know: daemons that share a store reload a
        configuration one after the other.

        Raises:
            StoreError: nothing was claimed.
        """
        with self._store.writing() as tx:
            now = tx.schedule.clock(self._clock.now())
            until = now + LEASE
            self._keep_time(tx, now)
            counts = tx.slots.renew(current_leases, now=now, lease_until=until)
            orphans = self._orphans(tx, now, capacity)
            due = self._due(tx, min(now, self.only_until or now), capacity - len(orphans), is_full)
            due, delayed = self._allowed(tx, due, now)
            claims = [
                self._timetables[scheduled.table].claim(
                    scheduled, now, busy_until=self._busy_until.get(scheduled.table)
                )
                for scheduled in due
            ]
            leases = [*orphans, *tx.slots.claim(claims, holder=self._holder, now=now, lease_until=until)]
        if leases:
            reached(FailPoint.AFTER_CLAIM)
        if capacity > len(orphans):
            self._left_by_anyone = False
        return Claimed(leases, counts, delayed)

    def _allowed(
        self, tx: WriteTransaction, due: Sequence[Scheduled], now: datetime
    ) -> tuple[Sequence[Scheduled], int]:
        """Return the tables to run now, and the number of those that daily limits of their sources delay."""
        if self._limits is None:
            return due, 0
        delays = self._limits.split(tx, due, now)
        tx.schedule.reschedule(delays.delayed)
        for line in delays.news:
            LOG.warning("%s", line)
        return delays.run, len(delays.delayed)

    def _due(
        self, tx: WriteTransaction, now: datetime, capacity: int, is_full: Callable[[str], bool]
    ) -> Sequence[Scheduled]:
        """Return due slots of known tables that are not full.

        Names are only sent to the store, which costs by the number of all tables, if too many others are due before.
        """
        for most in (capacity, capacity * _READ_AHEAD):
            due = tx.schedule.due(now, most)
            open_to = [row for row in due if row.table in self._timetables and not is_full(row.table)]
            if len(open_to) >= capacity or len(due) < most:
                return open_to[:capacity]
        return tx.schedule.due(now, capacity, [name for name in self._timetables if not is_full(name)])

    def _orphans(self, tx: WriteTransaction, now: datetime, capacity: int) -> Sequence[Lease]:
        """Take over expired leases of other daemons; those of unknown tables only after a while, to end them."""
        until = now + LEASE
        if self._alone:
            anyone = self._left_by_anyone
            return tx.slots.take_over(now, holder=self._holder, lease_until=until, limit=capacity, anyone=anyone)
        over = tx.slots.tables_over(now, max(capacity, MOST_PER_WORKER) * _READ_AHEAD)
        if not over:
            return ()
        known = [table for table in over if table in self._timetables]
        leases = tx.slots.take_over(now, holder=self._holder, lease_until=until, limit=capacity, among=known)
        unknown = tx.slots.take_over(
            now - _UNKNOWN_AFTER, holder=self._holder, lease_until=until, limit=capacity - len(leases)
        )
        return [*leases, *unknown]

    def is_regular(self, lease: Lease) -> bool:
        """Check whether a slot is one of the table's schedule, not a requested early one."""
        timetable = self._timetables.get(lease.table)
        return timetable is None or timetable.has(lease.slot)

    def give_up(self, lease: Lease) -> None:
        """End the slot of a table that is no longer configured.

        Raises:
            StoreError: it cannot be written.
        """
        self.end(lease, SlotState.GIVEN_UP)

    def end(self, lease: Lease, state: SlotState) -> None:
        """End a slot without a run.

        Raises:
            StoreError: it cannot be written.
        """
        with self._store.writing() as tx:
            tx.slots.finish([lease], now=tx.schedule.clock(self._clock.now()), state=state)

    def give_up_leases(self, leases: Iterable[Lease]) -> None:
        """Release leases, for other daemons to claim at once.

        Raises:
            StoreError: it cannot be written; the leases expire.
        """
        with self._store.writing() as tx:
            tx.slots.give_up_leases(leases, now=tx.schedule.clock(self._clock.now()))

    def was_busy(self, table: str, until: datetime) -> None:
        """Record when a run of a table ended, to distinguish slots that it overran from those of a downtime."""
        self._busy_until[table] = until

    def _keep_time(self, tx: WriteTransaction, now: datetime) -> None:
        epoch = self._save_time(tx, now)
        if epoch != self._epoch:
            self._epoch = epoch
            _plan_again(tx, self._timetables.values(), now)

    def _save_time(self, tx: WriteTransaction, now: datetime) -> int:
        """Save the time, as far as it is trusted, and return the clock's epoch."""
        monotonic, boot = self._clock.uptime()
        self._ahead = self._clock.now().timestamp() - self._clock.monotonic()
        self._store.record_time(tx, now=self._clock.now(), monotonic=monotonic, boot=boot)
        return tx.schedule.keep_time(now)


def rehearse_claims(project: Project) -> None:
    """Compute the first slots of all tables, and their limits; an error is one of the configuration."""
    timetables = _timetables(project, at_once=False)
    for timetable in timetables.values():
        timetable.after(timetable.first(project.clock.now()).due_at)
    _limits_of(project, timetables)


def _limits_of(project: Project, timetables: Mapping[str, Timetable]) -> "DailyLimits | None":
    """Return the daily limits of sources; None if there are none."""
    if all(source.daily_limit is None for source in project.config.sources.values()):
        return None
    from monitor.daemon.daily_limit import DailyLimits

    return DailyLimits.of(project, timetables)


def _timetables(project: Project, *, at_once: bool) -> dict[str, Timetable]:
    daemon, zone = project.config.daemon, project.config.timezone
    jitter = timedelta() if at_once else daemon.jitter
    catch_up = "latest" if at_once and daemon.catch_up == "none" else daemon.catch_up
    tables = {
        table.name: Timetable.of(table, zone=table.schedule_timezone or zone, jitter=jitter, catch_up=catch_up)
        for table in project.config.tables
        if table.schedule is not None and table.own_checks
    }
    return {**tables, **_of_statistics(project, jitter=jitter, catch_up=catch_up)}


def _of_statistics(
    project: Project, *, jitter: timedelta, catch_up: Literal["latest", "all", "none"]
) -> dict[str, Timetable]:
    """Return the timetables of scheduled queries. Each answer has a price: of missed slots only the newest is run."""
    budgets, zone = project.config.budgets, project.config.timezone
    results = {}
    for name, series in AnswerSeries.configured(project.config).items():
        table = project.config.table(series.table)
        schedule = budgets[series.table].statistics[series.name].schedule
        results[name] = Timetable.of_name(
            name,
            schedule,
            zone=zone if table is None or table.schedule_timezone is None else table.schedule_timezone,
            jitter=jitter,
            catch_up="latest" if catch_up == "all" else catch_up,
        )
    return results


def _plan_again(tx: WriteTransaction, timetables: Iterable[Timetable], now: datetime) -> None:
    """Set times that lie in the future, since the clock was set back, to the present."""
    tx.schedule.reschedule([timetable.after(now) for timetable in timetables])
    bring_back(tx, tx.results.watches_after(now), to=now, now=now)
    bring_notifications_back(tx, now)
    LOG.warning("the clock was set back; all schedules are recalculated from now")


def _dropped(old: Sequence[Scheduled], new: Sequence[Scheduled], now: datetime) -> Sequence[Skip]:
    """Return the due slots that are not run, because their schedule was changed or removed."""
    kept = {(row.table, row.schedule, row.zone) for row in new}
    scheduleds = [row for row in old if (row.table, row.schedule, row.zone) not in kept]
    skips = [Timetable.of_row(row).dropped(row, now) for row in scheduleds]
    return [skip for skip in skips if skip is not None]
