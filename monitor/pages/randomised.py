"""Say to a person what was randomised, what that is worth, and what it is not."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from monitor.frame.output import count
from monitor.frame.plain_text import visible
from monitor.frame.tables import draw_table
from monitor.pages.generalisation import draw_order
from remedies import UtilityReport
from remedies.differential_privacy._epsilon import NANO
from remedies.differential_privacy._sentence import times

if TYPE_CHECKING:
    from monitor.treatment.reconstructed import Reconstructed

_NOT_PROTECTED: Final = (
    "Not protected: what holds of many. Rows that are alike are no crowd to hide in: k by counting them proves\n"
    "nothing of this file. Give it out once: of a second randomisation the epsilons add up."
)

_STOPPED: Final = {
    "discrepancy": "the randomised counts are as near to the expected ones as chance would bring them",
    "iterations": "as many as were asked for",
    "still": "a step moved nothing",
    "most": "the most that are made, without an end by the discrepancy rule",
    "none": "no iterations",
}


def draw_randomisation(console: Console, bill: UtilityReport, out: Path) -> None:
    """Print whether an epsilon holds and what it means, then the retention of each column."""
    figures: Mapping[str, Any] = bill.figures
    mechanism: Mapping[str, Any] = bill.guarantee.reached
    place = visible(str(out))
    if figures["epsilon"] is None:
        unchanged = f"  {place}: unchanged leave {visible(', '.join(figures['unchanged']))}"
        console.print(Text.assemble(("NO EPSILON", "yellow"), unchanged), soft_wrap=True)
        cost = mechanism["epsilon_of_row"]
        console.print(Text(f"What was randomised of a row costs epsilon {cost}; of the whole row nothing holds."))
        console.print(Text("--drop-rest leaves out all columns that are not randomised.", "dim"))
    else:
        held = f"  {place}: by the mechanism, for {bill.rows:,} rows{_pk(figures['pk'])}; read again: every value of "
        held += "the file is in its declared domain"
        console.print(Text.assemble((f"EPSILON {figures['epsilon']}", "green"), held), soft_wrap=True)
        console.print(Text(meaning(mechanism)))
    console.print()
    how = "together" if figures["joint"] else "each by itself"
    draw_table(
        console,
        (f"column ({how})", ">values it could have", ">kept with probability"),
        [
            (visible(name), f"{len(values):,}", f"{figures['retention'][name]:.10f}")
            for name, values in mechanism["domains"].items()
        ],
    )
    console.print()
    console.print(Text(_NOT_PROTECTED, "dim"))
    draw_order(console, bill)


def draw_reconstruction(console: Console, done: "Reconstructed") -> None:
    """Print each cell as it came out and as it is estimated to have been, and the rule that ended the search."""
    found = done.found
    ended = f" after {count(found.iterations, 'iteration')}: {_STOPPED[found.stopped.value]}"
    console.print(Text(f"Estimated by {found.method.value}{ended if found.stopped.value != 'none' else ''}."))
    console.print()
    rows = [(map(str, cell["by"].values()), cell["randomised"], cell["estimate"]) for cell in done.cells()]
    draw_table(
        console,
        (*map(visible, done.domains), ">randomised", ">estimate before"),
        [(*map(visible, values), f"{seen:,}", f"{before:,.1f}") for values, seen, before in rows],
    )
    console.print()
    console.print(Text("This costs no further epsilon, however often it is done.", "dim"))


def meaning(mechanism: Mapping[str, Any]) -> str:
    """Say what the epsilon of a mechanism means for whom it protects."""
    rows = int(mechanism["rows_per_unit"])
    who = "one row" if rows == 1 else f"all {rows:,} rows of one person"
    factor = times(int(Decimal(mechanism["epsilon"]) * NANO))
    return f"If {who} were different, no file would become more than {factor} times as likely (rounded up)."


def _pk(pk: float | None) -> str:
    return "" if pk is None else f" (Pk {pk:,.4f})"
