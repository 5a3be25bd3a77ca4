"""Checks as objects: one function for each type of check, with its parameters as keywords (types: `checks.pyi`).

    from tablewatch import checks
    checks.not_null(columns=["id"], severity="critical")

Which there are and what they take: docs/checks.md, or `dir(checks)`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from tablewatch._check import build_check


def __getattr__(name: str) -> Callable[..., Any]:
    from checks import load_catalog

    if name not in load_catalog():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return partial(build_check, name)


def __dir__() -> list[str]:
    from checks import load_catalog

    return list(load_catalog())
