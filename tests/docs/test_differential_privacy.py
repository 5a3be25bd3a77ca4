"""The page on differential privacy says what the commands say, and its code runs."""

import csv
import doctest
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from docs.refresh import ROOT
from monitor.cli import run
from monitor.terminal.output import Invocation

_PAGE = (ROOT / "docs" / "differential-privacy.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with the 14 counts, a row for each of the people, and answers of yes and no."""
    monkeypatch.chdir(tmp_path)
    counts = (ROOT / "examples" / "movielens-users.csv").read_text(encoding="utf-8")
    Path("movielens-users.csv").write_text(counts, encoding="utf-8")
    cells = csv.DictReader(counts.splitlines())
    rows = [f"{cell['gender']},{cell['age']}\n" for cell in cells for _ in range(int(cell["users"]))]
    Path("people.csv").write_text("".join(["gender,age\n", *rows]), encoding="utf-8")
    Path("answers.txt").write_text("yes\nno\n" * 50, encoding="utf-8")


def _blocks(kind: str) -> Iterator[str]:
    return (block["text"] for block in _BLOCK.finditer(_PAGE) if block["kind"] == kind)


def _plain(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def test_commands_say_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    """To the last digit: nothing that they say is drawn by chance."""
    found = list(_blocks("console"))
    for block in found:
        command, _, said = block.partition("\n")
        assert run(shlex.split(command.removeprefix("$ tablewatch ")), Invocation()) == 0, command
        assert _plain(capsys.readouterr().out) == _plain(said), command
    assert len(found) == 4


def test_commands_whose_words_are_chance_run() -> None:
    """One after the other, with the files that they hand on."""
    commands = [line for block in _blocks("sh") for line in block.splitlines()]
    for command in commands:
        words, _, out = command.partition("#")[0].partition(" > ")
        with Path(out.strip() or "said").open("w", encoding="utf-8") as said, redirect_stdout(said):
            assert run(shlex.split(words.removeprefix("tablewatch ")), Invocation()) == 0, command
    assert len(commands) == 6


def test_code_does_what_the_page_says() -> None:
    """Each example gives what stands below it."""
    examples = doctest.DocTestParser().get_doctest("\n".join(_blocks("python")), {}, "page", None, None)
    assert len(examples.examples) > 10
    failed = doctest.DocTestRunner().run(examples).failed
    assert failed == 0
