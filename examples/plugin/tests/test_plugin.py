"""The check, the channel and the source of the example, as users have them."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

CONFIG = """\
version: 1
project: example
sources: {old: {url: "archive:///old.db"}}
alerts:
  channels: {lines: {log_file: {path: alerts.log}}}
tables:
  - {name: parcels, source: old, checks: [{type: text_length, column: label, most: 5}]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a configuration and a table in which one text is too long."""
    (tmp_path / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    connection = sqlite3.connect(tmp_path / "old.db")
    connection.executescript(
        "CREATE TABLE parcels (label TEXT); INSERT INTO parcels VALUES ('short'), ('too long'), (NULL)"
    )
    connection.close()
    return tmp_path


def _tablewatch(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tablewatch", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_check_runs_in_the_source(folder: Path) -> None:
    """One of three rows has a text that is too long."""
    done = _tablewatch(folder, "check", "--format", "json")
    assert done.returncode == 1, done.stdout + done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert (result["status"], result["observed"]["violations"], result["observed"]["rows"]) == ("fail", 1, 3)


def test_the_channel_writes_its_line(folder: Path) -> None:
    """A test message arrives once."""
    done = _tablewatch(folder, "alert", "test", "lines")
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = (folder / "alerts.log").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["title"]


def test_doctor_lists_what_is_installed(folder: Path) -> None:
    """Each with the version of its distribution."""
    findings = json.loads(_tablewatch(folder, "doctor", "--format", "json").stdout)["findings"]
    listed = [item["message"] for item in findings if item["subject"] == "plugins"]
    assert listed == [
        f"{name} of tablewatch-example 0.1.0"
        for name in ("check 'text_length'", "channel 'log_file'", "source 'archive'")
    ]
