"""The documentation keeps what `python -m docs.audit` asks of it."""

from pathlib import Path
from textwrap import dedent

import pytest

from docs import audit
from docs.audit import EVERYTHING_ELSE, GENERATED, blocks_in, faults, main, marks, pages, words


def test_no_page_has_a_fault() -> None:
    """Each says what it is for, is short enough, its links lead somewhere, and each of its blocks says who runs it."""
    assert {page: found for page in pages() if (found := list(faults(page)))} == {}


def test_the_audit_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each page, and one of all."""
    assert main() == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row for row in rows if row.split()[:1] == ["docs/alerts.md"]]
    assert rows[-1].split()[0] == "all"


def test_who_runs_a_block() -> None:
    """The comment before it, that of its page, the generator of its part, or else one test for all."""
    text = dedent("""\
        # Page

        {}```sh
        a
        ```

        <!-- not run: needs a server -->
        ```sh
        b
        ```

        <!-- run by: tests/b.py -->
        ```yaml b.yaml
        c: 1
        ```

        <!-- generated: demo -->
        ```
        d
        ```
        <!-- end of demo -->
        """)
    for start, first in (("", EVERYTHING_ELSE), ("<!-- run by: tests/a.py -->\n\n", "tests/a.py")):
        found = blocks_in(text.format(start))
        assert [(block.run_by, block.not_run) for block in found] == [
            (first, ""),
            ("", "needs a server"),
            ("tests/b.py", ""),
            (GENERATED, ""),
        ]
        assert (found[2].kind, found[2].file, found[2].text) == ("yaml", "b.yaml", "c: 1\n")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("# T\n\nShort.\n", "the first paragraph does not say what the page is for"),
        ("# T\n\n```sh\nx\n```\n", "the first paragraph does not say what the page is for"),
        ("# T\n\nSee [there](absent.md) for what this page says of it.\n", "the link absent.md leads nowhere"),
        ("# T\n\nSee [there](#absent) for what this page says of it.\n", "the link #absent leads nowhere"),
        (
            "# T\n\nThis page is about some command:\n\n<!-- run by: tests/no.py -->\n```\nx\n```\n",
            "no test tests/no.py",
        ),
        ("# T\n\nThis page is about some command:\n\n```sh and more words\nx\n```\n", "a code block does not end"),
        ("# T\n\n" + "word " * 3001, "3,002 words, more than 3,000"),
        (
            "# T\n\nThis page is about some command:\n\n<!-- run by: tests/docs/test_links.py -->\n```\nx\n```\n",
            "tests/docs/test_links.py does not read page-of-a-test.md",
        ),
    ],
)
def test_a_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, fault: str) -> None:
    """Each kind of fault, in a page that has it."""
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "page-of-a-test.md"
    page.write_text(text, encoding="utf-8")
    for test in (EVERYTHING_ELSE, "tests/docs/test_links.py"):
        (tmp_path / test).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / test).write_text("", encoding="utf-8")
    monkeypatch.setattr(audit, "ROOT", tmp_path)
    assert any(fault in found for found in faults(page)), list(faults(page))


def test_words_and_marks_are_those_of_sentences(tmp_path: Path) -> None:
    """Code and what is generated count as no words; a mark in code or in a table is none of a sentence."""
    page = tmp_path / "a.md"
    page.write_text(
        "# One two\n\nThree four: `a; b` five; six.\nSeven.\n\n| eight; nine |\n\n```\nten\n```\n", encoding="utf-8"
    )
    assert words(page) == 11
    assert marks(page) == (2, 2)
