"""`tablewatch export gx`."""

import json
from pathlib import Path

import pytest

from monitor.cli import run
from monitor.terminal.output import Invocation

_CONFIG = """\
version: 1
project: shop
sources:
  shop: {url: "sqlite:///shop.db", timezone: Asia/Tokyo}
tables:
  - name: orders
    source: shop
    checks:
      - {type: primary_key, columns: [id]}
      - {type: freshness, column: at, max_age: 26h}
      - {type: foreign_key, column: customer, references: customers.id}
  - name: customers
    source: shop
    checks:
      - {type: not_null, columns: [email], severity: warning}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a configuration of two tables."""
    (tmp_path / "tablewatch.yaml").write_text(_CONFIG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _export(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(["export", "gx", *words], Invocation())
    said = capsys.readouterr()
    return code, said.out, said.err


def test_prints_the_suite_of_a_table(capsys):
    """Standard output holds the suite alone; a check without a twin is named on stderr."""
    code, out, err = _export(capsys, "--table", "orders")
    suite = json.loads(out)
    assert (code, suite["name"]) == (0, "orders")
    kinds = [one["type"] for one in suite["expectations"]]
    assert kinds == [
        "expect_column_values_to_be_unique",
        "expect_column_values_to_not_be_null",
        "expect_table_to_be_fresh",
    ]
    assert suite["expectations"][2]["kwargs"] == {"column": "at", "max_age": "26h", "timezone": "Asia/Tokyo"}
    assert err == "skipped: orders.foreign-key: there is no such expectation\n"


def test_writes_a_file_for_each_table(capsys, here):
    """Several tables go to a folder, one suite each."""
    code, out, _ = _export(capsys, "--out", "suites", "--format", "json")
    written = json.loads(out)
    assert (code, written["files"]) == (0, ["suites/orders.json", "suites/customers.json"])
    assert written["left_out"] == [{"check_id": "orders.foreign-key", "text": "there is no such expectation"}]
    suite = json.loads((here / "suites" / "customers.json").read_text(encoding="utf-8"))
    assert suite["expectations"][0]["severity"] == "warning"


def test_writes_one_file_for_one_table(capsys, here):
    """One table goes to the file that is named."""
    assert _export(capsys, "--table", "customers", "--out", "gx/c.json")[1] == "wrote gx/c.json\n"
    assert json.loads((here / "gx" / "c.json").read_text(encoding="utf-8"))["name"] == "customers"


def test_several_tables_need_a_folder(capsys):
    """Two suites do not fit on standard output."""
    code, out, err = _export(capsys)
    assert (code, out) == (2, "")
    assert "the configuration has 2 tables" in err


def test_an_unknown_table_selects_nothing(capsys):
    """A table that is not configured is an error that suggests the nearest name."""
    code, _, err = _export(capsys, "--table", "order")
    assert code == 5
    assert "did you mean 'orders'?" in err
