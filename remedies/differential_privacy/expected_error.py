"""How far counts are from the truth on average, in closed form: randomised, inverted, or given as noisy answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from remedies._errors import Misfit
from remedies.differential_privacy._matrix import Factor, Floats, forward, inverse_squared, squared
from remedies.differential_privacy._samplers import gaussian_square
from remedies.differential_privacy._spread import gaussian_variance, laplace_variance
from remedies.differential_privacy.accounting import rho_within
from remedies.differential_privacy.epsilon import laplace_scale
from remedies.differential_privacy.sensitivity import Adjacency, histogram_sensitivity

_QUARTERS: Final = (25, 50, 75)


@dataclass(frozen=True, slots=True)
class Error:
    """The error of a table of counts, in records.

    `rms_l2`: the root of the mean squared L2 distance over all cells; `bias_l2`: the distance of the mean. `quartiles`:
    of the root mean squared errors of single cells, lower quartile, median, upper quartile; `worst_cell`: the place of
    the largest, and `worst` that error. `spearman`: the mean correlation of ranks (ties have their average rank) with
    the true counts, 1 where the order is kept; None where it was not simulated, or all counts are equal.
    """

    rms_l2: float
    bias_l2: float
    quartiles: tuple[float, float, float]
    worst_cell: tuple[int, ...]
    worst: float
    spearman: float | None = None

    @classmethod
    def of(cls, bias: Floats, variance: Floats, *, spearman: float | None = None) -> Error:
        """Return the error of cells with this bias and variance, in the shape of the table."""
        cells = np.sqrt(bias**2 + np.maximum(variance, 0.0))
        first, median, third = (float(item) for item in np.percentile(cells, _QUARTERS))
        place = tuple(int(item) for item in np.unravel_index(int(cells.argmax()), cells.shape))
        whole, mean = float(np.linalg.norm(cells)), float(np.linalg.norm(bias))
        return cls(whole, mean, (first, median, third), place, float(cells.max()), spearman)


def randomised_moments(counts: Floats, factors: Sequence[Factor]) -> tuple[Floats, Floats]:
    """Return bias and variance of the randomised counts of each cell.

    Each record falls into cell b with probability A[a, b], so x_a A[a, b] (1 - A[a, b]) are summed over a.
    """
    expected = forward(counts, factors)
    return expected - counts, expected - squared(counts, factors)


def inverted_moments(counts: Floats, factors: Sequence[Factor]) -> tuple[Floats, Floats]:
    """Return bias and variance of the counts of each cell that the inverse B = A^-1 estimates.

    They are unbiased. With y the expected counts, the variance of cell c is the sum of y_b B[b, c]^2, less x_c.

    Raises:
        Misfit: a factor has no inverse.
    """
    return np.zeros_like(counts), inverse_squared(forward(counts, factors), factors) - counts


@dataclass(frozen=True, slots=True)
class NoisyAnswers:
    """Noisy answers about disjoint cells (substitute; the number of rows is public), out of one epsilon.

    `nano_epsilon` is for all answers together, in equal parts; `rows_per_unit`: how many rows one person has at most.
    """

    cells: int
    nano_epsilon: int
    rows_per_unit: int = 1

    def scale(self, answers: int) -> Fraction:
        """Return the scale of the Laplace noise on each count, in records: 2 X / epsilon for a person of one row."""
        l1 = histogram_sensitivity(Adjacency.SUBSTITUTE, rows=self.rows_per_unit).l1
        return laplace_scale(l1 * answers, self.nano_epsilon)

    def continuous(self, answers: int) -> float:
        """Return the RMS L2 error of one of so many answers with continuous Laplace noise, of variance 2 scale^2."""
        return math.sqrt(2 * self.cells) * float(self.scale(answers))

    def discrete(self, answers: int) -> float:
        """Return it with discrete Laplace noise, which is what answers have."""
        return math.sqrt(self.cells * laplace_variance(self.scale(answers)))

    def gaussian(self, answers: int, delta: Fraction) -> float | None:
        """Return it with discrete Gaussian noise under zCDP, a weaker guarantee: epsilon holds but for delta.

        None where epsilon is too small for this delta.
        """
        nano_rho = rho_within(self.nano_epsilon, delta)
        if not nano_rho:
            return None
        return math.sqrt(self.cells * gaussian_variance(self._square(nano_rho) * answers))

    def crossover(self, error: float) -> int:
        """Return the number of answers from which on each has a larger RMS L2 error than this, by continuous noise."""
        return math.floor(error / self.continuous(1)) + 1

    def gaussian_crossover(self, error: float, delta: Fraction) -> int | None:
        """Return that number under zCDP; None where epsilon is too small for this delta."""
        nano_rho = rho_within(self.nano_epsilon, delta)
        return math.floor(error**2 / (self.cells * float(self._square(nano_rho)))) + 1 if nano_rho else None

    def _square(self, nano_rho: int) -> Fraction:
        """Return sigma^2 of a single answer."""
        squared = histogram_sensitivity(Adjacency.SUBSTITUTE, rows=self.rows_per_unit).l2_squared
        return gaussian_square(squared, nano_rho)


def spearman(truth: Floats, estimates: Floats) -> float | None:
    """Return the mean correlation of average ranks between a table and some estimates (tables, ...) of it.

    None where all true counts are equal; an estimate whose cells are all equal counts as 0.

    Raises:
        Misfit: there is no estimate.
    """
    if not len(estimates):
        raise Misfit("expected at least one estimate")
    own = _ranks(truth.ravel())
    if not own.any():
        return None
    ranks = [_ranks(estimate.ravel()) for estimate in estimates]
    return float(
        np.mean([own @ their / max(1e-300, float(np.linalg.norm(own) * np.linalg.norm(their))) for their in ranks])
    )


def _ranks(cells: Floats) -> Floats:
    """Return ranks less their mean; cells that are equal have the mean of their ranks."""
    _, places, times = np.unique(cells, return_inverse=True, return_counts=True)
    ends = np.cumsum(times)
    ranks = (ends - (times - 1) / 2)[places]
    return np.asarray(ranks - (len(cells) + 1) / 2)
