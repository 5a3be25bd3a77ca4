"""Privacy losses as people write them: decimals of at most nine places, kept as integers of 10^-9 (nano).

An integer adds up exactly: a budget of 9 pays for exactly 100 answers at 0.09, which no float can promise.

Bounds of powers of e: `Decimal.exp` rounds correctly, so the true value lies within one unit of the last of its 60
places; the neighbours on both sides enclose it.
"""

from __future__ import annotations

import math
import operator
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Annotated, Final, TypeAlias

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from remedies._errors import Misfit


def _read(text: object) -> object:
    """Read a loss; what is none is refused with the reason."""
    return decimal_of(nano(text, name="the privacy loss")) if isinstance(text, str | int | float | Decimal) else text


WrittenLoss: TypeAlias = Annotated[
    Decimal,
    BeforeValidator(_read),
    PlainSerializer("{:f}".format, return_type=str),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]}),
]


Loss: TypeAlias = str | int | float | Decimal
"""What a person or a configuration gives as epsilon or rho: 0.1, "0.1", 1, Decimal("0.000000001")."""

NANO: Final = 10**9
MOST: Final = 10**6
"""A larger loss protects nothing, and sums of smaller ones fit into 64 bits."""

_DECIMAL: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
_PLACES: Final = 9
_LONGEST: Final = 40


def nano(loss: Loss, *, name: str = "epsilon") -> int:
    """Read a privacy loss as an integer number of 10^-9, at least 1.

    A float is read as it prints (0.1 is one tenth). Text is digits, with or without a point: no sign, no exponent, no
    blanks.

    Raises:
        Misfit: it is not a number, 0, negative, infinite, above a million, or has more than nine places.
    """
    text = _plain(loss, name=name)
    if text.startswith("-") and _DECIMAL.fullmatch(text[1:]):
        raise _misfit(name, text, "is not above 0")
    if not _DECIMAL.fullmatch(text):
        raise _misfit(name, text, "is not a plain decimal")
    whole, _, places = text.partition(".")
    if len(places) > _PLACES:
        raise _misfit(name, text, f"has {len(places)} places")
    read = int(whole) * NANO + int(places.ljust(_PLACES, "0"))
    if read == 0:
        raise _misfit(name, text, "is not above 0")
    if read > MOST * NANO:
        raise _misfit(name, text, f"is above {MOST:,}, which protects nothing")
    return read


def decimal_of(nanos: int) -> Decimal:
    """Return a loss in nano units as the decimal that people read, without trailing zeros."""
    return Decimal(f"{Decimal(nanos).scaleb(-_PLACES):f}").normalize() if nanos else Decimal(0)


def text_of(nanos: int) -> str:
    """Write a loss in nano units as `nano` reads it."""
    return f"{decimal_of(nanos):f}"


def laplace_scale(sensitivity: int | Fraction, nano_epsilon: int) -> Fraction:
    """Return the exact scale of Laplace noise: sensitivity / epsilon, as a fraction (Dwork et al. 2006, proposition 1).

    Dividing in floats gives a scale that is too small for about half of all epsilon.

    Raises:
        Misfit: the sensitivity or the loss is not above 0.
    """
    if sensitivity <= 0 or nano_epsilon <= 0:
        raise Misfit(f"sensitivity {sensitivity} and {nano_epsilon} nano-epsilon, expected both above 0")
    return Fraction(sensitivity) * NANO / nano_epsilon


def _plain(loss: Loss, *, name: str) -> str:
    """Write what was given with digits only, if it can be: floats as they print, but without an exponent."""
    if isinstance(loss, str):
        text = loss
    elif isinstance(loss, bool):
        raise Misfit(f"{name} is {loss}, expected a decimal above 0, such as 0.1")
    elif isinstance(loss, float):
        text = _digits(Decimal(float.__repr__(loss)), name=name)
    elif isinstance(loss, Decimal):
        text = _digits(loss, name=name)
    else:
        try:
            text = _digits(Decimal(operator.index(loss)), name=name)
        except TypeError:
            raise Misfit(f"{name} is of type {type(loss).__name__}, expected a decimal, such as 0.1") from None
    if len(text) > _LONGEST:
        raise Misfit(f"{name} is {len(text)} characters long, expected a decimal of at most nine places, such as 0.1")
    return text


def _digits(number: Decimal, *, name: str) -> str:
    if not number.is_finite():
        raise _misfit(name, str(number), "is not finite")
    if abs(number.adjusted()) > _LONGEST:
        raise _misfit(name, str(number), "is out of all proportion")
    text = f"{number:f}"
    return text.removesuffix(".0")


def _misfit(name: str, text: str, fault: str) -> Misfit:
    return Misfit(f"{name} {text[:_LONGEST]!r} {fault}, expected a decimal above 0 of at most nine places, such as 0.1")


_DIGITS: Final = 60
_GRID: Final = 10**50
_PRECISE: Final = Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999)


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
    return Decimal(grid).scaleb(-50, Context(prec=_DIGITS + 50)).exp(_PRECISE)
