"""The page on Python is what the package does."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import tablewatch as tw
from docs.refresh import ROOT

_PAGE: Final = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
_BLOCKS: Final = re.findall(r"```python(?: (\S+))?\n(.*?)```", _PAGE, re.DOTALL)
_CONFIG: Final = """\
version: 1
project: shop
sources: {lake: {files: "*.csv"}}
tables: [{name: orders, source: lake, checks: [{type: unique, columns: [id]}]}]
"""


@pytest.fixture
def _shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with the configuration of the page."""
    monkeypatch.chdir(tmp_path)
    Path("tablewatch.yaml").write_text(_CONFIG, encoding="utf-8")
    Path("orders.csv").write_text("id\n1\n1\n", encoding="utf-8")


@pytest.mark.usefixtures("_shop")
def test_the_examples_do_what_the_page_says() -> None:
    """All of them, in their order."""
    text = "\n".join(block for file, block in _BLOCKS if not file)
    examples = doctest.DocTestParser().get_doctest(text, {}, "page", None, None)
    assert len(examples.examples) > 15
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples).failed == 0


@pytest.mark.usefixtures("_shop")
def test_the_tests_of_the_page_run(tmp_path: Path) -> None:
    """In a pytest of their own, one passing and one failing with the words of the report."""
    ((file, text),) = [(file, block) for file, block in _BLOCKS if file]
    Path(file).write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "pytest_tablewatch", file],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "FAIL    orders.unique" in done.stdout


def test_every_name_of_the_page_exists() -> None:
    """Of the modules that it lists."""
    rows = re.findall(r"^\| `tablewatch\.(\w+)` \| (.*) \|$", _PAGE, re.MULTILINE)
    assert len(rows) == 4
    for module, names in rows:
        assert [name for name in re.findall(r"`(\w+)`", names) if not hasattr(getattr(tw, module), name)] == []


def test_every_option_of_check_is_on_the_page() -> None:
    """And no other."""
    table = _PAGE.split("| option of `check` | |")[1].split("\n\n")[0]
    listed = re.findall(r"^\| `(\w+)`", table, re.MULTILINE)
    assert listed == list(tw.check.__kwdefaults__ or {})
