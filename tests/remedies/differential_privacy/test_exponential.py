import math
from collections import Counter
from fractions import Fraction

import pytest

from remedies._errors import Misfit
from remedies.differential_privacy._exponential import exponential_mechanism, quantile_utilities
from tests.remedies.differential_privacy.distributions import FALSE_ALARM


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
def test_with_a_large_epsilon_the_best_candidate_is_chosen():
    """The median of 0..100 is found among ten candidates: another one has a probability below e^-4000."""
    utilities = quantile_utilities(list(range(0, 100, 10)), rows=100, share=Fraction(1, 2))
    assert utilities[5] == 0
    assert {exponential_mechanism(utilities, sensitivity=2, nano_epsilon=10**12) for _ in range(20)} == {5}


def test_utilities_are_exact_for_any_share():
    """A third of seven rows is no integer: the utility is counted in thirds."""
    assert quantile_utilities([2, 3], rows=7, share=Fraction(1, 3)) == [-1, -2]


def test_choices_without_meaning_are_refused():
    """No candidate, a utility in floats, nothing to spend."""
    with pytest.raises(Misfit, match="no candidate"):
        exponential_mechanism([], sensitivity=1, nano_epsilon=1)
    with pytest.raises(Misfit, match="integers"):
        exponential_mechanism([0.5], sensitivity=1, nano_epsilon=1)
    with pytest.raises(Misfit, match="above 0"):
        exponential_mechanism([0], sensitivity=0, nano_epsilon=1)
