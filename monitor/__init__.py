"""The application: command line, configuration, passes over tables, daemon, alerts, reports and web pages.

The packages have plain names (`checks`, `store`, `sources` ...), so another package of the same name may
hide one of them. This is checked once, here: the errors it leads to would appear far from their cause.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGES: Final = ("sources", "checks", "incidents", "remedies", "store", "templates")


class ShadowedPackageError(ImportError):
    """Another package hides one of Tablewatch."""


def _find(package: str) -> Path | None:
    spec = find_spec(package)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(spec.origin) if spec.origin else None


def _check_for_shadowed_packages() -> None:
    root = Path(__file__).resolve().parent.parent
    for package in PACKAGES:
        result, expected = _find(package), root / package
        if result is None or result.resolve() != expected:
            raise ShadowedPackageError(
                f"package '{package}' was found at {result or 'no place at all'}, expected at {expected}; "
                f"install tablewatch in a separate virtual environment, or remove the other '{package}' from the "
                "import path"
            )


_check_for_shadowed_packages()
