"""Draw calm tables on a terminal: no lines, words instead of colours, at most 100 columns, in any script."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

WIDTH: Final = 100
NOTHING: Final = "-"
"""Where there is no figure: never a zero."""
_NARROWEST: Final = 12
_GAP: Final = 2


def draw_table(console: "Console", columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
    """Print rows under their columns.

    A column whose name begins with `>` holds figures and is set to the right; one that begins with `~` holds texts and
    is folded when there is not enough room. Neither sign is shown. Nothing is ever cut off: where there is too little
    room for that, every column is folded.
    """
    cells = [[cell or NOTHING for cell in row] for row in rows]
    width = min(console.width, WIDTH)
    least = _least_widths(columns, cells)
    fold = sum(least) + _GAP * (len(least) - 1) >= width  # where it fits exactly, Rich cuts off a cell
    table = _table(columns, cells, least=None if fold else least)
    console.print(table, width=width, soft_wrap=False)


def _least_widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Sequence[int]:
    """Give the widths with which only texts need folding; wide characters take two cells."""
    widths = []
    for number, column in enumerate(columns):
        name = column.lstrip(">~")
        folds = column.startswith("~")
        widest = max((cell_len(cell) for cell in (name, *(row[number] for row in rows))), default=0)
        widths.append(min(_NARROWEST, widest) if folds else widest)
    return widths


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, least: Sequence[int] | None) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, _GAP, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(
            column.lstrip(">~"),
            justify="right" if column.startswith(">") else "left",
            no_wrap=least is not None and not column.startswith("~"),
            overflow="fold",
            min_width=None if least is None else least[number],
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
