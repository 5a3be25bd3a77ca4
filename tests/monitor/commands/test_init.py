"""`tablewatch init`."""

import json
import sqlite3
from pathlib import Path

import pytest

from monitor.cli import run
from monitor.frame.output import Invocation


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that holds a small SQLite database."""
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    connection.close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(*words: str) -> int:
    return run(words, Invocation())


def test_what_it_writes_is_valid(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The new configuration passes `config check`, and the schema for editors lies where the first line says."""
    assert _run("init", "--source", "shop.db") == 0
    assert "wrote tablewatch.yaml: 1 table, 1 with a declared key" in capsys.readouterr().out
    assert _run("config", "check") == 0
    text = (here / "tablewatch.yaml").read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=.tablewatch/schema.json\n")
    assert json.loads((here / ".tablewatch" / "schema.json").read_text(encoding="utf-8"))["title"]


def test_it_never_overwrites_unless_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A configuration that is there stays, with a way to force it."""
    (here / "tablewatch.yaml").write_text("mine", encoding="utf-8")
    assert _run("init", "--source", "shop.db") == 2
    assert (here / "tablewatch.yaml").read_text(encoding="utf-8") == "mine"
    assert "tablewatch.yaml is there already" in capsys.readouterr().err
    assert _run("init", "--source", "shop.db", "--force") == 0
    assert (here / "tablewatch.yaml").read_text(encoding="utf-8") != "mine"


def test_it_does_not_make_a_second_configuration(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside a folder `tablewatch/` a file would be ambiguous, forced or not."""
    (here / "tablewatch").mkdir()
    (here / "tablewatch" / "a.yaml").write_text("version: 1", encoding="utf-8")
    assert _run("init", "--source", "shop.db", "--force") == 2
    assert "ambiguous" in capsys.readouterr().err


def test_no_source_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without data files and without `--source` it says how to name one."""
    assert _run("init", str(tmp_path), "--format", "json") == 2
    value = json.loads(capsys.readouterr().out)
    assert value["errors"][0]["code"] == "init.no_source"
    assert "--source" in value["errors"][0]["hint"]


def test_an_unreachable_source_is_not_evaluated(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A database that is not there is said to be unreachable; nothing is written."""
    assert _run("init", "new", "--source", "sqlite:///none.db") == 3
    assert "none.db" in capsys.readouterr().err
    assert not (here / "new").exists()


def test_the_result_is_told_to_programs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON names the files and what was found."""
    assert _run("init", "conf", "--source", "shop.db", "--format", "json") == 0
    value = json.loads(capsys.readouterr().out)
    assert value == {
        "schema": "tablewatch.init/1",
        "ok": True,
        "files": ["conf/tablewatch.yaml", "conf/.tablewatch/schema.json"],
        "sources": 1,
        "tables": 1,
        "declared_keys": 1,
        "variables": [],
    }
    assert 'url: "sqlite:///../shop.db"' in (here / "conf" / "tablewatch.yaml").read_text(encoding="utf-8")


def test_the_store_lies_beside_the_configuration(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever a command is started, and wherever the folder is moved, it finds the same store."""
    assert _run("init", "conf", "--source", "shop.db") == 0
    assert _run("-c", "conf", "check") == 1  # an empty table
    assert sorted(path.name for path in (here / "conf").glob("*.db")) == ["tablewatch.db"]
    (here / "conf").rename(here / "moved")
    capsys.readouterr()
    assert _run("-c", "moved", "incident", "list", "--format", "json") == 0
    assert len(json.loads(capsys.readouterr().out)["incidents"]) == 1
    assert not (here / "conf").exists()
