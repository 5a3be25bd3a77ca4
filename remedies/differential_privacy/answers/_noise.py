"""The noise of an answer, derived from its price and its sensitivity, as a fraction; and what it means for a reader."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from checks import Json
from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.epsilon import laplace_scale
from remedies.differential_privacy.sensitivity import Sensitivity

# Arrays are only loaded where noise is drawn: a configuration that declares a statistic does not wait for them.
_FEW: Final = 64
"""Noise for so few cells is drawn one by one."""
_LARGE: Final = 1 << 40
"""And so is noise that 64 bits might not hold."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Discrete Laplace noise (pure accounting) or discrete Gaussian noise (zCDP), in units of the statistic's grid.

    `of`: what it is added to. `nano`: what it costs, in nano-epsilon or nano-rho.
    """

    of: str
    accounting: Accounting
    nano: int
    sensitivity: Sensitivity
    grid: Fraction = Fraction(1)

    @property
    def parameter(self) -> Fraction:
        """Return the exact scale of the Laplace noise, or sigma^2 of the Gaussian noise."""
        if self.accounting is Accounting.PURE:
            return laplace_scale(self.sensitivity.l1, self.nano)
        from remedies.differential_privacy._samplers import gaussian_square

        return gaussian_square(self.sensitivity.l2_squared, self.nano)

    @property
    def deviation(self) -> float:
        """Return the standard deviation, in the statistic's own unit."""
        from remedies.differential_privacy._spread import gaussian_variance, laplace_variance

        variance = laplace_variance if self.accounting is Accounting.PURE else gaussian_variance
        return math.sqrt(variance(self.parameter)) * float(self.grid)

    def within(self, share: float = 0.95) -> Fraction:
        """Return the distance within which it stays with at least this probability, in the statistic's own unit."""
        from remedies.differential_privacy._spread import gaussian_within, laplace_within

        reach = laplace_within if self.accounting is Accounting.PURE else gaussian_within
        return reach(self.parameter, share) * self.grid

    def added(self, exact: Sequence[int]) -> Sequence[int]:
        """Return whole numbers with noise, each with its own."""
        from remedies.differential_privacy._samplers import discrete_gaussian, discrete_laplace, many_discrete_laplace

        if self.accounting is not Accounting.PURE:
            drawn = [discrete_gaussian(self.parameter) for _ in exact]
        elif len(exact) <= _FEW or self.parameter > _LARGE:
            drawn = [discrete_laplace(self.parameter) for _ in exact]
        else:
            drawn = many_discrete_laplace(self.parameter, len(exact)).tolist()
        return [number + noise for number, noise in zip(exact, drawn, strict=True)]

    def as_json(self) -> Mapping[str, Json]:
        """Return it as plain data; the exact parameter is a text."""
        pure = self.accounting is Accounting.PURE
        return {
            "of": self.of,
            "distribution": "discrete-laplace" if pure else "discrete-gaussian",
            "scale" if pure else "sigma_squared": str(self.parameter),
            "grid": str(self.grid),
            "standard_deviation": self.deviation,
            "within_95": plain(self.within()),
        }


def plain(number: Fraction | int) -> int | float:
    """Return a fraction as plain data: whole if it is."""
    exact = Fraction(number)
    return exact.numerator if exact.denominator == 1 else float(exact)
