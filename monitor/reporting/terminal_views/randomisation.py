"""Print the bill of a randomised table: what it guarantees, its accuracy, and what it does not protect."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from monitor.reporting.terminal_views.generalisation import draw_order
from monitor.terminal.output import count
from monitor.terminal.redaction import visible
from monitor.terminal.tables import draw_table
from remedies import UtilityReport
from remedies.differential_privacy.accounting import CHANGE, times
from remedies.differential_privacy.epsilon import NANO
from remedies.differential_privacy.sensitivity import Adjacency

if TYPE_CHECKING:
    from monitor.releases.treatment.reconstruct_table import Reconstructed
    from remedies.differential_privacy import Oracle


_NOT_PROTECTED: Final = (
    "Not protected: statistics about groups. Equal rows are not an equivalence class: k measured by counting them "
    "proves\n"
    "nothing for this file. Publish it once: the epsilons of further randomisations add up."
)

_STOPPED: Final = {
    "discrepancy": "the discrepancy between randomised and expected counts is within chance",
    "iterations": "the requested number",
    "still": "converged",
    "most": "the maximum, without reaching the discrepancy rule",
    "none": "no iterations",
}


def draw_randomisation(console: Console, bill: UtilityReport, out: Path) -> None:
    """Print whether an epsilon holds and what it means, then the retention of each column."""
    figures: Mapping[str, Any] = bill.figures
    mechanism: Mapping[str, Any] = bill.guarantee.reached
    place = visible(str(out))
    if figures["epsilon"] is None:
        unchanged = f"  {place}: not randomised: {visible(', '.join(figures['unchanged']))}"
        console.print(Text.assemble(("NO EPSILON", "yellow"), unchanged), soft_wrap=True)
        cost = mechanism["epsilon_of_row"]
        console.print(Text(f"The randomised columns cost epsilon {cost}; there is no guarantee for the whole row."))
        console.print(Text("--drop-rest drops all columns that are not randomised.", "dim"))
    else:
        held = f"  {place}: by the mechanism, for {bill.rows:,} rows{_pk(figures['pk'])}; verified: every value of "
        held += "the file is in its declared domain"
        console.print(Text.assemble((f"EPSILON {figures['epsilon']}", "green"), held), soft_wrap=True)
        console.print(Text(meaning(mechanism)))
    console.print()
    how = "together" if figures["joint"] else "separately"
    draw_table(
        console,
        (f"column ({how})", ">domain size", ">retention probability"),
        [
            (visible(name), f"{len(values):,}", f"{figures['retention'][name]:.10f}")
            for name, values in mechanism["domains"].items()
        ],
    )
    console.print()
    console.print(Text(_NOT_PROTECTED, "dim"))
    draw_order(console, bill)


def draw_synthesis(console: Console, bill: UtilityReport, out: Path) -> None:
    """Print the epsilon of a synthetic table and what it means, then each measured table with its expected error."""
    mechanism: Mapping[str, Any] = bill.guarantee.reached
    held = (
        f"  {visible(str(out))}: by the mechanism, {count(bill.rows, 'row')}; verified: every value of the file is in "
    )
    but = "" if mechanism["delta"] is None else f" (rho {mechanism['rho']}, delta {mechanism['delta']})"
    title = (f"EPSILON {bill.figures['epsilon']}{but}", "green")
    console.print(Text.assemble(title, held + "its declared domain"), soft_wrap=True)
    console.print(Text(meaning({**mechanism, "epsilon": bill.figures["epsilon"]})))
    console.print()
    draw_table(
        console,
        ("measured", ">cells", ">noise, standard deviation", ">expected error"),
        [
            (
                visible(" x ".join(table["columns"])),
                f"{table['cells']:,}",
                f"{table['standard_deviation']:.1f}",
                f"{table['expected_error']:.1%}",
            )
            for table in mechanism["tables"]
        ],
    )
    console.print()
    console.print(
        Text("Any other relation between columns is that of the tree, not of the table. There is no k.", "dim")
    )
    console.print(Text("No budget was charged: 'tablewatch release export' charges one.", "dim"))


def draw_reconstruction(console: Console, done: "Reconstructed") -> None:
    """Print each cell as it came out and as it is estimated to have been, and the rule that ended the search."""
    result = done.found
    ended = f" after {count(result.iterations, 'iteration')}: {_STOPPED[result.stopped.value]}"
    console.print(Text(f"Estimated by {result.method.value}{ended if result.stopped.value != 'none' else ''}."))
    console.print()
    rows = [(map(str, cell["by"].values()), cell["randomised"], cell["estimate"]) for cell in done.cells()]
    draw_table(
        console,
        (*map(visible, done.domains), ">randomised", ">estimate before"),
        [(*map(visible, values), f"{observed:,}", f"{before:,.1f}") for values, observed, before in rows],
    )
    console.print()
    console.print(Text("This costs no further epsilon, however often it is run.", "dim"))


def meaning(mechanism: Mapping[str, Any]) -> str:
    """Return the meaning of the epsilon of a mechanism for a person in the table."""
    rows = int(mechanism["rows_per_unit"])
    who = "one row" if rows == 1 else f"all {rows:,} rows of one person"
    factor = times(int(Decimal(mechanism["epsilon"]) * NANO))
    change = CHANGE[Adjacency(mechanism["adjacency"])]
    but = f", except with probability {mechanism['delta']}" if mechanism.get("delta") else ""
    return f"If {who} {change}, the probability of any file would change at most {factor}-fold (rounded up){but}."


def _pk(pk: float | None) -> str:
    return "" if pk is None else f" (Pk {pk:,.4f})"


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
    console.print(Text("With 95% confidence, an estimate is within two standard errors.", "dim"))
    console.print(Text("Estimates are unbiased and not clipped: some can be negative.", "dim"))


def draw_choice(console: Console, oracle: "Oracle", rows: Sequence[Mapping[str, Any]], size: int, users: int) -> None:
    """Print the oracles, the one that varies least first, and the rule."""
    console.print(Text.assemble(("CHOSEN", "green"), f"  {oracle.name} for {size:,} values"))
    console.print()
    draw_table(
        console,
        ("oracle", ">variance per person", f">standard error, {users:,} people", "report format"),
        [(row["oracle"], f"{row['variance']:.6f}", f"{row['standard_error']:,.1f}", row["report"]) for row in rows],
    )
    console.print()
    rule = "The rule: GRR for fewer than 3 exp(epsilon) + 2 values; beyond, OUE, and OLH for more than 1,024 values."
    console.print(Text(rule, "dim"))
