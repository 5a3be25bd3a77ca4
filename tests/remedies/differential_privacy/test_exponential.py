import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import pytest

from remedies._errors import Misfit
from remedies.differential_privacy._samplers import (
    exponential_mechanism,
    permute_and_flip,
    quantile_utilities,
)
from tests.remedies.differential_privacy.distributions import FALSE_ALARM, permuted


@pytest.mark.usefixtures("fixed_bytes")
def test_candidates_come_with_the_probability_of_their_utility():
    """Proportional to exp(epsilon u / (2 D)): 20,000 choices, each within 5.5 standard deviations."""
    utilities = [-4, 0, -1, -1, -20]
    weights = [math.exp(0.7 * utility / (2 * 3)) for utility in utilities]
    chosen = Counter(exponential_mechanism(utilities, sensitivity=3, nano_epsilon=700_000_000) for _ in range(20_000))
    for position, weight in enumerate(weights):
        share = weight / sum(weights)
        assert abs(chosen[position] - 20_000 * share) <= FALSE_ALARM * math.sqrt(20_000 * share * (1 - share))


@pytest.mark.usefixtures("fixed_bytes")
def test_candidates_come_with_the_probability_of_permute_and_flip():
    """The integral of p (1 - p_j t) ... over t from 0 to 1: 20,000 choices, each within 5.5 standard deviations."""
    utilities = [-4, 0, -1, -1, -20]
    weights = [math.exp(0.7 * utility / (2 * 3)) for utility in utilities]
    chosen = Counter(permute_and_flip(utilities, sensitivity=3, nano_epsilon=700_000_000) for _ in range(20_000))
    for position, share in enumerate(permuted(weights)):
        assert abs(chosen[position] - 20_000 * share) <= FALSE_ALARM * math.sqrt(20_000 * share * (1 - share))


@pytest.mark.parametrize("select", [exponential_mechanism, permute_and_flip])
@pytest.mark.usefixtures("fixed_bytes")
def test_with_a_large_epsilon_the_best_candidate_is_chosen(select: Callable[..., int]):
    """The median of 0..99 in tens is among ten candidates the fifth or sixth, which are alike."""
    utilities = quantile_utilities([10] * 10, share=Fraction(1, 2))
    assert [position for position, utility in enumerate(utilities) if utility >= 0] == [4, 5]
    assert {select(utilities, sensitivity=2, nano_epsilon=10**12) for _ in range(20)} <= {4, 5}


def test_utilities_are_exact_for_any_share():
    """A third of seven rows is no integer: the utility is counted in thirds."""
    assert quantile_utilities([2, 1, 4], share=Fraction(1, 3)) == [-1, 1, -2]


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
@pytest.mark.parametrize("rows_at", [[0, 0, 7, 0], [1, 6, 0, 1], [0, 0, 0, 0], [3, 0, 0, 3], [1, 1, 1, 1]], ids=str)
def test_candidates_that_are_a_quantile_and_no_others_have_a_utility_of_at_least_0(rows_at: list[int], share: Fraction):
    """However many rows are equal: q n lies in [#(x < c), #(x <= c)], and others have minus their distance from it."""
    target, utilities = share * sum(rows_at), quantile_utilities(rows_at, share=share)
    assert max(utilities) >= 0
    for position, utility in enumerate(utilities):
        low, high = sum(rows_at[:position]), sum(rows_at[: position + 1])
        distance = max(low - target, target - high, 0)
        assert distance == max(Fraction(-utility, share.denominator), 0)


def test_choices_without_meaning_are_refused():
    """No candidate, a utility in floats, nothing to spend."""
    for select in (exponential_mechanism, permute_and_flip):
        with pytest.raises(Misfit, match="no candidate"):
            select([], sensitivity=1, nano_epsilon=1)
        with pytest.raises(Misfit, match="integers"):
            select([0.5], sensitivity=1, nano_epsilon=1)
        with pytest.raises(Misfit, match="above 0"):
            select([0], sensitivity=0, nano_epsilon=1)
