"""Describe what would help most: to notice sooner, or to repair faster."""

from enum import StrEnum
from fractions import Fraction
from typing import Final


class Lever(StrEnum):
    """What would help most."""

    DETECT = "detect"
    """Most of the downtime passes unnoticed: check more often, report, tighten freshness limits."""
    REPAIR = "repair"
    """Most of the downtime passes after detection: simpler pipelines, less debt, clear ownership."""
    BOTH_ALIKE = "both-alike"
    NONE = "none"
    """There is no downtime, or it depends on when exactly data went bad, which nobody knows."""


MOST: Final = Fraction(3, 5)
"""A part is "most of the downtime" from this share on."""


def lever_of(undetected: int | Fraction, repair: int | Fraction) -> Lever:
    """Return the lever for a downtime of two parts, in any unit: the part that makes up at least 60 % of it."""
    whole = undetected + repair
    if whole == 0:
        return Lever.NONE
    if undetected >= MOST * whole:
        return Lever.DETECT
    return Lever.REPAIR if repair >= MOST * whole else Lever.BOTH_ALIKE
