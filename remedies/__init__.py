"""Remedies for tables at disclosure risk: one file is one remedy."""

from remedies._contract import (
    Disposition,
    Guarantee,
    Progress,
    Remedy,
    RemedyParameters,
    RowOrder,
    StopRequest,
    Treatment,
    UtilityReport,
    grouped_by,
)
from remedies._errors import Misfit, Refused, RemedyError

__all__ = [
    "Disposition",
    "Guarantee",
    "Misfit",
    "Progress",
    "Refused",
    "Remedy",
    "RemedyError",
    "RemedyParameters",
    "RowOrder",
    "StopRequest",
    "Treatment",
    "UtilityReport",
    "grouped_by",
]
