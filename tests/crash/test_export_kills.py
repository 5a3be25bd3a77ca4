"""Kill an export of a release at each point between the draft and its name, and export again."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from store import FailPoint, open_store
from tests.monitor.commands.terminal import Terminal

_ROOT = Path(__file__).resolve().parents[2]
_EXPORT = ("release", "export", "extract", "--remedy", "as-it-is", "--out")
_CONFIG = """\
version: 1
project: p
storage: {url: "sqlite:///store.db"}
sources: {lake: {files: "people.parquet"}}
owners: {crew: {email: crew@example.org}, desk: {name: Desk}}
tables: [{name: people, source: lake, owner: crew}]
releases:
  extract:
    table: people
    columns: {id: direct-identifier, born: quasi-identifier, ill: sensitive}
    limits: {k: 5}
    person_key: id
"""


@pytest.fixture
def approved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Return a terminal in a folder with a table of people, and a release of it that is approved."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tablewatch.yaml").write_text(_CONFIG, encoding="utf-8")
    numbers = range(40)
    frame = pd.DataFrame(
        {"id": numbers, "born": [number % 4 for number in numbers], "ill": [number % 3 for number in numbers]}
    )
    frame.to_parquet(tmp_path / "people.parquet")
    terminal = Terminal(tmp_path, capsys)
    terminal.json("release", "approve", "extract", "--remedy", "as-it-is", "--by", "desk", "--note", "looked at")
    return terminal


def _die(folder: Path, point: FailPoint) -> subprocess.CompletedProcess[str]:
    armed = {"PYTHONPATH": str(_ROOT), "TABLEWATCH_CRASH_TEST": "1", "TABLEWATCH_FAILPOINT": point}
    words = [sys.executable, "-m", "monitor", *_EXPORT, "first.parquet"]
    return subprocess.run(words, cwd=folder, env={**os.environ, **armed}, capture_output=True, text=True, check=False)


def _held(folder: Path) -> list[str]:
    """Return the exports whose people are remembered."""
    with open_store(f"sqlite:///{folder}/store.db") as store, store.reading() as tx:
        return [release.name for release in tx.releases.of_subject("people exports")]


@pytest.mark.parametrize(
    ("point", "on_record"),
    [
        (FailPoint.BEFORE_EXPORT_PROVED, 0),
        (FailPoint.AFTER_EXPORT_HELD, 0),
        (FailPoint.BEFORE_EXPORT_NAMED, 1),
    ],
)
def test_an_export_that_dies_gives_out_nothing_that_nobody_knows_of(
    approved: Terminal, point: FailPoint, on_record: int
) -> None:
    """No file without a record; what the dead one left, its draft and remembered people, goes with the next."""
    died = _die(approved.folder, point)
    assert (died.returncode, died.stdout) == (-signal.SIGKILL, "")
    assert not (approved.folder / "first.parquet").exists()
    assert len(list(approved.folder.glob(".tablewatch-????????"))) == 1
    events = approved.json("release", "record", "extract")["record"]
    assert [event["kind"] for event in events].count("exported") == on_record
    again = approved.json(*_EXPORT, "second.parquet")
    assert len(again["export"]["earlier"]) == on_record
    assert (approved.folder / "second.parquet").exists()
    assert list(approved.folder.glob(".tablewatch-????????")) == []
    assert len(_held(approved.folder)) == on_record + 1
