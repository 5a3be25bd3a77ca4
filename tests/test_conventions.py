"""The conventions that no linter knows."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiers import slow_functions

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("sources", "checks", "incidents", "remedies", "store", "monitor", "tablewatch", "pytest_tablewatch")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
MOST_EXCEPTIONS = 83
NO_NAMES = {"utils", "helpers", "common", "base", "manager", "handler", "impl"}


def _names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def test_no_module_is_too_long():
    """A module of more than 400 lines is split."""
    assert _names([path for path in FILES if len(path.read_text(encoding="utf-8").splitlines()) > 400]) == []


def test_no_file_is_named_for_nothing():
    """A module is named after what it holds."""
    assert _names([path for path in FILES if NO_NAMES & set(path.stem.strip("_").split("_"))]) == []


def _exceptions() -> Iterator[tuple[Path, str]]:
    for path in FILES:
        for line in path.read_text(encoding="utf-8").splitlines():
            if "# noqa" in line or "# type: ignore" in line:
                yield path, line


def test_every_exception_to_the_linters_has_its_reason():
    """Whoever silences a linter says why, on the same line."""
    silent = [
        line for _, line in _exceptions() if re.search(r"# (noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\])\s*$", line)
    ]
    assert silent == []


def test_exceptions_to_the_linters_stay_few():
    """Their number is known; whoever adds one lowers it elsewhere, or raises this bound with a reason in the commit."""
    assert len(list(_exceptions())) <= MOST_EXCEPTIONS


@pytest.mark.parametrize("path", FILES, ids=_names(FILES))
def test_only_the_boundaries_of_jobs_and_requests_catch_everything(path: Path):
    """Where failures must be noticed, nothing is caught that nobody named."""
    boundaries = {ROOT / "monitor" / "scan" / "results.py", ROOT / "monitor" / "web" / "boundary.py"}
    allowed = 1 if path in boundaries else 0
    handlers = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.ExceptHandler)
    ]
    caught = [node.type.id if isinstance(node.type, ast.Name) else None for node in handlers]
    broad = [
        name
        for name, node in zip(caught, handlers, strict=True)
        if node.type is None or name in {"Exception", "BaseException"}
    ]
    assert len(broad) == allowed


def test_every_slow_test_exists():
    """A name in `slow.txt` is that of a test: one that was renamed would run in the quick tier."""
    texts = {file: file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py")}
    gone = []
    for name in slow_functions():
        file, *names = name.split("::")
        text = texts.get(ROOT / "tests" / file, "")
        if not re.search(rf"^ *(def |class |){names[0]}\b", text, flags=re.MULTILINE):
            gone.append(name)
    assert gone == []


def test_recipes_name_files_that_exist():
    """Every path in CONTRIBUTING.md is there, unless the reader chooses its name."""
    paths = re.findall(r"`((?:\w+/)+[\w./]*)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(paths) > 30
    assert [path for path in paths if not re.search("NAME|NNNN", path) and not (ROOT / path).exists()] == []
