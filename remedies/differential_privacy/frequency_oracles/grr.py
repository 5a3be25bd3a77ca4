"""GRR, generalised randomised response (at d = 2: randomised response): the value, or one drawn from the domain."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from remedies._errors import Misfit
from remedies.differential_privacy.frequency_oracles._contract import Reports, SupportOracle, largest_keep, redraw
from remedies.differential_privacy.frequency_oracles.choices import Codes
from remedies.differential_privacy.random_bytes import ONE


class GRR(SupportOracle):
    """Report a value of the domain: p = e/(e+d-1), q = 1/(e+d-1).

    Privacy: a report has probability p from those with the value and q from all others, so the likelihood ratio is
    p/q, at most exp(epsilon) by `largest_keep`. The best oracle iff d < 3e + 2.
    """

    name: ClassVar[str] = "GRR"

    @property
    def p(self) -> Fraction:
        """The exact probability of the own value."""
        return Fraction(self._keep, ONE) + self.q

    @property
    def q(self) -> Fraction:
        """The exact probability of any other value."""
        return (1 - Fraction(self._keep, ONE)) / self.choices.size

    @property
    def likelihood_ratio(self) -> Fraction:
        """Return how many times as likely a report may be if the value were another one."""
        return self.p / self.q

    @cached_property
    def _keep(self) -> int:
        return largest_keep(self.odds, self.choices.size)

    def _perturb(self, codes: Codes) -> np.ndarray:
        return self.choices.decode(redraw(codes, size=self.choices.size, keep=self._keep))

    def _checked(self, reports: Reports) -> np.ndarray:
        codes = self.choices.positions(reports)
        if (codes < 0).any():
            raise Misfit("reports hold values that are not in the declared domain")
        return codes

    def _support(self, reports: np.ndarray, codes: Codes | None) -> Codes:
        if codes is not None:
            ordered = np.sort(reports)
            return np.searchsorted(ordered, codes, side="right") - np.searchsorted(ordered, codes, side="left")
        return np.bincount(reports, minlength=self.choices.size).astype(np.int64)
