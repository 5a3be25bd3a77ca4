"""Equations 5 to 7 of the paper on Pk-anonymisation, solved to the last bit and never beyond what was asked for."""

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies import Misfit
from remedies.differential_privacy._retention import (
    epsilon_for_pk,
    epsilon_of,
    exact_epsilon,
    pk_of,
    retention,
    stated_epsilon,
)
from remedies.differential_privacy.epsilon import nano
from tests.remedies.differential_privacy.movielens import ROWS, SIZES

PAPER = pytest.mark.parametrize(
    ("epsilon", "rho", "k"),
    [("0.1", 0.0113503191, 4945.3150), (1, 0.1334634167, 818.2898), (4.0, 0.6242631238, 3.0259)],
)
DECIMALS = st.integers(1, 40 * 10**9).map(lambda nanos: Decimal(nanos).scaleb(-9))
DOMAINS = st.lists(st.integers(1, 10**6), min_size=1, max_size=6).filter(lambda sizes: max(sizes) > 1)


def ratio(rho: Fraction, sizes: Sequence[int]) -> Fraction:
    """Return how many times as likely a row may come out if it held something else, in fractions."""
    return math.prod((1 + (size - 1) * rho) / (1 - rho) for size in sizes if size > 1) * Fraction(1)


def power_of_e(epsilon: Decimal) -> Fraction:
    """Return e^epsilon from below, to 60 digits."""
    return Fraction(Context(prec=60).exp(epsilon)) * (1 - Fraction(1, 10**58))


@PAPER
def test_retentions_and_k_of_the_paper_are_those_of_its_equations(epsilon: str | float, rho: float, k: float) -> None:
    """For two genders and seven ages equation 6 has these roots, and equation 7 gives these k."""
    assert retention(epsilon, SIZES) == pytest.approx(rho, abs=1e-8)
    assert pk_of(ROWS, epsilon=epsilon) == pytest.approx(k, abs=1e-4)
    assert pk_of(ROWS, retention=retention(epsilon, SIZES), domain_sizes=SIZES) == pytest.approx(k, abs=1e-4)


def test_column_of_retentions_that_the_paper_prints_solves_nothing() -> None:
    """It is epsilon / 9: 0.44 in the place of epsilon 4 is really 2.816."""
    assert epsilon_of(0.44, SIZES) == pytest.approx(2.816, abs=5e-4)
    assert [round(epsilon / 9, 2) for epsilon in (0.1, 1, 4)] == [0.01, 0.11, 0.44]


@given(DECIMALS, DOMAINS)
def test_what_is_asked_for_is_never_exceeded_and_the_next_float_would(epsilon: Decimal, sizes: list[int]) -> None:
    """In exact fractions, likelihoods differ by at most e^epsilon; those of the next larger retention by more."""
    rho = retention(epsilon, sizes)
    assert ratio(Fraction(rho), sizes) <= power_of_e(epsilon)
    assert epsilon_of(rho, sizes) <= float(epsilon)
    following = Fraction(float(np.nextafter(rho, 1)))
    assert following == 1 or ratio(following, sizes) > power_of_e(epsilon)


@given(DECIMALS.filter(lambda epsilon: epsilon < 20), DOMAINS)
def test_the_way_back_is_near(epsilon: Decimal, sizes: list[int]) -> None:
    """What the retention costs is what was asked for, but for the distance of floats near 1."""
    assert epsilon_of(retention(epsilon, sizes), sizes) == pytest.approx(float(epsilon), rel=1e-6)


@given(DECIMALS.filter(lambda epsilon: epsilon < 20), st.integers(2, 10**6))
def test_one_attribute_has_the_closed_form(epsilon: Decimal, size: int) -> None:
    """The retention is (e^epsilon - 1) / (e^epsilon + V - 1)."""
    e = math.exp(epsilon)
    assert retention(epsilon, [size]) == pytest.approx(math.expm1(epsilon) / (e + size - 1), rel=1e-12)


def test_attributes_of_one_value_cost_nothing() -> None:
    """Whatever is kept of them."""
    assert retention(1, [2, 1, 7, 1]) == retention(1, SIZES)
    assert epsilon_of([0.5, 1.0], [3, 1]) == epsilon_of(0.5, [3])


def test_unequal_retentions_add_up() -> None:
    """Epsilon is the sum over attributes, 0 where nothing is kept, infinite where a value always is."""
    assert epsilon_of([0.5, 0.25], [2, 7]) == pytest.approx(math.log(1.5 / 0.5) + math.log(2.5 / 0.75))
    assert epsilon_of([0, Fraction(1, 2)], [7, 2]) == pytest.approx(math.log(3))
    assert epsilon_of(0, SIZES) == 0
    assert epsilon_of([1, 0.5], SIZES) == math.inf
    assert pk_of(10, retention=1, domain_sizes=SIZES) == 1


@given(st.floats(0, 0.999), DOMAINS, st.integers(1, 50))
def test_what_is_stated_is_never_below_what_is_spent(rho: float, sizes: list[int], times: int) -> None:
    """It has nine places, and 10^-9 less would be below."""
    spent = exact_epsilon(rho, sizes)
    assert spent is not None
    stated = stated_epsilon(spent, times)
    assert stated >= spent * times
    assert stated - spent * times <= Decimal("1.001e-9")
    assert stated == 0 or nano(stated) > 0


@given(st.integers(3, 10**9), st.floats(1e-6, 1 - 1e-6))
def test_epsilon_for_a_pk_gives_no_smaller_pk(rows: int, share: float) -> None:
    """The largest epsilon of nine places whose k is at least that."""
    k = 1 + share * (rows - 1)
    epsilon = epsilon_for_pk(k, rows)
    assert pk_of(rows, epsilon=epsilon) >= k * (1 - 1e-12)
    assert pk_of(rows, epsilon=epsilon + Decimal("2e-9")) < k


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 1e308, "1e0", "0.0000000001", True])
def test_epsilons_that_are_none_are_refused(epsilon: float | str) -> None:
    """Everywhere by one reader."""
    with pytest.raises(Misfit, match="epsilon"):
        retention(epsilon, SIZES)
    with pytest.raises(Misfit, match="epsilon"):
        pk_of(ROWS, epsilon=epsilon)


def test_what_makes_no_sense_is_refused() -> None:
    """Each error says what is expected."""
    with pytest.raises(Misfit, match="nothing to randomise"):
        retention(1, [1, 1])
    for sizes in ([], [0, 2]):
        with pytest.raises(Misfit, match="each at least 1"):
            retention(1, sizes)
    for rho in (-0.1, 1.1, math.nan):
        with pytest.raises(Misfit, match="0 to 1"):
            epsilon_of(rho, SIZES)
    with pytest.raises(Misfit, match="3 retentions for 2 domains"):
        epsilon_of([0.1] * 3, SIZES)
    with pytest.raises(Misfit, match="at least one row"):
        pk_of(0, epsilon=1)
    with pytest.raises(Misfit, match="an epsilon, or a retention"):
        pk_of(5)
    for k in (1, 5, math.nan):
        with pytest.raises(Misfit, match="below the number of rows, 5"):
            epsilon_for_pk(k, 5)
    with pytest.raises(Misfit, match="nothing would be left"):
        epsilon_for_pk(10**10 - 1, 10**10)
