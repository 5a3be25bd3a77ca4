import math
from fractions import Fraction

import numpy as np
import pytest

from remedies._errors import Misfit
from remedies.differential_privacy._samplers import (
    discrete_laplace,
    exponential_coin,
    many_discrete_laplace,
    unit_coins,
)
from tests.remedies.differential_privacy.distributions import FALSE_ALARM, farthest, laplace_probability

SCALES = [Fraction(20), Fraction(2), Fraction(1, 2), Fraction(1, 3), Fraction(2 * 10**9, 123_456_789)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.usefixtures("fixed_bytes")
def test_many_draws_have_the_probabilities_of_the_formula(scale: Fraction):
    """A million draws: each of the 13 likeliest integers as often as it should be, within 5.5 standard deviations."""
    draws = many_discrete_laplace(scale, 1_000_000)
    assert draws.size == 1_000_000
    assert farthest(draws, laplace_probability(float(scale)), span=6) < FALSE_ALARM


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.usefixtures("fixed_bytes")
def test_single_draws_have_the_probabilities_of_the_formula(scale: Fraction):
    """The same for five thousand draws one by one."""
    draws = np.array([discrete_laplace(scale) for _ in range(5_000)])
    assert farthest(draws, laplace_probability(float(scale)), span=3) < FALSE_ALARM


@pytest.mark.usefixtures("fixed_bytes")
def test_a_scale_off_by_a_fortieth_is_seen():
    """The test above has power: a million draws of scale 2.05 are 13 standard deviations away from scale 2."""
    assert farthest(many_discrete_laplace(Fraction(41, 20), 1_000_000), laplace_probability(2.0), span=6) > FALSE_ALARM


@pytest.mark.usefixtures("fixed_bytes")
def test_fractions_too_long_for_arrays_are_drawn_one_by_one():
    """A scale with a numerator beyond 2^40 is as exact."""
    scale = Fraction(2 * 10**9 * 1_000_003, 1_000_000_007)
    draws = many_discrete_laplace(scale, 2_000)
    deviation = math.sqrt(2) * float(scale)
    assert abs(draws.mean()) < FALSE_ALARM * deviation / math.sqrt(2_000)
    assert draws.dtype == np.int64


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 2)], ids=str)
@pytest.mark.usefixtures("fixed_bytes")
def test_an_exponential_coin_falls_with_its_probability(gamma: Fraction):
    """exp(-gamma), also beyond 1 and at 0, within 5.5 standard deviations of 20,000 tosses."""
    share = math.exp(-gamma)
    seen = sum(exponential_coin(gamma) for _ in range(20_000))
    assert abs(seen - 20_000 * share) <= FALSE_ALARM * math.sqrt(20_000 * share * (1 - share))


def test_an_exponential_coin_of_a_huge_exponent_ends_soon():
    """The first of a million coins that fails ends it."""
    assert not exponential_coin(Fraction(10**6))


@pytest.mark.usefixtures("fixed_bytes")
def test_many_exponential_coins_fall_with_their_probabilities():
    """Numerators from 0 to the denominator in one array, within 5.5 standard deviations of a million tosses each."""
    tossed = unit_coins(np.repeat(np.array([0, 3, 7], dtype=np.uint64), 1_000_000), 7).reshape(3, -1).mean(axis=1)
    for seen, gamma in zip(tossed, (0, 3 / 7, 1), strict=True):
        share = math.exp(-gamma)
        assert abs(seen - share) <= FALSE_ALARM * math.sqrt(share * (1 - share) / 1e6)


@pytest.mark.parametrize("scale", [0, -1, Fraction(-1, 2), 2.0, "2", True, None, float("nan")])
def test_a_scale_that_is_not_exact_and_positive_is_refused(scale: object):
    """A float is no scale: its division already cost more than was asked for."""
    with pytest.raises(Misfit, match="the scale is"):
        discrete_laplace(scale)
    with pytest.raises(Misfit, match="the scale is"):
        many_discrete_laplace(scale, 1)


def test_nothing_is_drawn_when_nothing_is_asked():
    """Zero draws are an empty array."""
    assert many_discrete_laplace(2, 0).tolist() == []
