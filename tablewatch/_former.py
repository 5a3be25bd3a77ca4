"""Former names of packages in a wheel: `import checks` imports `tablewatch._internal.checks`, with a warning (ADR 82).

A wheel has `checks.py`, `incidents.py` and `remedies.py`, which call `alias`. A package of such a name elsewhere comes
first. They go with the next release.
"""

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

_PUBLIC = {
    "checks": "tablewatch.risk, tablewatch.checks or tablewatch.gx",
    "incidents": "tablewatch.incidents",
    "remedies": "tablewatch.remedies, tablewatch.microaggregation or tablewatch.differential_privacy",
}


def alias(name: str) -> None:
    """Let a name stand for the package of Tablewatch, and names below it for its modules."""
    warnings.warn(f"'{name}' is {_PUBLIC[name]}; the old name goes with the next release", DeprecationWarning, 3)
    sys.meta_path.insert(0, _Finder(name))
    sys.modules[name] = import_module(f"{__package__}._internal.{name}")


class _Finder(MetaPathFinder, Loader):
    """Finds the modules below a name where they are."""

    def __init__(self, name: str) -> None:
        """Take the name of the package."""
        self._name = name
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        """Return where a module is; None for one of another package."""
        return spec_from_loader(fullname, self) if fullname.startswith(f"{self._name}.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module itself, not a copy."""
        module = import_module(f"{__package__}._internal.{spec.name}")
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the place of the module, which importlib replaced."""
        if module.__spec__ is not None:
            module.__spec__ = self._specs.pop(module.__spec__.name)
