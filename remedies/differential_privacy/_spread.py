"""How far noise lies from the truth: variances and shares in closed form, for people; never used to draw anything."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Final

from remedies._errors import Misfit
from remedies.differential_privacy._samplers import exact_scale

_FAR: Final = 40
_SMOOTH: Final = 10.0
_DIGITS: Final = 40


def laplace_variance(scale: int | Fraction) -> float:
    """Return the variance of discrete Laplace noise: 1 / (cosh(1/scale) - 1), a little below 2 scale^2.

    Raises:
        Misfit: the scale is not an int or a Fraction above 0.
    """
    half = float(1 / (2 * exact_scale(scale)))
    if half > 300:  # sinh would overflow; the noise is 0 but for once in e^600
        return 0.0
    return 1 / (2 * math.sinh(half) ** 2)


def gaussian_variance(sigma_squared: int | Fraction) -> float:
    """Return the variance of discrete Gaussian noise: at most sigma^2, and nearly that from sigma = 1 on.

    Raises:
        Misfit: sigma^2 is not an int or a Fraction above 0.
    """
    square = float(exact_scale(sigma_squared))
    if square > _SMOOTH:  # Canonne, Kamath, Steinke 2020, proposition 21: equal up to exp(-2 pi^2 sigma^2)
        return square
    weights = [math.exp(-(z**2) / (2 * square)) for z in range(-_FAR, _FAR + 1)]
    return sum(w * z**2 for w, z in zip(weights, range(-_FAR, _FAR + 1), strict=True)) / sum(weights)


def laplace_within(scale: int | Fraction, share: float = 0.95) -> int:
    """Return the smallest distance within which discrete Laplace noise stays with at least this probability.

    P[|z| > d] = 2 exp(-(d + 1)/scale) / (1 + exp(-1/scale)).

    Raises:
        Misfit: the share is not between 0 and 1, or the scale is not exact and above 0.
    """
    if not 0 < share < 1:
        raise Misfit(f"the share is {share}, expected a number between 0 and 1, such as 0.95")
    inverse = float(1 / exact_scale(scale))

    def beyond(distance: int) -> float:
        return 2 * math.exp(-(distance + 1) * inverse) / (1 + math.exp(-inverse))

    guess = max(0, math.floor(math.log(2 / ((1 - share) * (1 + math.exp(-inverse)))) / inverse) - 2)
    step = max(1, guess >> _DIGITS)  # beyond what floats tell apart, one by one would take for ever
    while beyond(guess) > 1 - share:
        guess += step
    return guess


def gaussian_within(sigma_squared: int | Fraction, share: float = 0.95) -> int:
    """Return the smallest distance within which discrete Gaussian noise stays with at least this probability.

    Above sigma = 3 by the normal distribution, which it equals but for a share of exp(-2 pi^2 sigma^2).

    Raises:
        Misfit: the share is not between 0 and 1, or sigma^2 is not exact and above 0.
    """
    if not 0 < share < 1:
        raise Misfit(f"the share is {share}, expected a number between 0 and 1, such as 0.95")
    square = float(exact_scale(sigma_squared))
    if square > _SMOOTH:
        return max(0, math.ceil(NormalDist(0, math.sqrt(square)).inv_cdf((1 + share) / 2) - 0.5))
    weights = [math.exp(-(z**2) / (2 * square)) for z in range(_FAR + 1)]
    whole, inside = 2 * sum(weights) - 1, 1.0
    distance = 0
    while inside < share * whole:
        distance += 1
        inside += 2 * weights[distance]
    return distance
