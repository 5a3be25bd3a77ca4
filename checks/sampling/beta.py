"""Quantiles of beta distributions, which are the limits of Clopper and Pearson for a share that was sampled.

The density is that of a binomial distribution in Loader's form, in which nothing large cancels (C. Loader, "Fast and
accurate computation of binomial probabilities", 2000). The distribution function is the continued fraction of DLMF
8.17.22, contracted, taken for the smaller tail.
"""

import math
from itertools import count
from typing import Final

_PRECISION: Final = 1e-15
_SERIES_FROM: Final = 16
"""From here on the first left out term of Stirling's series is below 2e-14."""
_STEPS: Final = 200


def beta_quantile(a: int, b: int, probability: float) -> float:
    """Return the x at which a beta distribution reaches a probability, with a relative error below 1e-12.

    The logarithm of the distribution function is concave in log(x), so that Newton's method converges from below and
    needs no bounds.

    Args:
        a: the first parameter, at least 1.
        b: the second parameter, at least 1.
        probability: above 0, below 1.
    """
    target = math.log(probability)
    log_x = -math.log1p(b / a)  # of the mean
    for _ in range(_STEPS):
        below, slope = _log_distribution(a, b, log_x)
        step = (target - below) / slope
        log_x = min(log_x + step, log_x / 2)
        if abs(step) <= _PRECISION * max(1.0, abs(log_x)):
            break
    return math.exp(log_x)


def _log_distribution(a: int, b: int, log_x: float) -> tuple[float, float]:
    """Return the logarithm of the distribution function at x, and its derivative by log(x)."""
    x, rest = math.exp(log_x), -math.expm1(log_x)
    log_power = _log_power(a, b, x, rest)
    if x * b < a * rest:
        below = log_power - math.log(_fraction(a, b, x, rest))
    else:
        below = math.log1p(-math.exp(log_power) / _fraction(b, a, rest, x))
    return below, math.exp(log_power - below) / rest


def _log_power(a: int, b: int, x: float, rest: float) -> float:
    """Return log(x^a (1 - x)^b / B(a, b)); `rest` is 1 - x."""
    n = a + b
    deviance = _deviance(a, n * x) + _deviance(b, n * rest)
    return _stirling_rest(n) - _stirling_rest(a) - _stirling_rest(b) - deviance + math.log(a / n * b / math.tau) / 2


def _deviance(number: int, expected: float) -> float:
    """Return `number log(number / expected) + expected - number`."""
    apart = (number - expected) / expected
    return expected * ((1 + apart) * math.log1p(apart) - apart)


def _stirling_rest(n: int) -> float:
    """Return log(n!) - log(sqrt(2 pi n) (n / e)^n)."""
    if n < _SERIES_FROM:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - math.log(math.tau) / 2
    square = n * n
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / n


def _fraction(a: int, b: int, x: float, rest: float) -> float:
    """Return x^a (1 - x)^b / (B(a, b) I_x(a, b)) for an x below the mean, by Lentz's method; `rest` is 1 - x."""
    ahead = a * rest - b * x + 1
    result = numerator = a * ahead / (a + 1)
    inverse = 0.0
    for m in count(1):
        odd = a + 2 * m - 1
        part = (a + m - 1) / odd * ((a + b + m - 1) / odd) * m * (b - m) * x * x
        whole = m + m * (b - m) * x / odd + (a + m) * (ahead + m * (1 + rest)) / (odd + 2)
        inverse = 1 / (whole + part * inverse)
        numerator = whole + part / numerator
        result *= numerator * inverse
        if abs(numerator * inverse - 1) < _PRECISION:
            break
    return result
