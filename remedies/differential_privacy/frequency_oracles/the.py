"""THE, thresholding with histogram encoding (Wang et al. 2017, section 4.2): which noisy bits are above theta."""

from __future__ import annotations

import math
from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final

from remedies._errors import Misfit
from remedies.differential_privacy._powers import exp_above
from remedies.differential_privacy.epsilon import NANO, Loss
from remedies.differential_privacy.frequency_oracles._unary import UnaryOracle
from remedies.differential_privacy.frequency_oracles.choices import Declared
from remedies.differential_privacy.random_bytes import ONE

_GOLDEN: Final = (math.sqrt(5) - 1) / 2
_STEPS: Final = 60


class THE(UnaryOracle):
    """Report d bits with p = 1 - exp(eps (theta-1)/2)/2, q = exp(-eps theta/2)/2.

    These are the probabilities that 1 and 0 with Laplace noise of scale 2/eps are above theta. That noise makes the
    vector eps-private, what is computed from it stays so, and rounding p down and q up only lowers the ratio; so the
    bits are drawn with p and q, and no continuous noise is drawn at all.
    """

    name: ClassVar[str] = "THE"

    def __init__(
        self, domain: Declared, epsilon: Loss, *, other: Hashable = None, theta: str | Decimal | Fraction | None = None
    ) -> None:
        """Declare the domain, what one report costs, and the threshold: by default the one of least variance.

        Raises:
            Misfit: the domain, epsilon or theta (0 to 1) makes no sense.
        """
        self._asked = None if theta is None else _read(theta)
        super().__init__(domain, epsilon, other=other)

    @cached_property
    def theta(self) -> Fraction:
        """The threshold, from 0 to 1."""
        return best_theta(float(self.exponent)) if self._asked is None else self._asked

    @cached_property
    def thresholds(self) -> tuple[int, int]:
        """P and q in units of 2^-64."""
        own = ONE * (1 - exp_above(self.exponent * (self.theta - 1) / 2) / 2)
        others = ONE * exp_above(-self.exponent * self.theta / 2) / 2
        return math.floor(own), math.ceil(others)


def best_theta(epsilon: float) -> Fraction:
    """Return the threshold of least variance, between 1/2 and 1, to nine places (golden section)."""

    def variance(theta: float) -> float:
        own, others = epsilon * (theta - 1) / 2, -epsilon * theta / 2
        q, gap = math.exp(others) / 2, -(math.expm1(own) + math.expm1(others)) / 2
        return q * (1 - q) / gap**2

    low, high = 0.5, 1.0
    for _ in range(_STEPS):
        width = _GOLDEN * (high - low)
        if variance(high - width) < variance(low + width):
            high = low + width
        else:
            low = high - width
    return Fraction(round((low + high) / 2 * NANO), NANO)


def _read(theta: str | Decimal | Fraction) -> Fraction:
    try:
        read = Fraction(str(theta))
    except ValueError:
        read = Fraction(-1)
    if not 0 <= read <= 1:
        raise Misfit(f"theta is {str(theta)[:40]!r}, expected a decimal from 0 to 1, such as 0.6")
    return read
