"""Repair: one file of this room is one remedy."""

from remedies._contract import (
    UtilityReport,
    Disposition,
    StopRequest,
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
    "UtilityReport",
    "Disposition",
    "StopRequest",
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
