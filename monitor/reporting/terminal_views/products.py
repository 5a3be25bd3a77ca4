"""Print data products: a list, and one in detail."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from incidents import DownTime, from_us
from monitor.reporting.terminal_views.contracts import draw as draw_contracts
from monitor.reporting.terminal_views.incident import incident_headline
from monitor.summaries.products import ProductState
from monitor.terminal.tables import draw_table
from monitor.triage.create import tidy
from monitor.triage.time_parsing import format_hours, format_time

if TYPE_CHECKING:
    from rich.console import Console


def draw_list(console: "Console", states: Sequence[ProductState]) -> None:
    """Print data products, the worst health first."""
    columns = ("~product", "~owner", ">tables", "health", ">open", ">down (28 d)", "?>range", "promises")
    rows = [
        (
            state.name,
            state.owner or "",
            str(len(state.tables)),
            state.health.value,
            str(len(state.incidents)),
            _observed(state.down),
            _range(state.down),
            _promises(state),
        )
        for state in sorted(states, key=lambda state: state.health.rank)
    ]
    draw_table(console, columns, rows)


def draw_sheet(console: "Console", state: ProductState, *, zone: str) -> None:
    """Print everything about one data product, by the clock of a zone."""
    product = state.product
    start, end = (format_time(from_us(moment), zone) for moment in (state.window.start_us, state.window.end_us))
    console.print(Text(f"{product.title or state.name}  {state.health.value}", "bold"))
    if product.description:
        console.print(tidy(product.description))
    facts = {
        "owner": state.owner or "",
        "consumers": ", ".join(product.consumers),
        "tables": ", ".join(state.tables),
        "fed by": ", ".join(state.ports.inputs),
        "feeds others": ", ".join(state.ports.outputs),
        "period": f"{start} to {end} ({zone})",
        "down": _down(state.down) + (f", while any of {len(state.tables)} tables was" if len(state.tables) > 1 else ""),
    }
    for label, value in facts.items():
        if value:
            console.print(_line(label, value))
    for incident in state.incidents:
        console.print(_line("open", "") + incident_headline(incident))
    if state.is_promised:
        draw_contracts(console, [state.contract], zone=zone)


def _promises(state: ProductState) -> str:
    return state.contract.verdict.value if state.is_promised else ""


def _down(down: DownTime | None) -> str:
    between = _range(down)
    return _observed(down) if between is None else f"{_observed(down)} ({between})"


def _observed(down: DownTime | None) -> str:
    return "unknown" if down is None else format_hours(down.seen)


def _range(down: DownTime | None) -> str | None:
    if down is None or down.low == down.high:
        return None
    return f"{format_hours(down.low)} to {format_hours(down.high)}"


def _line(label: str, value: str) -> Text:
    return Text.assemble((f"{label:<14}", "dim"), value)
