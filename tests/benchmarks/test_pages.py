"""Tables that benchmarks write into the documentation."""

import re
import shlex
from pathlib import Path

import pytest

from benchmarks import _pages

_PAGE = """\
# Figures

<!-- measured: python -c "print('**A title.** Once.\\n\\n| work |\\n| --- |\\n| 1 |')" -->
| old |
<!-- end of measured -->

<!-- measured: python -c "raise SystemExit('no engine')" -->
| kept |
<!-- end of measured -->
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page with a command that prints a table, and one that fails."""
    monkeypatch.setattr(_pages, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    file = tmp_path / "docs" / "figures.md"
    file.write_text(_PAGE, encoding="utf-8")
    return file


def test_what_a_command_prints_takes_the_place_of_the_table(page: Path) -> None:
    """The day and the load stand above it, its title is left out, and other text of the page stays."""
    assert _pages.write_pages(["A title"]) == 0
    text = page.read_text(encoding="utf-8")
    measured = r"-->\nMeasured on 20\d\d-\d\d-\d\d, load of \d+ to \d+\.\n\n\| work \|\n\| --- \|\n\| 1 \|\n\n<!-- end"
    assert re.search(measured, text)
    assert "| old |" not in text
    assert text.startswith("# Figures\n\n<!-- measured: python -c ")
    assert "| kept |" in text


def test_a_command_that_fails_leaves_its_table(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 1, and the error of the command is shown."""
    assert _pages.write_pages(["no engine"]) == 1
    assert page.read_text(encoding="utf-8") == _PAGE
    assert "no engine" in capsys.readouterr().err


def test_the_documentation_names_benchmarks_that_exist() -> None:
    """Each command of a page runs a module of `benchmarks`."""
    pages = (Path(__file__).parents[2] / "docs").glob("*.md")
    commands = [block["command"] for page in pages for block in _pages.BLOCK.finditer(page.read_text(encoding="utf-8"))]
    assert commands
    for command in commands:
        words = shlex.split(command)
        name = words[words.index("benchmarks") + 1]
        assert (Path(_pages.__file__).parent / f"{name}.py").exists() or (Path(_pages.__file__).parent / name).is_dir()
