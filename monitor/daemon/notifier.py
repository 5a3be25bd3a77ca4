"""Notify for all daemons of a store: decide on alerts, send messages, and write the reports.

On PostgreSQL one daemon does this, the leader, which holds a lock of the store; on SQLite there is only one.
"""

from collections import deque
from dataclasses import replace
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING, Final

from monitor.alerts.dispatch import Dispatcher, dispatch
from monitor.alerts.notify import notify
from monitor.alerts.on_call import duty_of
from monitor.alerts.operational import Operation, OperationalEvent, operations
from monitor.alerts.ticket_pull import pull_tickets, ticket_channels
from monitor.clock import Clock
from monitor.config.project import Project
from monitor.daemon.journal import LOG
from monitor.daemon.periodic_report import report_if_due
from monitor.integrations.openlineage_push import EventPush
from monitor.terminal.problem import Stop
from store import Store, StoreConflict, StoreError

if TYPE_CHECKING:
    from monitor.alerts.burn_rates import BurnAlerts

_MOST_PENDING: Final = 100
"""The most events for operators that are kept in memory while the store cannot be written: the newest."""
_MOST_RECENT: Final = 10_000
_RETRY_REPORT_S: Final = 600.0
"""When a report is tried again whose folder could not be written: composing one takes seconds."""
_IDLE_S: Final = 10.0
"""Seconds after which holds and retries are looked for in a store that was not written to, where any wait."""
_REMIND_EVERY_S: Final = 60.0
"""How often reminders and missed notifications are looked for."""


