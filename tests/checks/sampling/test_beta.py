"""Quantiles of beta distributions: scipy is the oracle; where it is less exact, sums of exact decimals are."""

from decimal import Decimal, localcontext
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.sampling.beta import beta_quantile
from tests.tiers import examples

pytestmark = pytest.mark.disclosure
PROBABILITIES = st.one_of(st.floats(1e-12, 1 - 1e-3), st.sampled_from([1e-9, 0.025, 0.05, 0.5, 0.95]))


@settings(max_examples=examples(300))
@given(st.integers(1, 10_000_000), st.data())
def test_the_quantile_is_that_of_scipy(rows: int, data: st.DataObject) -> None:
    """Of any share of up to ten million rows, and any probability."""
    from scipy.special import betaincinv

    bad = data.draw(st.one_of(st.integers(1, min(rows, 50)), st.integers(1, rows)))
    probability = data.draw(PROBABILITIES)
    expected = float(betaincinv(bad, rows - bad + 1, probability))
    assert beta_quantile(bad, rows - bad + 1, probability) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("probability", [1e-9, 0.025, 0.95])
@pytest.mark.parametrize(("bad", "rows"), [(1, 1), (1, 7), (2, 238_199_139), (6, 376_485_010), (300, 10**9), (40, 50)])
def test_the_chance_at_the_quantile_is_the_probability(bad: int, rows: int, probability: float) -> None:
    """The chance of so many bad rows or more, at that share, is the probability to twelve digits."""
    with localcontext(prec=80):
        share = Decimal(beta_quantile(bad, rows - bad + 1, probability))
        fewer = sum(comb(rows, count) * share**count * (1 - share) ** (rows - count) for count in range(bad))
        assert float(1 - fewer) == pytest.approx(probability, rel=1e-12)
