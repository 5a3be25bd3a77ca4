"""Enclose powers of e between exact fractions, so that rounding can always go to the side that costs no privacy.

`Decimal.exp` rounds correctly, so the true value lies within one unit of the last of its 60 places; the neighbours on
both sides enclose it.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Final

_PLACES: Final = 60
_GRID: Final = 10**50
_PRECISE: Final = Context(prec=_PLACES, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999)


def exp_below(exponent: Fraction) -> Fraction:
    """Return a fraction that is at most exp(`exponent`), by less than 10^-48 of it (for |exponent| up to 1000)."""
    return Fraction(_exp(math.floor(exponent * _GRID)).next_minus(_PRECISE))


def exp_above(exponent: Fraction) -> Fraction:
    """Return a fraction that is at least exp(`exponent`), by less than 10^-48 of it (for |exponent| up to 1000)."""
    return Fraction(_exp(math.ceil(exponent * _GRID)).next_plus(_PRECISE))


def log_above(number: Fraction) -> Fraction:
    """Return a fraction that is at least the natural logarithm of a number above 0, by less than 10^-45."""
    rounded = Fraction(math.ceil(number * _GRID), _GRID)
    exact = _PRECISE.divide(Decimal(rounded.numerator), Decimal(rounded.denominator)).next_plus(_PRECISE)
    return Fraction(exact.ln(_PRECISE).next_plus(_PRECISE))


def root_above(number: Fraction) -> Fraction:
    """Return a fraction that is at least the square root of a number, by less than 10^-40."""
    return Fraction(math.isqrt(math.ceil(number * 10**80)) + 1, 10**40)


def _exp(grid: int) -> Decimal:
    """Return e to the power of `grid` / 10^50; the division moves the point, and loses nothing in 110 places."""
    return Decimal(grid).scaleb(-50, Context(prec=_PLACES + 50)).exp(_PRECISE)
