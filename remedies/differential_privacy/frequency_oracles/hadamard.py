"""HR, Hadamard response of one bit (Bassily, Smith 2015; Acharya, Sun, Zhang 2019): an entry of a Hadamard matrix."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from remedies._errors import Misfit
from remedies.differential_privacy.frequency_oracles._contract import Reports, SupportOracle, integers
from remedies.differential_privacy.frequency_oracles.choices import Codes
from remedies.differential_privacy.random_bytes import ONE, flags, many_below


class HadamardResponse(SupportOracle):
    """Report (row, bit): p = e/(e+1), q = 1/2.

    The matrix has K rows, K the next power of two from d on; its entry in row j and column v is the parity of the ones
    in j & v. Who has v draws a row and reports its entry in column v, turned over with probability 1 - p. Any two
    columns agree in half of the rows, so q is 1/2 exactly.

    Privacy: the row does not depend on the value, and a bit is likelier by p/(1-p) at most; with p rounded down from
    odds/(odds+1) that is at most odds, at most exp(epsilon). Many reports are int64 (n, 2).
    """

    name: ClassVar[str] = "HR"

    @property
    def rows(self) -> int:
        """Return how many rows the matrix has, K."""
        return 1 << (self.choices.size - 1).bit_length()

    @property
    def p(self) -> Fraction:
        """The exact probability that a report supports the own value."""
        return Fraction(self._true, ONE)

    @property
    def q(self) -> Fraction:
        """The exact probability that a report supports another value."""
        return Fraction(1, 2)

    @property
    def likelihood_ratio(self) -> Fraction:
        """Return how many times as likely a report may be if the value were another one."""
        return self.p / (1 - self.p)

    @cached_property
    def _true(self) -> int:
        return math.floor(ONE * self.odds / (self.odds + 1))

    def _perturb(self, codes: Codes) -> np.ndarray:
        rows = many_below(self.rows, codes.size).astype(np.int64)
        entries = np.bitwise_count(rows & codes) & 1
        return np.column_stack([rows, np.where(flags(self._true, codes.size), entries, 1 - entries)]).astype(np.int64)

    def _checked(self, reports: Reports) -> np.ndarray:
        array = integers(reports, columns=2, what="a row of the matrix, and a bit")
        if array.size and (array.min() < 0 or array[:, 0].max() >= self.rows or array[:, 1].max() > 1):
            raise Misfit(f"reports hold no row (0 to {self.rows - 1}) or no bit (0 or 1)")
        return array

    def _support(self, reports: np.ndarray, codes: Codes | None) -> Codes:
        if codes is not None:
            row, bit = np.ascontiguousarray(reports.T)
            supported = [np.count_nonzero(np.bitwise_count(row & code) & 1 == bit) for code in codes]
            return np.array(supported, dtype=np.int64)
        signs = np.bincount(reports[reports[:, 1] == 0, 0], minlength=self.rows)
        signs = (signs - np.bincount(reports[reports[:, 1] == 1, 0], minlength=self.rows)).astype(np.int64)
        counts: Codes = (len(reports) + _transform(signs)[: self.choices.size]) // 2
        return counts


def _transform(signs: Codes) -> Codes:
    """Multiply with the Hadamard matrix of plus and minus ones, in K log K steps."""
    half = 1
    while half < signs.size:
        pairs = signs.reshape(-1, 2, half)
        signs = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return signs
