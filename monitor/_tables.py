"""Draw calm tables on a terminal: no lines, words instead of colours, at most 100 columns, in any script."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

WIDTH: Final = 100
NOTHING: Final = "-"
"""Where there is no figure: never a zero."""


def draw_table(console: "Console", columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
    """Print rows under their columns.

    A column whose name begins with `>` holds figures and is set to the right; one that begins with `~` holds texts and
    is the first to be folded when there is not enough room. Neither sign is shown.
    """
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in columns:
        right = column.startswith(">")
        folds = column.startswith("~")
        table.add_column(column.lstrip(">~"), justify="right" if right else "left", no_wrap=not folds, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell or NOTHING) for cell in row))
    console.print(table, width=min(console.width, WIDTH), soft_wrap=False)
