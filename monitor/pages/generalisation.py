"""Say to a person what was generalised: what is proved first, then the levels and what they cost."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from monitor.frame.console import visible
from monitor.frame.tables import draw_table
from remedies import Bill

if TYPE_CHECKING:
    from monitor.treatment.analysis import Compared

_SEARCHED: Final = (
    "Not protected: a group whose records share a sensitive value tells it of each of them (--l, --t);\n"
    "levels chosen for these data say something about them: fix them for the next release with"
)
_FIXED: Final = (
    "Not protected: a group whose records share a sensitive value tells it of each of them (--l, --t);\n"
    "columns that were not named leave as they are. No proof of anonymity."
)


def draw_generalisation(
    console: Console, bill: Bill, out: Path, *, named: Sequence[str] = (), compared: "Compared | None" = None
) -> None:
    """Print what was proved of the file, the level of each column, what was lost, and what is not protected."""
    figures: Mapping[str, Any] = bill.figures
    draw_proof(console, bill, out)
    console.print(Text(_search(figures)))
    if named:
        said = f"direct identifiers are still in it: {visible(', '.join(named))}; leave them out of what you give"
        console.print(Text.assemble(("WARNING", "yellow"), f"  {said}"))
    console.print()
    levels: Mapping[str, Any] = figures.get("levels") or {}
    draw_table(
        console,
        ("column", "~level", ">information lost", ">cells changed"),
        [
            (visible(name), _level(levels.get(name)), f"{lost:.2f} %", f"{bill.cells_changed[name]:,}")
            for name, lost in bill.information_lost.items()
        ],
    )
    if compared is not None:
        console.print()
        draw_change(console, compared)
    console.print()
    searched = levels and figures["search"] != "fixed levels"
    console.print(Text(_SEARCHED if searched else _FIXED, "dim"))
    if searched:
        fixed = ",".join(f"{name}={one['level']}" for name, one in levels.items())
        console.print(Text(f"  --levels {visible(fixed)}", "dim"))


def draw_proof(console: Console, bill: Bill, out: Path) -> None:
    """Print what holds of the file."""
    reached: Mapping[str, Any] = bill.guarantee.reached
    kept, k = bill.rows - bill.rows_suppressed, int(reached["k"])
    said = f"  {visible(str(out))}: each of {kept:,} records is alike with at least {k - 1:,} others (k = {k:,})"
    among = f" in {visible(', '.join(bill.guarantee.columns))}"
    console.print(Text.assemble(("PROVED", "green"), said, among), soft_wrap=True)
    for name, found in reached["l"].items():
        console.print(Text(f"  {visible(name)}: l = {found:g} in each group"))
    for name, found in reached["t"].items():
        own = f"; {found['t_of_output']:.4f} from those of the output"
        console.print(Text(f"  {visible(name)}: at most {found['t']:.4f} from the values of the input (t){own}"))
    if bill.rows_suppressed:
        share = 100 * bill.rows_suppressed / bill.rows
        console.print(Text(f"{bill.rows_suppressed:,} of {bill.rows:,} records ({share:.2f} %) are left out"))


def draw_change(console: Console, compared: "Compared") -> None:
    """Print how the figures of an analysis have changed."""
    change = compared.change
    if change is None:
        console.print(Text(f"The analysis cannot be compared: {visible(compared.failure or '')}"))
        return
    lines = f"{change.lines_before:,} lines before, {change.lines_after:,} after"
    console.print(Text(f"Analysis: {lines}; {change.vanished:,} are gone, {change.appeared:,} are new"))
    draw_table(
        console,
        ("figure", ">compared", ">mean change", ">largest change"),
        [
            (visible(name), f"{one.cells:,}", _share(one.mean), _share(one.largest))
            for name, one in change.figures.items()
        ],
    )


def _share(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:.2f} %"


def _level(one: Mapping[str, Any] | None) -> str:
    return "several labels for a value" if one is None else f"{one['name']} (level {one['level']} of {one['of']})"


def _search(figures: Mapping[str, Any]) -> str:
    """Say how the levels were found."""
    groups = figures["utilities"]["classes"]
    by = f"{groups:,} groups; {figures['seconds']:.1f} s by {figures['search']}"
    if figures["proved"] is None:
        return by
    value = figures["value"]
    best = f"{figures['by']} {value if isinstance(value, str) else format(value, '.6g')}"
    least = "no other levels that hold have less: proved" if figures["proved"] else "the best within the budget"
    return f"{by}: {best}, {least} ({figures['looked']:,} of {figures['nodes']:,} nodes looked at)"
