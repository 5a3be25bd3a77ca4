"""SUE, symmetric unary encoding (basic RAPPOR; Erlingsson, Pihur, Korolova 2014): both kinds of bits lie as often."""

from __future__ import annotations

import math
from functools import cached_property
from typing import ClassVar

from remedies.differential_privacy._powers import exp_below
from remedies.differential_privacy.frequency_oracles._unary import UnaryOracle
from remedies.differential_privacy.random_bytes import ONE


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
