"""Show a person the levels there are to choose from."""

from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from monitor.frame.plain_text import visible
from monitor.frame.tables import draw_table

if TYPE_CHECKING:
    from remedies.generalisation._choices import Choice, Choices

_HINT: Final = "Choose by what your analysis needs, and give the levels to `remedy generalise`."


def draw_lattice(console: Console, choices: "Choices", *, most: int) -> None:
    """Print the best of the nodes that hold, with what each loses."""
    held = f"{choices.holding:,} of {choices.nodes:,} combinations of levels hold, {choices.minimal:,} of them minimal"
    console.print(Text(held if choices.complete else f"{held}, so far: the search was ended"))
    if not choices.listed:
        console.print(
            Text("Allow more suppression, add a root such as '*' to the hierarchies, or ask for less.", "dim")
        )
        return
    console.print(Text(f"Levels of {visible(', '.join(choices.columns))}:"))
    console.print()
    draw_table(
        console,
        ("levels", ">loss", ">precision", ">discernibility", ">group size", ">left out", "minimal"),
        [_line(one) for one in choices.listed[:most]],
    )
    console.print()
    more = len(choices.listed) - most
    if more > 0:
        console.print(Text(f"and {more:,} more: --top {len(choices.listed)}, or --format json", "dim"))
    console.print(Text(f"Sorted by {choices.by.value}. {_HINT} The first is", "dim"))
    pairs = zip(choices.columns, choices.listed[0].levels, strict=True)
    console.print(Text(f"  --levels {visible(','.join(f'{name}={level}' for name, level in pairs))}", "dim"))


def _line(one: "Choice") -> tuple[str, ...]:
    found = one.utilities
    return (
        " ".join(map(str, one.levels)),
        f"{100 * found.total.loss:.2f} %",
        f"{found.total.precision or 0:.4f}",
        f"{found.discernibility:,}",
        f"{found.average_class_size or 0:,.1f}",
        f"{found.rows_suppressed:,}",
        "yes" if one.is_minimal else "no",
    )
