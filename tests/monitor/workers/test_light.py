"""The daemon's own process stays small: engines are the workers' business."""

import os
import subprocess
import sys

import pytest

from tests.monitor.workers.conftest import ROOT

_HEAVY = {
    "duckdb",
    "pandas",
    "pyarrow",
    "great_expectations",
    "monitor.scan.planner",
    "monitor.scan.measure",
    "checks.gx.worker_door",
}
_LOADS_NO_ENGINE = "import sys, {module}; print(*sys.modules, sep='\\n')"


def _imported(module):
    script = _LOADS_NO_ENGINE.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return set(done.stdout.split())


def test_the_pool_loads_no_engine():
    """The pool imports no library of the jobs, nor the store."""
    assert not _imported("monitor.workers") & (_HEAVY | {"ibis", "numpy", "sqlglot", "store", "sqlmodel"})


@pytest.mark.parametrize("module", ["monitor.scan.recorder", "monitor.daemon.daemon"])
def test_the_daemon_loads_no_engine(module):
    """Judging, remembering and announcing need no engine either."""
    assert not _imported(module) & _HEAVY
