"""`tablewatch coverage` lists what no check is of, the worst first; the page and the report have the same lines."""

from pathlib import Path

import pytest

from tests.monitor.commands.terminal import Terminal, open_terminal

PATTERN = """\
  - match: "*"
    source: shop
    tier: silver
    checks: [{type: volume, min: 1}, {type: unique, columns: [nothing], id: none}]
"""


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Return a terminal in a folder with a small shop."""
    monkeypatch.chdir(tmp_path)
    return open_terminal(tmp_path, capsys)


def test_silent_tables_come_first_by_what_an_hour_costs(terminal: Terminal) -> None:
    """Before any run all are; after it, a table without a check is left, and the total is of it alone."""
    before = terminal.json("coverage", "--no-source")
    assert [(line["table"], line["silent"], line["amount"]) for line in before["lines"]] == [
        ("orders", True, 102_000),
        ("refunds", True, 14_000),
        ("totals", True, 2_000),
    ]
    assert (before["silent"], before["amount"], before["checks"], before["never_run"]) == (3, 118_000, 3, 3)
    assert before["lines"][0]["gaps"] == ["no check has run", "no schedule"]
    assert before["unlisted"] is None
    terminal("check")
    after = terminal.json("coverage", "--no-source")
    worst = after["lines"][0]
    assert (worst["table"], worst["silent"], worst["gaps"][0]) == ("totals", True, "no check")
    assert (after["silent"], after["amount"], after["never_run"]) == (1, 2_000, 0)
    assert {line["table"]: (line["consumers"], line["downstream"]) for line in after["lines"]}["orders"] == (
        ["board report"],
        1,
    )


def test_columns_are_those_of_the_catalogue(terminal: Terminal) -> None:
    """A column is in a check that names it, also in SQL, but for type schema; tables without an entry show."""
    terminal.sql("CREATE TABLE other (a INTEGER)")
    old, both = "{type: not_null, columns: [customer]}", "{type: schema, columns: {customer: string}}"
    terminal.configure(**{old: f"{both}\n      - {{type: volume, min: 1}}"})
    found = terminal.json("coverage", "orders")
    (line,) = found["lines"]
    assert found["unlisted"]["shop"][0] == "other"
    assert "id" not in line["unchecked"]
    assert "customer" in line["unchecked"]
    assert line["columns"] == len(line["unchecked"]) + 1
    terminal.configure(**{old: "{type: volume, min: 1, where: customer <> ''}"})
    assert "customer" not in terminal.json("coverage", "orders")["lines"][0]["unchecked"]
    said = terminal("coverage", "--limit", "1")
    assert "and 2 more tables; see --limit" in said.out
    assert "not configured in source shop: other" in said.out


def test_two_entries_of_one_table_have_its_columns(terminal: Terminal) -> None:
    """The columns of both are known, and the table is not among those without an entry."""
    file = terminal.folder / "tablewatch.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(f"{text}  - {{name: again, table: orders, source: shop}}\n", encoding="utf-8")
    found = terminal.json("coverage", "orders", "again")
    assert len({line["columns"] for line in found["lines"]} - {None}) == 1
    assert (found["unknown_columns"], "orders" in found["unlisted"]["shop"]) == (0, False)


def test_checks_of_a_pattern_that_do_not_apply_and_tables_that_are_gone_are_named(terminal: Terminal) -> None:
    """Their columns are known without a source, too."""
    terminal.sql("CREATE TABLE later (a INTEGER)")
    file = terminal.folder / "tablewatch.yaml"
    file.write_text(file.read_text(encoding="utf-8") + PATTERN, encoding="utf-8")
    terminal("check")
    terminal.sql("DROP TABLE later")
    terminal("table", "refresh")
    (line,) = [line for line in terminal.json("coverage", "later", "--no-source")["lines"] if line["table"] == "later"]
    assert (line["not_applied"], line["columns"], line["unchecked"]) == (["none"], 1, ["a"])
    assert line["gaps"] == ["no schedule", "missing in its source", "not applied: none", "1 of 1 columns in no check"]
    assert line["gone_since"] is not None


def test_a_source_that_is_away_leaves_columns_unknown(terminal: Terminal) -> None:
    """The command says so, and the rest is there."""
    (terminal.folder / "shop.sqlite").unlink()
    said = terminal("coverage")
    assert said.code == 0
    assert "shop.sqlite" in said.err
    assert "those of 3 tables are not known" in said.out


def test_the_report_names_silent_tables_with_what_an_hour_costs(terminal: Terminal) -> None:
    """In each format; a table whose checks ran is not among them."""
    terminal("check")
    markdown = terminal("report", "--period", "2026-W47", "--format", "markdown").out
    table = markdown.partition("Tables without a check that ran")[2].partition("##")[0]
    assert "| totals | ¥2,000 | 0 | no check |" in table
    assert "orders" not in table
    report = terminal.json("report", "--period", "2026-W47")
    assert [(line["table"], line["amount"]) for line in report["coverage"]["unchecked"]] == [("totals", 2_000)]
