"""The pytest plugin, in a pytest of its own."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

import pytest_tablewatch

ROOT: Final = Path(pytest_tablewatch.__file__).resolve().parents[1]
_CONFIG: Final = """\
version: 1
project: p
sources: {lake: {files: "*.csv"}}
tables:
  - {name: orders, source: lake, checks: [{type: unique, columns: [id]}]}
  - {name: refunds, source: lake, checks: [{type: not_null, columns: [id]}]}
"""


def _pytest(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run tests with this plugin and no other that is installed."""
    (folder / "test_it.py").write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    words = ["-m", "pytest", "-p", "pytest_tablewatch", "-W", "error", "-q", *options]
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_a_failed_check_fails_the_test_in_words(tmp_path: Path) -> None:
    """The line of the test, what failed and why; nothing of the inside of the plugin, and no value of the table."""
    text = """\
import pandas as pd

def test_good(tablewatch_check):
    report = tablewatch_check(pd.DataFrame({"id": [1, 2]}), [{"type": "unique", "columns": ["id"]}])
    assert report.ok

def test_bad(tablewatch_check):
    frame = pd.DataFrame({"id": ["canary", "canary"]})
    tablewatch_check(frame, [{"type": "unique", "columns": ["id"]}], name="orders")

def test_unknown(tablewatch_check):
    tablewatch_check(pd.DataFrame({"id": [1]}), [{"type": "unique", "columns": ["no"]}])
"""
    done = _pytest(tmp_path, text)
    assert done.returncode == 1, done.stderr
    assert "2 failed, 1 passed" in done.stdout
    assert "Failed: FAIL    orders.unique" in done.stdout
    assert "1 duplicate key (2 rows)" in done.stdout
    assert "column 'no' not found" in done.stdout
    assert "test_it.py:9: Failed" in done.stdout
    assert "pytest_tablewatch" not in done.stdout


def test_a_project_is_checked_without_a_trace(tmp_path: Path) -> None:
    """The configuration of the root folder, or the one of the setting; no store is made."""
    (tmp_path / "tablewatch.yaml").write_text(_CONFIG, encoding="utf-8")
    (tmp_path / "orders.csv").write_text("id\n1\n1\n", encoding="utf-8")
    (tmp_path / "refunds.csv").write_text("id\n1\n", encoding="utf-8")
    text = """\
def test_orders(tablewatch_project):
    tablewatch_project("orders")

def test_refunds(tablewatch_project):
    assert len(tablewatch_project("refunds").results) == 1
"""
    done = _pytest(tmp_path, text)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "FAIL    orders.unique" in done.stdout
    assert not list(tmp_path.rglob("*.db"))
    (tmp_path / "conf").mkdir()
    moved = _CONFIG.replace('"*.csv"', '"../*.csv"')
    (tmp_path / "conf" / "shop.yaml").write_text(moved, encoding="utf-8")
    (tmp_path / "tablewatch.yaml").unlink()
    (tmp_path / "pytest.ini").write_text("[pytest]\ntablewatch_config = conf/shop.yaml\n", encoding="utf-8")
    assert "1 failed, 1 passed" in _pytest(tmp_path, text, "--strict-config").stdout


def test_nothing_is_imported_where_no_fixture_is_used(tmp_path: Path) -> None:
    """The plugin costs a run of pytest one small file."""
    text = """\
import sys

def test_it():
    heavy = {"tablewatch", "monitor", "checks", "duckdb", "ibis", "pandas", "pydantic"}
    assert heavy.isdisjoint(sys.modules)
    assert "pytest_tablewatch" in sys.modules
"""
    assert "1 passed" in _pytest(tmp_path, text).stdout


@pytest.mark.parametrize("name", ["tablewatch.py", "monitor.py"])
def test_a_file_of_the_same_name_keeps_pytest_from_nothing(tmp_path: Path, name: str) -> None:
    """Tests that use no fixture run; one that does is an error that names both files."""
    (tmp_path / name).write_text("raise SystemExit('imported')\n", encoding="utf-8")
    done = _pytest(tmp_path, "def test_good(): pass\n\ndef test_bad(tablewatch_check): tablewatch_check(1, [])\n")
    assert "1 passed, 1 error" in done.stdout or "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert f"package '{name.removesuffix('.py')}' was found at {tmp_path / name}, expected at {ROOT}" in done.stdout


def test_our_own_tests_are_as_they_were() -> None:
    """The plugin has fixtures and a setting, and no hook that looks at tests."""
    module = import_module("pytest_tablewatch")
    assert {name for name in vars(module) if name.startswith("pytest_")} == {"pytest_addoption"}
