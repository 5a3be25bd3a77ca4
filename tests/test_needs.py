"""A test that lacks something is skipped with what to install, counted, and fails where all of it must be there."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import needs

ROOT = Path(__file__).parents[1]


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> str:
    """Add a need that nothing meets."""
    monkeypatch.setitem(needs.NEEDS, "moon", needs.Need(lambda: False, "a moon (look up)"))
    return "moon"


def _item(*, marks: tuple[str, ...] = (), fixtures: tuple[str, ...] = ()) -> Any:
    return SimpleNamespace(
        iter_markers=lambda: [SimpleNamespace(name=mark) for mark in marks], fixturenames=list(fixtures)
    )


@pytest.mark.parametrize("item", [_item(marks=("moon",)), _item(fixtures=("moon", "tmp_path"))])
def test_what_is_absent_skips(absent: str, item: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its marker or by its fixture, with what to install; without them the test runs."""
    monkeypatch.delenv(needs.NO_SKIPS, raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"^needs a moon \(look up\)$"):
        needs.pytest_runtest_setup(item)
    needs.pytest_runtest_setup(_item(marks=("sun",), fixtures=("tmp_path",)))
    assert absent in needs.NEEDS


def test_a_file_that_needs_what_is_absent_is_not_imported(
    absent: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is skipped as a whole; other files are collected as usual."""
    monkeypatch.delenv(needs.NO_SKIPS, raising=False)
    folder = request.node.parent.parent
    assert needs.pytest_pycollect_makemodule(Path(__file__), folder) is None
    monkeypatch.setitem(needs._FILES, absent, ("test_needs.py",))
    module = needs.pytest_pycollect_makemodule(Path(__file__), folder)
    assert module is not None
    with pytest.raises(pytest.skip.Exception, match="needs a moon"):
        list(module.collect())


def test_nothing_is_skipped_where_all_must_run(absent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`.ci/run` sets the variable, and what is absent is a failure there."""
    monkeypatch.setenv(needs.NO_SKIPS, "1")
    with pytest.raises(pytest.fail.Exception, match="skipped where nothing may be skipped: needs a moon"):
        needs.skip(absent)


def test_skipped_tests_are_counted_by_reason() -> None:
    """In one line, the most frequent reason first."""
    lines: list[str] = []
    reports = [SimpleNamespace(longrepr=("f.py", 1, f"Skipped: needs {what}")) for what in ("a", "b", "b")]
    reporter: Any = SimpleNamespace(stats={"skipped": reports}, write_line=lines.append)
    needs.pytest_terminal_summary(reporter)
    assert lines == ["3 skipped: 2 need b; 1 need a"]


def test_every_extra_of_tests_is_an_extra_of_the_project() -> None:
    """A need that names an extra names one that `pip install` knows."""
    named = set(re.findall(r"extra \[(\w+)\]", " ".join(need.reason for need in needs.NEEDS.values())))
    known = set(re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE))
    assert named <= known
