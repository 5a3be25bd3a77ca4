from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies._errors import Misfit
from remedies.differential_privacy.sensitivity import halves, mean_of


@given(st.lists(st.integers(-3, 9), min_size=1))
def test_without_noise_the_mean_is_the_mean(values: list[int]):
    """Exactly, whatever the limits are."""
    centred = sum(2 * value - (-3 + 9) for value in values)
    assert mean_of(centred, len(values), low=-3, high=9) == Fraction(sum(values), len(values))


@given(st.integers(), st.integers())
def test_with_any_noise_the_mean_lies_within_its_limits(centred: int, rows: int):
    """Also where the noisy count is 0 or negative."""
    assert 100 <= mean_of(centred, rows, low=100, high=101) <= 101


@given(st.integers(2, 10**15))
def test_both_halves_are_the_whole(nanos: int):
    """No nano-epsilon is lost or spent twice."""
    for_sum, for_count = halves(nanos)
    assert for_sum + for_count == nanos
    assert 0 <= for_count - for_sum <= 1
    assert for_sum > 0


def test_one_nano_is_not_split():
    """There would be nothing left for the sum."""
    with pytest.raises(Misfit, match="at least 2"):
        halves(1)
