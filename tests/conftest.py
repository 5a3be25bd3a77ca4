"""What every test may use: the reference data that lies beside the repository."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests._browser import browser
from tests._mysql import mysql_url
from tests._postgres import postgres_url
from tests._spark import spark_session
from tests.needs import (
    add_markers,
    pytest_pycollect_makemodule,
    pytest_runtest_setup,
    pytest_terminal_summary,
    reference_folder,
)
from tests.tiers import (
    examples,
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_xdist_make_scheduler,
    remember_tier,
    write_passed,
)

__all__ = [
    "browser",
    "mysql_url",
    "postgres_url",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_pycollect_makemodule",
    "pytest_runtest_setup",
    "pytest_terminal_summary",
    "pytest_xdist_make_scheduler",
    "reference_data",
    "spark_session",
]

# without bytecode, every command that a test starts compiles the product again, and pytest rewrites every test again
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

MEMORY = Path("/dev/shm")  # noqa: S108 - Linux's folder in memory: what pytest makes there is its own
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 << 30:
    # a quarter of the quick tests' time was spent in waiting for a disk to store what is thrown away
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background: so would be all that tests start
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _register_profiles() -> None:
    """Register the profiles of Hypothesis; a property that names no count tries as many examples as the tier has."""
    # a law holds or it does not: how long an example takes on a busy machine decides nothing
    slow = [HealthCheck.too_slow]
    settings.register_profile("random", deadline=None, max_examples=examples(100), suppress_health_check=slow)
    random = settings.get_profile("random")
    settings.register_profile("unshrunk", random, phases=[Phase.explicit, Phase.generate])
    # CI judges the change, so its examples are the same every time; new ones are drawn elsewhere, and by `make search`
    settings.register_profile("ci", random, derandomize=True, database=None)


def pytest_configure(config: pytest.Config) -> None:
    """Remember the tier before test modules are imported, and register the markers of what tests need."""
    remember_tier(config)
    _register_profiles()
    judges_a_change = bool(os.environ.get("CI")) and config.getoption("--tier") != "search"
    settings.load_profile("ci" if judges_a_change else "random")
    write_passed(config)
    add_markers(config)


def pytest_collectstart() -> None:
    """Search for no garbage until all is collected: modules and tests are none."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was collected out of the search for garbage, and compile the store's SQL once.

    A pytest that a test starts takes no options of this one; the processes of xdist have them by now.
    """
    os.environ.pop("PYTEST_ADDOPTS", None)
    if "store" in sys.modules:
        from tests.statement_cache import share_compiled_statements

        share_compiled_statements()
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the tester's terminal, and the width that xdist gives its workers, out of what commands print."""
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """Return the folder of reference data; without it, `tests.needs` skips."""
    return reference_folder()
