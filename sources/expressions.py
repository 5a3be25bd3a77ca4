"""Ibis, imported when it is first used: reading a configuration needs the parameters of checks, and no engine.

`dt` are the data types, `ir` the types of expressions, `ops` the operations. Modules that only write expressions
import these names from here, and begin with `from __future__ import annotations`, so that annotations import nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["LazyModule", "dt", "engine_function", "ibis", "ir", "is_engine_type", "ops"]


class LazyModule(ModuleType):
    """A module that is imported when an attribute of it is first read."""

    def __getattr__(self, name: str) -> Any:
        module = import_module(self.__name__)
        self.__dict__.update(vars(module))
        return getattr(module, name)


if TYPE_CHECKING:
    import ibis
    import ibis.expr.datatypes as dt
    import ibis.expr.operations as ops
    import ibis.expr.types as ir
else:
    ibis = LazyModule("ibis")
    dt = LazyModule("ibis.expr.datatypes")
    ops = LazyModule("ibis.expr.operations")
    ir = LazyModule("ibis.expr.types")


def engine_function(name: str, takes: Sequence[str | dt.DataType], gives: str | dt.DataType) -> Callable[..., Any]:
    """Return a function of expressions that the engine knows by this name.

    Asked again, it gives the same one: two would not be equal, and equal wants are measured once.
    """
    return _defined(name, tuple(takes), gives)


def is_engine_type(name: str) -> bool:
    """Check whether a type may be named so by an engine, and Ibis has no name of its own for it."""
    from sources import _own_types  # imports Ibis

    return _own_types.is_engine_type(name)


@cache
def _defined(name: str, takes: tuple[str | dt.DataType, ...], gives: str | dt.DataType) -> Callable[..., Any]:
    def stand_in() -> None:
        """Stand in for the engine's function."""

    places = [f"x{place}" for place in range(len(takes))]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    stand_in.__signature__ = inspect.Signature([inspect.Parameter(place, kind) for place in places])  # type: ignore[attr-defined] # the way to say how many arguments it takes
    function: Callable[..., Any] = ibis.udf.scalar.builtin(stand_in, name=name, signature=(takes, gives))
    return function
