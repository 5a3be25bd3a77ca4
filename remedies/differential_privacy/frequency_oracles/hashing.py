"""Local hashing: each person hashes the domain into g buckets by a function of their own, and reports their bucket.

h(x) = ((a x + b) mod P) mod g with P = 2^31 - 1 and a, b uniform below P: for two different x both values mod P are
uniform and independent. So the probability that two values share a bucket is known exactly: the sum over the buckets of
(how many of the P residues fall into it / P)^2, 1/g but for some 10^-18. It enters q, and leaves no bias.

BLH has two buckets (Bassily, Smith 2015; Wang et al. 2017, section 4.4), OLH as many as vary least (there, too).
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final

import numpy as np

from remedies._errors import Misfit
from remedies.differential_privacy.frequency_oracles._contract import (
    Reports,
    SupportOracle,
    integers,
    largest_keep,
    redraw,
)
from remedies.differential_privacy.frequency_oracles.choices import LARGEST, Codes
from remedies.differential_privacy.random_bytes import ONE, many_below

PRIME: Final = LARGEST
_BLOCK: Final = 1 << 15
"""Reports that are counted together: what is computed of them stays in the processor's cache."""


class HashingOracle(SupportOracle):
    """Report (a, b, bucket), the bucket randomised as by GRR over the g buckets.

    Privacy: the function is drawn before the value is looked at, and whichever it is, the likelihood ratio of a bucket
    is that of GRR over g values, at most exp(epsilon). Many reports are int64 (n, 3). A report supports every value
    that its function puts into its bucket.
    """

    @property
    @abstractmethod
    def buckets(self) -> int:
        """Return the number of buckets, g."""

    @property
    def p(self) -> Fraction:
        """The exact probability that a report supports the own value."""
        return self._retention + (1 - self._retention) / self.buckets

    @cached_property
    def q(self) -> Fraction:
        """The exact probability that a report supports another value: by a shared or a randomly drawn bucket."""
        full, rest = divmod(PRIME, self.buckets)
        shared = Fraction(rest * (full + 1) ** 2 + (self.buckets - rest) * full**2, PRIME**2)
        return self._retention * shared + (1 - self._retention) / self.buckets

    @property
    def likelihood_ratio(self) -> Fraction:
        """Return how many times as likely a report may be if the value were another one."""
        return self.p / ((1 - self._retention) / self.buckets)

    @cached_property
    def _keep(self) -> int:
        return largest_keep(self.odds, self.buckets)

    @property
    def _retention(self) -> Fraction:
        return Fraction(self._keep, ONE)

    def _perturb(self, codes: Codes) -> np.ndarray:
        a, b = (many_below(PRIME, codes.size).astype(np.int64) for _ in range(2))
        own = (a * codes + b) % PRIME % self.buckets
        return np.column_stack([a, b, redraw(own, size=self.buckets, keep=self._keep)])

    def _checked(self, reports: Reports) -> np.ndarray:
        array = integers(reports, columns=3, what="the two numbers of a hash function, and a bucket")
        if array.size and (array.min() < 0 or array[:, :2].max() >= PRIME or array[:, 2].max() >= self.buckets):
            raise Misfit(
                f"reports hold numbers of no hash function (0 to 2^31 - 2) or no bucket (0 to g - 1 of {self.buckets})"
            )
        return array

    def _support(self, reports: np.ndarray, codes: Codes | None) -> Codes:
        counts = np.zeros(self.choices.size if codes is None else codes.size, dtype=np.int64)
        for start in range(0, len(reports), _BLOCK):
            block = reports[start : start + _BLOCK]
            counts += self._walked(block) if codes is None else self._hashed(block, codes)
        return counts

    def _walked(self, reports: np.ndarray) -> Codes:
        """Count for the whole domain, in its order: the place mod P moves by a from each value to the next."""
        a, b, bucket = np.ascontiguousarray(reports.T.astype(np.uint32))
        place, counts = b.copy(), np.empty(self.choices.size, dtype=np.int64)
        for code in range(self.choices.size):
            counts[code] = np.count_nonzero(place % np.uint32(self.buckets) == bucket)
            place += a  # both below 2^31, so the sum fits into 32 bits
            np.subtract(place, np.uint32(PRIME), out=place, where=place >= PRIME)
        return counts

    def _hashed(self, reports: np.ndarray, codes: Codes) -> Codes:
        a, b, bucket = np.ascontiguousarray(reports.T)
        supported = [np.count_nonzero((a * code + b) % PRIME % self.buckets == bucket) for code in codes]
        return np.array(supported, dtype=np.int64)


class BLH(HashingOracle):
    """Report a hash function and one bit: p = e/(e+1), q = 1/2."""

    name: ClassVar[str] = "BLH"

    @cached_property
    def buckets(self) -> int:
        """Return how many buckets there are: two."""
        return 2


_MOST: Final = 2**30


class OLH(HashingOracle):
    """Report a hash function and one of g = round(e) + 1 buckets (at most 2^30): p = e/(e+g-1), q = 1/g.

    As good as OUE, with a report of three numbers instead of d bits: for large domains.
    """

    name: ClassVar[str] = "OLH"

    @cached_property
    def buckets(self) -> int:
        """Return the number of buckets."""
        return min(round(self.odds) + 1, _MOST)
