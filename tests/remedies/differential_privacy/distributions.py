"""Compare draws with a distribution that is known exactly; how unlikely a false alarm is, and what would be seen."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

FALSE_ALARM = 5.5
"""In standard deviations: a true hypothesis is beyond them in 4e-8 of all streams of bytes."""


def farthest(draws: np.ndarray, probability: Callable[[int], float], *, span: int) -> float:
    """Return the largest distance, in standard deviations, between how often an integer came and how often it should.

    A probability p that is off by 11 sqrt(p (1-p) / n) is seen in 99.999998 % of all streams (5.5 beyond the alarm).
    """
    n = draws.size
    values = np.arange(-span, span + 1)
    expected = np.array([probability(int(value)) for value in values])
    seen = np.array([(draws == value).sum() for value in values])
    return float(np.max(np.abs(seen - n * expected) / np.sqrt(n * expected * (1 - expected))))


def laplace_probability(scale: float) -> Callable[[int], float]:
    """Return the probabilities of the discrete Laplace distribution in closed form."""
    ratio = math.exp(-1 / scale)
    return lambda value: (1 - ratio) / (1 + ratio) * ratio ** abs(value)


def permuted(weights: Sequence[float]) -> np.ndarray:
    """Return the probabilities of permute-and-flip; each weight is exp(-epsilon (u_max - u) / (2 D)), the largest 1.

    With a time for each candidate, uniform from 0 to 1, as the random order, the first that comes up heads is
    candidate i at time t with density p_i times the product of 1 - p_j t over all others. The integral is exact for
    polynomials (Gauss-Legendre) up to 79 others on each of its pieces, and beyond that as good as floats.
    """
    p = np.asarray(weights, dtype=float)
    nodes, shares = np.polynomial.legendre.leggauss(40)
    ends = np.concatenate([[0.0], np.geomspace(1 / 1024, 1.0, 11)])
    total = np.zeros(p.size)
    for low, high in pairwise(ends.tolist()):
        times = low + (high - low) * (nodes + 1) / 2
        logs = np.log1p(-np.outer(times, p))
        total += np.exp(logs.sum(axis=1, keepdims=True) - logs).T @ (shares * (high - low) / 2)
    found: np.ndarray = p * total
    return found
