"""What every test may use: the reference data that lies beside the repository."""

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests._mysql import mysql_url
from tests._postgres import postgres_url
from tests._spark import spark_session
from tests.tiers import (
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_xdist_make_scheduler,
)

__all__ = [
    "mysql_url",
    "postgres_url",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_xdist_make_scheduler",
    "reference_data",
    "spark_session",
]

# a law holds or it does not: how long an example takes on a busy machine decides nothing
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("unshrunk", settings.get_profile("random"), phases=[Phase.explicit, Phase.generate])
# CI judges the change, so its examples are the same every time; new ones are drawn everywhere else (`make search`)
settings.register_profile("ci", settings.get_profile("random"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "random")


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background: so would be all that tests start
    signal.signal(signal.SIGINT, signal.default_int_handler)

_RESOURCES: Final = frozenset(
    {
        "postgres",
        "mysql",
        "spark",
        "browser",
        "schemathesis",
        "reference_data",
        "tracing",
        "dbt",
        "datacontract",
        "airflow",
        "dagster",
        "fakesnow",
        "prefect",
        "promtool",
    }
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
    call: pytest.CallInfo[None],  # noqa: ARG001 - pytest's signature
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With TABLEWATCH_NO_SKIPS, fail a test that was skipped because what it needs is not here."""
    report = yield
    needs = {mark.name for mark in item.iter_markers()} | set(getattr(item, "fixturenames", ()))
    if os.environ.get("TABLEWATCH_NO_SKIPS") and report.skipped and needs & _RESOURCES:
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be skipped: {report.longrepr}"
    return report


def pytest_collection_finish() -> None:
    """Leave modules and ten thousand tests out of the search for garbage, which would look at them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the tester's terminal, and the width that xdist gives its workers, out of what commands print."""
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """Return the folder of reference data, or skip."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    folder = Path(os.environ.get("TABLEWATCH_REFERENCE_DATA", beside))
    if not folder.is_dir():
        pytest.skip("no reference data: expected beside the repository, or where TABLEWATCH_REFERENCE_DATA says")
    return folder
