"""Name a function that an engine has, so that expressions can call it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt


def engine_function(name: str, takes: Sequence[str | dt.DataType], gives: str | dt.DataType) -> Callable[..., Any]:
    """Return a function of expressions that the engine knows by this name.

    Asked again, it gives the same one: two would not be equal, and equal wants are measured once.
    """
    return _defined(name, tuple(takes), gives)


@cache
def _defined(name: str, takes: tuple[str | dt.DataType, ...], gives: str | dt.DataType) -> Callable[..., Any]:
    import ibis

    def stand_in() -> None:
        """Stand for it."""

    places = [f"x{place}" for place in range(len(takes))]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    stand_in.__signature__ = inspect.Signature([inspect.Parameter(place, kind) for place in places])  # type: ignore[attr-defined] # the way to say how many arguments it takes
    made: Callable[..., Any] = ibis.udf.scalar.builtin(stand_in, name=name, signature=(takes, gives))
    return made
