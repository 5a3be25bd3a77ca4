"""Links of the documentation lead somewhere."""

import re
from typing import Final

from docs.audit import ROOT, anchors, pages

_BLOCK: Final = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_RUN_TOGETHER: Final = re.compile(r"^#+ .{110,}$|^\|.*[^|\s] *$|^ *[-*] *$", re.MULTILINE)
"""A heading that goes on as a text, a row of a table that does not end, an item without a text."""
_IN_CODE: Final = ("monitor", "checks", "incidents", "remedies", "store", "sources", "templates", "tablewatch")


def test_headings_tables_items_and_code_end_where_they_should() -> None:
    """No heading, row or end of code runs into the text below it, and no item of a list is empty."""
    texts = {page.relative_to(ROOT): page.read_text(encoding="utf-8") for page in pages()}
    assert {page: run for page, text in texts.items() if (run := _RUN_TOGETHER.findall(_BLOCK.sub("", text)))} == {}
    ends = [
        (page, text[block.end() :].partition("\n")[0])
        for page, text in texts.items()
        for block in _BLOCK.finditer(text)
    ]
    assert [(page, end) for page, end in ends if end] == []


def test_pages_that_the_product_names_exist() -> None:
    """Errors, help texts and docstrings name pages and sections that are there."""
    files = [path for folder in _IN_CODE for path in (ROOT / folder).rglob("*.py")]
    pattern = re.compile(r"docs/([\w/-]+\.md)(?:#([\w-]+))?")
    named = {match.groups() for path in files for match in pattern.finditer(path.read_text(encoding="utf-8"))}
    assert named
    missing = [
        (page, anchor)
        for page, anchor in named
        if not (ROOT / "docs" / page).exists() or (anchor and anchor not in anchors(ROOT / "docs" / page))
    ]
    assert missing == []


def test_every_decision_is_in_the_index_with_its_title_and_status() -> None:
    """Once, in docs/adr/README.md."""
    folder = ROOT / "docs" / "adr"
    index = (folder / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- (\d+) \[(.*)\]\((\S+)\)$", index, re.MULTILINE)
    decisions = [(path.name, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("[0-9]*.md"))]
    assert sorted((name, f"# {number}. {title}") for number, title, name in listed) == [
        (name, text.partition("\n")[0]) for name, text in decisions
    ]
    dated = re.compile(r"^# .*\n\nDate: \d{4}-\d\d-\d\d\. Status: accepted[.;]")
    assert [name for name, text in decisions if not dated.match(text)] == []
