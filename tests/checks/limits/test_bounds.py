"""Bounds of the next residual."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from checks.limits.bounds import cantelli_bounds, empirical_bounds, sigma_bounds, student_bounds

RESIDUALS = st.lists(st.floats(-1e6, 1e6), min_size=10, max_size=60).map(np.array)
BOUNDS = [student_bounds, cantelli_bounds]


@pytest.mark.parametrize("bounds_of", BOUNDS)
@given(residuals=RESIDUALS, tail=st.floats(1e-4, 0.2))
def test_a_smaller_chance_is_a_wider_limit(bounds_of, residuals, tail):
    """Half of the chance of an alarm never makes a limit tighter, and the median is always allowed."""
    wide, narrow = bounds_of(residuals, tail / 2), bounds_of(residuals, tail)
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert narrow.low <= np.median(residuals) <= narrow.high or bounds_of is cantelli_bounds


@pytest.mark.parametrize("bounds_of", BOUNDS)
@given(residuals=RESIDUALS, factor=st.floats(0.001, 1000))
@example(residuals=np.array([0.0] * 5 + [1.0] * 4 + [2.463558642247401e-185]), factor=2.0)
def test_units_do_not_matter(bounds_of, residuals, factor):
    """A number in other units has the same limit in those units."""
    if np.std(residuals) < 1e-3:
        return
    plain, scaled = bounds_of(residuals, 0.01), bounds_of(residuals * factor, 0.01)
    assert np.allclose(np.array(plain) * factor, scaled, rtol=1e-6, atol=1e-6 * factor * np.ptp(residuals))


@pytest.mark.parametrize(("draw", "least", "most"), [(stats.norm(), 0.5, 1.2), (stats.t(3), 0.5, 1.7)])
def test_student_keeps_its_chance(draw, least, most):
    """Over many samples of 60 the chance to lie outside is near the wanted one, for normal noise and heavy tails."""
    rng = np.random.default_rng(3)
    chances = []
    for _ in range(200):
        low, high = student_bounds(draw.rvs(60, random_state=rng), 0.01)
        chances.append(draw.cdf(low) + draw.sf(high))
    assert least < np.mean(chances) / 0.02 < most


def test_empirical_bounds_need_enough_residuals():
    """With a chance of 1 in 20 on each side, 19 residuals are enough, and then their extremes are the bounds."""
    residuals = np.arange(19.0)
    assert empirical_bounds(residuals[:18], 1 / 20) is None
    assert empirical_bounds(residuals, 1 / 20) == (0.0, 18.0)


def test_cantelli_is_the_widest():
    """The inequality that holds for every distribution is wider than the other bounds."""
    residuals = np.random.default_rng(1).normal(size=500)
    low, high = cantelli_bounds(residuals, 0.005)
    for other in (student_bounds(residuals, 0.005), empirical_bounds(residuals, 0.005)):
        assert low < other.low < other.high < high


def test_sigma_by_hand_is_robust():
    """Standard deviations are counted by the median absolute deviation, which a fifth of wild values hardly moves."""
    residuals = np.random.default_rng(1).normal(size=400)
    plain = sigma_bounds(residuals, 3.0)
    wild = sigma_bounds(np.append(residuals, np.full(80, 1000.0)), 3.0)
    assert plain.high == pytest.approx(3, rel=0.15)
    assert wild.high < 1.6 * plain.high
