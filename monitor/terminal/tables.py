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
    console.print(_table(columns, cells, widths=_widths(columns, cells, width)), width=width, soft_wrap=False)


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> Sequence[int] | None:
    """Return each column its width: figures theirs, texts what is left; None where that is too little."""
    wanted = [_widest(column, number, rows) for number, column in enumerate(columns)]
    folds = [column.startswith("~") for column in columns]
    given = [min(_NARROWEST, most) if fold else most for most, fold in zip(wanted, folds, strict=True)]
    left = room - sum(given) - _GAP * len(given)
    if left < 0:
        return None
    for number, most in enumerate(wanted):
        more = min(left, most - given[number])
        given[number] += more
        left -= more
    return given


def _widest(column: str, number: int, rows: Sequence[Sequence[str]]) -> int:
    """Return how many cells the widest text of a column takes; wide characters take two."""
    return max(cell_len(cell) for cell in (column.lstrip(">~"), *(row[number] for row in rows)))


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, widths: Sequence[int] | None) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, _GAP, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(
            column.lstrip(">~"),
            justify="right" if column.startswith(">") else "left",
            no_wrap=widths is not None and not column.startswith("~"),
            overflow="fold",
            width=None if widths is None else widths[number],
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
