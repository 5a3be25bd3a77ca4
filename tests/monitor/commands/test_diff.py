"""`tablewatch diff` compares two tables, says in what they differ, and shows rows on a terminal only."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from checks.diff import Diff
from monitor.clock import SimulatedClock
from monitor.scan.results import Subject, Target
from monitor.scan.scanner import scan_source
from sources import SourceSpec
from tests.monitor.commands.terminal import Terminal
from tests.monitor.shop import NOW

CONFIG = """\
version: 1
project: t
sources:
  shop: {url: "sqlite:///shop.sqlite"}
  warehouse: {url: "duckdb:///warehouse.duckdb"}
  gone: {url: "duckdb:///gone.duckdb"}
storage: {url: "sqlite:///store.db"}
owners: {desk: {name: The desk}}
tables:
  - name: orders
    source: shop
    owner: desk
    checks:
      - {type: diff, key: id, against: warehouse.copies}
      - {type: diff, id: by-name, key: id, against: copies, at_most: 3}
      - {type: diff, id: lost, key: id, against: gone.orders}
      - {type: reconcile, aggregate: sum, column: amount, against: {table: copies, column: amount}}
      - {type: reconcile, id: short, aggregate: count, against: {table: warehouse.few}}
  - {name: copies, source: warehouse}
