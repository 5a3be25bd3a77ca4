"""The site of the documentation: `make site`, or `python -m docs.site FOLDER`.

It writes what Zensical reads (`FOLDER/source` and `FOLDER/mkdocs.yml`), from the same pages that a reader of the
repository sees. Only links change: those to files outside `docs/` lead to copies of them. The navigation is that of
Diataxis: each page is a tutorial, a guide, a reference or an explanation, and stands in `NAVIGATION` once.
"""

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from docs.audit import FENCE, ROOT

NAVIGATION: Final[Mapping[str, Sequence[str]]] = {
    "Tutorials": ["demo", "tutorials/first-incident", "tutorials/on-call", "tutorials/release"],
    "How to": [
        "suggest",
        "comparing-tables",
        "sources",
        "alerts",
        "delivery",
        "logging-incidents",
        "reports",
        "contracts",
        "daemon",
        "ci",
        "python",
        "integrations",
        "plugins",
        "great-expectations",
        "releases",
        "remedies",
        "large-tables",
        "scale",
        "scheduled-queries",
        "simulation",
        "planning",
        "web",
    ],
    "Reference": [
        "configuration",
        "command-line",
        "checks",
        "check-options",
        "disclosure-checks",
        "hierarchies",
        "synthetic-tables",
        "store",
        "store-tables",
        "glossary",
    ],
    "Explanation": [
        "incidents",
        "learned-limits",
        "audit",
        "privacy",
        "disclosure-risk",
        "disclosure-over-time",
        "differential-privacy",
        "privacy-budgets",
        "benchmarks",
        "benchmarks-service",
        "benchmarks-disclosure",
        "faultline",
        "papers",
        "architecture",
    ],
}
PROJECT: Final = {"README": "index", "CHANGELOG": "changes", "CONTRIBUTING": "contributing", "SECURITY": "security"}
"""Pages beside `docs/`, and what they are called on the site."""
_LINK: Final = re.compile(r"\]\((?P<file>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
_WORDS_OF_A_LINK: Final = re.compile(r"\[(?P<words>[^]]*)\]\((?P<file>[^)#\s]+)\)")


def write_source(folder: Path) -> None:
    """Write the pages and files of the site, and the configuration of its generator."""
    source = folder / "source"
    if source.exists():
        shutil.rmtree(source)
    for page in sorted((ROOT / "docs").rglob("*.md")):
        _write_page(page, source / page.relative_to(ROOT / "docs"), source)
    for name, title in PROJECT.items():
        _write_page(ROOT / f"{name}.md", source / f"{title}.md", source)
    config = {
        "site_name": "Tablewatch",
        "docs_dir": "source",
        "site_dir": "site",
        "use_directory_urls": False,
        "strict": True,
        "theme": {
            "name": "material",
            "font": False,
            "features": ["navigation.tabs", "toc.follow"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate"},
            ],
        },
        "plugins": ["search"],
        "markdown_extensions": ["tables", "toc", "admonition", "pymdownx.superfences", "md_in_html"],
        "nav": _navigation(),
    }
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")


def _navigation() -> list[dict[str, Any]]:
    decisions = sorted(page.name for page in (ROOT / "docs" / "adr").glob("[0-9]*.md"))
    return [
        {"Start": ["index.md", {"日本語": "ja.md"}]},
        *({title: [f"{page}.md" for page in pages]} for title, pages in NAVIGATION.items()),
        {
            "Project": [
                *(f"{title}.md" for title in PROJECT.values() if title != "index"),
                {"Decisions": ["adr/README.md", *(f"adr/{name}" for name in decisions)]},
            ]
        },
    ]


def _write_page(page: Path, target: Path, source: Path) -> None:
    """Write a page with its links as they are on the site."""
    text, pieces, end = page.read_text(encoding="utf-8"), [], 0
    for block in FENCE.finditer(text):
        pieces += [_linked(text[end : block.start()], page, target, source), _plain_fence(block)]
        end = block.end()
    pieces.append(_linked(text[end:], page, target, source))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(pieces), encoding="utf-8")


def _plain_fence(block: re.Match[str]) -> str:
    """Return a block whose first line has the language only, as a title what GitHub shows behind it."""
    title = f' title="{block["file"]}"' if block["file"] else ""
    return block[0].replace(block[0].partition("\n")[0], f"{block['indent']}```{block['kind']}{title}", 1)


def _linked(text: str, page: Path, target: Path, source: Path) -> str:
    def without_folder(link: re.Match[str]) -> str:
        return link["words"] if (page.parent / link["file"]).is_dir() else link[0]

    def moved(link: re.Match[str]) -> str:
        if ":" in link["file"]:
            return link[0]
        place = _place((page.parent / link["file"]).resolve(), source)
        return f"]({os.path.relpath(place, target.parent)}{link['anchor'] or ''})"

    return _LINK.sub(moved, _WORDS_OF_A_LINK.sub(without_folder, text))


def _place(file: Path, source: Path) -> Path:
    """Return where a file of the repository is on the site, and copy it there, unless it is a page."""
    if file.suffix == ".md" and file.is_relative_to(ROOT / "docs"):
        return source / file.relative_to(ROOT / "docs")
    if file.parent == ROOT and file.stem in PROJECT:
        return source / f"{PROJECT[file.stem]}.md"
    inside = (
        file.relative_to(ROOT / "docs") if file.is_relative_to(ROOT / "docs") else Path("files", file.relative_to(ROOT))
    )
    place = source / inside if inside.suffix not in {".md", ""} else source / f"{inside}.txt"
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, place)
    return place


def foreign(site: Path) -> list[str]:
    """Return the scripts, styles and pictures that pages of a built site would ask other servers for."""
    pattern = re.compile(
        r'<(?:script|img)[^>]*\ssrc="(https?://[^"]+)"|<link[^>]*rel="stylesheet"[^>]*href="(https?://[^"]+)"'
    )
    pages = sorted(site.rglob("*.html"))
    found = [(page, address) for page in pages for address in pattern.findall(page.read_text(encoding="utf-8"))]
    return [f"{page.relative_to(site)}: {''.join(address)}" for page, address in found]


def main(words: Sequence[str]) -> int:
    """Write the source of the site into a folder, or with `--verify` look at what was built there."""
    folder = Path(words[0])
    if "--verify" not in words:
        write_source(folder)
        return 0
    wrong = [] if (folder / "site" / "index.html").exists() else ["there is no site"]
    wrong += foreign(folder / "site")
    sys.stderr.write("".join(f"{line}\n" for line in wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
