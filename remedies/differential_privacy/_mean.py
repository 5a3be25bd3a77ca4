"""A mean where the number of rows is not public: half of epsilon for a sum around the middle, half for the count."""

from __future__ import annotations

from fractions import Fraction

from remedies._errors import Misfit


def halves(nano_epsilon: int) -> tuple[int, int]:
    """Split a loss between the sum and the count, exactly: what does not divide goes to the count.

    Raises:
        Misfit: a single nano-epsilon cannot be split.
    """
    if nano_epsilon < 2:
        raise Misfit(f"{nano_epsilon} nano-epsilon cannot be split between a sum and a count, expected at least 2")
    return nano_epsilon // 2, nano_epsilon - nano_epsilon // 2


def mean_of(centred_sum: int, rows: int, *, low: int, high: int) -> Fraction:
    """Return the mean of values in [low, high] from the noisy sum of 2x - (low + high) and the noisy count.

    It is clamped to the limits, and a count below 1 is read as 1: what is computed from noisy numbers costs nothing.
    The sum (`centred_sum_sensitivity`) is counted in half units of the grid.
    """
    mean = Fraction(low + high, 2) + Fraction(centred_sum, 2 * max(rows, 1))
    return min(max(mean, Fraction(low)), Fraction(high))
