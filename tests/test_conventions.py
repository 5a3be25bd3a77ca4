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
MOST_EXCEPTIONS = 86
NO_NAMES = {"utils", "helpers", "common", "base", "manager", "handler", "impl"}


def _names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def test_no_file_is_named_for_nothing():
    """A module is named after what it holds."""
    assert _names([path for path in FILES if NO_NAMES & set(path.stem.strip("_").split("_"))]) == []


def _exceptions() -> Iterator[tuple[Path, str]]:
    for path in FILES:
        for line in path.read_text(encoding="utf-8").splitlines():
            if "# noqa" in line or "# type: ignore" in line:
                yield path, line


def test_every_exception_to_the_linters_has_its_reason():
    """A silenced linter has its reason on the same line."""
    silent = [
        line for _, line in _exceptions() if re.search(r"# (noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\])\s*$", line)
    ]
    assert silent == []


def test_exceptions_to_the_linters_stay_few():
    """Their number is known; a new one needs one less elsewhere, or a higher bound with a reason in the commit."""
    assert len(list(_exceptions())) <= MOST_EXCEPTIONS


def _broad_handlers(path: Path) -> int:
    text = path.read_text(encoding="utf-8")
    if not re.search(r"\bexcept\b\s*:|\b(Base)?Exception\b", text):  # a hundred times faster than parsing it
        return 0
    tree = ast.parse(text)
    caught = [node.type for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    return sum(
        kind is None or (isinstance(kind, ast.Name) and kind.id in {"Exception", "BaseException"}) for kind in caught
    )


def test_only_the_boundaries_of_jobs_and_requests_catch_everything():
    """Where failures must be noticed, nothing unnamed is caught."""
    jobs = {"monitor/scan/results.py", "monitor/web/boundary.py"}
    reloads = {"monitor/config/team_fallback.py", "monitor/daemon/config_reload.py"}
    plugins = {"sources/_plugins.py"}  # code of others (ADR 101)
    broad = {path.relative_to(ROOT).as_posix(): _broad_handlers(path) for path in FILES}
    assert {path: count for path, count in broad.items() if count} == dict.fromkeys(jobs | reloads | plugins, 1)


GENERATORS = {"random_order", "many_below", "operating_system_bytes", "token_bytes", "default_rng", "urandom"}
NOISE = ROOT / "remedies" / "differential_privacy"


def _calls_of_generators(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)) if any(name in text for name in GENERATORS) else ():
        called = node.func if isinstance(node, ast.Call) else None
        name = getattr(called, "attr", getattr(called, "id", None))
        is_noise = path.is_relative_to(NOISE) and name != "random_order"
        if isinstance(node, ast.Call) and name in GENERATORS and not is_noise and path.name != "random_bytes.py":
            yield lines[node.lineno - 1]


@pytest.mark.parametrize("folder", ["remedies", "monitor/releases", "monitor/answers", "checks/risk"])
def test_each_use_of_a_generator_names_its_kind(folder: str):
    """Order and noise are drawn again each time, hiding and searches are functions; ADR 50 lists the uses."""
    calls = [line for path in sorted((ROOT / folder).rglob("*.py")) for line in _calls_of_generators(path)]
    assert [line for line in calls if not re.search(r"# randomness: (noise|order|hiding|function)$", line)] == []


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
