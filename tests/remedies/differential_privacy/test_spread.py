import math
from fractions import Fraction

import pytest

from remedies._errors import Misfit
from remedies.differential_privacy._spread import laplace_variance, laplace_within
from tests.remedies.differential_privacy.distributions import laplace_probability


@pytest.mark.parametrize("scale", [Fraction(20), Fraction(5), Fraction(2), Fraction(1, 2), Fraction(1, 3)], ids=str)
def test_the_variance_is_that_of_the_probabilities(scale: Fraction):
    """The closed form is the sum of z^2 P[z]."""
    probability = laplace_probability(float(scale))
    assert laplace_variance(scale) == pytest.approx(sum(z**2 * probability(z) for z in range(-2_000, 2_001)), rel=1e-9)


@pytest.mark.parametrize(
    ("scale", "error"), [(Fraction(20), 105.819029), (Fraction(2), 10.473564), (Fraction(1, 2), 2.251318)], ids=str
)
def test_the_published_error_of_fourteen_answers(scale: Fraction, error: float):
    """The root mean squared L2 distance of one noisy histogram of 14 cells, under substitute."""
    assert math.sqrt(14 * laplace_variance(scale)) == pytest.approx(error, abs=1e-6)


def test_a_tiny_scale_has_no_variance():
    """Noise that is 0 but for once in e^10000."""
    assert laplace_variance(Fraction(1, 10_000)) == 0


@pytest.mark.parametrize("scale", [Fraction(20), Fraction(2), Fraction(1, 3), Fraction(1, 100)], ids=str)
@pytest.mark.parametrize("share", [0.001, 0.5, 0.95, 0.999])
def test_the_distance_that_is_kept_is_the_smallest(scale: Fraction, share: float):
    """The noise is within it with at least that probability, and within one less with a smaller one."""
    probability = laplace_probability(float(scale))
    distance = laplace_within(scale, share)
    inside = sum(probability(z) for z in range(-distance, distance + 1))
    assert inside >= share - 1e-12
    assert distance == 0 or inside - 2 * probability(distance) < share


@pytest.mark.parametrize("share", [0, 1, -0.5])
def test_a_share_that_nothing_keeps_is_refused(share: float):
    """All noise is within infinity only."""
    with pytest.raises(Misfit, match="between 0 and 1"):
        laplace_within(2, share)
