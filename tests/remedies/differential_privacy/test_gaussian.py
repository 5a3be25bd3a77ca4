import math
from fractions import Fraction

import numpy as np
import pytest

from remedies._errors import Misfit
from remedies.differential_privacy._samplers import (
    discrete_gaussian,
    gaussian_square,
    many_discrete_gaussian,
)
from remedies.differential_privacy._spread import gaussian_variance
from tests.remedies.differential_privacy.distributions import FALSE_ALARM, farthest


@pytest.mark.parametrize("square", [Fraction(1, 4), Fraction(2), Fraction(400, 7)], ids=str)
@pytest.mark.usefixtures("fixed_bytes")
def test_draws_have_the_probabilities_of_the_formula(square: Fraction):
    """Five thousand draws: the likeliest integers as often as they should come, within 5.5 standard deviations."""
    draws = np.array([discrete_gaussian(square) for _ in range(5_000)])
    total = sum(math.exp(-(z**2) / (2 * square)) for z in range(-200, 201))
    span = 1 if square < 1 else 3
    assert farthest(draws, lambda z: math.exp(-(z**2) / (2 * square)) / total, span=span) < FALSE_ALARM


@pytest.mark.parametrize("square", [Fraction(1, 4), Fraction(2), Fraction(401, 16), Fraction(3_000_000)], ids=str)
@pytest.mark.usefixtures("fixed_bytes")
def test_many_draws_have_them_too(square: Fraction):
    """Two hundred thousand at once; where 64 bits might not hold them, fewer, one by one."""
    draws = many_discrete_gaussian(square, 200_000 if square < 1000 else 500)
    total = sum(math.exp(-(z**2) / (2 * square)) for z in range(-200, 201))
    if square < 1000:
        span = 1 if square < 1 else 5
        assert farthest(draws, lambda z: math.exp(-(z**2) / (2 * square)) / total, span=span) < FALSE_ALARM
    assert draws.std() == pytest.approx(math.sqrt(gaussian_variance(square)), rel=0.01 if square < 1000 else 0.2)
    assert many_discrete_gaussian(square, 0).size == 0


def test_the_square_costs_exactly_the_loss():
    """D^2 / (2 sigma^2) is rho: the histogram's sqrt 2 at sigma 20 costs 0.0025."""
    assert gaussian_square(2, 2_500_000) == 400
    assert Fraction(2) / (2 * gaussian_square(2, 7)) == Fraction(7, 10**9)


def test_the_variance_is_at_most_sigma_squared():
    """And nearly that, unless sigma is small."""
    assert gaussian_variance(Fraction(1, 4)) == pytest.approx(0.21501267508813854)
    assert gaussian_variance(2) == pytest.approx(2, rel=1e-12)
    assert gaussian_variance(10**12) == 10**12


@pytest.mark.parametrize("square", [0, -1, 1.5])
def test_a_square_that_is_not_exact_and_positive_is_refused(square: object):
    """As for the discrete Laplace."""
    with pytest.raises(Misfit):
        discrete_gaussian(square)
    with pytest.raises(Misfit, match="above 0"):
        gaussian_square(0, 1)
