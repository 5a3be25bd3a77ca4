"""Models of how many sample uniques are unique in the population: Pitman, Poisson-gamma, slide negative binomial."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from checks.classes.arrays import np
from checks.risk._sample import COUNTED, Fitted, Floats, PopulationSample, with_the_rest
from sources import import_extra

_FLAT: Final = 0.01
"""A bound at which the log-likelihood is smaller by no more than this may be where the parameter lies."""
_STEPS: Final = 17
_EXACT: Final = 1e-9
_SERIES_FROM: Final = 64.0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter between two bounds; `at_low` and `at_high` say what it means to lie there."""

    low: float
    high: float
    at_low: str
    at_high: str


@dataclass(frozen=True, slots=True)
class Maximum:
    """The maximum of a likelihood; `problem` says if it is at a bound or was not found, None for neither."""

    outer: float
    inner: float
    problem: str | None


Profile = Callable[[float], Callable[[float], float]]
"""The log-likelihood as a function of the inner parameter, given the outer one: what it shares is worked out once."""


def maximise(profile: Profile, *, outer: Parameter, inner: Parameter) -> Maximum:
    """Find the largest log-likelihood within the bounds.

    For each value of the outer parameter the best inner one is sought by Brent's method, then the outer one by the same
    from the best of a grid, since a profile may have more than one peak.
    """
    minimize_scalar = import_extra("scipy.optimize").minimize_scalar

    def best(value: float) -> tuple[float, float, bool]:
        likelihood = profile(value)
        result = minimize_scalar(
            lambda other: -likelihood(other),
            bounds=(inner.low, inner.high),
            method="bounded",
            options={"xatol": _EXACT},
        )
        return float(result.x), -float(result.fun), bool(result.success)

    grid = np.linspace(outer.low, outer.high, _STEPS)
    peak = int(np.argmax([best(value)[1] for value in grid]))
    around = (float(grid[max(peak - 1, 0)]), float(grid[min(peak + 1, _STEPS - 1)]))
    result = minimize_scalar(lambda value: -best(value)[1], bounds=around, method="bounded", options={"xatol": _EXACT})
    at = float(result.x)
    other, largest, converged = best(at)
    bounds = (
        (outer.at_low, best(outer.low)[1]),
        (outer.at_high, best(outer.high)[1]),
        (inner.at_low, profile(at)(inner.low)),
        (inner.at_high, profile(at)(inner.high)),
    )
    problem = next((words for words, value in bounds if value >= largest - _FLAT), None)
    if not (converged and result.success and np.isfinite(largest)):
        problem = "the search for the parameters did not converge"
    return Maximum(at, other, problem)


def log_rising(start: Any, steps: Any) -> Any:
    """Return log(Gamma(start + steps) / Gamma(start)), also where both are far larger than their quotient.

    `start`: above 0. `steps`: at least 0, need not be whole. Numbers or arrays. From 64 on Stirling's series is taken,
    so that the large parts cancel before they are computed; its first left out term is below 1e-15.
    """
    gammaln = import_extra("scipy.special").gammaln
    start, steps = np.asarray(start, dtype=np.float64), np.asarray(steps, dtype=np.float64)
    far = np.maximum(start, _SERIES_FROM)
    by_series = (
        (far - 0.5) * np.log1p(steps / far) + steps * (np.log(far + steps) - 1) + _rest(far + steps) - _rest(far)
    )
    return np.where(start > _SERIES_FROM, by_series, gammaln(start + steps) - gammaln(start))


def log_falling(start: Any, steps: Any) -> Any:
    """Return log(start (start - 1) ... (start - steps + 1)); `steps` is whole, at least 0, at most `start`."""
    start, steps = np.asarray(start, dtype=np.float64), np.asarray(steps, dtype=np.float64)
    return log_rising(start - steps + 1, steps)


def _rest(x: Any) -> Any:
    return (1 / 12 - (1 / 360 - 1 / (1260 * x * x)) / (x * x)) / x


SHAPE: Final = Parameter(math.log(1e-6), math.log(1e6), "the shape lies at 0", "the shape has no bound")
"""The logarithm of the shape r. At 0 it is the logarithmic series, without a bound it is the Poisson distribution."""
ODDS: Final = Parameter(-35.0, 45.0, "the odds lie at 0", "the odds have no bound")
"""The logarithm of the odds b."""


