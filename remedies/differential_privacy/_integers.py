"""Take integers as integers only: what is exact here ends with the first float."""

from __future__ import annotations

import operator
from typing import SupportsIndex

from remedies._errors import Misfit


def integer(value: object, *, name: str, least: int | None = None) -> int:
    """Return an integer of Python or numpy as an int, of at least `least`. What was given is not shown: it may be data.

    Raises:
        Misfit: it is something else, a truth value included, or too small.
    """
    wanted = f"{name} is expected to be an integer" + ("" if least is None else f" of at least {least}")
    if isinstance(value, bool):
        raise Misfit(wanted)
    if not isinstance(value, SupportsIndex):
        raise Misfit(f"{wanted}, not {type(value).__name__}")
    read = operator.index(value)
    if least is not None and read < least:
        raise Misfit(wanted)
    return read
