"""The guide to logging incidents says what the commands say."""

import re
import shlex
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
import time_machine

from monitor.cli import run
from monitor.terminal.output import Invocation

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "logging-incidents.md"

_PIECE = re.compile(r"<!-- now: (?P<now>\S+) -->|```(?P<kind>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)```", re.DOTALL)
_COMMAND = re.compile(r"^\$ tablewatch (?P<words>.*)\n(?P<said>(?:(?!\$ ).*\n)*)", re.MULTILINE)


def steps(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield what the guide does, in order: `now` moment, `file` name text, `run` words and what they say."""
    for piece in _PIECE.finditer(text):
        if piece["now"]:
            yield "now", piece["now"], ""
        elif piece["file"]:
            yield "file", piece["file"], piece["text"]
        elif piece["kind"] == "console":
            for command in _COMMAND.finditer(piece["text"]):
                yield "run", command["words"], command["said"]


def plain(text: str) -> list[str]:
    """Return the lines as a reader sees them."""
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def test_the_guide_is_what_the_commands_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command of the guide is run, in its order and at its time, and says what the guide says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGNAME", "m.mori")
    with time_machine.travel(datetime.fromisoformat("2026-11-11T15:46+09:00"), tick=False) as clock:
        commands = 0
        for kind, what, said in steps(GUIDE.read_text(encoding="utf-8")):
            if kind == "now":
                clock.move_to(datetime.fromisoformat(what))
            elif kind == "file":
                (tmp_path / what).write_text(said, encoding="utf-8")
            else:
                run(shlex.split(what), Invocation())
                caught = capsys.readouterr()
                assert plain(caught.err + caught.out) == plain(said), what
                commands += 1
        assert commands > 10
