"""One value, however it is written: 57, 57.0 and "57" are one number, 2026-11-20 and 2026-11-20T00:00:00Z one moment.

Programs that write files choose the type and the spelling of a whole column by all of its values: one NULL turns the
whole numbers of pandas into floats, one time of day adds "00:00:00" to all dates. Values are therefore compared as what
they are and not as how they are written: a number in double precision (true and false are 1 and 0), else a moment in
microseconds, else a text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from remedies._errors import Misfit

if TYPE_CHECKING:
    from remedies.differential_privacy.answers.domain import BoundedColumn, Cells

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_MOMENT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?: ?(?:[Zz]|[+-][0-9:]+))?)?"
)
_TRUTHS: Final = {"true": 1.0, "false": 0.0}
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = 1_000_000


class ValueKind(StrEnum):
    """What a value is, whatever its type and its spelling."""

    NUMBER = "number"
    MOMENT = "moment"
    TEXT = "text"


class Canonical(NamedTuple):
    """A value: a float, whole microseconds since 1970 in UTC, or a text."""

    kind: ValueKind
    value: float | int | str


def canonical(value: str | float) -> Canonical:
    """Return what a declared value is, whatever its spelling. Moments without an offset are taken for UTC."""
    if not isinstance(value, str):
        return Canonical(ValueKind.NUMBER, float(value))
    if _NUMBER.fullmatch(value) and math.isfinite(float(value)):
        return Canonical(ValueKind.NUMBER, float(value))
    if value.lower() in _TRUTHS:
        return Canonical(ValueKind.NUMBER, _TRUTHS[value.lower()])
    moment = _microseconds(value) if _MOMENT.fullmatch(value) else None
    return Canonical(ValueKind.TEXT, value) if moment is None else Canonical(ValueKind.MOMENT, moment)


def refuse_alike(domain: Mapping[str, Cells | BoundedColumn]) -> None:
    """Check that the declared values of each column differ in more than their spelling, as tables of files need it.

    Raises:
        Misfit: two values of a column are one number or one moment.
    """
    for name, cells in domain.items():
        originals: dict[Canonical, object] = {}
        for value in getattr(cells, "values", ()):
            other = originals.setdefault(canonical(value), value)
            if other is not value:
                raise Misfit(
                    f"'{other}' and '{value}' of '{name}' are one value in two spellings; the type of a column of a "
                    "file may turn one into the other, so declare one of them"
                )


def _microseconds(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text[:11] + text[11:].replace(" ", "").upper())
    except ValueError:  # no day of any calendar
        return None
    since = (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment) - _START
    return (since.days * 86_400 + since.seconds) * _SECOND + since.microseconds