"""
CANARY = "canary-4711"


@pytest.fixture
def shop(terminal: Terminal) -> Terminal:
    """Return a terminal in a folder with orders in SQLite, and copies of them in DuckDB."""
    (terminal.folder / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    rows = [(number, f"{CANARY}-{number}", number / 4) for number in range(3000)]
    with closing(sqlite3.connect(terminal.folder / "shop.sqlite")) as connection:
        connection.execute("DROP TABLE IF EXISTS orders")
        connection.execute("CREATE TABLE orders (id INTEGER, note TEXT, amount DECIMAL(12, 2))")
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
        connection.commit()
    with duckdb.connect(str(terminal.folder / "warehouse.duckdb")) as connection:
        connection.execute(
            f"CREATE TABLE copies AS SELECT range AS id, '{CANARY}-' || range AS note, "
            "(range / 4)::DECIMAL(12, 2) AS amount FROM range(3000)"
        )
        connection.execute("CREATE TABLE few AS FROM copies LIMIT 7")
        connection.execute(f"UPDATE copies SET note = '{CANARY}-other' WHERE id = 77")
        connection.execute("DELETE FROM copies WHERE id = 78")
        connection.execute(f"INSERT INTO copies VALUES (9999, '{CANARY}', 19.5)")
        connection.execute(f"COPY few TO '{terminal.folder}/few.parquet'")
    return terminal


def test_differences_are_counted(shop: Terminal) -> None:
    """The command counts rows on each side and by column, and leaves with 1."""
    said = shop("diff", "orders", "warehouse.copies", "--key", "id")
    assert said.code == 1
    assert "1 of 3,000 rows are not in warehouse.copies, 1 of its rows are missing, 1 have other values" in said.out
    assert [line.split() for line in said.out.splitlines() if line.startswith(("only", "changed", "note"))] == [
        ["only", "here", "1", "1"],
        ["changed", "1", "1"],
        ["note", "1"],
    ]
    assert shop("diff", "orders", "copies", "--key", "id", "--at-most", "3").code == 0
    assert shop("diff", "orders", "copies", "--key", "id", "--where", "id < 77").code == 0


def test_the_document_is_that_of_check(shop: Terminal) -> None:
    """With `--format json` it is the published shape of `check`, and rows are not shown."""
    said = shop(
        "diff", "orders", "copies", "--key", "id", "--columns", "amount", "--format", "json", "--show-rows", "3"
    )
    [result] = said.json["results"]
    assert (said.json["schema"], said.code, result["status"]) == ("tablewatch.check/1", 1, "fail")
    assert result["observed"]["columns"] == {"amount": 0}
    assert CANARY not in said.out + said.err
    assert "--show-rows works on a terminal only" in said.err


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["orders", "copies", "--key", "idd"], 3, "column 'idd' not found; did you mean 'id'"),
        (["orders", "gone.orders", "--key", "id"], 3, "source 'gone'"),
        (["orders", "warehouse.copys", "--key", "id"], 3, "did you mean 'copies'"),
        (["orders", "order", "--key", "id"], 2, "did you mean 'orders'"),
        (["orders", "copies", "--key", ","], 2, "key: expected at least 1 of them"),
        (["orders", "copies", "--key", "id,id"], 2, "key: each column once; seen twice: id"),
        (["orders", "copies", "--key", "id", "--where", "id +"], 3, "where"),
    ],
)
def test_what_cannot_be_compared(shop: Terminal, words: list[str], code: int, why: str) -> None:
    """What could not be compared leaves with 3, what was mistyped with 2, both with the reason."""
    said = shop("diff", *words)
    assert said.code == code
    assert why in said.out + said.err


def test_files_without_a_configuration(shop: Terminal) -> None:
    """Two files compare where there is no configuration."""
    (shop.folder / "tablewatch.yaml").unlink()
    assert shop("diff", "few.parquet", "few.parquet", "--key", "id").code == 0


def test_a_check_opens_an_incident(shop: Terminal) -> None:
    """Differences between sources open an incident; another source that is not there makes only its check unknown."""
    said = shop("check", "--format", "json")
    results = {result["check_id"]: result for result in said.json["results"]}
    assert {name: result["status"] for name, result in results.items()} == {
        "orders.diff": "fail",
        "orders.by-name": "pass",
        "orders.lost": "unknown",
        "orders.reconcile": "pass",
        "orders.short": "fail",
    }
    assert results["orders.diff"]["incident"] == 1
    assert results["orders.short"]["observed"] == {"value": 3000, "baseline": 7}
    assert results["orders.lost"]["reason"] == "unreachable"
    assert results["orders.lost"]["observed"] == {"source": "gone"}
    assert "source gone: source 'gone'" in shop("check").out
    stored = b"".join(path.read_bytes() for path in Path(shop.folder).glob("store.db*"))
    assert CANARY.encode() not in stored


def test_tables_that_no_source_can_answer_for(shop: Terminal) -> None:
    """A table of an external source is an error, `source.table` of the same source a table that is not configured."""
    config = CONFIG.replace("  gone: {url", "  ext: {external: true}\n  gone: {url")
    config = config.replace("against: gone.orders", "against: shop.orders")
    file = shop.folder / "tablewatch.yaml"
    file.write_text(config, encoding="utf-8")
    said = shop("config", "check")
    assert (said.code, "table 'shop.orders' is not configured" in said.out + said.err) == (0, True)
    file.write_text(config.replace("against: copies,", "against: ext.copies,"), encoding="utf-8")
    said = shop("config", "check")
    assert (said.code, "source 'ext' is external, so that 'ext.copies' cannot be read" in said.err) == (2, True)


def test_a_column_that_joins_later_is_compared_too(tmp_path: Path) -> None:
    """All columns are those of now, also for a process that compared the tables before."""
    spec = SourceSpec("shop", tmp_path, url="sqlite:///shop.sqlite")
    check = Diff(against="copies", key="id")
    target, plans = Target(Subject("orders", "orders", (("orders.diff", check),)), spec), {}

    def columns() -> Any:
        [result] = scan_source([target], clock=SimulatedClock(NOW), plans=plans)
        answer: Any = result.measured[0].answer
        return check.judge(answer, []).observed["columns"]

    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection:
        for name in ("orders", "copies"):
            connection.execute(f"CREATE TABLE {name} (id INTEGER, amount INTEGER)")
            connection.execute(f"INSERT INTO {name} VALUES (1, 1)")
        connection.commit()
        assert columns() == {"amount": 0}
        for number, name in enumerate(("orders", "copies")):
            connection.execute(f"ALTER TABLE {name} ADD COLUMN note INTEGER DEFAULT {number}")
        assert columns() == {"amount": 0, "note": 1}
