"""Read the stored state of a mechanism back: plain data of exactly the fields it wrote, or nothing."""

from __future__ import annotations

from collections.abc import Mapping

from remedies._errors import Misfit
from remedies.differential_privacy._integers import integer


def read_state(state: Mapping[str, object], *, form: str, fields: set[str]) -> None:
    """Check that a state has this form and just these fields.

    Raises:
        Misfit: it has another form, or fields are missing or unknown.
    """
    if state.get("form") != form:
        raise Misfit(f"the state has the form {state.get('form')!r}, expected {form!r}")
    seen = set(state) - {"form"}
    if seen != fields:
        raise Misfit(f"the state of {form} has wrong fields: {', '.join(sorted(map(str, seen ^ fields)))}")


def whole(state: Mapping[str, object], name: str, *, least: int | None = None) -> int:
    """Return a field that is an integer, of at least `least`.

    Raises:
        Misfit: it is something else.
    """
    return integer(state[name], name=f"the state's {name}", least=least)
