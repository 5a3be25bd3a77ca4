"""What the documentation is, in figures, and what is wrong with it: `python -m docs.audit`.

Of each page: the words of its prose, the semicolons and colons a sentence, its code blocks, and how many of them a test
runs. Exit code 1 if a page has a fault: more than `MOST_WORDS` words, no first paragraph, a link that leads nowhere, a
block that no test runs and that does not say why.

A block of a page is run by `tests/docs/test_blocks.py`, unless a comment says otherwise. `<!-- run by: FILE -->` right
before a block names the test that runs it; above the first block of a page, followed by a blank line, that of all its
blocks. `<!-- not run: REASON -->` stands right before a block that no test runs.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
MOST_WORDS: Final = 3000
"""What a page may have in prose; what is generated is a reference and does not count."""
_LEAST_LETTERS: Final = 30
"""What a first paragraph has at least."""

FENCE: Final = re.compile(
    r"^(?P<indent> *)```(?P<kind>[\w-]*)(?: +(?P<file>\S+))?\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE
)
_GENERATED: Final = re.compile(r"<!-- generated: (?P<name>[a-z-]+) -->.*?<!-- end of (?P=name) -->", re.DOTALL)
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_OF_BLOCK: Final = re.compile(r"<!-- (?P<verb>run by|not run): (?P<rest>[^>]+?) -->\n+\Z")
_OF_PAGE: Final = re.compile(r"<!-- run by: (?P<rest>\S+) -->\n\n")
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|$)|\n\n|\n(?= *(?:[-*]|\d+\.) )")
EVERYTHING_ELSE: Final = "tests/docs/test_blocks.py"
GENERATED: Final = "tests/docs/test_refresh.py"


class Block(NamedTuple):
    """A code block: its language, the file that it is to be written to, its text, its line, and who runs it."""

    kind: str
    file: str
    text: str
    line: int
    run_by: str
    not_run: str
    """Why no test runs it; empty if one does."""


def pages() -> Iterator[Path]:
    """Yield every page of the documentation."""
    yield from sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def blocks(page: Path) -> list[Block]:
    """Return the code blocks of a page, in order."""
    return blocks_in(page.read_text(encoding="utf-8"))


def blocks_in(text: str) -> list[Block]:
    """Return the code blocks of a text, in order."""
    generated = [part.span() for part in _GENERATED.finditer(text)]
    of_page = _OF_PAGE.search(text)
    default = of_page["rest"] if of_page else EVERYTHING_ELSE
    found = []
    for block in FENCE.finditer(text):
        remark = _OF_BLOCK.search(text[: block.start()])
        run_by, not_run = default, ""
        if any(start < block.start() < end for start, end in generated):
            run_by = GENERATED
        elif remark and remark["verb"] == "run by":
            run_by = remark["rest"]
        elif remark:
            run_by, not_run = "", remark["rest"]
        line = text.count("\n", 0, block.start()) + 1
        found.append(Block(block["kind"], block["file"] or "", block["text"], line, run_by, not_run))
    return found


def prose(page: Path) -> str:
    """Return what a page says without its code blocks, its comments and what is generated."""
    text = _GENERATED.sub("", page.read_text(encoding="utf-8"))
    return _COMMENT.sub("", FENCE.sub("", text))


def words(page: Path) -> int:
    """Return how many words a page has, in sentences and tables."""
    return sum(bool(re.search(r"\w", word)) for word in prose(page).split())


def marks(page: Path) -> tuple[int, int]:
    """Return how many sentences a page has, and how many semicolons and colons are in them; tables do not count."""
    lines = [line for line in prose(page).splitlines() if not line.startswith(("|", "#"))]
    text = re.sub(r"`[^`]*`", "x", re.sub(r"\]\([^)]*\)", "]", "\n".join(lines)))
    sentences = [part for part in _SENTENCE_END.split(text) if re.search(r"\w", part)]
    return len(sentences), len(re.findall(r"[;:](?=\s|$)", text))


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page: of its headings as GitHub names them, and those it declares."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    slugs = (re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in headings)
    return frozenset([*slugs, *re.findall(r'<a id="([^"]+)"', text)])


def broken_links(page: Path) -> Iterator[str]:
    """Yield the links of a page that name no file, or no heading of a page."""
    for link in _LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if ":" in file:
            continue
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            yield link


def faults(page: Path) -> Iterator[str]:
    """Yield what is wrong with a page."""
    text = page.read_text(encoding="utf-8")
    if len(re.findall("^```", text, re.MULTILINE)) != 2 * len(FENCE.findall(text)):
        yield "a code block does not end, or begins with more than a language and a file"
    yield from (f"the link {link} leads nowhere" for link in broken_links(page))
    for block in blocks(page):
        test = ROOT / block.run_by
        if block.run_by and not test.is_file():
            yield f"line {block.line}: there is no test {block.run_by}"
        elif block.run_by not in {"", EVERYTHING_ELSE, GENERATED} and page.name not in test.read_text(encoding="utf-8"):
            yield f"line {block.line}: {block.run_by} does not read {page.name}"
    if page.parent == ROOT / "docs" and page.name != "index.md":
        first = next((part for part in _COMMENT.sub("", text).split("\n\n")[1:] if part.strip()), "")
        if first.lstrip().startswith(("```", "|", "-", "#", "<")) or len(first.strip()) < _LEAST_LETTERS:
            yield "the first paragraph does not say what the page is for"
    if page.parent.name != "adr" and page.name != "CHANGELOG.md" and (count := words(page)) > MOST_WORDS:
        yield f"{count:,} words, more than {MOST_WORDS:,}"


def main() -> int:
    """Print the figures of each page and its faults; return 1 if there are any."""
    table = Table("page", *(("words", "blocks", "run", "not run", "; and : a sentence")), box=None)
    total = [0] * 6
    wrong = []
    for page in pages():
        name = str(page.relative_to(ROOT))
        wrong += [f"{name}: {fault}" for fault in faults(page)]
        if page.parent.name == "adr" or page.name == "CHANGELOG.md":
            continue
        shown = blocks(page)
        not_run = sum(bool(block.not_run) for block in shown)
        row = [words(page), len(shown), len(shown) - not_run, not_run, *marks(page)]
        total = [old + new for old, new in zip(total, row, strict=True)]
        table.add_row(name, *_cells(row))
    table.add_row("all", *_cells(total))
    console = Console(highlight=False, markup=False, width=120)
    console.print(table)
    for fault in wrong:
        console.print(fault, soft_wrap=True)
    return bool(wrong)


def _cells(row: list[int]) -> list[str]:
    *counts, sentences, signs = row
    return [*(f"{count:,}" for count in counts), f"{signs / max(sentences, 1):.2f}"]


if __name__ == "__main__":
    sys.exit(main())
