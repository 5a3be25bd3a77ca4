"""`tablewatch init`."""

import json
import sqlite3
from pathlib import Path

import pytest

from monitor.cli import run
from monitor.terminal.output import Invocation


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that holds a small SQLite database."""
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO orders VALUES (1)")
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
    assert "tablewatch.yaml already exists" in capsys.readouterr().err
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
    (orders,) = value.pop("suggestions")
    assert [proposal["check"]["type"] for proposal in orders["proposals"]] == ["volume", "primary_key", "schema"]
    assert value == {
        "schema": "tablewatch.init/1",
        "ok": True,
        "files": ["conf/tablewatch.yaml", "conf/.tablewatch/schema.json"],
        "sources": 1,
        "tables": 1,
        "declared_keys": 1,
        "variables": [],
        "left_out": [],
        "settings": [],
    }
    assert 'url: "sqlite:///../shop.db"' in (here / "conf" / "tablewatch.yaml").read_text(encoding="utf-8")


def test_the_store_lies_beside_the_configuration(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever a command is started, and wherever the folder is moved, it finds the same store."""
    assert _run("init", "conf", "--source", "shop.db") == 0
    with sqlite3.connect("shop.db") as connection:
        connection.execute("DELETE FROM orders")
    connection.close()
    assert _run("-c", "conf", "check") == 1  # the table is empty now
    assert sorted(path.name for path in (here / "conf").glob("*.db")) == ["tablewatch.db"]
    (here / "conf").rename(here / "moved")
    capsys.readouterr()
    assert _run("-c", "moved", "incident", "list", "--format", "json") == 0
    assert len(json.loads(capsys.readouterr().out)["incidents"]) == 1
    assert not (here / "conf").exists()


def test_what_cannot_be_read_is_left_out_and_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One odd entry of a folder does not stop the others, and what was written can be checked at once."""
    data = "id\n1\n"
    for name in ("[x] 100%/we$d ${HOME}.csv", "case/Orders.csv", "case/orders.csv", "dt=1/a.csv", "no/yes.csv"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(data, encoding="utf-8")
    (here / "Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0" * 300)
    (here / "void.db").touch()
    (here / "sh?p #1.db").write_bytes((here / "shop.db").read_bytes())
    (here / "old.db").mkdir()
    (here / "case" / "torn.parquet").write_bytes(b"PAR1 torn")
    assert _run("init", "--format", "json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["sources"], result["tables"]) == (7, 7)
    thumbs, void, torn = result["left_out"]
    assert thumbs.startswith("source 'thumbs': the file cannot be read as SQLite")
    assert void == "source 'void' has no tables"
    assert "'torn.parquet' cannot be read" in torn
    assert _run("check", "--no-store", "--format", "json") == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["pass"] == summary["total"] > 0
    assert _run("init", "--force") == 0
    assert "skipped: source 'void' has no tables" in capsys.readouterr().out


def test_data_that_lies_further_down_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that is not looked into, and a database in a folder, are named with the option that adds them."""
    names = ("in/a.csv", "in/of month/b.parquet", "in/of month/deep/c.csv", "in/day=1/x/d.csv", "in/.git/e.csv")
    for name in (*names, "in/node_modules/f.csv", "in/empty/readme.txt", "lake/part-0.csv"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text("id\n1\n", encoding="utf-8")
    (here / "in" / "more.db").write_bytes((here / "shop.db").read_bytes())
    assert _run("init", "--format", "json") == 0
    database, folder = json.loads(capsys.readouterr().out)["left_out"]
    assert database == "in/more.db: a database in a folder; add it by --source in/more.db"
    assert folder.startswith(
        "in/of month: 2 files of data, such as of month/b.parquet, below the folders that are searched; "
    )
    assert folder.endswith("add it by --source 'in/of month'")
    assert _run("init", "--force", "--source", "in/more.db") == 0
    capsys.readouterr()
    (here / "shop.db").unlink()
    (here / "in" / "a.csv").unlink()
    (here / "in" / "day=1" / "x" / "d.csv").unlink()
    (here / "lake" / "part-0.csv").unlink()
    assert _run("init", "--force", "--format", "json") == 2
    assert [one["code"] for one in json.loads(capsys.readouterr().out)["errors"]] == ["init.no_tables"] * 2


def test_files_of_other_formats_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside what was written, and as the error where nothing was."""
    (here / "in").mkdir()
    for name in ("a.xlsx", "in/b.ndjson"):
        (here / name).touch()
    assert _run("init") == 0
    out = capsys.readouterr().out
    assert "skipped: a.xlsx: not read; export each sheet as CSV\n" in out
    assert "skipped: in/b.ndjson: not read; write it as Parquet or CSV\n" in out
    (here / "shop.db").unlink()
    assert _run("init", "--force", "--format", "json") == 2
    assert [one["code"] for one in json.loads(capsys.readouterr().out)["errors"]] == ["init.no_tables"] * 2


def test_a_folder_of_nothing_that_can_be_read_is_not_evaluated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """When nothing is left, everything that was wrong is an error; a database without tables is wrong usage."""
    (tmp_path / "Thumbs.db").write_bytes(b"thumbs" * 300)
    (tmp_path / "void.db").touch()
    assert _run("init", str(tmp_path), "--format", "json") == 3
    assert [one["code"] for one in json.loads(capsys.readouterr().out)["errors"]] == ["source.unreachable"]
    (tmp_path / "Thumbs.db").unlink()
    assert _run("init", str(tmp_path), "--format", "json") == 2
    assert [one["code"] for one in json.loads(capsys.readouterr().out)["errors"]] == ["init.no_tables"]
    assert not (tmp_path / "tablewatch.yaml").exists()


def test_the_configuration_may_lie_elsewhere(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Paths that climb out of the configuration's folder and down again mean the folders that they name."""
    working = here / "a [b] 100%"
    (working / "data").mkdir(parents=True)
    (working / "data" / "lines.csv").write_text("id\n1\n", encoding="utf-8")
    (here / "shop.db").rename(working / "sh#p.db")
    for number, source in enumerate(("data", "data/*.csv", "sh#p.db", "sqlite:///sh%23p.db")):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(working)
            assert _run("init", f"../conf{number}", "--source", source) == 0
        assert _run("-c", f"conf{number}", "check", "--no-store", "--format", "json") in {0, 1}
        assert "unreachable" not in capsys.readouterr().out
