"""What the store tells Prometheus, through a daemon as through the web application: lag, open incidents, alerts.

Names follow Prometheus' rules: base units, `_total` for counters only. Labels are words and names, never values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily, Metric

from monitor.terminal.redaction import visible
from store import DeliveryState, ReadTransaction


@dataclass(frozen=True, slots=True)
class StoreMetrics:
    """How long the table that waits longest has waited; open incidents by state, severity and kind; alerts by state."""

    lag_s: float
    open_incidents: Mapping[tuple[str, str, str], int]
    deliveries: Mapping[DeliveryState, int]

    @classmethod
    def of(cls, tx: ReadTransaction, now: datetime) -> "StoreMetrics":
        """Read the store."""
        now = tx.schedule.clock(now)
        waits_since = tx.schedule.lag(now)
        return cls(
            lag_s=0.0 if waits_since is None else (now - waits_since).total_seconds(),
            open_incidents=tx.incidents.count_open(),
            deliveries=tx.deliveries.count_by_state(),
        )

    def families(self) -> Iterator[Metric]:
        """Yield them as Prometheus reads them."""
        name = "tablewatch_scheduler_lag_seconds"
        yield gauge(name, "Longest time that a due table has waited to be checked.", [((), self.lag_s)])
        labels = ("state", "severity", "kind")
        yield gauge("tablewatch_incidents", "Open incidents.", self.open_incidents.items(), labels)
        deliveries = [((state.value,), number) for state, number in self.deliveries.items()]
        yield gauge("tablewatch_deliveries", "Alerts by delivery state.", deliveries, ("state",))


def gauge(
    name: str, text: str, samples: Iterable[tuple[Sequence[str], float]], labels: Sequence[str] = ()
) -> GaugeMetricFamily:
    """Return a gauge with its samples; control characters of labels are shown as text."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, number in samples:
        family.add_metric([visible(value) for value in values], float(number))
    return family
