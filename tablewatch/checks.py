"""Checks as objects: one function for each type of check, with its parameters as keywords.

    from tablewatch import checks
    checks.not_null(columns=["id"], severity="critical")

Which there are and what they take: docs/checks.md, or `dir(checks)`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from tablewatch._errors import InvalidInput


def __getattr__(name: str) -> Callable[..., Any]:
    from checks import load_catalog

    if name not in load_catalog():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return partial(_build, name)


def __dir__() -> list[str]:
    from checks import load_catalog

    return list(load_catalog())


def _build(kind: str, /, **parameters: Any) -> Any:
    """Return a check.

    Raises:
        InvalidInput: a parameter is missing, unknown or wrong.
    """
    from monitor.config import ConfigError
    from monitor.config.checks import build_check
    from monitor.config.python_values import node_of

    try:
        return build_check(node_of({"type": kind, **parameters}, kind))
    except ConfigError as error:
        raise InvalidInput(error.problems) from None
