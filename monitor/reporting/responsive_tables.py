"""Prepare the tables of a page for narrow screens: each cell carries the head of its column.

On a narrow page the style sheet shows a row as a card and writes that head before each value, so nothing is cut off and
nothing scrolls sideways. The heads are copied when a page is made, so that no template writes them twice.
"""

import re
from dataclasses import dataclass, field
from typing import Final

_TAG: Final = re.compile(r'<(/?)(table|thead|tr|td|th)\b((?:[^>"]|"[^"]*")*)>')
"""A tag of a table, closing or not, and its attributes; what others wrote is escaped, so no text looks like one."""
_ANY_TAG: Final = re.compile(r"<[^>]*>")
_CLASS: Final = re.compile(r'\bclass="')
_WIDTH: Final = re.compile(r'\bcolspan="(\d+)"')


@dataclass(slots=True)
class _Table:
    """A table while it is read: its heads, the column at which the next cell of a row stands, and its own tag."""

    tag: int
    layout: bool
    heads: list[str] = field(default_factory=list)
    in_head: bool = False
    column: int = 0


def with_cards(page: str) -> str:
    """Return a page in which the cells of each table with a head carry `data-label`, and the table the class `cards`.

    Tables of layout (`role="presentation"`) and those without a head stay as they are; so does what a cell holds.
    """
    return _Reader(page).read()


class _Reader:
    """Reads a page once, and writes it with what is inserted."""

    def __init__(self, page: str) -> None:
        self._page, self._pieces, self._reached = page, list[str](), 0
        self._tables: list[_Table] = []
        self._head_start = 0

    def read(self) -> str:
        """Return the page with labels."""
        for tag in _TAG.finditer(self._page):
            closing, name = bool(tag[1]), tag[2]
            table = self._tables[-1] if self._tables else None
            if name == "table":
                self._table(tag, closing=closing)
            elif table is None or table.layout:
                continue
            elif name == "thead":
                self._head(table, closing=closing)
            elif name == "tr":
                table.column = 0
            elif table.in_head:
                self._head_cell(table, tag, closing=closing)
            elif not closing:
                self._cell(table, tag)
        return "".join([*self._pieces, self._page[self._reached :]])

    def _table(self, tag: re.Match[str], *, closing: bool) -> None:
        if not closing:
            self._write(tag.start(), tag[0], tag.end())
            self._tables.append(_Table(len(self._pieces) - 1, 'role="presentation"' in tag[3]))
        elif self._tables:
            self._tables.pop()

    def _head(self, table: _Table, *, closing: bool) -> None:
        table.in_head = not closing
        if closing and any(table.heads):
            self._pieces[table.tag] = _as_cards(self._pieces[table.tag])

    def _head_cell(self, table: _Table, tag: re.Match[str], *, closing: bool) -> None:
        if closing:
            table.heads[table.column] = _text(self._page[self._head_start : tag.start()])
        else:
            self._head_start, table.column = tag.end(), len(table.heads)
            table.heads += [""] * _width(tag[3])

    def _cell(self, table: _Table, tag: re.Match[str]) -> None:
        width = _width(tag[3])
        label = table.heads[table.column] if table.column < len(table.heads) else ""
        if label and tag[2] == "td" and "data-label=" not in tag[3] and width < len(table.heads):
            self._write(tag.end() - 1, f' data-label="{label}">', tag.end())
        table.column += width

    def _write(self, start: int, text: str, end: int) -> None:
        """Write the page up to a place, then a text that stands for what is there up to the end."""
        self._pieces += [self._page[self._reached : start], text]
        self._reached = end


def _as_cards(tag: str) -> str:
    named, count = _CLASS.subn('class="cards ', tag, count=1)
    return named if count else f'{tag[:-1]} class="cards">'


def _width(attributes: str) -> int:
    width = _WIDTH.search(attributes)
    return 1 if width is None else int(width[1])


def _text(head: str) -> str:
    """Return the text of a head as an attribute has it; what was escaped stays so."""
    return " ".join(_ANY_TAG.sub("", head).split()).replace('"', "&quot;")
