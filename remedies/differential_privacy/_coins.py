"""Toss coins whose probability is exact: fractions, and powers of e (Canonne, Kamath, Steinke 2020, algorithm 1)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from remedies.differential_privacy.random_bytes import Flags, Words, below, many_below


def coin(numerator: int, denominator: int) -> bool:
    """Return true with probability `numerator` / `denominator`, exactly."""
    return below(denominator) < numerator


def exponential_coin(gamma: Fraction) -> bool:
    """Return true with probability exp(-gamma), exactly, for any gamma >= 0.

    exp(-gamma) is the product of as many exp(-1) as gamma holds whole ones, and of one for the rest; the first coin
    that fails ends it, so it takes 1.6 rounds on average however large gamma is.
    """
    whole, rest = divmod(gamma.numerator, gamma.denominator)
    for _ in range(whole):
        if not _unit_coin(1, 1):
            return False
    return _unit_coin(rest, gamma.denominator)


def _unit_coin(numerator: int, denominator: int) -> bool:
    """Return true with probability exp(-gamma) for gamma = numerator / denominator <= 1.

    The first k at which a coin of gamma / k fails is odd with probability 1 - gamma + gamma^2/2! - ... = exp(-gamma).
    """
    k = 1
    while coin(numerator, denominator * k):
        k += 1
    return k % 2 == 1


def unit_coins(numerators: Words, denominator: int) -> Flags:
    """Toss one coin of exp(-numerator / denominator) for each numerator (0 to `denominator`), as `_unit_coin` does.

    `denominator` is at most 2^40: then k would have to reach 2^24, which has probability 1 / (2^24)!, before
    `many_below` would refuse.
    """
    tossed = np.zeros(numerators.size, dtype=np.bool_)
    still = np.arange(numerators.size)
    k = 1
    while still.size:
        goes_on = many_below(denominator * k, still.size) < numerators[still]
        if k % 2 == 1:
            tossed[still[~goes_on]] = True
        still = still[goes_on]
        k += 1
    return tossed
