"""Compare draws with a distribution that is known exactly; how unlikely a false alarm is, and what would be seen."""

import math
from collections.abc import Callable

import numpy as np

FALSE_ALARM = 5.5
"""In standard deviations: a true hypothesis is beyond them in 4e-8 of all streams of bytes."""


def farthest(draws: np.ndarray, probability: Callable[[int], float], *, span: int) -> float:
    """Give the largest distance, in standard deviations, between how often an integer came and how often it should.

    A probability p that is off by 11 sqrt(p (1-p) / n) is seen in 99.999998 % of all streams (5.5 beyond the alarm).
    """
    n = draws.size
    values = np.arange(-span, span + 1)
    expected = np.array([probability(int(value)) for value in values])
    seen = np.array([(draws == value).sum() for value in values])
    return float(np.max(np.abs(seen - n * expected) / np.sqrt(n * expected * (1 - expected))))


def laplace_probability(scale: float) -> Callable[[int], float]:
    """Give the probabilities of the discrete Laplace distribution in closed form."""
    ratio = math.exp(-1 / scale)
    return lambda value: (1 - ratio) / (1 + ratio) * ratio ** abs(value)
