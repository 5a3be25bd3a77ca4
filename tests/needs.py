"""What a test needs beyond what `make test` installs: one marker each, one reason each, skipped in one place.

A test with the marker `delta`, with a fixture of `_FIXTURES` or in a file of `_FILES`, is skipped where what it needs
is not installed, and fails there with TABLEWATCH_NO_SKIPS, which `.ci/run` sets. At the end the skipped tests are
counted by reason, in one line.
"""

import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.requirements import Requirement

NO_SKIPS: Final = "TABLEWATCH_NO_SKIPS"
_PROGRAMS: Final = "TABLEWATCH_TEST_"
"""Prefix of the variables that name servers and programs of environments of their own."""
_ON_THE_PATH: Final = frozenset({"datacontract", "dbt"})
"""Programs that are also looked for on the path; of the others a variable names the Python."""


@dataclass(frozen=True, slots=True)
class Need:
    """A package, program, server or folder: whether it is here, and how to get it."""

    is_here: Callable[[], bool]
    reason: str


@cache
def _has_extra(extra: str) -> bool:
    """Return whether every distribution of an extra of tablewatch is installed."""
    try:
        for requirement in map(Requirement, requires("tablewatch") or ()):
            if requirement.marker is not None and requirement.marker.evaluate({"extra": extra}):
                version(requirement.name)
    except PackageNotFoundError:
        return False
    return True


def _extra(name: str) -> Need:
    return Need(lambda: _has_extra(name), f"the extra [{name}] (.venv/bin/pip install -e '.[{name}]')")


def _program(name: str, *, hint: str) -> Need:
    return Need(lambda: shutil.which(name) is not None, hint)


def peer_program(name: str) -> str | None:
    """Return the program of what runs in an environment of its own, since its pins clash with ours; None without it."""
    return os.environ.get(f"{_PROGRAMS}{name.upper()}") or (shutil.which(name) if name in _ON_THE_PATH else None)


def _peer(name: str) -> Need:
    reason = f"{name} in an environment of its own, named by {_PROGRAMS}{name.upper()} (.ci/run makes it)"
    return Need(lambda: peer_program(name) is not None, reason)


def chromium() -> Path | None:
    """Return the browser of tests: TABLEWATCH_CHROMIUM, else `chromium` on the path; None without one."""
    program = shutil.which(os.environ.get("TABLEWATCH_CHROMIUM", "chromium"))
    return None if program is None else Path(program)


def postgresql_programs() -> Path | None:
    """Return the folder of PostgreSQL's newest server programs, which Debian keeps off the path; None without any.

    Where the path has no `psql` either, PostgreSQL is taken as absent.
    """
    if shutil.which("psql") is None:
        return None
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name))
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


def _has_postgres() -> bool:
    return _has_extra("postgres") and (f"{_PROGRAMS}POSTGRES" in os.environ or postgresql_programs() is not None)


def _has_mysql() -> bool:
    return _has_extra("mysql") and (f"{_PROGRAMS}MYSQL" in os.environ or shutil.which("mariadbd") is not None)


