"""Tablewatch from Python: check a frame or a file, run the checks of a project, measure disclosure risk.

    import tablewatch as tw

    report = tw.check(orders, [{"type": "unique", "columns": ["id"]}])
    report.raise_for_failures()
    tw.load("tablewatch.yaml").check("orders")

Importing this is cheap: engines are imported when they are first used. What `__all__` lists is the public API, with
the modules `checks`, `gx`, `incidents`, `remedies`, `risk`, `microaggregation`, `generalisation` and
`differential_privacy`; the other packages of the distribution are not.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tablewatch._check import check
from tablewatch._diff import diff
from tablewatch._errors import InvalidInput, NotAvailable, TablewatchError
from tablewatch._project import TablewatchProject, load
from tablewatch._report import ChecksFailed, Report, ReportedCheck
from tablewatch._suggest import Suggestions, suggest

if TYPE_CHECKING:
    from tablewatch import (
        checks,
        differential_privacy,
        generalisation,
        gx,
        incidents,
        microaggregation,
        remedies,
        risk,
    )

    __version__: str

__all__ = [
    "ChecksFailed",
    "InvalidInput",
    "NotAvailable",
    "Report",
    "ReportedCheck",
    "Suggestions",
    "TablewatchError",
    "TablewatchProject",
    "__version__",
    "check",
    "checks",
    "diff",
    "differential_privacy",
    "generalisation",
    "gx",
    "incidents",
    "load",
    "microaggregation",
    "remedies",
    "risk",
    "suggest",
]

for _public in (ChecksFailed, InvalidInput, NotAvailable, Report, ReportedCheck, Suggestions, TablewatchError):
    _public.__module__ = __name__  # what a traceback says is what can be imported
TablewatchProject.__module__ = __name__

_MODULES: Final = frozenset(
    {
        "checks",
        "differential_privacy",
        "generalisation",
        "gx",
        "incidents",
        "microaggregation",
        "remedies",
        "risk",
    }
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name == "__version__":
        from monitor.terminal.version import version

        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)


def _guard_monitor() -> None:
    """Raise where another `monitor` would be imported, such as a file of that name in the working folder.

    `monitor` itself looks for those that hide the other packages. In a wheel it is `tablewatch._internal.monitor`.
    """
    spec, here = find_spec("monitor"), Path(__file__).resolve().parent
    place = None if spec is None or spec.origin is None else Path(spec.origin).resolve()
    expected = here.parent / "monitor" / "__init__.py"
    if place not in {expected, here / "_internal" / "monitor" / "__init__.py"}:
        raise ImportError(
            f"package 'monitor' was found at {place or 'no place at all'}, expected at {expected}; rename the other "
            "one, or remove its folder from the import path"
        )


_guard_monitor()
