"""Draw calm tables on a terminal: no lines, words instead of colours, in any script.

Nothing is cut off. Where a table is wider than the terminal it gives way in this order, each step only if the one
before is not enough: texts take several lines; the last columns of text go below their rows; names break after their
signs (`daily_` `revenue`); columns that may be left out are, with a note; all columns but the first go below. Ids,
times and figures stay in one piece. In a pipe or a file each row is one line.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, TypeAlias

from rich.cells import cell_len, chop_cells
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

NOTHING: Final = "-"
"""Where there is no figure: never a zero."""
_GAP: Final = 2
_INDENT: Final = " " * 4
_READABLE: Final = 30
"""Cells below which a last text of several words goes below its row."""
_NARROW: Final = 20
"""The fewest cells of any other text of several words."""
_LEAST: Final = 2
"""Cells of a wide character."""
_PIECE: Final = re.compile(r"[^._/:,@-]*[._/:,@-]+|[^._/:,@-]+")


def draw_table(console: "Console", columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
    """Print rows under their columns.

    Signs before the name of a column say how it gives way, and are not shown: `>` holds figures, set to the right; `~`
    holds names or texts, which may take several lines; `?` may be left out. Others hold ids, times and states.
    """
    cells = [[cell or NOTHING for cell in row] for row in rows]
    table = [_Column.of(name, [row[number] for row in cells]) for number, name in enumerate(columns)]
    layout = _arrange(table, console.width)
    for style, line in layout.lines(range(len(cells))):
        console.print(Text(line.rstrip(), style), soft_wrap=True)
    if layout.left_out:
        names = ", ".join(column.name for column in layout.left_out)
        console.print(Text(f"not shown on this narrow terminal: {names}", "dim"), soft_wrap=True)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column; `wanted`: the width of its widest text in cells."""

    name: str
    cells: Sequence[str]
    is_figure: bool
    is_text: bool
    is_optional: bool
    wanted: int

    @classmethod
    def of(cls, name: str, cells: Sequence[str]) -> "_Column":
        """Return a column by its name with its signs."""
        title = name.lstrip("?>~")
        signs = name.removesuffix(title)
        wanted = max(cell_len(line) for cell in (title, *cells) for line in cell.split("\n"))
        return cls(title, cells, ">" in signs, "~" in signs, "?" in signs, wanted)

    def longest(self, pieces: Callable[[str], Iterable[str]]) -> int:
        """Return how many cells the widest piece of its texts takes."""
        return max(cell_len(piece) for cell in (self.name, *self.cells) for piece in pieces(cell) or [""])


@dataclass(frozen=True, slots=True)
class _Layout:
    """The columns beside each other with their widths, those below each row in some room, and those left out."""

    room: int
    columns: Sequence[_Column]
    widths: Sequence[int]
    below: Sequence[_Column] = ()
    left_out: Sequence[_Column] = ()

    def lines(self, rows: Iterable[int]) -> Iterator[tuple[str, str]]:
        """Yield the style and the text of each line."""
        yield from (("dim", line) for line in self._beside([column.name for column in self.columns]))
        names = [f"{column.name}: " if column.name else "" for column in self.below]
        if len(names) == 1:
            yield "dim", _INDENT + self.below[0].name
            names = [""]
        for row in rows:
            yield from (("", line) for line in self._beside([column.cells[row] for column in self.columns]))
            for name, column in zip(names, self.below, strict=True):
                if column.cells[row] != NOTHING:
                    lines = _wrap(name + column.cells[row], max(_LEAST, self.room - len(_INDENT)))
                    yield from (("", _INDENT + line) for line in lines)

    def _beside(self, cells: Sequence[str]) -> Iterator[str]:
        wrapped = [_wrap(cell, width) for cell, width in zip(cells, self.widths, strict=True)]
        for parts in zip_longest(*wrapped, fillvalue=""):
            placed = zip(self.columns, self.widths, parts, strict=True)
            yield (" " * _GAP).join(_set(text, width, right=column.is_figure) for column, width, text in placed)


_Least: TypeAlias = Callable[[_Column, bool], int]
"""The least room of a column in a step; the flag says that it is the last."""


def _arrange(table: Sequence[_Column], room: int) -> _Layout:
    """Return the first layout that fits; the last fits in any room."""
    shown, left_out = list(table), list[_Column]()
    while True:
        for least in (_in_words, _in_pieces):
            beside, below = list(shown), list[_Column]()
            while (widths := _fit(beside, least, room)) is None and beside[-1].is_text and len(beside) > 1:
                below.insert(0, beside.pop())
            if widths is not None:
                return _Layout(room, beside, widths, below, left_out)
        optional = [column for column in shown if column.is_optional]
        if not optional:
            return _Layout(room, table[:1], [max(_LEAST, min(room, table[0].wanted))], table[1:])
        shown.remove(optional[-1])
        left_out.insert(0, optional[-1])


def _in_words(column: _Column, is_last: bool) -> int:
    """Return the least room where texts break between words."""
    if not column.is_text:
        return column.wanted
    return min(column.wanted, max(column.longest(str.split), _READABLE if is_last else _NARROW))


def _in_pieces(column: _Column, is_last: bool) -> int:
    """Return the least room where words break after their signs, too."""
    if not column.is_text:
        return column.wanted
    readable = _READABLE if is_last else _NARROW
    is_prose = any(" " in cell for cell in column.cells)
    return min(column.wanted, max(column.longest(_pieces), readable if is_prose else 0))


def _fit(columns: Sequence[_Column], least: _Least, room: int) -> list[int] | None:
    """Return the widths that columns take in some room, the widest giving way first; None where it is too little."""
    widths = [min(column.wanted, room) for column in columns]
    bounds = [least(column, number == len(columns) - 1) for number, column in enumerate(columns)]
    excess = sum(widths) + _GAP * (len(widths) - 1) - room
    if excess > sum(widths) - sum(bounds):
        return None
    for _ in range(excess):
        widest = max(
            (number for number in range(len(widths)) if widths[number] > bounds[number]), key=widths.__getitem__
        )
        widths[widest] -= 1
    return widths


def _set(text: str, width: int, *, right: bool) -> str:
    blank = " " * (width - cell_len(text))
    return blank + text if right else text + blank


def _wrap(text: str, width: int) -> Sequence[str]:
    """Return a text in lines of a width: broken between words, long words after their signs, the longest anywhere."""
    if cell_len(text) <= width and "\n" not in text:
        return [text]
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines.append("")
        for number, word in enumerate(paragraph.split(" ")):
            glue = " " if number else ""
            for piece in [word] if cell_len(word) <= width else _chopped(word, width):
                if cell_len(lines[-1] + glue + piece) <= width:
                    lines[-1] += glue + piece
                else:
                    lines.append(piece)
                glue = ""
    return lines


def _pieces(text: str) -> Iterator[str]:
    """Yield the pieces in which the words of a text may stand on lines of their own."""
    return (piece for word in text.split() for piece in _PIECE.findall(word))


def _chopped(word: str, width: int) -> Iterator[str]:
    """Yield the pieces of a word, those that are longer than a width chopped anywhere."""
    return (part for piece in _PIECE.findall(word) for part in chop_cells(piece, width))
