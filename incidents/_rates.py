"""Compute staff costs of downtime, round money once, and determine the lever."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final


@dataclass(frozen=True, slots=True)
class StaffRole:
    """People blocked by data downtime or working on its resolution.

    `hourly`: wage per hour. `share`: share of the downtime that each spends on it, 0 to 1.
    """

    headcount: Decimal | Fraction
    hourly: Decimal | Fraction
    share: Decimal | Fraction


def role_rate(roles: Iterable[StaffRole]) -> Fraction:
    """Return what the roles cost per hour of downtime: headcount x hourly x share, summed."""
    return sum((Fraction(role.headcount) * Fraction(role.hourly) * Fraction(role.share) for role in roles), Fraction())


def money(amount: Fraction, decimals: int) -> Decimal:
    """Round an exact amount to the currency's decimals (JPY 0, EUR 2), halves away from zero. Round nothing before."""
    scaled = abs(amount) * 10**decimals
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    digits = tuple(int(digit) for digit in str(whole))
    # made from its digits: arithmetic on Decimals would round to 28 of them
    return Decimal((1 if amount < 0 < whole else 0, digits, -decimals))


class Lever(StrEnum):
    """Recommended improvements."""

    DETECT = "detect"
    """Most of the downtime is before detection: check more often, report, tighten freshness limits."""
    REPAIR = "repair"
    """Most of the downtime is after detection: simpler pipelines, less debt, clear ownership."""
    BOTH_ALIKE = "both-alike"
    NONE = "none"
    """There is no downtime, or it depends on when exactly data went bad, which is not known."""


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
