"""`tablewatch import gx`."""

import json
from pathlib import Path

import pytest
import yaml

from checks._catalog import load_catalog
from monitor.cli import run
from monitor.terminal.output import Invocation

_NOT_NULL = {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "email"}}
_OTHER_TABLE = {"type": "expect_table_row_count_to_equal_other_table", "kwargs": {"other_table_name": "u"}}
_REGEX = {"type": "expect_column_values_to_match_regex", "kwargs": {"column": "email", "regex": "@"}}
_UNKNOWN = {"type": "expect_column_values_to_match_regx", "kwargs": {"column": "email", "regex": "@"}}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder: no configuration is needed."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _import(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(["import", "gx", *words], Invocation())
    said = capsys.readouterr()
    return code, said.out, said.err


def _write(*expectations: object) -> None:
    Path("suite.json").write_text(json.dumps({"name": "s", "expectations": list(expectations)}), encoding="utf-8")


def test_prints_checks_as_yaml(capsys):
    """Standard output holds the checks alone, as YAML that the configuration understands; notes go to stderr."""
    _write(_NOT_NULL, _OTHER_TABLE)
    code, out, err = _import(capsys, "suite.json", "--table", "crm.customers")
    checks = yaml.safe_load(out)["checks"]
    assert (code, checks) == (0, [{"type": "not_null", "columns": ["email"]}])
    for check in checks:
        load_catalog()[check["type"]].model_validate(check)
    assert "skipped: expect_table_row_count_to_equal_other_table" in err
    assert "1 check; 1 expectation could not be translated" in err


def test_json(capsys):
    """For programs there is one value with the checks and what was left out."""
    _write(_NOT_NULL, _OTHER_TABLE)
    code, out, _ = _import(capsys, "suite.json", "--table", "t", "--format", "json")
    value = json.loads(out)
    assert code == 0
    assert value["schema"] == "tablewatch.import-gx/1"
    assert value["checks"] == [{"type": "not_null", "columns": ["email"]}]
    assert [one["expectation"] for one in value["left_out"]] == ["expect_table_row_count_to_equal_other_table"]


def test_expectations_that_do_not_exist_are_left_out(capsys):
    """What stays an expectation is shown to Great Expectations, which knows its names and arguments."""
    _write(_REGEX, _UNKNOWN)
    _, out, err = _import(capsys, "suite.json", "--table", "t")
    assert [check["expectation"] for check in yaml.safe_load(out)["checks"]] == [_REGEX["type"]]
    assert "did you mean 'expect_column_values_to_match_regex'?" in err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{}", "expected a suite"),
        (b'{"a": 1,}', "not JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (None, "suite.json does not exist"),
    ],
)
def test_a_file_that_is_no_suite_is_a_usage_error(capsys, content, said):
    """A file that is missing, is no JSON or no suite is refused with the reason."""
    if content is not None:
        Path("suite.json").write_bytes(content)
    code, out, err = _import(capsys, "suite.json", "--table", "t")
    assert (code, out) == (2, "")
    assert said in err


def test_a_table_that_is_not_configured_is_pointed_out(capsys):
    """Checks may be for a table that is still to be configured; that it is not is said, with what may be meant."""
    config = """\
version: 1
project: shop
sources: {shop: {url: "sqlite:///shop.sqlite"}}
tables: [{name: orders, source: shop}]
"""
    Path("tablewatch.yaml").write_text(config, encoding="utf-8")
    _write(_NOT_NULL)
    code, out, err = _import(capsys, "suite.json", "--table", "ordrs")
    assert (code, "not_null" in out) == (0, True)
    assert "note: table 'ordrs' is not in the configuration; did you mean 'orders'?" in err
    assert "note" not in _import(capsys, "suite.json", "--table", "orders")[2]
    Path("tablewatch.yaml").write_text("version: 1\n", encoding="utf-8")
    assert "it is unknown whether it has 'orders'" in _import(capsys, "suite.json", "--table", "orders")[2]
