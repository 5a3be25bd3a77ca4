"""Repair: one file of this room is one remedy."""

from remedies._contract import (
    Bill,
    Disposition,
    Enough,
    Guarantee,
    Progress,
    Remedy,
    RemedyParameters,
    RowOrder,
    Treatment,
    grouped_by,
)
from remedies._errors import Misfit, Refused, RemedyError

__all__ = [
    "Bill",
    "Disposition",
    "Enough",
    "Guarantee",
    "Misfit",
    "Progress",
    "Refused",
    "Remedy",
    "RemedyError",
    "RemedyParameters",
    "RowOrder",
    "Treatment",
    "grouped_by",
]