class Notifier:
    """The notifications of one daemon. Each method is called by one thread at a time."""

    def __init__(self, store: Store, clock: Clock, *, holder: str) -> None:
        """Notify as `holder` of the leases of messages."""
        self.leads = False
        """Whether this daemon is the leader."""
        self._store, self._clock, self._holder = store, clock, holder
        self._dispatcher = Dispatcher(holder)
        self._events = EventPush(store, clock)
        self._remind_at = self._idle_until = 0.0
        self._changes_seen: int | None = None
        self._report_at: dict[str, float] = {}
        self._burns: BurnAlerts | None = None
        self._pull_at: dict[str, float] = {}
        self._rota_problems: dict[str, str] = {}
        self._pending: deque[OperationalEvent] = deque(maxlen=_MOST_PENDING)
        self._pending_lock = Lock()

    def notify(self, project: Project) -> None:
        """Decide on changes, and send the messages that are due.

        Raises:
            StoreError: the store cannot be used; the rest is done the next time.
        """
        self._notify_pending(project)
        now, changes = self._clock.monotonic(), self._store.change_counter()
        is_unchanged = changes is not None and changes == self._changes_seen
        if is_unchanged and now < self._idle_until and self._dispatcher.is_at_rest:
            return
        self._changes_seen = None  # a pass that fails is repeated
        if self._try_lead():
            remind = now >= self._remind_at
            try:
                done = notify(project, self._store, self._clock.now(), remind=remind)
                if done.failed:
                    LOG.error("incidents that cannot be notified: %d; see 'tablewatch alert log'", done.failed)
                if remind:
                    self._notify_budgets(project)
                    self._check_rotas(project)
                    self._remind_at = now + _REMIND_EVERY_S
            finally:  # earlier messages are sent, even if the present decisions fail
                self._dispatcher.step(project, self._store)
        self._changes_seen, idle_s = changes, _IDLE_S if self._any_waits() else _REMIND_EVERY_S
        self._idle_until = now + idle_s  # what this pass wrote leads to another one

    def _any_waits(self) -> bool:
        """Check whether a change waits for its decision, or a message for being sent."""
        with self._store.reading() as tx:
            return bool(tx.outbox.waiting(1)) or tx.deliveries.any_waiting()

    def _notify_budgets(self, project: Project) -> None:
        if not project.config.alerts.error_budgets:
            self._burns = None
            return
        from monitor.alerts.burn_rates import BurnAlerts

        self._burns = self._burns or BurnAlerts()
        self._burns.step(project, self._store, self._clock.now())

    def _check_rotas(self, project: Project) -> None:
        """Notify the operators when it is not known who is on call, or an event is left out, and when that ends."""
        for name in project.config.alerts.channels:
            duty = duty_of(project, name, self._clock.now())
            problem = None if duty is None else duty.problem or duty.left_out
            if duty is not None and problem is not None and self._rota_problems.get(name) != problem:
                operation = Operation.ROTA_UNKNOWN if duty.problem else Operation.ROTA_INCOMPLETE
                self.notify_operators(project, OperationalEvent(operation, name, problem))
            elif problem is None and name in self._rota_problems:
                self.notify_operators(project, OperationalEvent(Operation.ROTA_KNOWN, name))
            self._rota_problems.pop(name, None)
            if problem is not None:
                self._rota_problems[name] = problem

    def report(self, project: Project) -> None:
        """Write the reports that are due.

        Raises:
            StoreError: the store cannot be used.
        """
        from monitor.reporting.period import PERIODS

        for kind in PERIODS if self.leads else ():
            name = kind.frequency
            if self._clock.monotonic() < self._report_at.get(name, 0.0):
                continue
            try:
                report_if_due(project, self._store, self._clock.now(), kind)
            except Stop as error:
                self._report_at[name] = self._clock.monotonic() + _RETRY_REPORT_S
                LOG.error("the %s report cannot be written: %s; see report.%s.keep", name, error, name)

    def pull(self, project: Project) -> None:
        """Read the statuses of tickets, of each channel in its interval.

        Raises:
            StoreError: the store cannot be used.
        """
        if not self.leads:
            return
        for channel, every_s in ticket_channels(project):
            now = self._clock.monotonic()
            if now >= self._pull_at.get(channel, now):
                self._pull_at[channel] = now + every_s
                problem = pull_tickets(project, self._store, channel).problem
                if problem is not None:
                    LOG.warning("the tickets of channel %s could not be read: %s", channel, problem)

    def push_events(self, project: Project) -> None:
        """Send the events of runs to an OpenLineage API.

        Raises:
            StoreError: the store cannot be used.
        """
        for problem in self._events.step(project) if self.leads else ():
            LOG.warning("OpenLineage: %s", problem)

    def flush(self, project: Project) -> None:
        """Decide and send without `group_wait`: for a daemon that ends at once.

        Raises:
            StoreError: the store cannot be used.
        """
        self._notify_pending(project)
        if not self._try_lead():
            return
        notify(_at_once(project), self._store, self._clock.now())
        self.report(project)
        dispatch(project, self._store, holder=self._holder)

    def _try_lead(self) -> bool:
        """Become or stay the leader, if no other daemon is.

        A new leader sends at once what a dead one had leased.
        """
        led, self.leads = self.leads, False  # until the leases of a dead one are taken back
        if not self._store.try_lead():
            return False
        if not led:
            self._burns = None  # another daemon may have sent notices about budgets meanwhile
            with self._store.writing() as tx:
                tx.deliveries.take_back(tx.schedule.clock(self._clock.now()), holder=self._holder)
        self.leads = True
        return True

    def finish(self, project: Project, *, seconds: float) -> None:
        """Wait at most so many seconds for messages that are being sent.

        Raises:
            StoreError: the store cannot be used; messages may be sent again, under the same id.
        """
        self._dispatcher.finish(project, self._store, seconds=seconds)

    def notify_operators(self, project: Project, event: OperationalEvent) -> None:
        """Write the messages about an event to the operators; later, if the store is busy now."""
        with self._pending_lock:
            self._pending.append(event)
        self._notify_pending(project)

    def _notify_pending(self, project: Project) -> None:
        """Write the messages about pending events, in order; those that another daemon wrote are left out."""
        with self._pending_lock:
            while self._pending:
                try:
                    self._notify_one(project, self._pending[0])
                except StoreConflict:
                    LOG.info("another daemon already notified the operators")
                except StoreError as error:
                    LOG.error("operators could not be notified yet: %s", error)
                    return
                self._pending.popleft()

    def _notify_one(self, project: Project, event: OperationalEvent) -> None:
        with self._store.writing() as tx:
            now = tx.schedule.clock(self._clock.now())
            deliveries = tx.deliveries.since(now - event.repeat_after, _MOST_RECENT)
            tx.deliveries.add(operations(project, event, now=now, deliveries=deliveries))


def _at_once(project: Project) -> Project:
    config = project.config
    alerts = config.alerts.model_copy(update={"group_wait": timedelta()})
    return Project(replace(project.loaded, config=config.model_copy(update={"alerts": alerts})), project.clock)
