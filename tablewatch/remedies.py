"""Remedies as objects: `apply(frame)` returns a treated table, with a report of what it lost and what is guaranteed."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import remedies as _library
from remedies import (
    Disposition,
    Guarantee,
    Misfit,
    Progress,
    Refused,
    Remedy,
    RemedyError,
    RemedyParameters,
    RowOrder,
    StopRequest,
    Treatment,
    UtilityReport,
    grouped_by,
)

if TYPE_CHECKING:
    from remedies.code import Code
    from remedies.generalise import Generalise
    from remedies.microaggregate import Microaggregate
    from remedies.randomise import Randomise
    from remedies.suppress import Suppress
    from remedies.synthesise import Synthesise

__all__ = [
    "Code",
    "Disposition",
    "Generalise",
    "Guarantee",
    "Microaggregate",
    "Misfit",
    "Progress",
    "Randomise",
    "Refused",
    "Remedy",
    "RemedyError",
    "RemedyParameters",
    "RowOrder",
    "StopRequest",
    "Suppress",
    "Synthesise",
    "Treatment",
    "UtilityReport",
    "grouped_by",
]

_HOMES: Final = ("Code", "Generalise", "Microaggregate", "Randomise", "Suppress", "Synthesise")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{_library.__name__}.{name.lower()}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
