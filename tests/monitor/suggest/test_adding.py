"""Sources, tables and proposals are added to a configuration that is there; its comments stay."""

import json
from pathlib import Path

import pytest

from monitor.cli import run
from monitor.config import load
from monitor.terminal.output import Invocation


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with two tables, and a folder of others below."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").mkdir()
    for name in ("a", "b", "lake/a", "lake/c"):
        (tmp_path / f"{name}.csv").write_text("id,k\n1,1\n2,1\n2,\n", encoding="utf-8")
    return tmp_path


def _run(*words: str) -> int:
    return run(words, Invocation())


def _text() -> str:
    return Path("tablewatch.yaml").read_text(encoding="utf-8")


def _tables() -> list[tuple[str, str]]:
    return [(table.name, table.source) for table in load(Path("tablewatch.yaml")).config.tables]


def test_sources_are_added(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Several at once or later; what is there stays to the letter, and a table of a name that is taken gets another."""
    assert _run("init", "--source", "a.csv", "--source", "b.csv") == 0
    assert _tables() == [("a", "files"), ("b", "files-2")]
    Path("tablewatch.yaml").write_text(f"{_text()}  # the last word of b\n", encoding="utf-8")
    before = _text().splitlines()
    assert _run("init", "--add", "--source", "lake") == 0
    assert _tables() == [("a", "files"), ("b", "files-2"), ("lake.a", "lake"), ("c", "lake")]
    kept = [line for line in _text().splitlines() if line in before]
    assert [line for line in kept if line.strip() and not line.startswith("    ")] == [
        line for line in before if line.strip() and not line.startswith("    ")
    ]
    assert set(before) <= set(_text().splitlines())
    after = _text()
    assert _run("init", "--add", "--source", "lake") == 5
    (here / "lake" / "d.csv").write_text("id\n1\n", encoding="utf-8")
    assert _run("init", "--add", "--source", "lake") == 0
    assert set(after.splitlines()) <= set(_text().splitlines())
    assert _tables()[-1] == ("d", "lake")
    capsys.readouterr()


@pytest.mark.usefixtures("here")
def test_sections_in_braces_and_brackets_are_added_to() -> None:
    """They are written one entry per line, each as it was; comments outside stay."""
    text = 'version: 1\nproject: p\nsources: {s: {files: "*.csv"}}  # mine\ntables: [{name: a, source: s}]\n'
    Path("tablewatch.yaml").write_text(text, encoding="utf-8")
    assert _run("init", "--add", "--source", "lake") == 0
    assert _tables() == [("a", "s"), ("lake.a", "lake"), ("c", "lake")]
    assert 'sources:  # mine\n  s: {files: "*.csv"}\n  lake:' in _text()
    assert "tables:\n  - {name: a, source: s}\n" in _text()


@pytest.mark.usefixtures("here")
def test_braces_with_comments_are_not_edited(capsys: pytest.CaptureFixture[str]) -> None:
    """The file stays as it is, and the place is named."""
    text = 'version: 1\nproject: p\nsources: {s: {files: "*.csv"}, # mine\n}\ntables:\n  - {name: a, source: s}\n'
    Path("tablewatch.yaml").write_text(text, encoding="utf-8")
    assert _run("init", "--add", "--source", "lake") == 2
    assert "line 3: brackets or braces with comments or aliases" in capsys.readouterr().err
    assert _text() == text


@pytest.mark.usefixtures("here")
def test_a_table_of_a_source_is_added(capsys: pytest.CaptureFixture[str]) -> None:
    """`suggest NAME --source S --write` adds it with its proposals; one that is missing, or configured, is refused."""
    Path("tablewatch.yaml").write_text(
        'version: 1\nproject: p\nsources: {s: {files: "*.csv"}}\ntables:\n  - {name: a, source: s}\n', encoding="utf-8"
    )
    assert _run("suggest", "b", "--source", "s") == 0
    assert _tables() == [("a", "s")]
    assert _run("suggest", "b", "--source", "s", "--write") == 0
    assert _tables() == [("a", "s"), ("b", "s")]
    assert _run("suggest", "bb", "--source", "s", "--write") == 5
    assert "did you mean 'b'?" in capsys.readouterr().err
    assert _run("suggest", "b", "--source", "s") == 2


@pytest.mark.usefixtures("here")
def test_a_proposal_is_accepted_by_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    """It replaces its comment, whatever it finds now; others stay comments, and `check` counts those that fail."""
    assert _run("init", "--source", "a.csv") == 0
    capsys.readouterr()
    text = _text()
    assert _run("suggest", "a", "--format", "json") == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    proposal = next(item for item in table["proposals"] if not item["active"] and not item["hidden"])
    assert _run("suggest", "a", "--accept", proposal["id"]) == 0
    (configured,) = load(Path("tablewatch.yaml")).config.tables
    assert proposal["id"] in {check.name for check in configured.checks}
    assert _text().count("#") < text.count("#")
    assert set(_text().splitlines()) - set(text.splitlines()) != set()
    assert _run("suggest", "a", "--accept", "nothing") == 5
    Path("tablewatch.yaml").write_text(f"{_text()}      # low: fails now: 1 of 3 rows; no\n", encoding="utf-8")
    capsys.readouterr()
    assert _run("check", "--no-store") in {0, 1}
    assert "1 proposed check in comments failed when written" in capsys.readouterr().err
