"""Discrete Laplace noise, sampled exactly with integers (Canonne, Kamath, Steinke 2020, algorithm 2).

P[z] is proportional to exp(-|z| / scale) over all integers z. An integer statistic of L1 sensitivity D plus this noise
with scale D / epsilon is epsilon-differentially private, with nothing lost to rounding.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from remedies._errors import Misfit
from remedies.differential_privacy._coins import coin, exponential_coin, unit_coins
from remedies.differential_privacy.random_bytes import below, flags, many_below

Integers: TypeAlias = NDArray[np.int64]

_ONE: Final = Fraction(1)
_HALF: Final = 1 << 63
_WIDEST: Final = 1 << 40
"""Numerators up to this one leave 23 bits for the whole parts; larger ones are sampled one by one."""


def exact_scale(scale: int | Fraction) -> Fraction:
    """Check that a scale is exact and above 0.

    Raises:
        Misfit: it is a float or no number at all, or not above 0.
    """
    if isinstance(scale, bool) or not isinstance(scale, int | Fraction):
        raise Misfit(f"the scale is a {type(scale).__name__}, expected an int or a Fraction, such as Fraction(2, 3)")
    if scale <= 0:
        raise Misfit(f"the scale is {scale}, expected a number above 0")
    return Fraction(scale)


def discrete_laplace(scale: int | Fraction) -> int:
    """Draw one integer z with probability proportional to exp(-|z| / scale), exactly.

    Raises:
        Misfit: the scale is not an int or a Fraction above 0.
    """
    exact = exact_scale(scale)
    top, bottom = exact.numerator, exact.denominator
    while True:
        part = below(top)
        if not exponential_coin(Fraction(part, top)):
            continue
        whole = 0
        while exponential_coin(_ONE):
            whole += 1
        size = (part + top * whole) // bottom
        negative = coin(1, 2)
        if not (negative and size == 0):
            return -size if negative else size


def many_discrete_laplace(scale: int | Fraction, count: int) -> Integers:
    """Draw `count` independent integers as `discrete_laplace` does, many at once.

    Raises:
        Misfit: the scale is not an int or a Fraction above 0.
    """
    exact = exact_scale(scale)
    if exact.numerator > _WIDEST or exact.denominator > _WIDEST:
        return np.array([discrete_laplace(exact) for _ in range(count)], dtype=np.int64)
    drawn = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        batch = _batch(exact, count - filled)[: count - filled]
        drawn[filled : filled + batch.size] = batch
        filled += batch.size
    return drawn


def _batch(scale: Fraction, wanted: int) -> Integers:
    """Draw some, as many as come out of about twice as many tries as are wanted: which try fails is no secret."""
    parts = many_below(scale.numerator, 2 * wanted + 16)
    parts = parts[unit_coins(parts, scale.numerator)]
    wholes = np.zeros(parts.size, dtype=np.uint64)
    still = np.arange(parts.size)
    while still.size:
        still = still[unit_coins(np.ones(still.size, dtype=np.uint64), 1)]
        wholes[still] += np.uint64(1)
    sizes = ((parts + np.uint64(scale.numerator) * wholes) // np.uint64(scale.denominator)).astype(np.int64)
    negative = flags(_HALF, sizes.size)
    signed: Integers = np.where(negative, -sizes, sizes)[~(negative & (sizes == 0))]
    return signed
