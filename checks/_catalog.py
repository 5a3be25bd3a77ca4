"""Find the checks by walking this room: every module without a leading underscore is one check."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import checks
from checks._contract import Check, CheckError


class CatalogError(CheckError):
    """A file of this room is not a check."""


@cache
def load_catalog() -> Mapping[str, type[Check]]:
    """Return every check by its type word (its file's name).

    Raises:
        CatalogError: a module of this room has no `CHECK`.
    """
    results: dict[str, type[Check]] = {}
    for module in pkgutil.iter_modules(checks.__path__):
        if module.name.startswith("_") or module.ispkg:
            continue
        check = getattr(importlib.import_module(f"checks.{module.name}"), "CHECK", None)
        if check is None:
            end = "`CHECK: Final[type[Check]] = ...`"
            raise CatalogError(f"checks/{module.name}.py has no CHECK; end the file with {end}")
        results[module.name] = check
    return MappingProxyType(dict(sorted(results.items())))
