"""Three ways to bound the next residual with a chance of being wrong: Student, Cantelli and empirical.

Each takes the residuals of the past and the chance `tail` with which the next one may lie beyond one bound, and returns
the bounds; None where the residuals are too few for it.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from math import ceil, inf, lgamma, log, pi, sqrt
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from checks.limits.student import student_quantile

Floats: TypeAlias = npt.NDArray[np.float64]

_NEVER: Final = 1e-12
_NORMAL: Final = 1e9
_DEGREES: Final = np.array([2.0, 3.0, 4.0, 6.0, 10.0, 30.0, _NORMAL])
"""Degrees of freedom that are tried: from tails so heavy that there is no variance to a normal distribution."""
_STEPS: Final = 25
_EQUAL: Final = 1e-9
"""Below this share of the mean deviation, a median deviation is rounding: most residuals are equal."""
_TO_SIGMA: Final = 1.4826
"""The standard deviation of a normal distribution, in median absolute deviations."""


class Method(StrEnum):
    """How the bounds of a learned limit were chosen."""

    STUDENT = "student"
    CANTELLI = "cantelli"
    EMPIRICAL = "empirical"


class Bounds(NamedTuple):
    """The residuals that are allowed: from `low` to `high`, both included."""

    low: float
    high: float

    def breaks(self, residuals: Floats) -> npt.NDArray[np.bool_]:
        """Check which residuals lie outside."""
        return (residuals < self.low) | (residuals > self.high)


def student_bounds(residuals: Floats, tail: float, floor: float = 0.0) -> Bounds:
    """Bound by the predictive quantile of Student's t, fitted by maximum likelihood.

    The degrees of freedom are averaged over, weighted by their likelihood (Lange, Little, Taylor 1989), a normal
    distribution preferred; those of the sample are charged as in the interval for one more normal value. `floor` is the
    smallest scale that is believed.
    """
    n = len(residuals)
    location, variance, likelihood = _student_fit(residuals, max(floor, _NEVER))
    evidence = likelihood - (_DEGREES < _NORMAL)  # Akaike: degrees of freedom are one parameter more
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    degrees = 1 / (1 / _DEGREES + 1 / (n - 1))
    quantiles = np.array([student_quantile(tail, float(dof)) for dof in degrees])
    reach = float(weights @ (np.sqrt(variance * (n + 1) / (n - 1)) * quantiles))
    middle = float(weights @ location)
    return Bounds(middle - reach, middle + reach)


def _student_fit(residuals: Floats, floor: float) -> tuple[Floats, Floats, Floats]:
    """Return location, squared scale and log-likelihood for each of the degrees of freedom."""
    n, dof = len(residuals), _DEGREES[:, None]
    location = np.full((len(_DEGREES), 1), np.median(residuals))
    variance = np.full_like(location, max(robust_scale(residuals), floor) ** 2)
    for _ in range(_STEPS):
        squares = (residuals - location) ** 2
        weights = (dof + 1) / (dof + squares / variance)
        location = (weights @ residuals)[:, None] / weights.sum(axis=1, keepdims=True)
        variance = np.maximum((weights * (residuals - location) ** 2).mean(axis=1, keepdims=True), floor**2)
    constant = np.array([lgamma((nu + 1) / 2) - lgamma(nu / 2) - 0.5 * log(nu * pi) for nu in _DEGREES])
    spread = np.log1p((residuals - location) ** 2 / (dof * variance)).sum(axis=1)
    likelihood = n * (constant - 0.5 * np.log(variance[:, 0])) - (_DEGREES + 1) / 2 * spread
    return location[:, 0], variance[:, 0], likelihood


def cantelli_bounds(residuals: Floats, tail: float, floor: float = 0.0) -> Bounds:
    """Bound by Cantelli's inequality, which holds for every distribution with a variance."""
    n = len(residuals)
    scale = max(float(np.std(residuals, ddof=1)), floor, _NEVER)
    middle, reach = float(np.mean(residuals)), scale * sqrt(1 + 1 / n) * sqrt(1 / tail - 1)
    return Bounds(middle - reach, middle + reach)


def empirical_bounds(residuals: Floats, tail: float, floor: float = 0.0) -> Bounds | None:
    """Bound by order statistics: exchangeable residuals lie beyond with a chance of at most `tail` on either side."""
    n = len(residuals)
    place = ceil((n + 1) * (1 - tail) - _NEVER)
    if place > n:
        return None
    ordered, middle = np.sort(residuals), float(np.median(residuals))
    return Bounds(min(float(ordered[n - place]), middle - floor), max(float(ordered[place - 1]), middle + floor))


def sigma_bounds(residuals: Floats, sigma: float, floor: float = 0.0) -> Bounds:
    """Bound by a number of robust standard deviations around the median."""
    middle, reach = float(np.median(residuals)), sigma * max(robust_scale(residuals), floor, _NEVER)
    return Bounds(middle - reach, middle + reach)


def robust_scale(residuals: Floats) -> float:
    """Return the median absolute deviation as a standard deviation; the mean one where most residuals are equal."""
    away = np.abs(residuals - np.median(residuals))
    middle, mean = float(np.median(away)), float(np.mean(away))
    return middle * _TO_SIGMA if middle > mean * _EQUAL else mean * sqrt(pi / 2)


METHODS: Final[Mapping[Method, Callable[[Floats, float, float], Bounds | None]]] = {
    Method.STUDENT: student_bounds,
    Method.CANTELLI: cantelli_bounds,
    Method.EMPIRICAL: empirical_bounds,
}


def above_only(bounds: Bounds) -> Bounds:
    """Return bounds of which only the upper one holds."""
    return Bounds(-inf, bounds.high)
