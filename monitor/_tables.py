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
    table = _table(columns, cells, fold=_needed(columns, cells) > width)
    console.print(table, width=width, soft_wrap=False)


def _needed(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Give the least width at which only texts need folding; wide characters take two cells."""
    widths = []
    for number, column in enumerate(columns):
        name = column.lstrip(">~")
        folds = column.startswith("~")
        widest = max((cell_len(cell) for cell in (name, *(row[number] for row in rows))), default=0)
        widths.append(min(_NARROWEST, widest) if folds else widest)
    return sum(widths) + _GAP * (len(widths) - 1)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, fold: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, _GAP, 0, 0))
    for column in columns:
        name = column.lstrip(">~")
        table.add_column(
            name,
            justify="right" if column.startswith(">") else "left",
            no_wrap=not (fold or column.startswith("~")),
            overflow="fold",
            min_width=_NARROWEST if column.startswith("~") and not fold else None,
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
