"""Find the checks by walking this package: every module without a leading underscore is one check.

Other distributions add checks by entry points (`sources._plugins`); one that cannot be loaded is `UnavailableCheck`.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from pydantic import ConfigDict

from checks._contract import (
    Check,
    CheckError,
    CheckParameters,
    Context,
    Measurement,
    Misconfigured,
    Outcome,
    PastMeasurement,
    UnknownReason,
    Wants,
    unknown,
)
from checks._outcome import Message
from sources import PluginError, PluginGroup, usable_plugins


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
        self.own = frozenset(names)
        self._checks: dict[str, type[Check] | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> type[Check]:
        """Return a check, importing its file."""
        check = self._checks.get(name)
        if check is None and name in self.own:
            check = self._checks[name] = _load(name)
        return check or _load_plugin(name, self.own)

    def __contains__(self, name: object) -> bool:
        """Check whether there is such a check, without importing it."""
        return name in self.own or name in usable_plugins(PluginGroup.CHECKS, self.own)

    def __iter__(self) -> Iterator[str]:
        """Yield the names, importing nothing."""
        yield from self._checks
        yield from usable_plugins(PluginGroup.CHECKS, self.own)

    def __len__(self) -> int:
        """Count the checks."""
        return sum(1 for _ in self)


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


class UnavailableCheck(CheckParameters):
    """A check of another distribution that cannot be loaded: unknown, with the reason, whatever its parameters."""

    model_config = ConfigDict(extra="allow")
    summary: ClassVar[str] = "A check of another distribution that cannot be loaded."

    type: str

    def wants(self, context: Context) -> Wants:
        """Raise why it cannot be loaded."""
        del context
        raise Misconfigured(self.reason)

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Return unknown."""
        del measurement, history
        return unknown(UnknownReason.MISCONFIGURED, Message("{text}", {"text": self.reason}))

    @property
    def reason(self) -> str:
        """Return why it cannot be loaded."""
        try:
            check_of_plugin(self.type, load_catalog().own)
        except PluginError as error:
            return str(error)
        return f"check '{self.type}' could not be loaded when it was configured; start again"


def check_of_plugin(name: str, own: frozenset[str]) -> type[Check]:
    """Return a check of another distribution.

    Raises:
        PluginError: it cannot be loaded, or is no check of this name.
    """
    plugin = usable_plugins(PluginGroup.CHECKS, own)[name]
    loaded: Any = plugin.load()
    field = getattr(loaded, "model_fields", {}).get("type")
    if not _is_parameters(loaded) or field is None or field.default != name:
        raise PluginError(f"{plugin} is no CheckParameters with a type of this name")
    check: type[Check] = loaded
    return check


def _is_parameters(loaded: object) -> bool:
    """Check whether something is a class of parameters of a check."""
    return isinstance(loaded, type) and issubclass(loaded, CheckParameters)


@cache
def _load_plugin(name: str, own: frozenset[str]) -> type[Check]:
    if name not in usable_plugins(PluginGroup.CHECKS, own):
        raise KeyError(name)
    try:
        return check_of_plugin(name, own)
    except PluginError:
        return UnavailableCheck
