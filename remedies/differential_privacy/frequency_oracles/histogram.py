"""Histogram encodings (Wang et al. 2017, section 4.2): noisy bits, summed up (SHE), or which are above theta (THE)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final

import numpy as np

from remedies._errors import Misfit
from remedies.differential_privacy._samplers import many_discrete_laplace
from remedies.differential_privacy._spread import laplace_variance
from remedies.differential_privacy.epsilon import NANO, Loss, exp_above, laplace_scale
from remedies.differential_privacy.frequency_oracles._contract import Estimates, Oracle, Reports, integers
from remedies.differential_privacy.frequency_oracles.choices import Codes, Declared
from remedies.differential_privacy.frequency_oracles.unary import UnaryOracle
from remedies.differential_privacy.random_bytes import ONE


class SHE(Oracle):
    """Report d integers: 1 for the own value, 0 for the others, each with discrete Laplace noise of scale 2/epsilon.

    Privacy: two values are 2 apart in L1, so the noise costs exactly epsilon. The estimate is the sum of the reports;
    its variance per user is that of the noise, 8/eps^2 but for what the discrete noise has less. Many reports are
    int64 (n, d).
    """

    name: ClassVar[str] = "SHE"

    @property
    def scale(self) -> Fraction:
        """The exact scale of the noise."""
        return laplace_scale(2, self.nano_epsilon)

    def estimate(self, reports: Reports, *, values: Iterable[Hashable] | None = None) -> Estimates:
        """Estimate from all reports how many people have each value, or each of `values`.

        Raises:
            Misfit: what was given cannot be reports of this oracle, or one of `values` is not in the domain.
        """
        array = integers(reports, columns=self.choices.size, what="a noisy bit for each value of the domain")
        codes = self._wanted(values)
        sums = (array if codes is None else array[:, codes]).sum(axis=0)
        return Estimates(sums.astype(np.float64), np.full(sums.size, self.variance(len(array))), len(array))

    def variance(self, users: int = 1, *, share: float = 0.0) -> float:
        """Return the variance of one estimated count among `users` people; it is the same for every share."""
        del share
        return users * laplace_variance(self.scale)

    def _perturb(self, codes: Codes) -> np.ndarray:
        noisy = many_discrete_laplace(self.scale, codes.size * self.choices.size)
        noisy = noisy.reshape(codes.size, self.choices.size)
        noisy[np.arange(codes.size), codes] += 1
        return noisy


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
