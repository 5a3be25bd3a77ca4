"""Follow what the work finds: figures for Prometheus, news for the journal, and what operators should know."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from checks import Status
from incidents import State
from monitor.alerts.notices import Happened
from monitor.clock import Clock
from monitor.conclude import CheckResult
from monitor.daemon.journal import LOG
from monitor.daemon.metrics import Metrics, Picture
from monitor.daemon.news import News
from monitor.daemon.reach import Reach
from monitor.frame.version import version
from store import IncidentFilter, Store, StoreError

_LASTING: Final = IncidentFilter(states=(State.OPEN, State.ACKNOWLEDGED))


class Observer:
    """Hears what comes of the work, and answers for it."""

    def __init__(self, store: Store, clock: Clock, tell: Callable[[Happened], None]) -> None:
        """`tell`: how operators are told."""
        self.failed = 0
        """How many checks failed since the start."""
        self.not_evaluated = 0
        """How many could not be evaluated."""
        self.metrics = Metrics(version(), self._picture, config_loaded_at=clock.now())
        self._store, self._clock, self._tell = store, clock, tell
        self._news, self._reach = News(), Reach()

    def begin(self, check_ids: Iterable[str]) -> None:
        """Learn what is known from before the start: it is no news.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._store.reading() as view:
            latest = view.latest_results(check_ids)
            lasting = view.incidents(_LASTING)
        self._news.begin(lasting, {one.check_id: one.reason for one in latest.values() if one.reason is not None})
        self.metrics.begin((one.table, one.check_id, one.status, one.reason or "") for one in latest.values())

    def on_results(self, results: Sequence[CheckResult]) -> None:
        """Count what was found, say what is new of it, and tell of sources that do not answer."""
        self.metrics.take(results)
        statuses = [one.outcome.status for one in results]
        self.failed += statuses.count(Status.FAIL)
        self.not_evaluated += statuses.count(Status.UNKNOWN)
        for line in self._news.take(results):
            LOG.info("%s", line)
        for happened in self._reach.take(results):
            self._tell(happened)

    def on_happened(self, happened: Happened) -> None:
        """Tell the operators."""
        self._tell(happened)

    def _picture(self) -> Picture | None:
        """Give what Prometheus asks of the store; None while it cannot be read."""
        try:
            with self._store.reading() as view:
                now = view.clock(self._clock.now())
                waits_since = view.lag(now)
                return Picture(
                    lag_s=0.0 if waits_since is None else (now - waits_since).total_seconds(),
                    lasting=view.incidents(_LASTING),
                    deliveries=view.delivery_counts(),
                )
        except StoreError:
            return None
