"""What Prometheus can ask a running daemon: outcomes of checks, open incidents, lag, whether the configuration loaded.

Names follow Prometheus' rules: base units, `_total` for counters only. Labels are names of tables and checks, never
values.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Final

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from incidents import Incident
from monitor.scan.recorder import CheckResult
from monitor.terminal.redaction import visible
from monitor.workers import PoolState
from store import DeliveryState

_CHECK: Final = ("table", "check", "outcome", "reason")


@dataclass(frozen=True, slots=True)
class Picture:
    """What is read from the store when Prometheus asks. `lag_s`: how long the table that waits longest has."""

    lag_s: float
    lasting: Sequence[Incident]
    deliveries: Mapping[DeliveryState, int]


@dataclass(eq=False)
class Metrics(Collector):
    """Keeps the figures between two looks of Prometheus. Several threads may use it."""

    version: str
    picture: Callable[[], Picture | None]
    config_ok: bool = True
    config_loaded_at: datetime | None = None
    store_ok: bool = True
    in_hand: int = 0
    workers: PoolState | None = None
    _outcomes: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    _runs: Counter[tuple[str, str]] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def begin(self, outcomes: Iterable[tuple[str, str, str, str]]) -> None:
        """Take what is known from before the start: table, check id, outcome, reason."""
        with self._lock:
            self._outcomes = {check: (table, outcome, reason) for table, check, outcome, reason in outcomes}

    def keep_only(self, checks: Iterable[str]) -> None:
        """Forget the checks that are no longer configured."""
        with self._lock:
            self._outcomes = {check: self._outcomes[check] for check in checks if check in self._outcomes}

    def take(self, results: Sequence[CheckResult]) -> None:
        """Count what checks found."""
        with self._lock:
            for result in results:
                reason = result.outcome.reason or ""
                self._outcomes[result.check_id] = (result.table, result.outcome.status, reason)
                self._runs[result.outcome.status, reason] += 1

    def collect(self) -> Iterator[Metric]:
        """Yield everything, as Prometheus reads it."""
        yield _gauge("tablewatch_build_info", "Version of the running daemon.", [((self.version,), 1)], ("version",))
        yield _gauge("tablewatch_store_ok", "Whether the store accepts writes.", [((), self.store_ok)])
        yield _gauge("tablewatch_tables_in_hand", "Tables claimed and not yet finished.", [((), self.in_hand)])
        yield from self._of_workers()
        yield from self._of_config()
        yield from self._of_checks()
        picture = self.picture()
        if picture is not None:
            yield from _of_picture(picture)

    def _of_workers(self) -> Iterator[Metric]:
        pool = self.workers
        if pool is not None:
            states = [(("alive",), pool.alive), (("busy",), pool.busy), (("silent",), pool.silent)]
            yield _gauge(
                "tablewatch_workers", "Worker processes by state; silent: no message for a second.", states, ("state",)
            )

    def _of_config(self) -> Iterator[Metric]:
        name = "tablewatch_config_last_reload_successful"
        yield _gauge(name, "Whether the configuration on disk is in use.", [((), self.config_ok)])
        if self.config_loaded_at is not None:
            name = "tablewatch_config_last_reload_success_timestamp_seconds"
            yield _gauge(
                name, "Time at which the configuration in use was loaded.", [((), self.config_loaded_at.timestamp())]
            )

    def _of_checks(self) -> Iterator[Metric]:
        with self._lock:
            outcomes = [((table, check, *rest), 1.0) for check, (table, *rest) in self._outcomes.items()]
            runs = dict(self._runs)
        yield _gauge(
            "tablewatch_check_outcome", "Last result of a check (always 1; see the outcome label).", outcomes, _CHECK
        )
        counter = CounterMetricFamily(
            "tablewatch_checks", "Checks run since the daemon started.", labels=("outcome", "reason")
        )
        for labels, number in runs.items():
            counter.add_metric(labels, number)
        yield counter


class MetricsAddressRefused(Exception):
    """The address of the metrics cannot be listened on; the text says which and why."""


def serve(metrics: Metrics, address: str) -> Callable[[], None]:
    """Answer on `HOST:PORT` until the function that is given back is called.

    Raises:
        AddressRefused: the address cannot be listened on.
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


def _of_picture(picture: Picture) -> Iterator[Metric]:
    name = "tablewatch_scheduler_lag_seconds"
    yield _gauge(name, "Longest time that a due table has waited to be checked.", [((), picture.lag_s)])
    counted = Counter((item.state.value, item.severity.value, item.kind.value) for item in picture.lasting)
    labels = ("state", "severity", "kind")
    yield _gauge("tablewatch_incidents", "Open incidents.", counted.items(), labels)
    deliveries = [((state.value,), number) for state, number in picture.deliveries.items()]
    yield _gauge("tablewatch_deliveries", "Alerts by delivery state.", deliveries, ("state",))


def _gauge(
    name: str, text: str, samples: Iterable[tuple[Sequence[str], float]], labels: Sequence[str] = ()
) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(name, text, labels=labels)
    for values, number in samples:
        gauge.add_metric([visible(value) for value in values], float(number))
    return gauge
