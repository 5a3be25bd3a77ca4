"""Find the checks by walking this package: every module without a leading underscore is one check."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache

from checks._contract import Check, CheckError


class CatalogError(CheckError):
    """A file of this package is not a check."""


class Catalog(Mapping[str, "type[Check]"]):
    """Every check by its type word (its file's name), in that order; a file is imported when its check is looked up.

    Raises:
        CatalogError: the module of a check that was looked up has no `CHECK`.
    """

    def __init__(self) -> None:
        modules = pkgutil.iter_modules(importlib.import_module(__package__).__path__)
        names = sorted(module.name for module in modules if not module.name.startswith("_") and not module.ispkg)
        self._checks: dict[str, type[Check] | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> type[Check]:
        """Return a check, importing its file."""
        check = self._checks[name]
        if check is None:
            check = self._checks[name] = _load(name)
        return check

    def __contains__(self, name: object) -> bool:
        """Check whether there is such a file, without importing it."""
        return name in self._checks

    def __iter__(self) -> Iterator[str]:
        """Yield the names, importing nothing."""
        return iter(self._checks)

    def __len__(self) -> int:
        """Count the checks."""
        return len(self._checks)


@cache
def load_catalog() -> Catalog:
    """Return every check by its type word."""
    return Catalog()


def _load(name: str) -> type[Check]:
    check: type[Check] | None = getattr(importlib.import_module(f"checks.{name}"), "CHECK", None)
    if check is None:
        end = "`CHECK: Final[type[Check]] = ...`"
        raise CatalogError(f"checks/{name}.py has no CHECK; end the file with {end}")
    return check
