"""What the place of a source needs from outside is needed when it is opened, and not before (ADR 61)."""

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.cli import run
from monitor.config import ConfigError, load
from monitor.config.project import Project
from monitor.terminal.output import Invocation
from sources import Unreachable, open_source

CONFIG = """
version: 1
project: p
sources:
  far: {url: "postgresql://reader:${FAR_PASSWORD}@127.0.0.1:1/x", query_timeout: 5s}
  key: {url: "${file:missing}"}
  near: {files: "*.csv"}
tables:
  - {name: there, source: far, checks: [{type: volume, min: 1}]}
  - {name: kept, source: key, checks: [{type: volume, min: 1}]}
  - {name: here, source: near, checks: [{type: volume, min: 1}]}
"""
READING = ("config check", "incident list", "downtime", "table list", "alert log", "status", "report")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside a configuration of which two sources cannot be opened."""
    (tmp_path / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "here.csv").write_text("id\n1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAR_PASSWORD", raising=False)
    return tmp_path


def _outcomes(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    run(("check", "--format", "json"), Invocation())
    return {item["table"]: item for item in json.loads(capsys.readouterr().out)["results"]}


def test_only_what_is_opened_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    """A check of another source is evaluated; those of the source are unknown and name what is missing."""
    outcomes = _outcomes(capsys)
    assert outcomes["here"]["status"] == "pass"
    assert (outcomes["there"]["status"], outcomes["there"]["reason"]) == ("unknown", "unreachable")
    assert "environment variable FAR_PASSWORD is not set" in outcomes["there"]["message"]
    assert "file 'missing' does not exist" in outcomes["kept"]["message"]


@pytest.mark.parametrize("words", READING)
def test_commands_of_the_store_need_no_source(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What only reads the store or the configuration runs without the password of a source."""
    _outcomes(capsys)
    assert run(words.split(), Invocation()) == 0, capsys.readouterr().err


def test_config_check_notes_what_will_be_needed(capsys: pytest.CaptureFixture[str]) -> None:
    """The missing variable and file are notes with their places, not errors."""
    assert run(("config", "check", "--format", "json"), Invocation()) == 0
    notes = [note for note in json.loads(capsys.readouterr().out)["notes"] if note["code"].startswith("config.missing")]
    assert [(note["line"], note["message"]) for note in notes] == [
        (5, "environment variable FAR_PASSWORD is not set; the source cannot be opened without it"),
        (6, "file 'missing' does not exist; the source cannot be opened without it"),
    ]


def test_the_source_says_so_when_it_is_opened() -> None:
    """From Python too, opening is what fails."""
    specs = Project(load("tablewatch.yaml")).specs
    with pytest.raises(Unreachable, match=r"source 'far' cannot be opened: .*FAR_PASSWORD is not set; set it, or"):
        open_source(specs["far"])


def test_other_settings_of_a_source_are_needed_at_once(folder: Path) -> None:
    """A limit that is not filled in cannot be understood, so it stays an error."""
    text = CONFIG.replace("query_timeout: 5s", "query_timeout: '${SLOW}'")
    (folder / "tablewatch.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="SLOW is not set"):
        load("tablewatch.yaml")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("FAR_PASSWORD=pass$word", "pass$word"),
        ("  export FAR_PASSWORD = 'pass # word'  # note", "pass # word"),
        ('FAR_PASSWORD="pass word"', "pass word"),
        ("FAR_PASSWORD=pass#word # note", "pass#word"),
        ("FAR_PASSWORD=", ""),
        (r'FAR_PASSWORD="pass\"word\\"', 'pass"word\\'),
        (r"FAR_PASSWORD='pass\'word'", "pass'word"),
        ('FAR_PASSWORD="pass\nword"', "pass\nword"),
        ("USER=reader\nFAR_PASSWORD=${USER}-${NONE:-word}-$1", "reader-word-$1"),
        ("FAR_PASSWORD=first\nFAR_PASSWORD=second", "second"),
        ("FAR_PASSWORD = password", "password"),
        ("# FAR_PASSWORD=x\nFAR_PASSWORD=password", "password"),
        ("strange line\nFAR_PASSWORD=password\r\nOTHER=1", "password"),
        pytest.param("OTHER=" + " " * 60_000 + "'\nFAR_PASSWORD=password", "password", id="many blanks"),
    ],
)
def test_a_file_of_variables_lies_beside_the_configuration(folder: Path, line: str, value: str) -> None:
    """`.env` gives what the environment lacks, as python-dotenv reads it; values are secrets."""
    (folder / ".env").write_text(line, encoding="utf-8")
    loaded = load("tablewatch.yaml", environment={})
    assert loaded.config.sources["far"].url == f"postgresql://reader:{value}@127.0.0.1:1/x"
    assert not value or value not in loaded.redactor(f"text {value}")


def test_the_environment_comes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable of the process, even an empty one, hides that of the file."""
    (folder / ".env").write_text("FAR_PASSWORD=file\n", encoding="utf-8")
    monkeypatch.setenv("FAR_PASSWORD", "process")
    assert load("tablewatch.yaml").config.sources["far"].url == "postgresql://reader:process@127.0.0.1:1/x"
    assert (folder / ".env").resolve() in {file.resolve() for file in load("tablewatch.yaml").read_beside}
