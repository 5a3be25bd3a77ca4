"""OUE, optimised unary encoding (Wang et al. 2017, section 4.3): the many zeros lie less often than the one one."""

from __future__ import annotations

import math
from functools import cached_property
from typing import ClassVar

from remedies.differential_privacy.frequency_oracles._unary import UnaryOracle
from remedies.differential_privacy.random_bytes import ONE


class OUE(UnaryOracle):
    """Report d bits with p = 1/2, q = 1/(e+1).

    The ratio is (1-q)/q; with q rounded up from 1/(odds+1) it is at most odds, at most exp(epsilon).
    """

    name: ClassVar[str] = "OUE"

    @cached_property
    def thresholds(self) -> tuple[int, int]:
        """P and q in units of 2^-64."""
        return ONE // 2, math.ceil(ONE / (self.odds + 1))
