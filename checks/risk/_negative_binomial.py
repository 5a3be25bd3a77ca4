"""Models of class sizes that are negative binomial, Poisson-gamma and slide; by odds, in logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from checks.classes.arrays import np
from checks.risk._likelihood import Parameter, log_rising, maximise
from checks.risk._sample import COUNTED, Fitted, Floats, PopulationSample, with_the_rest

SHAPE: Final = Parameter(math.log(1e-6), math.log(1e6), "the shape lies at 0", "the shape has no bound")
"""The logarithm of the shape r. At 0 it is the logarithmic series, without a bound it is the Poisson distribution."""
ODDS: Final = Parameter(-35.0, 45.0, "the odds lie at 0", "the odds have no bound")
"""The logarithm of the odds b."""


def log_ways(shape: float, numbers: Floats) -> Floats:
    """Return log(Gamma(r + j) / (Gamma(r) j!)) for whole numbers j, at least 0."""
    from scipy.special import gammaln

    return np.asarray(log_rising(shape, numbers) - gammaln(numbers + 1), dtype=np.float64)


def log_chances(ways: Floats, numbers: Floats, *, shape: float, odds: float) -> Floats:
    """Return log P(X = j), where `ways` is `log_ways` of j: P(X = j) = ways_j (b / (1 + b))^j (1 + b)^-r; mean r b.

    Of X things each is kept with the chance c: what is kept is negative binomial again, with the odds c b, since the
    generating function (1 + b - b z)^-r has z replaced by 1 - c + c z.
    """
    return ways + numbers * -math.log1p(1 / odds) - shape * math.log1p(odds)


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


def fit_slide_negative_binomial(sample: PopulationSample) -> Fitted:
    """Estimate with class sizes F = 1 + X in the population, X negative binomial of shape r and odds b (mean r b).

    No class is empty, hence the slide by one. Each row is in the sample with the chance pi, so that f given F is
    binomial. The generating function of F is z (1 + b - b z)^-r; with 1 - pi + pi z in place of z it becomes

        (1 - pi + pi z) (1 + pi b - pi b z)^-r:

    f = B + Y, the row by which X was slid, kept with the chance pi, and Y negative binomial of shape r and odds pi b.
    With g(j) = P(Y = j),

        P(f = j) = (1 - pi) g(j) + pi g(j - 1),   P(f = 0) = (1 - pi) (1 + pi b)^-r,

    (With p = 1 / (1 + b), q = 1 - p, D = 1 - (1 - pi) q this makes P(f = 2) = r q p^r pi^2 (2 - (1 - r) (1 - pi) q)
    / (2 D^(r + 2)): thinning divides by a power of D. The equation that ARX solves, in its ModelSNB, multiplies by it.)

    Classes without a row in the sample are not seen, so r and b are those of the largest likelihood of P(f = j) /
    (1 - P(f = 0)). Of a class P(F = 1) = (1 + b)^-r, E F = 1 + r b, so U = N P(F = 1) / E F, and P(F = 1 | f = 1) =
    pi P(F = 1) / P(f = 1). Needs a sample that is not the population, with some uniques and not only such.

    Source: Chen, G. and Keller-McNulty, S. (1998). Estimation of identification disclosure risk in microdata. Journal
    of Official Statistics 14(1); there by moments.
    """
    maximum = maximise(_slide_profile(sample), outer=SHAPE, inner=ODDS)
    shape, odds, kept = math.exp(maximum.outer), math.exp(maximum.inner), sample.fraction
    seen = _Seen(shape, np.arange(1, COUNTED + 1, dtype=np.float64))
    shares = np.exp(seen.log_shares(odds * kept, kept))
    log_unique = -shape * math.log1p(odds)
    uniques = sample.population_size * math.exp(log_unique) / (1 + shape * odds)
    log_seen = seen.log_chances(odds * kept, kept)
    p = math.exp(math.log(kept) + log_unique - float(log_seen[0]))
    return Fitted(uniques, min(p, 1.0), with_the_rest(shares), maximum.problem)


class _Seen:
    """The sizes of classes in a sample, for one shape; `odds` are those of Y."""

    def __init__(self, shape: float, sizes: Floats) -> None:
        self._shape, self._sizes = shape, sizes
        self._all, self._without_one = log_ways(shape, sizes), log_ways(shape, sizes - 1)

    def log_chances(self, odds: float, kept: float) -> Floats:
        """Return log P(f = j) for the sizes j."""
        lost = log_chances(self._all, self._sizes, shape=self._shape, odds=odds)
        slid = log_chances(self._without_one, self._sizes - 1, shape=self._shape, odds=odds)
        return np.logaddexp(math.log1p(-kept) + lost, math.log(kept) + slid)

    def log_shares(self, odds: float, kept: float) -> Floats:
        """Return log(P(f = j) / P(f > 0))."""
        log_unseen = math.log1p(-kept) - self._shape * math.log1p(odds)
        return self.log_chances(odds, kept) - math.log(-math.expm1(log_unseen))


def _slide_profile(sample: PopulationSample) -> Callable[[float], Callable[[float], float]]:
    kept = sample.fraction

    def given(log_shape: float) -> Callable[[float], float]:
        seen = _Seen(math.exp(log_shape), sample.sizes)
        return lambda log_odds: float(sample.weights @ seen.log_shares(math.exp(log_odds) * kept, kept))

    return given
