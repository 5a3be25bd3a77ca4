"""Population uniques by Pitman's sampling formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from checks.classes.arrays import np
from checks.risk._likelihood import Parameter, log_rising, maximise
from checks.risk._sample import COUNTED, Fitted, Floats, PopulationSample

_EDGE: Final = 1e-6
_ALPHA: Final = Parameter(_EDGE, 1 - _EDGE, "alpha lies at 0", "alpha lies at 1")
_LOG_THETA_ALPHA: Final = Parameter(-16.0, 40.0, "theta lies at -alpha", "theta has no bound")
_CLOSE: Final = 0.01


def fit_pitman(sample: PopulationSample) -> Fitted:
    """Estimate from Pitman's two parameters, those of the largest likelihood.

    The numbers s_j of classes of size j in a sample of n rows and u classes have the probability

        n! theta^[u:alpha] / theta^[n] prod_j ((1 - alpha)^[j-1] / j!)^s_j / s_j!

    with x^[m:a] = x (x + a) ... (x + (m - 1) a), a = 1 where it is left out, 0 <= alpha < 1 and theta > -alpha. A
    sample of a sample follows the same law, so that population and sample share their parameters. The expected number
    of uniques among N rows is

        E = N Gamma(theta + 1) Gamma(theta + alpha + N - 1) / (Gamma(theta + alpha) Gamma(theta + N)),

    for which Hoshino's limit for a large N, U = Gamma(theta + 1) / Gamma(theta + alpha) N^alpha, is taken where the two
    are within 1 % of each other (it is the larger one), and E itself where theta is not small beside N. A row that is
    unique among n rows is so among N with the chance

        Gamma(theta + alpha + N - 1) Gamma(theta + n) / (Gamma(theta + N) Gamma(theta + alpha + n - 1)).

    Needs a sample with some uniques and not only such.

    Source: Pitman, J. (1995). Exchangeable and partially exchangeable random partitions. Probability Theory and Related
    Fields 102. Hoshino, N. (2001). Applying Pitman's sampling formula to microdata disclosure risk assessment. Journal
    of Official Statistics 17(4).
    """
    maximum = maximise(_profile(sample), outer=_ALPHA, inner=_LOG_THETA_ALPHA)
    alpha, both = maximum.outer, math.exp(maximum.inner)  # theta + alpha, which alone is sure to be above 0
    theta, size = both - alpha, sample.population_size
    ends = float(log_rising(theta + size + alpha - 1, 1 - alpha))
    grown = float(log_rising(both, 1 - alpha))
    exact, limit = math.log(size) + grown - ends, alpha * math.log(size) + grown
    uniques = math.exp(limit if limit - exact < _CLOSE else exact)
    stays = math.exp(float(log_rising(theta + sample.rows + alpha - 1, 1 - alpha)) - ends)
    return Fitted(uniques, stays, _expected(sample, alpha, both), maximum.problem)


def _profile(sample: PopulationSample) -> Callable[[float], Callable[[float], float]]:
    rows, count = sample.rows, sample.count

    def given(alpha: float) -> Callable[[float], float]:
        within = float(sample.weights @ log_rising(1 - alpha, sample.sizes - 1)) + (count - 1) * math.log(alpha)

        def likelihood(log_both: float) -> float:
            both = math.exp(log_both)
            between = log_rising(both / alpha, count - 1) - log_rising(both - alpha + 1, rows - 1)
            return within + float(between)

        return likelihood

    return given


def _expected(sample: PopulationSample, alpha: float, both: float) -> Floats:
    """Return the expected numbers of classes of size 1, 2, ... `COUNTED`, and of larger ones."""
    from scipy.special import gammaln

    rows, theta = sample.rows, both - alpha
    sizes = np.arange(1, COUNTED + 1, dtype=np.float64)
    others = np.maximum(rows - sizes, 0)
    ways = gammaln(rows + 1) - gammaln(sizes + 1) - gammaln(others + 1)
    rest = float(log_rising(theta + 1, rows - 1))
    numbers = np.exp(ways + log_rising(1 - alpha, sizes - 1) + log_rising(both, others) - rest)
    numbers = np.where(sizes <= rows, numbers, 0.0)
    return np.append(numbers, max(0.0, _classes(rows, alpha, theta) - math.fsum(numbers)))


def _classes(rows: int, alpha: float, theta: float) -> float:
    """Return the expected number of classes, theta / alpha ((theta + alpha)^[n] / theta^[n] - 1)."""
    from scipy.special import digamma

    if theta <= 1:
        return (math.exp(float(log_rising(theta + alpha, rows) - log_rising(theta + 1, rows - 1))) - theta) / alpha
    # the quotient is near 1 for a large theta or small alpha: its logarithm is integrated over alpha instead
    nodes, weights = np.polynomial.legendre.leggauss(8)
    between = theta + alpha * (nodes + 1) / 2
    mean = float(weights @ (digamma(between + rows) - digamma(between))) / 2
    return theta * math.expm1(alpha * mean) / alpha
