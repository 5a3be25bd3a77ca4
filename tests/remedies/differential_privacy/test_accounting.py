import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies._errors import Misfit
from remedies.differential_privacy.accounting import (
    Accounting,
    delta_of,
    epsilon_of_rho,
    parallel,
    plan,
    rho_of_pure,
    rho_within,
    sentence,
    times,
)
from remedies.differential_privacy.epsilon import nano
from remedies.differential_privacy.sensitivity import Adjacency

SUBSTITUTE, ADD_REMOVE = Adjacency.SUBSTITUTE, Adjacency.ADD_REMOVE
MILLIONTH = delta_of("1e-6")


def test_parts_cost_the_largest_or_the_two_largest():
    """A record is in one part, or leaves one for another."""
    parts = [nano("0.2"), nano("0.5"), nano("0.3")]
    assert parallel(parts, adjacency=ADD_REMOVE) == nano("0.5")
    assert parallel(parts, adjacency=SUBSTITUTE) == nano("0.8")
    assert parallel(parts[:1], adjacency=SUBSTITUTE) == nano("0.2")
    assert parallel([], adjacency=SUBSTITUTE) == 0
    assert parallel([nano("0.5")] * 2, adjacency=SUBSTITUTE) == nano(1)


def test_a_change_inside_a_part_may_cost_more_than_leaving_it():
    """Sums over [-100, 100] at 1 and 0.1: from -100 to 100 in the first costs 2, not 1.1; in zCDP four times rho."""
    parts = [nano(1), nano("0.1")]
    assert parallel(parts, adjacency=SUBSTITUTE, both_signs=True) == nano(2)
    assert parallel(parts, adjacency=SUBSTITUTE, both_signs=True, accounting=Accounting.ZCDP) == nano(4)
    assert parallel(parts, adjacency=ADD_REMOVE, both_signs=True) == nano(1)


@given(
    st.integers(1, 10**6),
    st.lists(st.integers(-20, 20), min_size=2, max_size=2),
    st.lists(st.integers(1, 9), min_size=2, max_size=2),
)
def test_no_change_of_a_record_costs_more_than_the_parts_together(nanos: int, values: list[int], weights: list[int]):
    """Over sums by part with limits of both signs, whatever a record does inside or between two parts is paid."""
    parts = [nanos * weight for weight in weights]
    scales = [Fraction(20, part) for part in parts]
    paid = parallel(parts, adjacency=SUBSTITUTE, both_signs=True)
    assert abs(values[0]) / scales[0] + abs(values[1]) / scales[1] <= paid
    assert abs(values[0] - values[1]) / scales[0] <= paid


def test_pure_answers_cost_half_their_square():
    """Epsilon 0.1 is rho 0.005; what does not divide is rounded up."""
    assert rho_of_pure(nano("0.1")) == nano("0.005")
    assert rho_of_pure(1) == 1
    assert rho_of_pure(nano(1) + 1) == nano("0.5") + 2


def test_rho_reads_as_epsilon():
    """A rho of 0.0025 at delta 1e-6 is 0.3741922, rounded up."""
    assert epsilon_of_rho(nano("0.0025"), MILLIONTH) == pytest.approx(0.3741922 * 1e9, abs=100)
    assert epsilon_of_rho(0, MILLIONTH) == 0


@given(st.integers(0, 10**13), st.integers(1, 300))
def test_rho_within_an_epsilon_is_the_most(nano_rho: int, places: int):
    """It fits, and one more would not; rounding never goes below the formula."""
    delta = Fraction(1, 10**places)
    reached = epsilon_of_rho(nano_rho, delta)
    assert rho_within(reached, delta) >= nano_rho
    assert epsilon_of_rho(rho_within(reached, delta), delta) <= reached
    rho = nano_rho / 1e9
    assert reached / 1e9 == pytest.approx(rho + 2 * math.sqrt(rho * places * math.log(10)), rel=1e-9, abs=2e-9)


def test_a_plan_shows_all_three_ways_to_add_up():
    """Fourteen answers at 0.1: basic is least; a thousand at 0.01: zCDP is, and advanced is what the formula says."""
    few = plan(nano("0.1"), answers=14, delta=MILLIONTH)
    assert few.least == few.basic == nano("1.4")
    many = plan(nano("0.01"), answers=1000, delta=MILLIONTH)
    log = math.log(1e6)
    assert many.advanced / 1e9 == pytest.approx(0.01 * math.sqrt(2000 * log) + 10 * (math.exp(0.01) - 1), rel=1e-8)
    assert many.zcdp / 1e9 == pytest.approx(0.05 + 2 * math.sqrt(0.05 * log), rel=1e-8)
    assert many.least == many.zcdp < many.advanced < many.basic == nano(10)
    with pytest.raises(Misfit, match="at least one"):
        plan(1, answers=0, delta=MILLIONTH)


@pytest.mark.parametrize("delta", ["1e-6", 1e-6, Decimal("0.000001"), Fraction(1, 10**6)])
def test_delta_is_read_as_it_prints(delta: object):
    """A millionth is a millionth, however it is written."""
    assert delta_of(delta) == Fraction(1, 10**6)


@pytest.mark.parametrize(
    "delta", [0, 1, -0.1, 2, "", "x", "nan", "inf", float("nan"), float("inf"), "1e-400", True, None]
)
def test_delta_that_is_no_small_probability_is_refused(delta: object):
    """0 would be pure, 1 would promise nothing."""
    with pytest.raises(Misfit, match="delta is"):
        delta_of(delta)


def test_the_sentence():
    """One answer at 1 and three together: 2.72 and 20.09, rounded up."""
    assert sentence(nano(1), nano(3)) == (
        "if one person's record were different, no answer would become more than 2.72 times as likely (rounded up); "
        "all answers so far about this table together: at most 20.09 times"
    )
    assert sentence(0, 0) == "no query has been answered yet"
    assert sentence(nano("0.0025"), nano("0.0025"), accounting=Accounting.ZCDP, delta=MILLIONTH, unit="a pair") == (
        "if a pair were different, no answer would become more than 1.46 times as likely (rounded up); "
        "all answers so far about this table together: at most 1.46 times (except with probability 1e-06)"
    )
    entering = sentence(nano(1), nano(1), adjacency=Adjacency.ADD_REMOVE)
    assert entering.startswith("if one person's record were missing, or were added, no answer would become more than")
    with pytest.raises(Misfit, match="delta is"):
        sentence(1, 1, accounting=Accounting.ZCDP)


@pytest.mark.parametrize(
    ("nanos", "written"),
    [(0, "1.00"), (1, "1.01"), (nano(1), "2.72"), (nano(7), "1,097"), (nano(30), "10^14"), (10**15, "10^434300")],
)
def test_factors_are_rounded_up(nanos: int, written: str):
    """A factor is never less than it says; beyond a billion only its size is."""
    assert times(nanos) == written


@pytest.mark.parametrize("rho", [1, 7, 5_000_000, 123_456_789, 10**9, 3 * 10**9 + 1])
@pytest.mark.parametrize("delta", [Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 3 * 10**9)])
def test_what_rho_amounts_to_is_never_rounded_down(rho: int, delta: Fraction) -> None:
    """Epsilon is the next billionth above the exact value, which is no whole number of them."""
    with localcontext(prec=60):
        loss = Decimal(rho) / 10**9
        log = (Decimal(delta.denominator) / delta.numerator).ln()
        exact = (loss + 2 * (loss * log).sqrt()) * 10**9
        assert 0 < epsilon_of_rho(rho, delta) - exact < 1
