"""Discrete Gaussian noise, sampled exactly with integers (Canonne, Kamath, Steinke 2020, algorithm 3).

P[z] is proportional to exp(-z^2 / (2 sigma^2)) over all integers z. Integer statistics of L2 sensitivity D, each with
such noise of its own, are (D^2 / (2 sigma^2))-zCDP together (their theorem 4).
"""

from __future__ import annotations

import math
from fractions import Fraction

from remedies._errors import Misfit
from remedies.differential_privacy._coins import exponential_coin
from remedies.differential_privacy._laplace import discrete_laplace, exact_scale
from remedies.differential_privacy.epsilon import NANO


def gaussian_square(l2_squared: int | Fraction, nano_rho: int) -> Fraction:
    """Return the exact sigma^2 at which a statistic costs `nano_rho`: D^2 / (2 rho).

    Raises:
        Misfit: the sensitivity or the loss is not above 0.
    """
    if l2_squared <= 0 or nano_rho <= 0:
        raise Misfit(f"squared sensitivity {l2_squared} and {nano_rho} nano-rho, expected both above 0")
    return Fraction(l2_squared) * NANO / (2 * nano_rho)


def discrete_gaussian(sigma_squared: int | Fraction) -> int:
    """Draw one integer z with probability proportional to exp(-z^2 / (2 sigma^2)), exactly.

    A discrete Laplace of scale t = floor(sigma) + 1 is kept with probability exp(-(|z| - sigma^2/t)^2 / (2 sigma^2)).

    Raises:
        Misfit: sigma^2 is not an int or a Fraction above 0.
    """
    square = exact_scale(sigma_squared)
    scale = math.isqrt(math.floor(square)) + 1
    while True:
        drawn = discrete_laplace(scale)
        distance = abs(drawn) - square / scale
        if exponential_coin(distance**2 / (2 * square)):
            return drawn
