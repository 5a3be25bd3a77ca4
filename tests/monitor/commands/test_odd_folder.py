"""A configuration in a folder whose name holds what URLs and globs read as marks of their own."""

import shutil
from pathlib import Path

import duckdb
import pytest

from store import open_store, store_file
from tests.monitor.commands.terminal import Terminal

ODD = "_a [b] 100% #1 ? *é %41"

CONFIG = """\
version: 1
project: odd
storage: {url: "sqlite:///${here}/store.db"}
sources:
  shop: {url: "sqlite:///${here}/shop.sqlite"}
  mart: {url: "duckdb:///${here}/mart.duckdb"}
  files: {files: "${here}/*.csv"}
  parts: {files: "${here}/parts/**/*.csv", table: parts}
tables:
  - {name: orders, source: shop, checks: [{type: primary_key, columns: [id]}]}
  - {name: sums, source: mart, checks: [{type: primary_key, columns: [id]}]}
  - {name: lines, source: files, checks: [{type: primary_key, columns: [id]}]}
  - {name: parts, source: parts, checks: [{type: primary_key, columns: [id]}]}
"""


@pytest.fixture
def odd(terminal: Terminal) -> Path:
    """Return the folder, with a table behind each kind of address, beside folders that a pattern would match."""
    folder = terminal.folder / ODD
    (folder / "parts").mkdir(parents=True)
    for name in ("lines.csv", "parts/one.csv"):
        (folder / name).write_text("id\n1\n", encoding="utf-8")
    shutil.copy(terminal.folder / "shop.sqlite", folder)
    with duckdb.connect(str(terminal.folder / "mart.duckdb")) as connection:
        connection.execute("CREATE TABLE sums AS SELECT 1 AS id")
    (terminal.folder / "mart.duckdb").rename(folder / "mart.duckdb")  # DuckDB cannot write below a '?' itself
    (folder / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    (terminal.folder / "_a b 100% #1 x yé %41").mkdir()
    (terminal.folder / "_a b 100% #1 x yé %41" / "lines.csv").write_text("id\n1\n1\n", encoding="utf-8")
    return folder


def test_everything_is_found_and_kept_there(terminal: Terminal, odd: Path) -> None:
    """The configuration is right, its tables are found, and the store lies in the folder and is read from there."""
    before = sorted(terminal.folder.iterdir())
    assert terminal("config", "check", "-c", str(odd)).code == 0
    checked = terminal.json("check", "-c", str(odd))
    assert checked["summary"] == {"pass": 4, "warn": 0, "fail": 0, "unknown": 0, "total": 4}
    assert (odd / "store.db").is_file()
    assert [one["health"] for one in terminal.json("status", "-c", str(odd))["tables"]] == ["healthy"] * 4
    findings = terminal("doctor", "-c", str(odd), "--format", "json").json["findings"]
    stores = [finding for finding in findings if finding["subject"] == "store"]
    assert "is intact and consistent with its events" in stores[0]["message"]
    assert sorted(terminal.folder.iterdir()) == before


def test_a_url_of_a_store_may_be_percent_encoded(tmp_path: Path) -> None:
    """A path with what a URL means otherwise is written with percent signs; a lone percent sign is itself."""
    (tmp_path / ODD).mkdir()
    url = f"sqlite:///{tmp_path}/_a%20[b]%20100% #1%20%3F%20*é%20%2541/store.db"
    assert store_file(url) == tmp_path / ODD / "store.db"
    with open_store(url) as store:
        assert store.name == str(tmp_path / ODD / "store.db")
    assert [path.name for path in (tmp_path / ODD).iterdir()] == ["store.db"]
