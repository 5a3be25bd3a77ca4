"""The site has every page once, and its source is what Zensical reads without a warning."""

import re
from pathlib import Path

import pytest
import yaml

from docs.audit import FENCE, ROOT, anchors
from docs.site import NAVIGATION, foreign, main, write_source


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the source of the site."""
    folder = tmp_path_factory.mktemp("site")
    write_source(folder)
    return folder


def _pages(part: object) -> list[str]:
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part
    return [page for inner in parts for page in _pages(inner)]  # type: ignore[attr-defined] - of YAML


def test_every_page_is_in_the_navigation_once(built: Path) -> None:
    """Each as a tutorial, a guide, a reference, an explanation, or a page of the project."""
    config = yaml.safe_load((built / "mkdocs.yml").read_text(encoding="utf-8"))
    shown = _pages(config["nav"])
    there = [str(page.relative_to(built / "source")) for page in (built / "source").rglob("*.md")]
    assert sorted(shown) == sorted(there)
    assert len(set(shown)) == len(shown)
    assert list(NAVIGATION) == ["Tutorials", "How to", "Reference", "Explanation"]


def test_links_of_the_site_stay_on_it(built: Path) -> None:
    """Each names a file of the source, and each anchor a heading; what lies beside `docs/` is copied."""
    source = built / "source"
    for page in source.rglob("*.md"):
        for link in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text(encoding="utf-8"))):
            file, _, anchor = link.partition("#")
            if ":" in file:
                continue
            target = (page.parent / file).resolve() if file else page
            assert target.is_relative_to(source), (page.name, link)
            assert target.is_file(), (page.name, link)
            assert not anchor or target.suffix != ".md" or anchor in anchors(target), (page.name, link)


def test_code_blocks_of_the_site_begin_with_their_language(built: Path) -> None:
    """A name of a file behind it, which only GitHub reads, is a title."""
    for page in (built / "source").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r'^```\w* (?!title="[^"]+"$).*$', text, re.MULTILINE) == [], page.name


def test_the_site_asks_no_other_server(built: Path) -> None:
    """A built page with a script, style or picture of another server is named; a link is what a reader follows."""
    config = yaml.safe_load((built / "mkdocs.yml").read_text(encoding="utf-8"))
    assert (config["theme"]["font"], config["plugins"], config["strict"]) == (False, ["search"], True)
    assert main([str(built), "--verify"]) == 1
    (built / "site").mkdir()
    page = built / "site" / "index.html"
    page.write_text('<a href="https://a.example">a</a><script src="a.js"></script>', encoding="utf-8")
    assert main([str(built), "--verify"]) == 0
    page.write_text(
        '<script src="https://a.example/a.js"></script><img alt="" src="https://b.example">', encoding="utf-8"
    )
    assert foreign(built / "site") == ["index.html: https://a.example/a.js", "index.html: https://b.example"]
    page.write_text('<link rel="stylesheet" href="https://a.example/a.css">', encoding="utf-8")
    assert main([str(built), "--verify"]) == 1


def test_the_japanese_page_leads_to_pages() -> None:
    """It is there, in Japanese, and names a page for each kind of task."""
    text = (ROOT / "docs" / "ja.md").read_text(encoding="utf-8")
    assert "はじめに" in text.splitlines()[0]
    assert {"demo.md", "alerts.md", "releases.md", "daemon.md"} <= set(re.findall(r"\]\(([\w-]+\.md)\)", text))
