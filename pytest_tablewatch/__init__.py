"""The pytest plugin: fixtures that check tables. It imports nothing of Tablewatch until a fixture is used.

It is a package of its own so that a file `tablewatch.py` in the user's folder cannot keep pytest from starting.
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tablewatch import Report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting `tablewatch_config`."""
    text = "configuration for the fixture tablewatch_project; by default the one in the root folder"
    parser.addini("tablewatch_config", text, default="")


@pytest.fixture
def tablewatch_check() -> "Callable[..., Report]":
    """Return `tablewatch.check`, which here fails the test unless the report is ok.

    tablewatch_check(frame, [{"type": "unique", "columns": ["id"]}])
    """
    _guard()

    def check(data: Any, checks: Any, **options: Any) -> "Report":
        __tracebackhide__ = True
        import tablewatch

        return _passed(tablewatch.check(data, checks, **options))

    return check


@pytest.fixture
def tablewatch_project(pytestconfig: pytest.Config) -> "Callable[..., Report]":
    """Return a function that runs checks of the configured project and fails the test unless they are ok.

    tablewatch_project("orders", "!type:freshness") - nothing is stored unless `record=True`.
    """
    _guard()
    import tablewatch

    config = pytestconfig.getini("tablewatch_config")
    project = tablewatch.load(_config(pytestconfig.rootpath, str(config)))

    def check(*selectors: str, record: bool = False, fail_on: str = "info") -> "Report":
        __tracebackhide__ = True
        return _passed(project.check(*selectors, record=record, fail_on=fail_on))

    return check


def _config(root: Path, name: str) -> Path:
    if name:
        return root / name
    from monitor.config import find

    return root / find(root)


def _passed(report: "Report") -> "Report":
    __tracebackhide__ = True
    if not report.ok:
        pytest.fail(report.text(only_failed=True))
    return report


def _guard() -> None:
    """Raise where another `tablewatch` would be imported than the one beside this plugin."""
    spec, expected = find_spec("tablewatch"), Path(__file__).resolve().parents[1] / "tablewatch" / "__init__.py"
    place = None if spec is None or spec.origin is None else Path(spec.origin).resolve()
    if place != expected:
        raise ImportError(f"package 'tablewatch' was found at {place or 'no place at all'}, expected at {expected}")