def reference_folder() -> Path:
    """Return where the reference data lies, if it does: beside the repository, or where a variable says."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    return Path(os.environ.get("TABLEWATCH_REFERENCE_DATA", beside))


NEEDS: Final = {
    **{name: _extra(name) for name in ("apprise", "delta", "disclosure", "dp", "gx", "iceberg")},
    "mysql_driver": _extra("mysql"),
    "pyspark": _extra("spark"),
    "postgres": Need(_has_postgres, "a PostgreSQL server (.venv/bin/python -m tests._postgres make test)"),
    "mysql": Need(_has_mysql, "a MariaDB server and the extra [mysql] (.venv/bin/python -m tests._mysql make test)"),
    "spark": Need(lambda: _has_extra("spark") and shutil.which("java") is not None, "Java and the extra [spark]"),
    "browser": Need(lambda: chromium() is not None, "Chromium (Debian's package chromium)"),
    "schemathesis": Need(lambda: find_spec("schemathesis") is not None, "schemathesis"),
    "promtool": _program("promtool", hint="promtool (Debian's package prometheus)"),
    "openssl": _program("openssl", hint="openssl (Debian's package openssl)"),
    "systemd": _program("systemd-analyze", hint="systemd-analyze (Debian's package systemd)"),
    "tracing": _program("strace", hint="strace (Debian's package strace)"),
    "reference_data": Need(
        lambda: reference_folder().is_dir(), "the reference data (beside the repository, or TABLEWATCH_REFERENCE_DATA)"
    ),
    **{
        name: _peer(name)
        for name in ("airflow", "dagster", "datacontract", "dbt", "fakesnow", "openapi_client", "prefect")
    },
}
_FIXTURES: Final = {"postgres_url": "postgres", "mysql_url": "mysql", "spark_session": "spark"}
"""Fixtures that need what another name has; a fixture named as a need needs that."""
_FILES: Final = {
    "apprise": ("monitor/channels/test_apprise_services.py",),
    "disclosure": (
        "checks/limits/*",
        "checks/risk/test_population_models.py",
        "checks/test_population_uniqueness.py",
        "docs/*",
        "monitor/commands/test_re[lm]*",
        "monitor/releases/*",
        "remedies/differential_privacy/answers/test_cut.py",
        "remedies/generalisation/*",
        "remedies/microaggregation/*",
        "remedies/test_*",
    ),
    "gx": ("checks/gx/*", "checks/test_expectation.py", "monitor/workers/test_expectations.py"),
}
"""Files that cannot be imported without a need, or have few tests that can do without it."""


def skip(name: str) -> None:
    """Skip a test for want of something; fail it where nothing may be skipped."""
    text = f"needs {NEEDS[name].reason}"
    if os.environ.get(NO_SKIPS):
        pytest.fail(f"skipped where nothing may be skipped: {text}", pytrace=False)
    pytest.skip(text, allow_module_level=True)


class _SkippedFile(pytest.Module):
    def collect(self) -> Iterator[pytest.Item]:
        skip(_need_of(self.path) or "")
        yield from ()


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Skip a file that needs what is not here, before it is imported."""
    need = _need_of(module_path)
    return None if need is None or NEEDS[need].is_here() else _SkippedFile.from_parent(parent, path=module_path)


def _need_of(path: Path) -> str | None:
    here = Path(__file__).parent
    name = path.relative_to(here).as_posix() if path.is_relative_to(here) else ""
    return next((need for need, files in _FILES.items() if any(fnmatch(name, file) for file in files)), None)


def needed_module(module: str, *, need: str) -> Any:
    """Return a module that all tests of a file need; skip them together without it."""
    if not NEEDS[need].is_here():
        skip(need)
    return import_module(module)


def add_markers(config: pytest.Config) -> None:
    """Register a marker for each need."""
    for name, need in NEEDS.items():
        config.addinivalue_line("markers", f"{name}: needs {need.reason}")
    config.addinivalue_line("markers", "combinations: cases that are combinations, of which a change is asked some")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs what is not here, before any of its fixtures is made."""
    for name in needs_of(item):
        if not NEEDS[name].is_here():
            skip(name)


def needs_of(item: pytest.Item) -> list[str]:
    """Return what a test needs, by its markers and fixtures."""
    names = {mark.name for mark in item.iter_markers()} | set(getattr(item, "fixturenames", ()))
    return sorted({_FIXTURES.get(name, name) for name in names} & NEEDS.keys())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the skipped tests by reason, in one line."""
    skipped = terminalreporter.stats.get("skipped", [])
    if not skipped:
        return
    reasons = Counter(_reason(report) for report in skipped)
    parts = [f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))]
    terminalreporter.write_line(f"{len(skipped)} skipped: {'; '.join(parts)}")


def _reason(report: pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return re.sub(r"^needs\b", "need", text.removeprefix("Skipped: "))


if __name__ == "__main__":  # what is missing here
    sys.stdout.writelines(f"{name}: {need.reason}\n" for name, need in sorted(NEEDS.items()) if not need.is_here())
