"""How far from what is usual a value may be."""

from statistics import median

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from checks.limits.baseline import (
    distances_from_others,
    reach_by_rank,
    reach_by_sigma,
    reach_of_promise,
    robust_scale,
    tops_of_runs,
)

NUMBERS = st.floats(-1e6, 1e6)
RESIDUALS = st.lists(NUMBERS, min_size=10, max_size=60).map(np.array)
DISTINCT = st.lists(st.integers(0, 10**6), min_size=10, max_size=80, unique=True).map(
    lambda n: np.array(n, dtype=float)
)
NOBODY = np.array([])


@given(DISTINCT, st.integers(1, 4))
@example(np.array([*range(46), 100.0, 101.0, 102.0]), 1)
def test_the_identity_of_ranks(distances, rank):
    """Of n + 1 distances, each judged by the n others, exactly k exceed their limit at a chance of k / (n + 1).

    This is all that the promise needs: it holds for every set of numbers, so for every distribution of noise.
    """
    assert _exceeding(distances, rank / len(distances)) == rank


@given(DISTINCT, st.floats(0.0001, 0.25))
def test_between_ranks_and_beyond_all(distances, chance):
    """At a chance that is no rank, no more exceed than the next whole rank: beyond the largest at most one does."""
    rank = chance * len(distances)
    assert np.floor(rank) <= _exceeding(distances, chance) <= np.ceil(rank)


def _exceeding(distances, chance):
    others = [np.delete(distances, place) for place in range(len(distances))]
    pairs = zip(distances, others, strict=True)
    return sum(one > reach_by_rank(rest, len(rest), chance) for one, rest in pairs)


@given(RESIDUALS, st.floats(1e-4, 0.12))
def test_a_smaller_chance_is_a_wider_limit(residuals, chance):
    """Half of the chance of an alarm never makes a limit tighter."""
    distances = np.abs(distances_from_others(residuals))
    assert reach_of_promise(distances, NOBODY, chance) <= reach_of_promise(distances, NOBODY, chance / 2)


@given(RESIDUALS, st.floats(0.001, 1000))
@example(np.array([0.0] * 5 + [1.0] * 4 + [2.463558642247401e-185]), 2.0)
def test_units_do_not_matter(residuals, factor):
    """A number in other units has the same limit in those units."""
    plain, scaled = (
        reach_of_promise(np.abs(distances_from_others(numbers)), NOBODY, 0.01)
        for numbers in (residuals, residuals * factor)
    )
    assert scaled == pytest.approx(plain * factor, rel=1e-6, abs=1e-6 * factor * float(np.ptp(residuals)))


@given(st.lists(st.integers(0, 20).map(float), min_size=3, max_size=30))
def test_a_distance_is_from_the_median_of_the_others(numbers):
    """Each residual is compared with the median of all but itself, equal ones too."""
    wanted = [one - median(numbers[:place] + numbers[place + 1 :]) for place, one in enumerate(numbers)]
    values = np.array(numbers)
    assert distances_from_others(values) == pytest.approx(wanted)
    assert distances_from_others(-values) == pytest.approx([-one for one in wanted])


def test_one_alarm_of_three_days_is_one_distance():
    """Of consecutive looks far from what is usual, only the farthest counts: a long holiday is one alarm."""
    distances = np.array([1, 2, 9, 10, 8, 1, 2, 1, 3, 1, 4, 1], dtype=float)
    assert list(tops_of_runs(distances)) == [10, 2, 3, 4]
    assert list(tops_of_runs(np.arange(12.0))) == list(range(12)), "a slope has too few tops to rank"


def test_beyond_the_largest_the_tail_is_that_of_the_three_largest():
    """With 18 looks and a chance of 1 in 90 the limit lies beyond all of them; with 89 it is the largest."""
    few = np.linspace(1, 10, 18)
    assert reach_by_rank(few, 18, 1 / 90) > 10
    assert reach_by_rank(np.linspace(1, 10, 89), 89, 1 / 90) == pytest.approx(10)


def test_unanswered_alarms():
    """A near one counts as noise, so the limit widens; a far one changes nothing."""
    distances = np.abs(np.random.default_rng(5).normal(size=200))
    plain = reach_of_promise(distances, NOBODY, 0.005)
    assert reach_of_promise(distances, np.array([1.2 * plain]), 0.005) > plain
    assert reach_of_promise(distances, np.array([20 * plain] * 9), 0.005) == plain


def test_alarms_that_nobody_answers_do_not_draw_the_limit_nearer():
    """After a year unanswered alarms are as frequent as promised; left out, they would be twice that."""
    assert 0.7 < _chance_after_a_year(is_shown=True) < 1.4
    assert _chance_after_a_year(is_shown=False) > 2


def _chance_after_a_year(*, is_shown):
    """Return the chance of an alarm of normal noise in the second year, as a share of the promise."""
    promise, chances = 1 / 90, []
    for seed in range(20):
        noise, kept, alarms = np.random.default_rng(seed).normal(size=450), [], []
        for number, value in enumerate(np.abs(noise)):
            usual = np.array([one for place, one in kept if place >= number - 182])
            near = np.array([one for place, one in alarms if place >= number - 182])
            reach = reach_of_promise(usual, near, promise) if number >= 56 else np.inf
            chances += [2 * stats.norm.sf(reach)] if number > 360 else []
            if value <= reach:
                kept.append((number, value))
            elif is_shown:
                alarms.append((number, value))
    return np.mean(chances) / promise


def test_sigma_by_hand_is_robust():
    """Standard deviations are counted by the median absolute deviation, which a fifth of wild values hardly moves."""
    residuals = np.random.default_rng(1).normal(size=400)
    plain = reach_by_sigma(residuals, 3.0)
    assert plain == pytest.approx(3, rel=0.15)
    assert reach_by_sigma(np.append(residuals, np.full(80, 1000.0)), 3.0) < 1.6 * plain
    assert reach_by_sigma(np.zeros(20), 3.0, floor=2.0) == 6.0
    assert robust_scale(np.array([0.0] * 9 + [10.0])) > 0
