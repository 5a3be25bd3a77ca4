"""Say to a person what was estimated from reports under local differential privacy, and which oracle to take."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from monitor.frame.plain_text import visible
from monitor.frame.tables import draw_table

if TYPE_CHECKING:
    from remedies.differential_privacy import Oracle


def draw_estimates(
    console: Console, oracle: "Oracle", epsilon: str, rows: Sequence[Mapping[str, Any]], users: int
) -> None:
    """Print how many people have each value, and how far off that may be."""
    console.print(Text(f"{users:,} reports by {oracle.name} at epsilon {epsilon}"))
    console.print()
    draw_table(
        console,
        ("value", ">people", ">standard error", ">share"),
        [
            (
                visible(str(row["value"])),
                f"{row['count']:,.1f}",
                f"{row['standard_error']:,.1f}",
                f"{100 * row['count'] / users:.1f} %" if users else None,
            )
            for row in rows
        ],
    )
    console.print()
    console.print(Text("In 95 of 100 cases an estimate is off by at most twice its standard error.", "dim"))
    console.print(Text("Estimates have no bias and are not clipped: some can be below 0.", "dim"))


def draw_choice(console: Console, chosen: "Oracle", rows: Sequence[Mapping[str, Any]], size: int, users: int) -> None:
    """Print the oracles, the one that varies least first, and the rule."""
    console.print(Text.assemble(("CHOSEN", "green"), f"  {chosen.name} for {size:,} values"))
    console.print()
    draw_table(
        console,
        ("oracle", ">variance for each person", f">standard error, {users:,} people", "a report is"),
        [(row["oracle"], f"{row['variance']:.6f}", f"{row['standard_error']:,.1f}", row["report"]) for row in rows],
    )
    console.print()
    rule = "The rule: GRR for fewer than 3 exp(epsilon) + 2 values; beyond, OUE, and OLH for more than 1,024 values."
    console.print(Text(rule, "dim"))
