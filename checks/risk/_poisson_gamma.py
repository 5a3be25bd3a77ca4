"""Population uniques by the Poisson-gamma model."""

from __future__ import annotations

import math
from collections.abc import Callable

from checks.classes.arrays import np
from checks.risk._likelihood import maximise
from checks.risk._negative_binomial import ODDS, SHAPE, log_chances, log_ways
from checks.risk._sample import COUNTED, Fitted, PopulationSample, with_the_rest


def fit_poisson_gamma(sample: PopulationSample) -> Fitted:
    """Estimate with cells whose numbers of rows are Poisson, with means that are gamma distributed.

    Each of K cells has the share gamma of the population, gamma of shape r and scale s, and a Poisson number of rows of
    mean N gamma: negative binomial, of shape r and odds b = N s. In the sample the odds are pi b. How many cells there
    are without a row in the sample is not known, so r and b are those of the largest likelihood of the sizes given that
    a cell is not empty. With P(F = 1) = r b (1 + b)^-(1 + r) and E F = r b,

        U = N P(F = 1) / E F = N (1 + b)^-(1 + r),  P(F = 1 | f = 1) = ((1 + pi b) / (1 + b))^(1 + r).

    Where many classes are small and a few large, the likelihood grows as r falls to 0, Fisher's logarithmic series: the
    estimate is then that of the series, and flagged. Needs a sample with some uniques and not only such.

    Source: Bethlehem, J. G., Keller, W. J. and Pannekoek, J. (1990). Disclosure control of microdata. Journal of the
    American Statistical Association 85(409); there with a known number of cells.
    """
    maximum = maximise(_profile(sample), outer=SHAPE, inner=ODDS)
    shape, odds, kept = math.exp(maximum.outer), math.exp(maximum.inner), sample.fraction
    sizes = np.arange(1, COUNTED + 1, dtype=np.float64)
    seen = odds * kept
    logs = log_chances(log_ways(shape, sizes), sizes, shape=shape, odds=seen) - _log_not_empty(shape, seen)
    log_unique = -(1 + shape) * math.log1p(odds)
    p = math.exp(log_unique + (1 + shape) * math.log1p(seen))
    return Fitted(sample.population_size * math.exp(log_unique), p, with_the_rest(np.exp(logs)), maximum.problem)


def _log_not_empty(shape: float, odds: float) -> float:
    return math.log(-math.expm1(-shape * math.log1p(odds)))


def _profile(sample: PopulationSample) -> Callable[[float], Callable[[float], float]]:
    rows, count, kept = sample.rows, sample.count, sample.fraction

    def given(log_shape: float) -> Callable[[float], float]:
        shape = math.exp(log_shape)
        ways = float(sample.weights @ log_ways(shape, sample.sizes))

        def likelihood(log_odds: float) -> float:
            odds = math.exp(log_odds) * kept
            value = shape * math.log1p(odds) + _log_not_empty(shape, odds)
            return ways - rows * math.log1p(1 / odds) - count * value

        return likelihood

    return given
