import math

import pytest

from remedies._errors import Misfit
from remedies.differential_privacy.frequency_oracles import MOST_BITS, choose_oracle, oracles, perturb


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5, 4.0])
def test_direct_reports_are_chosen_for_small_domains(epsilon: float):
    """GRR iff d < 3 e + 2: up to there it varies least of all, beyond OUE does."""
    last = math.ceil(3 * math.exp(epsilon) + 2) - 1
    assert choose_oracle(last, epsilon).name == "GRR"
    assert choose_oracle(last + 1, epsilon).name == "OUE"
    for size in (last, last + 1):
        chosen = choose_oracle(size, epsilon).variance()
        assert chosen <= min(oracles[name](size, epsilon).variance() for name in oracles) * (1 + 1e-12)


def test_large_domains_are_hashed():
    """A report of OUE has a bit for each value; beyond 1,024 of them three numbers are shorter."""
    assert choose_oracle(MOST_BITS, "1").name == "OUE"
    assert choose_oracle(MOST_BITS + 1, "1").name == "OLH"
    assert choose_oracle(2**31 - 1, "0.000000001").name == "OLH"


@pytest.mark.usefixtures("fixed_bytes")
def test_the_coin_of_the_textbook_is_randomised_response():
    """Heads: the truth; tails: a second coin answers: epsilon ln 3, three in four reports are true."""
    truth = [perturb("yes", ["yes", "no"], epsilon="1.098612288") for _ in range(2_000)].count("yes")
    assert abs(truth - 1_500) <= 5.5 * math.sqrt(2_000 * 0.75 * 0.25)
    assert float(oracles["GRR"](2, "1.098612288").p) == pytest.approx(0.75, abs=1e-9)


@pytest.mark.usefixtures("fixed_bytes")
def test_one_value_is_reported_by_the_oracle_of_that_name():
    """Small letters are as good."""
    assert len(perturb(3, 14, epsilon=1, oracle="oue")) == 14
    assert len(perturb(3, 14, epsilon=1, oracle="OLH")) == 3
    assert perturb("unheard of", ["a", "b", "rest"], epsilon=100, other="rest") == "rest"


def test_an_unknown_oracle_is_refused_with_the_known_ones():
    """The message proposes the nearest name."""
    with pytest.raises(Misfit, match=r"no oracle 'OEU'; did you mean 'OUE'\?.*GRR, SUE"):
        perturb(0, 3, epsilon=1, oracle="OEU")
