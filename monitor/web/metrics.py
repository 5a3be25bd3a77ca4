"""`GET /metrics`: what Prometheus reads of the store and of this process, without a daemon's address."""

from collections.abc import Iterator

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from monitor.reporting.prometheus import StoreMetrics, gauge, project_metrics
from monitor.summaries.daemons import DaemonStates
from monitor.terminal.version import version
from monitor.web.access import Access, is_allowed
from monitor.web.call import Call


def show_metrics(call: Call) -> Response:
    """Return the metrics in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Metrics(call))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)


class _Metrics(Collector):
    def __init__(self, call: Call) -> None:
        self._call = call

    def describe(self) -> Iterator[Metric]:
        """Yield nothing: the registry need not read the store twice."""
        yield from ()

    def collect(self) -> Iterator[Metric]:
        """Yield everything."""
        call = self._call
        with call.store.reading() as tx:
            of_store = StoreMetrics.of(tx, call.now)
            of_project = project_metrics(call.project, tx, call.now, budgets=is_allowed(call.principal, Access.RELEASE))
            daemon_states = DaemonStates.of(tx, call.now, None)
        states = [daemon_states.word(daemon) for daemon in daemon_states.daemons]
        daemons = [((state,), float(states.count(state))) for state in ("running", "silent", "stopped")]
        name = "tablewatch_web_build_info"
        yield gauge(name, "Version of the web application.", [((version(),), 1)], ("version",))
        yield gauge("tablewatch_daemons", "Daemons heard of in the last hour, by state.", daemons, ("state",))
        streams = [((), float(call.application.feed.followers))]
        yield gauge("tablewatch_web_event_streams", "Open streams of changes.", streams)
        yield from of_store.families()
        yield from of_project