def log_ways(shape: float, numbers: Floats) -> Floats:
    """Return log(Gamma(r + j) / (Gamma(r) j!)) for whole numbers j, at least 0."""
    gammaln = import_extra("scipy.special").gammaln
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
    maximum = maximise(_poisson_gamma_profile(sample), outer=SHAPE, inner=ODDS)
    shape, odds, fraction = math.exp(maximum.outer), math.exp(maximum.inner), sample.fraction
    sizes = np.arange(1, COUNTED + 1, dtype=np.float64)
    scaled = odds * fraction
    logs = log_chances(log_ways(shape, sizes), sizes, shape=shape, odds=scaled) - _log_not_empty(shape, scaled)
    log_unique = -(1 + shape) * math.log1p(odds)
    p = math.exp(log_unique + (1 + shape) * math.log1p(scaled))
    return Fitted(sample.population_size * math.exp(log_unique), p, with_the_rest(np.exp(logs)), maximum.problem)


def _log_not_empty(shape: float, odds: float) -> float:
    return math.log(-math.expm1(-shape * math.log1p(odds)))


def _poisson_gamma_profile(sample: PopulationSample) -> Callable[[float], Callable[[float], float]]:
    rows, count, fraction = sample.rows, sample.count, sample.fraction

    def given(log_shape: float) -> Callable[[float], float]:
        shape = math.exp(log_shape)
        ways = float(sample.weights @ log_ways(shape, sample.sizes))

        def likelihood(log_odds: float) -> float:
            odds = math.exp(log_odds) * fraction
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
    shape, odds, fraction = math.exp(maximum.outer), math.exp(maximum.inner), sample.fraction
    model = _SlideModel(shape, np.arange(1, COUNTED + 1, dtype=np.float64))
    shares = np.exp(model.log_shares(odds * fraction, fraction))
    log_unique = -shape * math.log1p(odds)
    uniques = sample.population_size * math.exp(log_unique) / (1 + shape * odds)
    log_seen = model.log_chances(odds * fraction, fraction)
    p = math.exp(math.log(fraction) + log_unique - float(log_seen[0]))
    return Fitted(uniques, min(p, 1.0), with_the_rest(shares), maximum.problem)


class _SlideModel:
    """The sizes of classes in a sample, for one shape; `odds` are those of Y."""

    def __init__(self, shape: float, sizes: Floats) -> None:
        self._shape, self._sizes = shape, sizes
        self._all, self._without_one = log_ways(shape, sizes), log_ways(shape, sizes - 1)

    def log_chances(self, odds: float, fraction: float) -> Floats:
        """Return log P(f = j) for the sizes j."""
        unslid = log_chances(self._all, self._sizes, shape=self._shape, odds=odds)
        slid = log_chances(self._without_one, self._sizes - 1, shape=self._shape, odds=odds)
        return np.logaddexp(math.log1p(-fraction) + unslid, math.log(fraction) + slid)

    def log_shares(self, odds: float, fraction: float) -> Floats:
        """Return log(P(f = j) / P(f > 0))."""
        log_unseen = math.log1p(-fraction) - self._shape * math.log1p(odds)
        return self.log_chances(odds, fraction) - math.log(-math.expm1(log_unseen))


def _slide_profile(sample: PopulationSample) -> Callable[[float], Callable[[float], float]]:
    fraction = sample.fraction

    def given(log_shape: float) -> Callable[[float], float]:
        model = _SlideModel(math.exp(log_shape), sample.sizes)
        return lambda log_odds: float(sample.weights @ model.log_shares(math.exp(log_odds) * fraction, fraction))

    return given


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
    maximum = maximise(_pitman_profile(sample), outer=_ALPHA, inner=_LOG_THETA_ALPHA)
    alpha, both = maximum.outer, math.exp(maximum.inner)  # theta + alpha, which alone is sure to be above 0
    theta, size = both - alpha, sample.population_size
    ends = float(log_rising(theta + size + alpha - 1, 1 - alpha))
    grown = float(log_rising(both, 1 - alpha))
    exact, limit = math.log(size) + grown - ends, alpha * math.log(size) + grown
    uniques = math.exp(limit if limit - exact < _CLOSE else exact)
    stays = math.exp(float(log_rising(theta + sample.rows + alpha - 1, 1 - alpha)) - ends)
    return Fitted(uniques, stays, _expected(sample, alpha, both), maximum.problem)


def _pitman_profile(sample: PopulationSample) -> Callable[[float], Callable[[float], float]]:
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
    gammaln = import_extra("scipy.special").gammaln
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
    digamma = import_extra("scipy.special").digamma
    if theta <= 1:
        return (math.exp(float(log_rising(theta + alpha, rows) - log_rising(theta + 1, rows - 1))) - theta) / alpha
    # the quotient is near 1 for a large theta or small alpha: its logarithm is integrated over alpha instead
    nodes, weights = np.polynomial.legendre.leggauss(8)
    between = theta + alpha * (nodes + 1) / 2
    mean = float(weights @ (digamma(between + rows) - digamma(between))) / 2
    return theta * math.expm1(alpha * mean) / alpha
