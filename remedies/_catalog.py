"""Find the remedies by walking this package: every module without a leading underscore is one remedy."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import remedies
from remedies._contract import Remedy
from remedies._errors import RemedyCatalogError


@cache
def load_catalog() -> Mapping[str, type[Remedy]]:
    """Return every remedy by its type word (its file's name).

    Raises:
        CatalogError: a module of this package has no `REMEDY`.
    """
    results: dict[str, type[Remedy]] = {}
    for module in pkgutil.iter_modules(remedies.__path__):
        if module.name.startswith("_") or module.ispkg:
            continue
        remedy = getattr(importlib.import_module(f"remedies.{module.name}"), "REMEDY", None)
        if remedy is None:
            end = "`REMEDY: Final[type[Remedy]] = ...`"
            raise RemedyCatalogError(f"remedies/{module.name}.py has no REMEDY; end the file with {end}")
        results[module.name] = remedy
    return MappingProxyType(dict(sorted(results.items())))
