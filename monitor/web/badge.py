"""A badge of a table's health, as an SVG for wikis and READMEs."""

from typing import Annotated, Final

from annotated_types import MaxLen
from markupsafe import escape
from pydantic import BaseModel
from starlette.responses import Response

from monitor.summaries.health import TableHealth, states_of
from monitor.terminal.problem import Problem
from monitor.web.call import Call
from monitor.web.problems import WebError

_COLOURS: Final = {
    TableHealth.HEALTHY: "#2b7a3d",
    TableHealth.WARNING: "#8a6100",
    TableHealth.DEGRADED: "#8f1d14",
    TableHealth.UNKNOWN: "#55606b",
    TableHealth.NOT_YET_CHECKED: "#55606b",
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
    return Response(_svg(table.name, health), media_type="image/svg+xml")


def _svg(name: str, health: TableHealth) -> str:
    left, right = (_LETTER * len(text) + 12 for text in (name, health.value))
    label, text = (
        f'<text x="{x}" y="14" {_TEXT}>{escape(word)}</text>'
        for x, word in ((left / 2, name), (left + right / 2, health.value))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" role="img">'
        f"<title>{escape(name)}: {health.value}</title>"
        f'<rect width="{left}" height="{_HEIGHT}" fill="#1a1f24"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{_COLOURS[health]}"/>'
        f"{label}{text}</svg>"
    )
