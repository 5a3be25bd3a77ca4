"""Record which tests reach which mutants: `tests.mutants` puts a call of `at` at each and runs the tests once.

The calls run in the processes that tests start as well, so each record is one line, appended in one write. A line names
a mutant and a test, `None` where no test was running; a line with the number -1 names a test that failed.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

FILE: Final = "TABLEWATCH_REACHED"
"""The variable that names the file of records."""
FAILED: Final = -1
_seen: Final[set[tuple[int, str | None]]] = set()


def at(number: int) -> None:
    """Record that the running test reached a mutant."""
    test = os.environ.get("PYTEST_CURRENT_TEST")
    if (number, test) not in _seen:
        _seen.add((number, test))
        _append(number, test)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record that a test failed."""
    if report.failed:
        _append(FAILED, f"{report.nodeid} (call)")


def _append(number: int, test: str | None) -> None:
    if FILE in os.environ:
        with Path(os.environ[FILE]).open("ab", buffering=0) as file:
            file.write(json.dumps([number, test]).encode() + b"\n")


def records(file: Path) -> Iterator[tuple[int, str | None, str]]:
    """Yield the mutant, the function that reached it (`FILE::NAME`, without its case) and the phase of the test."""
    for line in file.read_text(encoding="utf-8").splitlines():
        number, test = json.loads(line)
        if test is None:
            yield number, None, ""
        else:
            name, _, phase = test.rpartition(" ")
            yield number, name.split("[", 1)[0], phase.strip("()")
