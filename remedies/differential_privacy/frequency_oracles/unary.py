"""Unary encodings: one bit for each value of the domain, each randomised by itself.

SUE is symmetric (basic RAPPOR; Erlingsson, Pihur, Korolova 2014): both kinds of bits lie as often. In OUE, which is
optimised (Wang et al. 2017, section 4.3), the many zeros lie less often than the one one.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from remedies._errors import Misfit
from remedies.differential_privacy.epsilon import exp_below
from remedies.differential_privacy.frequency_oracles._contract import Reports, SupportOracle, integers
from remedies.differential_privacy.frequency_oracles.choices import Codes
from remedies.differential_privacy.random_bytes import ONE, flags


class UnaryOracle(SupportOracle):
    """Report d bits: the own value's is set with probability p, each other one with probability q.

    Privacy: two values differ in two bits, so the likelihood ratio is at most (p/q) ((1-q)/(1-p)); rounding p down and
    q up lowers both factors. A report is d zeros and ones; many reports are a boolean array (n, d).
    """

    @property
    @abstractmethod
    def thresholds(self) -> tuple[int, int]:
        """P and q in units of 2^-64."""

    @property
    def p(self) -> Fraction:
        """The exact probability that the own bit is set."""
        return Fraction(self.thresholds[0], ONE)

    @property
    def q(self) -> Fraction:
        """The exact probability that another bit is set."""
        return Fraction(self.thresholds[1], ONE)

    @property
    def likelihood_ratio(self) -> Fraction:
        """Return how many times as likely a report may be if the value were another one."""
        return self.p * (1 - self.q) / (self.q * (1 - self.p))

    def _perturb(self, codes: Codes) -> np.ndarray:
        own, others = self.thresholds
        bits = flags(others, codes.size * self.choices.size).reshape(codes.size, self.choices.size)
        bits[np.arange(codes.size), codes] = flags(own, codes.size)
        return bits

    def _checked(self, reports: Reports) -> np.ndarray:
        bits = isinstance(reports, np.ndarray) and reports.dtype == np.bool_ and reports.ndim == 2
        if isinstance(reports, np.ndarray) and bits and reports.shape[1] == self.choices.size:
            return reports
        array = integers(reports, columns=self.choices.size, what="a bit for each value of the domain")
        if array.size and (array.min() < 0 or array.max() > 1):
            raise Misfit("reports hold more than zeros and ones; expected a bit for each value of the domain")
        return array

    def _support(self, reports: np.ndarray, codes: Codes | None) -> Codes:
        bits = reports if codes is None else reports[:, codes]
        return np.asarray(np.count_nonzero(bits, axis=0), dtype=np.int64)


class SUE(UnaryOracle):
    """Report d bits with p = sqrt(e)/(sqrt(e)+1), q = 1 - p.

    With s at most exp(epsilon/2) and p rounded down, p/(1-p) <= s; the ratio is its square, at most exp(epsilon).
    """

    name: ClassVar[str] = "SUE"

    @cached_property
    def thresholds(self) -> tuple[int, int]:
        """P and q in units of 2^-64."""
        root = exp_below(self.exponent / 2)
        own = math.floor(ONE * root / (root + 1))
        return own, ONE - own


class OUE(UnaryOracle):
    """Report d bits with p = 1/2, q = 1/(e+1).

    The ratio is (1-q)/q; with q rounded up from 1/(odds+1) it is at most odds, at most exp(epsilon).
    """

    name: ClassVar[str] = "OUE"

    @cached_property
    def thresholds(self) -> tuple[int, int]:
        """P and q in units of 2^-64."""
        return ONE // 2, math.ceil(ONE / (self.odds + 1))
