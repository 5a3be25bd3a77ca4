"""Read the stored state of a mechanism back: plain data of exactly the fields it wrote, or nothing.

Integers are taken as integers only: what is exact here ends with the first float.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import SupportsIndex

from remedies._errors import Misfit


def integer(value: object, *, name: str, least: int | None = None) -> int:
    """Return an integer of Python or numpy as an int, of at least `least`. What was given is not shown: it may be data.

    Raises:
        Misfit: it is something else, a truth value included, or too small.
    """
    expected = f"{name} is expected to be an integer" + ("" if least is None else f" of at least {least}")
    if isinstance(value, bool):
        raise Misfit(expected)
    if not isinstance(value, SupportsIndex):
        raise Misfit(f"{expected}, not {type(value).__name__}")
    read = operator.index(value)
    if least is not None and read < least:
        raise Misfit(expected)
    return read


def read_state(state: Mapping[str, object], *, form: str, fields: set[str]) -> None:
    """Check that a state has this form and just these fields.

    Raises:
        Misfit: it has another form, or fields are missing or unknown.
    """
    if state.get("form") != form:
        raise Misfit(f"the state has the form {state.get('form')!r}, expected {form!r}")
    names = set(state) - {"form"}
    if names != fields:
        raise Misfit(f"the state of {form} has wrong fields: {', '.join(sorted(map(str, names ^ fields)))}")


def whole(state: Mapping[str, object], name: str, *, least: int | None = None) -> int:
    """Return a field that is an integer, of at least `least`.

    Raises:
        Misfit: it is something else.
    """
    return integer(state[name], name=f"the state's {name}", least=least)
