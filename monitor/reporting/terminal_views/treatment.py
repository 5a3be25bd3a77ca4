"""Print what a remedy did: what was found in the file first, then what it cost."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from monitor.reporting.terminal_views.generalisation import draw_k, draw_order
from monitor.terminal.redaction import visible
from monitor.terminal.tables import draw_table
from remedies import UtilityReport

_NOT_PROTECTED: Final = (
    "Not protected: a class whose records share a sensitive value discloses it;\n"
    "columns not named are published unchanged. No proof of anonymity."
)


def draw_bill(console: Console, bill: UtilityReport, out: Path, k: int, *, columns: Sequence[str]) -> None:
    """Print what was found in the file, and what it cost. `k`: by all `columns`, as they were counted."""
    draw_k(console, bill, out, columns, k=k)
    console.print(Text(_loss(bill.figures)))
    console.print()
    draw_table(
        console,
        ("column", ">information lost", ">cells changed", ">blanked", ">filled"),
        [
            (visible(name), f"{lost:.2f} %", *(f"{cells.get(name, 0):,}" for cells in _cells(bill)))
            for name, lost in bill.information_lost.items()
        ],
    )
    console.print()
    console.print(Text(_NOT_PROTECTED, "dim"))
    draw_order(console, bill)


def _cells(bill: UtilityReport) -> tuple[Mapping[str, int], ...]:
    return bill.cells_changed, bill.cells_blanked, bill.cells_filled


def _loss(figures: Mapping[str, Any]) -> str:
    """Format the loss, and how far from the optimum it can be at most."""
    lost, bound = figures["information_loss"], figures["lower_bound"]
    text = f"{figures['groups']:,} groups of {figures['k']:,} to {figures['largest_group']:,} records"
    if lost is not None:
        text += f"; {lost:.4f} % of the information in numbers is lost"
    if bound:
        text += f", at most {100 * (lost / bound - 1):.0f} % above the lower bound"
    return f"{text}; {figures['seconds']:.1f} s by {figures['method']}"
