"""Serve metrics of a running daemon to Prometheus: outcomes of checks, open incidents, lag, the last reload.

Names follow Prometheus' rules: base units, `_total` for counters only. Labels are names of tables and checks, never
values.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Final

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from monitor.reporting.prometheus import gauge
from monitor.scan.results import CheckResult
from monitor.workers import PoolState

_CHECK: Final = ("table", "check", "outcome", "reason")


@dataclass(eq=False)
class Metrics(Collector):
    """The metrics of the daemon between two scrapes. Thread-safe."""

    version: str
    read_store: Callable[[], Sequence[Metric]]
    config_ok: bool = True
    config_loaded_at: datetime | None = None
    store_ok: bool = True
    in_hand: int = 0
    workers: PoolState | None = None
    _outcomes: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    _runs: Counter[tuple[str, str]] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def begin(self, outcomes: Iterable[tuple[str, str, str, str]]) -> None:
        """Begin with the outcomes before the start: table, check id, outcome, reason."""
        with self._lock:
            self._outcomes = {check: (table, outcome, reason) for table, check, outcome, reason in outcomes}

    def keep_only(self, checks: Iterable[str]) -> None:
        """Forget the checks that are no longer configured."""
        with self._lock:
            self._outcomes = {check: self._outcomes[check] for check in checks if check in self._outcomes}

    def take(self, results: Sequence[CheckResult]) -> None:
        """Count results of checks."""
        with self._lock:
            for result in results:
                reason = result.outcome.reason or ""
                self._outcomes[result.check_id] = (result.table, result.outcome.status, reason)
                self._runs[result.outcome.status, reason] += 1

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        yield gauge("tablewatch_build_info", "Version of the running daemon.", [((self.version,), 1)], ("version",))
        yield gauge("tablewatch_store_ok", "Whether the store accepts writes.", [((), self.store_ok)])
        yield gauge("tablewatch_tables_in_hand", "Tables claimed and not yet finished.", [((), self.in_hand)])
        yield from self._of_workers()
        yield from self._of_config()
        yield from self._of_checks()
        yield from self.read_store()

    def _of_workers(self) -> Iterator[Metric]:
        pool = self.workers
        if pool is not None:
            states = [(("alive",), pool.alive), (("busy",), pool.busy), (("silent",), pool.silent)]
            yield gauge(
                "tablewatch_workers", "Worker processes by state; silent: no message for a second.", states, ("state",)
            )

    def _of_config(self) -> Iterator[Metric]:
        name = "tablewatch_config_last_reload_successful"
        yield gauge(name, "Whether the configuration on disk is in use.", [((), self.config_ok)])
        if self.config_loaded_at is not None:
            name = "tablewatch_config_last_reload_success_timestamp_seconds"
            yield gauge(
                name, "Time at which the configuration in use was loaded.", [((), self.config_loaded_at.timestamp())]
            )

    def _of_checks(self) -> Iterator[Metric]:
        with self._lock:
            outcomes = [((table, check, *rest), 1.0) for check, (table, *rest) in self._outcomes.items()]
            runs = dict(self._runs)
        yield gauge(
            "tablewatch_check_outcome", "Last result of a check (always 1; see the outcome label).", outcomes, _CHECK
        )
        counter = CounterMetricFamily(
            "tablewatch_checks", "Checks run since the daemon started.", labels=("outcome", "reason")
        )
        for labels, number in runs.items():
            counter.add_metric(labels, number)
        yield counter


class MetricsAddressRefused(Exception):
    """The address of the metrics cannot be listened on; the text has the address and the reason."""


def serve(metrics: Metrics, address: str) -> Callable[[], None]:
    """Answer on `HOST:PORT` until the returned function is called.

    Raises:
        MetricsAddressRefused: the address cannot be listened on.
    """
    host, _, port = address.rpartition(":")
    registry = CollectorRegistry()
    registry.register(metrics)
    try:
        server, thread = start_http_server(int(port), host.strip("[]"), registry)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or "no such port"
        raise MetricsAddressRefused(
            f"the metrics address {address} cannot be listened on ({why}); see daemon.metrics"
        ) from None

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop
