"""Make the tables of a page readable on a telephone: each cell carries the head of its column.

On a narrow page the style sheet shows a row as a card and writes that head before each value, so nothing is cut off and
nothing scrolls sideways. The heads are copied when a page is made, so that no template writes them twice.
"""

from html import escape
from html.parser import HTMLParser
from typing import Final

_VOID: Final = frozenset({"br", "hr", "img", "link", "meta", "input", "col"})


def with_cards(page: str) -> str:
    """Return a page in which the cells of each table with a head carry `data-label`, and the table the class `cards`.

    Tables of layout (`role="presentation"`) and those without a head stay as they are; so does what a cell holds.
    """
    heads = _Reader(page, [])
    heads.feed(page)
    writer = _Reader(page, heads.found)
    writer.feed(page)
    return writer.written()


class _Table:
    """A table while it is read: its heads, the column at which the next cell of a row stands, and where it begins."""

    def __init__(self, number: int, *, layout: bool) -> None:
        self.number, self.layout = number, layout
        self.in_head, self.column = False, 0
        self.heads: list[str] = []


class _Reader(HTMLParser):
    """Reads the heads of all tables (first pass), or writes them to the cells (second pass)."""

    def __init__(self, page: str, entries: list[list[str]]) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[list[str]] = []
        self._known = entries
        self._tables: list[_Table] = []
        self._text: list[str] | None = None
        self._head = 0
        self._starts = [0]
        for line in page.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._page, self._pieces, self._reached = page, list[str](), 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Follow tables, rows and cells."""
        if tag in _VOID:
            return
        if tag == "table":
            self._begin(dict(attrs))
        elif self._tables and not self._tables[-1].layout:
            table = self._tables[-1]
            if tag == "thead":
                table.in_head = True
            elif tag == "tr":
                table.column = 0
            elif tag in {"td", "th"}:
                self._cell(table, tag, dict(attrs))

    def _begin(self, attributes: dict[str, str | None]) -> None:
        table = _Table(len(self.found), layout=attributes.get("role") == "presentation")
        self.found.append(table.heads)
        self._tables.append(table)
        if any(self._heads_of(table)):
            self._insert_class(attributes)

    def _cell(self, table: _Table, tag: str, attributes: dict[str, str | None]) -> None:
        width = int(attributes.get("colspan") or 1)
        if table.in_head:
            self._text, self._head = [], len(table.heads)
            table.heads += [""] * width
        else:
            heads = self._heads_of(table)
            head = heads[table.column] if table.column < len(heads) else ""
            if head and tag == "td" and "data-label" not in attributes and width < len(heads):
                self._insert(f' data-label="{escape(head)}"')
        table.column += width

    def _heads_of(self, table: _Table) -> list[str]:
        return self._known[table.number] if table.number < len(self._known) and not table.layout else []

    def handle_endtag(self, tag: str) -> None:
        """Leave cells, heads and tables."""
        if not self._tables:
            return
        table = self._tables[-1]
        if tag in {"td", "th"} and self._text is not None:
            table.heads[self._head] = " ".join("".join(self._text).split())
            self._text = None
        elif tag == "thead":
            table.in_head = False
        elif tag == "table":
            self._tables.pop()

    def handle_data(self, data: str) -> None:
        """Collect the text of a head."""
        if self._text is not None:
            self._text.append(data)

    def handle_entityref(self, name: str) -> None:
        """Collect a sign of a head that is written as an entity."""
        self.handle_data({"amp": "&", "lt": "<", "gt": ">", "quot": '"'}.get(name, ""))

    def handle_charref(self, name: str) -> None:
        """Collect a sign of a head that is written by its number."""
        self.handle_data(chr(int(name[1:], 16) if name[:1] in "xX" else int(name)))

    def _insert(self, text: str) -> None:
        """Write text before the end of the tag that is being read."""
        line, column = self.getpos()
        end = self._starts[line - 1] + column + len(self.get_starttag_text() or "") - 1
        self._pieces += [self._page[self._reached : end], text]
        self._reached = end

    def _insert_class(self, attributes: dict[str, str | None]) -> None:
        names = attributes.get("class")
        if names is None:
            self._insert(' class="cards"')
            return
        line, column = self.getpos()
        start = self._starts[line - 1] + column
        at = self._page.index('class="', start) + len('class="')
        self._pieces += [self._page[self._reached : at], "cards "]
        self._reached = at

    def written(self) -> str:
        """Return the page with what was inserted."""
        return "".join([*self._pieces, self._page[self._reached :]])
