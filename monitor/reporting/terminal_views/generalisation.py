"""Print the bill of generalisation and microaggregation: what was verified in the file, levels, information lost."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from rich.console import Console
from rich.text import Text

from monitor.terminal.redaction import visible
from monitor.terminal.tables import draw_table
from remedies import UtilityReport

if TYPE_CHECKING:
    from monitor.releases.treatment.analysis import AnalysisComparison
    from remedies.generalisation.choices import Choice, LevelChoices

READ_AGAIN: Final = "VERIFIED"
"""Marks what was verified in the written file."""
_SEARCHED: Final = (
    "Not protected: a class whose records share a sensitive value discloses it (--l, --t);\n"
    "levels chosen from these data reveal something about them: fix them for the next release with"
)
_FIXED: Final = (
    "Not protected: a class whose records share a sensitive value discloses it (--l, --t);\n"
    "columns not named are published unchanged. No proof of anonymity."
)

_RARE: Final = (
    "Not protected: suppression reveals that a record was rare; a class whose records share a sensitive\n"
    "value discloses it (--l, --t); columns not named are published unchanged."
)
_ORDER: Final = (
    "Not protected: the order of the rows, which is the input order (--keep-order). With a table in that order\n"
    "an attacker can identify records by position."
)
_DOUBTS: Final = 5
_NO_K: Final = (
    "Not protected: values within the bounds (no k is guaranteed: check with tablewatch privacy risk); bounds taken\n"
    "from the table itself reveal its extremes."
)


def draw_generalisation(
    console: Console,
    bill: UtilityReport,
    out: Path,
    *,
    names: Sequence[str] = (),
    compared: "AnalysisComparison | None" = None,
) -> None:
    """Print what was found in the file, the level of each column, what was lost, and what is not protected."""
    figures: Mapping[str, Any] = bill.figures
    draw_proof(console, bill, out)
    console.print(Text(_search(figures)))
    draw_named(console, names)
    console.print()
    levels: Mapping[str, Any] = figures.get("levels") or {}
    parts = {name: _level(levels.get(name), changed) for name, changed in bill.cells_changed.items()}
    _draw_columns(console, bill, "changed", texts=parts)
    if compared is not None:
        console.print()
        draw_change(console, compared)
    console.print()
    searched = levels and figures["search"] != "fixed levels"
    console.print(Text(_SEARCHED if searched else _FIXED, "dim"))
    if searched:
        fixed = ",".join(f"{name}={item['level']}" for name, item in levels.items())
        console.print(Text(f"  --levels {visible(fixed)}", "dim"))
    draw_order(console, bill)


def draw_suppression(console: Console, bill: UtilityReport, out: Path, *, names: Sequence[str] = ()) -> None:
    """Print what was found in the file, what was left out of it, and what is not protected."""
    draw_proof(console, bill, out)
    draw_named(console, names)
    if bill.figures["cells"]:
        console.print()
        _draw_columns(console, bill, "blanked")
    console.print()
    console.print(Text(_RARE, "dim"))
    draw_order(console, bill)


def draw_coding(console: Console, bill: UtilityReport, out: Path, *, names: Sequence[str] = ()) -> None:
    """Print the bounds that were found to hold in the file, what was coded, and what is not protected."""
    limits: Mapping[str, Any] = bill.guarantee.limits
    text = "; ".join(f"{visible(name)} {_bounds(*ends)}" for name, ends in limits.items())
    console.print(Text.assemble((READ_AGAIN, "green"), f"  {visible(str(out))}: {text}"), soft_wrap=True)
    draw_named(console, names)
    console.print()
    _draw_columns(console, bill, "changed")
    console.print()
    console.print(Text(_NO_K, "dim"))
    draw_order(console, bill)


def draw_order(console: Console, bill: UtilityReport) -> None:
    """Print that the order of the rows is not protected, where it is that of the input."""
    if bill.not_protected:
        console.print(Text(_ORDER, "dim"))


def _draw_columns(
    console: Console,
    bill: UtilityReport,
    what: Literal["changed", "blanked"],
    *,
    texts: Mapping[str, str] | None = None,
) -> None:
    """Print what each column lost, and how many of its cells. `texts`: of each, in a column beside its name."""
    cells = bill.cells_changed if what == "changed" else bill.cells_blanked
    draw_table(
        console,
        ("column", *(("~level",) if texts else ()), ">information lost", f">cells {what}"),
        [
            (visible(name), *((texts[name],) if texts else ()), f"{loss:.2f} %", f"{cells[name]:,}")
            for name, loss in bill.information_lost.items()
        ],
    )


def draw_doubts(console: Console, doubts: Sequence[Mapping[str, Any]]) -> None:
    """Warn of what is strange about hierarchies that are used all the same."""
    for doubt in doubts[:_DOUBTS]:
        text = f"  {visible(str(doubt['file']))}: column '{visible(doubt['column'])}': {visible(doubt['message'])}"
        console.print(Text.assemble(("WARNING", "yellow"), text), soft_wrap=True)
    if len(doubts) > _DOUBTS:
        console.print(Text(f"and {len(doubts) - _DOUBTS:,} more warnings: --format json", "dim"))


def draw_named(console: Console, names: Sequence[str]) -> None:
    """Warn of direct identifiers that are still in a file."""
    if names:
        text = f"direct identifiers are still included: {visible(', '.join(names))}; --drop-identifiers drops them"
        console.print(Text.assemble(("WARNING", "yellow"), f"  {text}"))


def _bounds(bottom: float | None, top: float | None) -> str:
    if bottom is None or top is None:
        return f"has no values above {top:g}" if top is not None else f"has no values below {bottom:g}"
    return f"lies between {bottom:g} and {top:g}"


_ANOTHER_CHOICE: Final = (
    "Without --key FILE the next run also suppresses other classes: two outputs of this table together reveal which "
    "ones broke a limit"
)
_SAME_CHOICE: Final = (
    "Another run under this key hides the same classes only while the table stays the same: two outputs of a "
    "table that changed together may reveal which ones broke a limit; exports of a release remember what was suppressed"
)


def draw_proof(console: Console, bill: UtilityReport, out: Path) -> None:
    """Print what was found when the file was read again."""
    reached: Mapping[str, Any] = bill.guarantee.reached
    draw_k(console, bill, out, bill.guarantee.columns, k=int(reached["k"]))
    for name, result in reached["l"].items():
        console.print(Text(f"  {visible(name)}: l = {result:g} in each group"))
    for name, result in reached["t"].items():
        own = f"; {result['t_of_output']:.4f} from those of the output"
        console.print(Text(f"  {visible(name)}: at most {result['t']:.4f} from the values of the input (t){own}"))
    if bill.rows_suppressed:
        share = 100 * bill.rows_suppressed / bill.rows
        console.print(Text(f"{bill.rows_suppressed:,} of {bill.rows:,} records ({share:.2f} %) are suppressed"))
    mixed: Any = bill.figures.get("mixed")
    cuts = bill.figures.get("search") == "mondrian"
    hidden, seen = ("not cut further", "whole") if cuts else ("suppressed", "missing")
    if mixed and mixed["classes_for_values"]:
        console.print(
            Text(
                f"{mixed['classes_for_values']:,} classes are {hidden} for their sensitive values, and with them "
                f"{mixed['classes_besides']:,} others ({mixed['rows_besides']:,} records), so that a {seen} class of "
                f"k or more broke a limit with a probability of at most {mixed['probability_for_values']:.2f}"
            )
        )
        console.print(Text(_SAME_CHOICE if mixed["repeatable"] else _ANOTHER_CHOICE))


def draw_k(console: Console, bill: UtilityReport, out: Path, columns: Sequence[str], *, k: int) -> None:
    """Print the k that was counted in the file, and on which columns."""
    count, among = bill.rows - bill.rows_suppressed, visible(", ".join(columns))
    text = (
        f"  {visible(str(out))}: k = {k:,} on {among}: each of {count:,} records is in an equivalence class with "
        f"at least {others(k)}"
    )
    console.print(Text.assemble((READ_AGAIN, "green"), text), soft_wrap=True)


def others(k: int) -> str:
    """Describe how many records one of k is alike with."""
    return "1 other" if k == 2 else f"{k - 1:,} others"


def draw_change(console: Console, compared: "AnalysisComparison") -> None:
    """Print how the figures of an analysis have changed."""
    change = compared.change
    if change is None:
        console.print(Text(f"The analysis cannot be compared: {visible(compared.failure or '')}"))
        return
    lines = f"{change.lines_before:,} lines before, {change.lines_after:,} after"
    console.print(Text(f"Analysis: {lines}; {change.vanished:,} removed, {change.appeared:,} added"))
    draw_table(
        console,
        ("figure", ">compared", ">mean change", ">largest change"),
        [
            (visible(name), f"{figure.cells:,}", _share(figure.mean), _share(figure.largest))
            for name, figure in change.figures.items()
        ],
    )


def _share(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:.2f} %"


def _level(item: Mapping[str, Any] | None, changed: int) -> str:
    if item is None:
        return "several labels per value" if changed else "unchanged"
    return f"{item['name']} (level {item['level']} of {item['of']})"


def _value(by: str, value: float | str) -> str:
    """Write a measure as `lattice` does."""
    if isinstance(value, str):
        return value
    if by == "loss":
        return f"{100 * value:.2f} %"
    return f"{value:.4f}" if by == "precision" else f"{value:.6g}"


def _search(figures: Mapping[str, Any]) -> str:
    """Return how the levels were found, in words."""
    groups = figures["utilities"]["classes"]
    by = f"{groups:,} groups; {figures['seconds']:.1f} s by {figures['search']}"
    if figures["proved"] is None:
        return by
    less = "more" if figures["by"] == "precision" else "less"
    best = f"{figures['by']} {_value(figures['by'], figures['value'])}"
    least = f"no other levels within the limits have {less}" if figures["proved"] else "the best within the time limit"
    return f"{by}: {best}, {least} ({figures['looked']:,} of {figures['nodes']:,} nodes searched)"


_HINT: Final = "Choose by the needs of your analysis and pass the levels to `remedy generalise`."


def draw_lattice(console: Console, choices: "LevelChoices", *, most: int) -> None:
    """Print the best of the nodes that hold, with what each loses."""
    held = (
        f"{choices.holding:,} of {choices.nodes:,} combinations of levels meet the limits, {choices.minimal:,} "
        "of them minimal"
    )
    console.print(Text(held if choices.complete else f"{held}, incomplete: the search was stopped"))
    if not choices.listed:
        console.print(
            Text("Allow more suppression, add a root such as '*' to the hierarchies, or relax the limits.", "dim")
        )
        return
    console.print(Text(f"Levels of {visible(', '.join(choices.columns))}:"))
    console.print()
    draw_table(
        console,
        ("levels", ">loss", ">precision", ">discernibility", ">group size", ">suppressed", "minimal"),
        [_line(choice) for choice in choices.listed[:most]],
    )
    console.print()
    more = len(choices.listed) - most
    if more > 0:
        console.print(Text(f"and {more:,} more: --top {len(choices.listed)}, or --format json", "dim"))
    console.print(Text(f"Sorted by {choices.by.value}. {_HINT} The first is", "dim"))
    pairs = zip(choices.columns, choices.listed[0].levels, strict=True)
    console.print(Text(f"  --levels {visible(','.join(f'{name}={level}' for name, level in pairs))}", "dim"))


def _line(choice: "Choice") -> tuple[str, ...]:
    utilities = choice.utilities
    return (
        " ".join(map(str, choice.levels)),
        f"{100 * utilities.total.loss:.2f} %",
        f"{utilities.total.precision or 0:.4f}",
        f"{utilities.discernibility:,}",
        f"{utilities.average_class_size or 0:,.1f}",
        f"{utilities.rows_suppressed:,}",
        "yes" if choice.is_minimal else "no",
    )


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
            (visible(name), f"{loss:.2f} %", *(f"{cells.get(name, 0):,}" for cells in _cells(bill)))
            for name, loss in bill.information_lost.items()
        ],
    )
    console.print()
    console.print(Text(_NOT_PROTECTED, "dim"))
    draw_order(console, bill)


def _cells(bill: UtilityReport) -> tuple[Mapping[str, int], ...]:
    return bill.cells_changed, bill.cells_blanked, bill.cells_filled


def _loss(figures: Mapping[str, Any]) -> str:
    """Return the information loss, and its maximum distance from the optimum."""
    loss, bound = figures["information_loss"], figures["lower_bound"]
    groups, smallest, largest = figures["groups"], figures["k"], figures["largest_group"]
    sizes = f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"
    text = f"{groups:,} group{'s' * (groups != 1)} of {sizes} records"
    if loss is not None:
        text += f"; {loss:.4f} % of the information in numbers is lost"
    if bound:
        text += f", at most {100 * (loss / bound - 1):.0f} % above the lower bound"
    return f"{text}; {figures['seconds']:.1f} s by {figures['method']}"
