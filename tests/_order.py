"""Who runs which test, and when, so that two processes are done with all of them at about the same time.

Files that take long come first: one that begins last would be waited for while everybody else is idle. What needs Spark
runs in one process, since each would start a Java machine of its own.
"""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

_ROOM: Final = Path(__file__).parent
_LONG: Final = (
    "remedies/microaggregation/test_microaggregate.py",  # compiles most kernels, which others then take from disk
    "docs/test_refresh.py",
    "monitor/alerts/test_notify_laws.py",
    "monitor/daemon/test_answering.py",
    "privacy/test_expectations.py",
    "monitor/demo/test_demo.py",
    "checks/gx/test_agreement.py",
    "checks/test_t_closeness.py",
    "checks/test_expectation.py",
    "remedies/microaggregation/test_loss.py",
    "remedies/microaggregation/test_mdav.py",
    "remedies/microaggregation/test_out_of_core.py",
    "remedies/test_catalog.py",
    "monitor/commands/test_remedy_generalise.py",
    "checks/test_k_anonymity.py",
    "checks/test_linkage.py",
    "checks/gx/test_custom.py",
    "store/test_laws.py",
    "store/test_class_counts.py",
    "store/test_contention.py",
    "monitor/releases/test_compare.py",
)
"""Files that took longest when they were measured, but for those that marks tell of."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest; the rest keeps its order, which is random."""
    urgency: dict[Path, float] = defaultdict(float)
    for item in items:
        urgency[item.path] = max(urgency[item.path], _urgency(item))
    items.sort(key=lambda item: -urgency[item.path])


def _urgency(item: pytest.Item) -> float:
    name = item.path.relative_to(_ROOM).as_posix() if item.path.is_relative_to(_ROOM) else ""
    if name in _LONG:
        return 2000.0 if name == _LONG[0] else 500.0 - _LONG.index(name)
    patience = item.get_closest_marker("timeout")
    if patience is not None and patience.args:
        return min(float(patience.args[0]), 1999.0)
    if item.get_closest_marker("spark"):
        return 600.0
    return 10.0 if item.get_closest_marker("slow") else 0.0


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Callable[..., None]) -> Any:
    """Return each file to one process as `--dist loadfile` does, but all of Spark to one."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFileAndSpark(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if "spark" in nodeid.lower() else super()._split_scope(nodeid)

    return ByFileAndSpark(config, log)
