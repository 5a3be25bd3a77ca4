"""Population uniques by the slide negative binomial model."""

from __future__ import annotations

import math
from collections.abc import Callable

from checks.classes.arrays import np
from checks.risk._likelihood import maximise
from checks.risk._negative_binomial import ODDS, SHAPE, log_chances, log_ways
from checks.risk._sample import COUNTED, Fitted, Floats, PopulationSample, with_the_rest


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
    maximum = maximise(_profile(sample), outer=SHAPE, inner=ODDS)
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


def _profile(sample: PopulationSample) -> Callable[[float], Callable[[float], float]]:
    kept = sample.fraction

    def given(log_shape: float) -> Callable[[float], float]:
        seen = _Seen(math.exp(log_shape), sample.sizes)
        return lambda log_odds: float(sample.weights @ seen.log_shares(math.exp(log_odds) * kept, kept))

    return given
