"""Student's t distribution in plain Python: judging imports no scipy."""

from functools import lru_cache
from math import exp, lgamma, log, log1p, pi
from statistics import NormalDist
from typing import Final

_MOST_STEPS: Final = 300
_TINY: Final = 1e-300
_PRECISION: Final = 1e-12
_NORMAL: Final = NormalDist()
_NEARLY_NORMAL: Final = 1e7


@lru_cache(maxsize=65_536)
def student_quantile(tail: float, dof: float) -> float:
    """Return the t that a Student variable exceeds with a chance of `tail` (above 0, at most 1/2)."""
    if tail >= 0.5:
        return 0.0
    normal = -_NORMAL.inv_cdf(tail)
    if dof >= _NEARLY_NORMAL:
        return normal
    t = normal
    for _ in range(_MOST_STEPS):  # Newton's method for log(tail) as a function of log(t), which is nearly linear
        chance = student_tail(t, dof)
        step = log(chance / tail) * chance / (t * _density(t, dof))
        t *= exp(max(-1.0, min(1.0, step)))
        if abs(step) < _PRECISION:
            break
    return t


def student_tail(t: float, dof: float) -> float:
    """Return the chance that a Student variable exceeds a t that is not negative."""
    return 0.5 * _incomplete_beta(dof / (dof + t * t), dof / 2, 0.5)


def _density(t: float, dof: float) -> float:
    constant = lgamma((dof + 1) / 2) - lgamma(dof / 2) - 0.5 * log(dof * pi)
    return exp(constant - (dof + 1) / 2 * log1p(t * t / dof))


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, by the continued fraction that converges for this x."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    return front * _continued_fraction(x, a, b) / a


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Evaluate 1/(1 + d1/(1 + d2/(1 + ...))) of DLMF 8.17.22 by the modified method of Lentz."""
    value, c, d = 1.0, 1.0, 0.0
    for number in range(1, _MOST_STEPS):
        m = number // 2
        if number % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + term * d or _TINY)
        c = 1 + term / c or _TINY
        value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return 1 / value
