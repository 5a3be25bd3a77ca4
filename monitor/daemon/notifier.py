"""Speak for all daemons of a store: decide who has to hear of what, send it, and make the reports.

On PostgreSQL one daemon does this, the one that holds the store's lock for it; on SQLite there is only one.
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

_MOST_UNTOLD: Final = 100
"""How much operators are to hear is kept in memory while the store cannot be written, the newest."""
_MOST_SAID: Final = 10_000
_REFUSED_S: Final = 600.0
"""How long the folder of reports is left alone after it could not be written: to make a report takes seconds."""
_REMIND_EVERY_S: Final = 60.0
"""How often it is looked whether people are to be reminded of what lasts."""


class Notifier:
    """What one daemon says to people. Each method is called by one thread at a time."""

    def __init__(self, store: Store, clock: Clock, *, holder: str) -> None:
        """Take the name under which messages are leased."""
        self.leads = False
        """Whether this daemon speaks for all of them."""
        self._store, self._clock, self._holder = store, clock, holder
        self._dispatcher = Dispatcher(holder)
        self._events = EventPush(store, clock)
        self._remind_at = 0.0
        self._report_at: dict[str, float] = {}
        self._burns: BurnAlerts | None = None
        self._pull_at: dict[str, float] = {}
        self._rota_problems: dict[str, str] = {}
        self._untold: deque[OperationalEvent] = deque(maxlen=_MOST_UNTOLD)
        self._telling = Lock()

    def speak(self, project: Project) -> None:
        """Decide on what changed, and send what is due.

        Raises:
            StoreError: the store cannot be used; what was not done is done the next time.
        """
        self._notify_pending(project)
        if self._lead():
            now = self._clock.monotonic()
            remind = now >= self._remind_at
            try:
                done = notify(project, self._store, self._clock.now(), remind=remind)
                if done.failed:
                    LOG.error("incidents that cannot be notified: %d; see 'tablewatch alert log'", done.failed)
                if remind:
                    self._notify_budgets(project)
                    self._look_at_rotas(project)
                    self._remind_at = now + _REMIND_EVERY_S
            finally:  # what was decided before is sent, whatever is wrong with what comes now
                self._dispatcher.step(project, self._store)

    def _notify_budgets(self, project: Project) -> None:
        if not project.config.alerts.error_budgets:
            self._burns = None
            return
        from monitor.alerts.burn_rates import BurnAlerts

        self._burns = self._burns or BurnAlerts()
        self._burns.step(project, self._store, self._clock.now())

    def _look_at_rotas(self, project: Project) -> None:
        """Let operators hear when it is not known who is on call, and when it is again."""
        for name in project.config.alerts.channels:
            duty = duty_of(project, name, self._clock.now())
            problem = None if duty is None else duty.problem
            if problem is not None and self._rota_problems.get(name) != problem:
                self.notify_operators(project, OperationalEvent(Operation.ROTA_UNKNOWN, name, problem))
            elif problem is None and name in self._rota_problems:
                self.notify_operators(project, OperationalEvent(Operation.ROTA_KNOWN, name))
            self._rota_problems.pop(name, None)
            if problem is not None:
                self._rota_problems[name] = problem

    def report(self, project: Project) -> None:
        """Make the reports that are due.

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
                self._report_at[name] = self._clock.monotonic() + _REFUSED_S
                LOG.error("the %s report cannot be written: %s; see report.%s.keep", name, error, name)

    def pull(self, project: Project) -> None:
        """Read the statuses of tickets, of each channel in its time.

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
        """Send the events of runs to an API of OpenLineage.

        Raises:
            StoreError: the store cannot be used.
        """
        for problem in self._events.step(project) if self.leads else ():
            LOG.warning("OpenLineage: %s", problem)

    def flush(self, project: Project) -> None:
        """Decide and send without waiting for more of a group: for a daemon that leaves at once.

        Raises:
            StoreError: the store cannot be used.
        """
        self._notify_pending(project)
        if not self._lead():
            return
        notify(_at_once(project), self._store, self._clock.now())
        self.report(project)
        dispatch(project, self._store, holder=self._holder)

    def _lead(self) -> bool:
        """Check whether this daemon speaks now.

        When it begins to, what a dead one was about to send is sent at once.
        """
        led, self.leads = self.leads, False  # so that what a dead one held is taken back before anything is sent
        if not self._store.try_lead():
            return False
        if not led:
            self._burns = None  # another daemon may have told of budgets meanwhile
            with self._store.writing() as tx:
                tx.deliveries.take_back(tx.schedule.clock(self._clock.now()), holder=self._holder)
        self.leads = True
        return True

    def finish(self, project: Project, *, seconds: float) -> None:
        """Wait so long for what is on its way.

        Raises:
            StoreError: the store cannot be used; what was sent may be sent again, under the same id.
        """
        self._dispatcher.finish(project, self._store, seconds=seconds)

    def notify_operators(self, project: Project, happened: OperationalEvent) -> None:
        """Write a message about Tablewatch itself, to those who look after it; later, if the store is busy now."""
        with self._telling:
            self._untold.append(happened)
        self._notify_pending(project)

    def _notify_pending(self, project: Project) -> None:
        """Write what operators have not been told, in order; what another daemon told them is left out."""
        with self._telling:
            while self._untold:
                try:
                    self._notify_one(project, self._untold[0])
                except StoreConflict:
                    LOG.info("another daemon already notified the operators")
                except StoreError as error:
                    LOG.error("operators could not be notified yet: %s", error)
                    return
                self._untold.popleft()

    def _notify_one(self, project: Project, happened: OperationalEvent) -> None:
        with self._store.writing() as tx:
            now = tx.schedule.clock(self._clock.now())
            deliveries = tx.deliveries.since(now - happened.is_news_after, _MOST_SAID)
            tx.deliveries.add(operations(project, happened, now=now, deliveries=deliveries))


def _at_once(project: Project) -> Project:
    config = project.config
    alerts = config.alerts.model_copy(update={"group_wait": timedelta()})
    return Project(replace(project.loaded, config=config.model_copy(update={"alerts": alerts})), project.clock)
