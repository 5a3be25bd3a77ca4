"""The guide to logging incidents and the tutorials say what the commands say."""

import re
import runpy
import shlex
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

import pytest
import time_machine

from docs.audit import ROOT
from monitor.cli import run
from monitor.terminal.output import Invocation

PAGES: Final = (
    "logging-incidents.md",
    "tutorials/first-incident.md",
    "tutorials/on-call.md",
    "tutorials/release.md",
)
_PIECE: Final = re.compile(
    r"<!-- now: (?P<now>\S+) -->|```(?P<kind>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)```", re.DOTALL
)
_COMMAND: Final = re.compile(
    r"^\$ (?P<program>tablewatch|python) (?P<words>.*)\n(?P<said>(?:(?!\$ ).*\n)*)", re.MULTILINE
)
_SECONDS: Final = re.compile(
    r"(?<=  )[0-9.]+(?= s$)|(?<= in )[0-9.]+(?= s$)|(?<= %) +[0-9.]+$|(?<=^sha256 )[0-9a-f]{64}$"
)
"""How long a check, all of them, or a remedy took; the digest of a file, whose rows have another order each time."""
_PROGRESS: Final = re.compile(r"^(checking|comparing) \[\d+/\d+\]$|^compiling the search for this machine")
"""What a slow machine says in between."""


def steps(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield what a page does: `now` moment, `file` name text, `tablewatch` words and output, `python` file."""
    for piece in _PIECE.finditer(text):
        if piece["now"]:
            yield "now", piece["now"], ""
        elif piece["file"]:
            yield "file", piece["file"], piece["text"]
        elif piece["kind"] == "console":
            for command in _COMMAND.finditer(piece["text"]):
                yield command["program"], command["words"], command["said"]


def plain(text: str) -> list[str]:
    """Return the lines as a reader sees them, but for how long things took and digests."""
    lines = (line.rstrip() for line in text.strip("\n").splitlines())
    return [_SECONDS.sub("N", line) for line in lines if not _PROGRESS.match(line)]


def test_every_tutorial_is_here() -> None:
    """A tutorial that no test follows would be wrong soon."""
    folder = ROOT / "docs" / "tutorials"
    assert {page for page in PAGES if "/" in page} == {f"tutorials/{page.name}" for page in folder.glob("*.md")}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_the_commands_say(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command is run, in its order and at its time, and says what the page says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGNAME", "m.mori")
    if "/" in page:
        monkeypatch.setenv("COLUMNS", "100")
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    with time_machine.travel(datetime.fromisoformat("2026-11-11T15:46+09:00"), tick=False) as clock:
        commands = 0
        for kind, what, said in steps(text):
            if kind == "now":
                clock.move_to(datetime.fromisoformat(what))
            elif kind == "file":
                (tmp_path / what).write_text(said, encoding="utf-8")
            elif kind == "python":
                runpy.run_path(what)
            else:
                run(shlex.split(what), Invocation())
                caught = capsys.readouterr()
                assert plain(caught.err + caught.out) == plain(said), what
                commands += 1
        assert commands > 6
