"""SHE, summation with histogram encoding (Wang et al. 2017, section 4.2): noisy bits, summed up."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import ClassVar

import numpy as np

from remedies.differential_privacy._laplace import many_discrete_laplace
from remedies.differential_privacy._spread import laplace_variance
from remedies.differential_privacy.epsilon import laplace_scale
from remedies.differential_privacy.frequency_oracles._contract import Estimates, Oracle, Reports, integers
from remedies.differential_privacy.frequency_oracles.choices import Codes


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
