"""Ibis, imported when it is first used: reading a configuration needs the parameters of checks, and no engine.

`dt` are the data types, `ir` the types of expressions, `ops` the operations. Modules that only write expressions
import these names from here, and begin with `from __future__ import annotations`, so that annotations import nothing.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ibis
    import ibis.expr.datatypes as dt
    import ibis.expr.operations as ops
    import ibis.expr.types as ir
else:

    class _LazyModule(ModuleType):
        """A module that is imported when an attribute of it is first read."""

        def __getattr__(self, name: str) -> Any:
            module = import_module(self.__name__)
            self.__dict__.update(vars(module))
            return getattr(module, name)

    ibis = _LazyModule("ibis")
    dt = _LazyModule("ibis.expr.datatypes")
    ops = _LazyModule("ibis.expr.operations")
    ir = _LazyModule("ibis.expr.types")

__all__ = ["dt", "ibis", "ir", "ops"]
