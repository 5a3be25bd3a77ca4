import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies._errors import Misfit
from remedies.differential_privacy.epsilon import MOST, NANO, decimal_of, laplace_scale, nano, text_of


@pytest.mark.parametrize(
    ("given_as", "read"),
    [
        ("0.1", 100_000_000),
        (0.1, 100_000_000),
        (Decimal("0.1"), 100_000_000),
        (1, NANO),
        (1.0, NANO),
        ("1", NANO),
        ("0.000000001", 1),
        (1e-9, 1),
        (0.00001, 10_000),
        (Decimal("1E+1"), 10 * NANO),
        (np.float64(0.3), 300_000_000),
        (np.int64(4), 4 * NANO),
        ("1000000", MOST * NANO),
        ("007.50", 7_500_000_000),
    ],
)
def test_a_decimal_is_read_exactly(given_as: object, read: int):
    """Text, decimals, integers and floats as they print become integers of 10^-9."""
    assert nano(given_as) == read


@pytest.mark.parametrize(
    "bad",
    [
        *(0, 0.0, "0", "0.000000000", -1, -0.1, "-1", 1e-10, "0.0000000001", "0.1234567891"),
        *(float("nan"), float("inf"), float("-inf"), "nan", "NaN", "inf", "Infinity", Decimal("NaN"), Decimal("sNaN")),
        *(1e308, "1e308", "1e0", "1E0", 1e-308, Decimal("1e400"), Decimal("1e-400"), Decimal("1e999999")),
        *("", " 1", "1 ", "1\n", "+1", ".5", "5.", "1,5", "1_000", "0x1", "\u0661", "one", 10**50, "9" * 5000),
        *(1000001, "1000000.000000001", True, None, [1], Fraction(1, 3), 1j, b"1"),
    ],
    ids=lambda bad: f"{type(bad).__name__}-{str(bad)[:12]}",
)
def test_what_is_no_privacy_loss_is_refused_and_told_what_is(bad: object):
    """Nothing, less than nothing, no number, too much, too fine and everything with an exponent in text is refused."""
    with pytest.raises(Misfit, match=re.compile(r"epsilon .*expected a decimal")) as refused:
        nano(bad)
    assert len(str(refused.value)) < 200


def test_a_refusal_names_what_it_read():
    """A rho is not called an epsilon."""
    with pytest.raises(Misfit, match=r"rho '0' is not above 0"):
        nano(0, name="rho")


@given(st.integers(1, MOST * NANO))
def test_what_is_written_is_read_again(nanos: int):
    """Every loss there is can be written and read without change, as text and as a decimal."""
    assert nano(text_of(nanos)) == nanos
    assert nano(decimal_of(nanos)) == nanos
    assert "e" not in text_of(nanos).lower()


@given(st.integers(1, 10**6), st.integers(1, 10**12))
def test_the_scale_costs_exactly_the_loss(sensitivity: int, nanos: int):
    """Sensitivity divided by the scale is epsilon, without a remainder."""
    assert Fraction(sensitivity) / laplace_scale(sensitivity, nanos) * NANO == nanos


@pytest.mark.parametrize(("epsilon", "substitute"), [("0.1", 20), ("1", 2), ("4", Fraction(1, 2))])
def test_the_scales_of_the_histogram(epsilon: str, substitute: Fraction):
    """Fourteen cells at 0.1, 1 and 4 take scales of 20, 2 and 1/2, and half of them under add-remove."""
    assert laplace_scale(2, nano(epsilon)) == substitute
    assert laplace_scale(1, nano(epsilon)) == Fraction(substitute) / 2


@pytest.mark.parametrize(("sensitivity", "nanos"), [(0, 1), (-1, 1), (1, 0)])
def test_a_scale_of_nothing_is_refused(sensitivity: int, nanos: int):
    """Without sensitivity there is nothing to hide, and without epsilon nothing to say."""
    with pytest.raises(Misfit, match="expected both above 0"):
        laplace_scale(sensitivity, nanos)


def test_a_hundred_times_nine_hundredths_are_nine():
    """Integers add up where floats do not."""
    assert 100 * nano(0.09) == nano(9)
    assert 101 * nano("0.09") > nano("9")
