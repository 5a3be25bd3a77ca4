"""The application: command line, configuration, passes over tables, daemon, alerts, reports and web pages.

In a checkout the packages have plain names (`checks`, `store`, `sources` ...), so another package of the same name may
hide one of them. This is checked once, here: the errors it leads to would appear far from their cause. In a wheel they
lie in `tablewatch._internal`, and nothing hides them.
"""

import os.path
import sys

_ABOVE = __name__.removesuffix("monitor")
"""What stands before the names of packages: nothing in a checkout, `tablewatch._internal.` in a wheel (ADR 82)."""
PACKAGES = ("sources", "checks", "incidents", "remedies", "store", "templates")


class ShadowedPackageError(ImportError):
    """Another package hides one of Tablewatch."""


def _find(package: str) -> str | None:
    """Return the folder or file of a package, without the imports that `find_spec` needs: Ctrl-C would end in them."""
    module = sys.modules.get(package)
    specs = (finder.find_spec(package, None) for finder in sys.meta_path) if module is None else [module.__spec__]
    spec = next(filter(None, specs), None)
    if spec is None:
        return None
    return next(iter(spec.submodule_search_locations or ()), spec.origin)


def _check_for_shadowed_packages() -> None:
    root = os.path.realpath(__file__).rsplit(os.sep, 2)[0]  # pathlib takes time to import
    for package in PACKAGES:
        result, expected = _find(package), f"{root}{os.sep}{package}"
        if result is None or os.path.realpath(result) != expected:
            raise ShadowedPackageError(
                f"package '{package}' was found at {result or 'no place at all'}, expected at {expected}; "
                f"install tablewatch in a separate virtual environment, or remove the other '{package}' from the "
                "import path"
            )


if not _ABOVE:
    _check_for_shadowed_packages()
