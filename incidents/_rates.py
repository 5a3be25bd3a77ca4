"""What people cost while data is down, and money rounded once."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class StaffRole:
    """People who cannot do their work, or who repair, while data is down.

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
