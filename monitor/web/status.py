"""What other programs read of the state: a badge of a table's health, metrics, whether this process answers."""

from collections.abc import Iterator
from typing import Annotated, Final

from annotated_types import MaxLen
from markupsafe import escape
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from pydantic import BaseModel
from starlette.responses import PlainTextResponse, Response

from monitor.reporting.prometheus import StoreMetrics, gauge, project_metrics
from monitor.summaries.daemons import DaemonStates
from monitor.summaries.health import TableHealth, states_of
from monitor.terminal.problem import Problem
from monitor.terminal.version import version
from monitor.verbs.verb import Access
from monitor.web.access import is_allowed
from monitor.web.call import Call
from monitor.web.problems import WebError

_COLOURS: Final = {
    TableHealth.HEALTHY: "#2b7a3d",
    TableHealth.WARNING: "#8a6100",
    TableHealth.DEGRADED: "#8f1d14",
    TableHealth.UNKNOWN: "#55606b",
    TableHealth.NOT_YET_CHECKED: "#55606b",
    TableHealth.NOT_MONITORED: "#55606b",
}
_LETTER: Final = 7
_HEIGHT: Final = 20
_TEXT: Final = 'fill="#fff" text-anchor="middle" font-family="sans-serif" font-size="11"'


class TableName(BaseModel):
    """The name of a table, in the path."""

    table: Annotated[str, MaxLen(500)]


def show_badge(call: Call) -> Response:
    """Return the badge of a table.

    Raises:
        WebError: the table is not configured.
    """
    table = call.project.config.table(call.query.table)
    if table is None:
        raise WebError(404, Problem("table.unknown", "there is no such table in the configuration"))
    with call.store.reading() as tx:
        health = states_of(call.project, tx, [table])[0].health
    return Response(badge_svg(table.name, health.value, _COLOURS[health]), media_type="image/svg+xml")


def badge_svg(name: str, state: str, colour: str) -> str:
    """Return a badge: a name, and a state on its colour."""
    left, right = (_LETTER * len(text) + 12 for text in (name, state))
    label, text = (
        f'<text x="{x}" y="14" {_TEXT}>{escape(word)}</text>'
        for x, word in ((left / 2, name), (left + right / 2, state))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" role="img">'
        f"<title>{escape(name)}: {state}</title>"
        f'<rect width="{left}" height="{_HEIGHT}" fill="#1a1f24"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{colour}"/>'
        f"{label}{text}</svg>"
    )


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


def show_liveness(_: Call) -> Response:
    """Return that the process answers."""
    return PlainTextResponse("ok\n")


def show_readiness(call: Call) -> Response:
    """Return that the store can be read.

    Raises:
        StoreError: it cannot.
    """
    with call.store.reading() as tx:
        tx.project()
    return PlainTextResponse("ready\n")
