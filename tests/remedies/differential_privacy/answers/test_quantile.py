"""What the choice of a quantile costs under zero-concentrated differential privacy."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remedies.differential_privacy import Accounting, nano
from remedies.differential_privacy.answers import Declared, Quantile, Terms

_TERMS = Terms(Declared.model_validate({"domain": {"age": {"range": [0, 120]}}}), Accounting.ZCDP)


@pytest.mark.parametrize(
    ("rho", "epsilon"), [("0.005", "0.2"), ("0.5", "2"), ("2", "4"), ("0.000000001", "0.000089442")]
)
def test_rho_buys_epsilon(rho: str, epsilon: str) -> None:
    """The loss of the choice is so large that its square, divided by 8, is rho or a little less."""
    bought = Quantile.model_validate({"column": "age", "rho": rho})._epsilon(_TERMS)
    assert bought == nano(epsilon)
    assert bought**2 <= 8 * nano(rho) * 10**9 < (bought + 1) ** 2


@given(
    utilities=st.lists(st.tuples(st.integers(-20, 0), st.integers(-1, 1)), min_size=2, max_size=8),
    rho=st.sampled_from(["0.005", "0.125", "0.5", "2"]),
    order=st.sampled_from([1.01, 1.5, 2.0, 4.0, 16.0]),
)
@example(utilities=[(0, -1), (-1, 1)], rho="0.005", order=1.01)  # where it costs all of it
def test_the_choice_costs_no_more_than_rho(utilities: list[tuple[int, int]], rho: str, order: float) -> None:
    """However a record moves utilities, by at most 1 each, the Renyi divergence of every order is below order rho."""
    epsilon = Quantile.model_validate({"column": "age", "rho": rho})._epsilon(_TERMS) / 1e9
    here = np.array([one for one, _ in utilities], dtype=float)
    there = here + [moved for _, moved in utilities]
    p, q = (np.exp(epsilon * (one - one.max()) / 2) for one in (here, there))
    p, q = p / p.sum(), q / q.sum()
    divergence = np.log((p**order * q ** (1 - order)).sum()) / (order - 1)
    assert divergence <= order * float(Decimal(rho)) + 1e-12
