"""Follow the results of checks: metrics for Prometheus, lines for the log, and events for operators."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from prometheus_client.core import Metric

from checks import Status, UnknownReason
from incidents import Incident, State
from monitor.alerts.operational import OperationalEvent
from monitor.clock import Clock
from monitor.config.project import Project
from monitor.daemon.journal import LOG
from monitor.daemon.metrics import Metrics
from monitor.daemon.quarantine import SourceAvailability, TableAvailability
from monitor.daemon.work_loop import WorkLoop
from monitor.reporting.prometheus import StoreMetrics, project_metrics
from monitor.scan.results import CheckResult
from monitor.terminal.version import version
from monitor.workers import Pool
from store import IncidentFilter, Store, StoreError

_UNRESOLVED: Final = IncidentFilter(states=(State.OPEN, State.ACKNOWLEDGED))


class Observer:
    """Counts results, and logs and reports changes."""

    def __init__(
        self, store: Store, project: Callable[[], Project], clock: Clock, notify: Callable[[OperationalEvent], None]
    ) -> None:
        """`project` returns the configuration in use. `notify` notifies the operators of an event."""
        self.counts: Counter[Status] = Counter()
        """The number of checks by status since the start."""
        self.metrics = Metrics(version(), self._read_store, config_loaded_at=clock.now())
        self._store, self._project, self._clock, self.on_event = store, project, clock, notify
        self._changes, self._sources, self._tables = ChangeLog(), SourceAvailability(), TableAvailability()

    def begin(self, check_ids: Iterable[str]) -> None:
        """Read the state before the start.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._store.reading() as tx:
            latest = tx.results.latest(check_ids)
            unresolved = tx.incidents.matching(_UNRESOLVED)
            watches = tx.results.watches()
        self._changes.begin(
            unresolved, {result.check_id: result.reason for result in latest.values() if result.reason is not None}
        )
        self._tables.begin(watches.values())
        self.metrics.begin(
            (result.table, result.check_id, result.status, result.reason or "") for result in latest.values()
        )

    def adopt(self, check_ids: Iterable[str]) -> None:
        """Forget the checks that are no longer configured."""
        known = tuple(check_ids)
        self.metrics.keep_only(known)
        self._tables.keep_only(known)
        self.metrics.config_loaded_at = self._clock.now()

    def on_results(self, results: Sequence[CheckResult]) -> None:
        """Count results, log changes, and report sources that do not answer."""
        self.metrics.take(results)
        self.counts.update(result.outcome.status for result in results)
        for line in self._changes.take(results):
            LOG.info("%s", line)
        for event in (*self._sources.take(results), *self._tables.take(results)):
            self.on_event(event)

    def update(self, work: WorkLoop, pool: Pool) -> None:
        """Update the state of the loop and the workers; log when no worker can be started, and when one can again."""
        self.metrics.store_ok, self.metrics.in_hand = work.problem is None, work.in_hand
        state, before = pool.state, self.metrics.workers
        self.metrics.workers = state
        if state.trouble != (before.trouble if before is not None else None):
            if state.trouble is None:
                LOG.info("workers can be started again")
            else:
                LOG.error("no worker can be started: %s", state.trouble)

    def _read_store(self) -> Sequence[Metric]:
        """Return the metrics of the store; none while it cannot be read."""
        now = self._clock.now()
        try:
            with self._store.reading() as tx:
                of_project = project_metrics(self._project(), tx, now, budgets=True)
                return [*StoreMetrics.of(tx, now).families(), *of_project]
        except StoreError:
            return ()


@dataclass
class ChangeLog:
    """The last logged state of each check."""

    _incidents: dict[str, int] = field(default_factory=dict)
    _unknown: dict[str, UnknownReason] = field(default_factory=dict)

    def begin(self, unresolved: Iterable[Incident], unknown: Mapping[str, UnknownReason]) -> None:
        """Begin with the state before the start."""
        self._incidents = {incident.series: incident.id for incident in unresolved if incident.series is not None}
        self._unknown = dict(unknown)

    def take(self, results: Sequence[CheckResult]) -> Iterator[str]:
        """Yield a line for each change."""
        for result in results:
            for part in (result, *result.segments):
                yield from self._of_incident(part)
            yield from self._of_evaluation(result)

    def _of_incident(self, check_result: CheckResult) -> Iterator[str]:
        series = check_result.remembered_as
        before = self._incidents.get(series)
        if check_result.incident == before:
            return
        if before is not None:
            yield f"incident #{before} ended: {series}"
            del self._incidents[series]
        if check_result.incident is not None:
            severity = check_result.check.severity.value
            yield f"incident #{check_result.incident} opened: {series}, {severity}"
            self._incidents[series] = check_result.incident

    def _of_evaluation(self, check_result: CheckResult) -> Iterator[str]:
        reason = check_result.outcome.reason if check_result.outcome.status is Status.UNKNOWN else None
        before = self._unknown.get(check_result.check_id)
        if reason is before:
            return
        if reason is None:
            del self._unknown[check_result.check_id]
            yield f"check {check_result.check_id} can be evaluated again"
        else:
            self._unknown[check_result.check_id] = reason
            yield f"check {check_result.check_id} cannot be evaluated: {reason.value}"
