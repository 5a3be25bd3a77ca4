"""What is added to an answer has the exact distribution that its price and its sensitivity ask for."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.answers import STATISTICS, Declared, Statistic, Terms, _contract
from remedies.differential_privacy.answers._contract import Noise, plain
from tests.remedies.differential_privacy.answers.exact import terms_of
from tests.remedies.differential_privacy.distributions import FALSE_ALARM, farthest, laplace_probability

CELLS = {"range": [0, 99_998]}
DOMAIN = {
    "genre": ["drama", "comedy"],
    "cell": CELLS,
    "score": {"low": 0, "high": 100},
    "near": {"low": 100, "high": 101},
    "share": {"low": 0, "high": 1},
    "cents": {"low": -1, "high": 3, "grid": "0.01"},
}


def statistic(**words: Any) -> Statistic:
    """Return a statistic."""
    said = {} if "rho" in words else {"epsilon": "1"}
    return STATISTICS[words["statistic"]].model_validate({**said, **words})


@pytest.mark.parametrize(
    ("words", "declared", "scales"),
    [
        ({"statistic": "histogram", "by": ["genre"], "epsilon": "0.1"}, {}, ["20"]),
        ({"statistic": "histogram", "by": ["genre"], "epsilon": "1"}, {}, ["2"]),
        ({"statistic": "histogram", "by": ["genre"], "epsilon": "4"}, {}, ["1/2"]),
        ({"statistic": "histogram", "by": ["genre"], "epsilon": "0.1"}, {"adjacency": "add-remove"}, ["10"]),
        ({"statistic": "histogram", "by": ["genre"]}, {"unit": "who", "rows_per_unit": 5}, ["10"]),
        ({"statistic": "count"}, {}, ["1"]),
        ({"statistic": "count", "epsilon": "0.000000007"}, {}, ["1000000000/7"]),
        ({"statistic": "count"}, {"unit": "who", "rows_per_unit": 5, "adjacency": "add-remove"}, ["5"]),
        ({"statistic": "sum", "column": "score"}, {}, ["100"]),
        ({"statistic": "sum", "column": "score", "by": ["genre"]}, {}, ["200"]),
        ({"statistic": "sum", "column": "near"}, {}, ["1"]),
        ({"statistic": "sum", "column": "near", "where": ["genre = drama"]}, {}, ["101"]),
        ({"statistic": "sum", "column": "near", "by": ["genre"]}, {}, ["202"]),
        ({"statistic": "sum", "column": "near"}, {"adjacency": "add-remove"}, ["101"]),
        ({"statistic": "sum", "column": "near"}, {"unit": "who"}, ["101"]),
        ({"statistic": "sum", "column": "cents"}, {}, ["400"]),
        ({"statistic": "sum", "column": "cents"}, {"unit": "who", "rows_per_unit": 3}, ["1200"]),
        ({"statistic": "mean", "column": "share"}, {}, ["1"]),
        ({"statistic": "mean", "column": "share", "where": ["genre = drama"]}, {}, ["4", "2"]),
        ({"statistic": "mean", "column": "score", "by": ["genre"]}, {}, ["400", "4"]),
        ({"statistic": "mean", "column": "score"}, {"adjacency": "add-remove"}, ["200", "2"]),
    ],
)
def test_the_scale_follows_from_the_request(words: dict[str, Any], declared: dict[str, Any], scales: list[str]) -> None:
    """Each scale is the exact sensitivity over the exact price, by the table of the definitions."""
    terms = terms_of(**declared, domain=DOMAIN)
    asked = statistic(**words)
    asked.check(terms)
    assert [str(noise.parameter) for noise in asked.noises(terms)] == scales


def test_the_mean_of_a_public_number_of_rows_is_the_noisy_sum_over_it() -> None:
    """Of 6040 rows the scale of the mean's noise is 1/6040: with the sum's noise at 0, the mean is exact."""
    terms = terms_of(domain=DOMAIN)
    asked = statistic(statistic="mean", column="share", epsilon="1000000")
    assert asked.answer([{"cell": 0, "units": 1510, "rows": 6040}], terms)["value"] == 0.25


@pytest.mark.parametrize("rho", ["0.005", "0.1", "2"])
def test_gaussian_noise_follows_from_rho(rho: str) -> None:
    """In zcdp accounting sigma^2 is the square of the L2 sensitivity over twice rho, as a fraction."""
    terms = Terms(Declared.model_validate({"domain": DOMAIN}), Accounting.ZCDP)
    (noise,) = statistic(statistic="histogram", by=["genre"], rho=rho).noises(terms)
    assert noise.parameter == Fraction(2) / (2 * Fraction(rho))
    (noise,) = statistic(statistic="count", rho=rho).noises(terms)
    assert noise.parameter == 1 / (2 * Fraction(rho))


def _many(terms: Terms) -> np.ndarray:
    """Draw a hundred thousand noises as one histogram with so many cells."""
    asked = statistic(statistic="histogram", by=["cell"])
    groups: Any = asked.answer([{"cell": 7, "rows": 1000}], terms)["groups"]
    released = np.array([group["value"] for group in groups])
    released[7] -= 1000
    return released


def _one_by_one(terms: Terms) -> np.ndarray:
    """Draw ten thousand noises as counts."""
    (noise,) = statistic(statistic="count", epsilon="0.5").noises(terms)
    return np.concatenate([np.array(noise.added([1000] * 50)) - 1000 for _ in range(200)])


@pytest.mark.parametrize("draw", [_many, _one_by_one])
@pytest.mark.usefixtures("fixed_bytes")
def test_what_is_released_has_the_exact_distribution(draw: Callable[[Terms], np.ndarray]) -> None:
    """A hundred thousand released counts, or ten thousand, less the truth, are discrete Laplace of scale 2."""
    found = farthest(draw(terms_of(domain=DOMAIN)), laplace_probability(2.0), span=8)
    assert found < FALSE_ALARM


@pytest.mark.parametrize(
    ("draw", "wrong"),
    [(_many, Fraction(9, 10)), (_many, Fraction(11, 10)), (_one_by_one, Fraction(3, 4)), (_one_by_one, Fraction(4, 3))],
)
@pytest.mark.usefixtures("fixed_bytes")
def test_a_wrong_scale_is_found(
    draw: Callable[[Terms], np.ndarray], wrong: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise whose scale is off by a tenth (by a third in ten thousand draws) would be seen by the test above."""
    right = _contract.laplace_scale
    monkeypatch.setattr(_contract, "laplace_scale", lambda moved, nano: wrong * right(moved, nano))
    assert farthest(draw(terms_of(domain=DOMAIN)), laplace_probability(2.0), span=8) > FALSE_ALARM


@pytest.mark.usefixtures("fixed_bytes")
def test_what_a_reader_is_told_of_the_noise_holds() -> None:
    """In 95 of 100 cases the noise is within what the answer says, and its deviation is what it says."""
    terms = terms_of(domain=DOMAIN)
    (noise,) = statistic(statistic="histogram", by=["cell"]).noises(terms)
    drawn = _many(terms)
    share = float(np.mean(np.abs(drawn) <= noise.within()))
    assert share + 5 * math.sqrt(0.95 * 0.05 / drawn.size) >= 0.95
    assert float(np.mean(np.abs(drawn) <= noise.within() - 1)) < 0.95
    assert float(np.std(drawn)) == pytest.approx(noise.deviation, rel=0.02)


@pytest.mark.parametrize(
    ("words", "moved"),
    [
        ({"statistic": "histogram", "by": ["genre", "score"]}, [1000] * 12),
        ({"statistic": "sum", "column": "cents", "by": ["genre"]}, [10] * 3),
        ({"statistic": "mean", "column": "cents", "by": ["genre"]}, [1.005] * 3),
    ],
)
def test_noise_is_added_to_every_cell(
    words: dict[str, Any], moved: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To those in which there is nothing too, and to the cell of the others: an exact 0 there would tell of a row."""
    monkeypatch.setattr(Noise, "added", lambda _, exact: [one + 1000 for one in exact])
    terms = terms_of(domain={**DOMAIN, "score": {"range": [0, 2]}})
    groups: Any = statistic(**words).answer([], terms)["groups"]
    assert [group["value"] for group in groups] == moved


@pytest.mark.parametrize("accounting", Accounting)
@pytest.mark.parametrize("rows", [1, 1_000_000])
@pytest.mark.parametrize(
    "words", [{"statistic": "histogram", "by": ["cell"]}, {"statistic": "sum", "column": "wide", "by": ["cell"]}]
)
def test_the_smallest_price_is_answered_too(accounting: Accounting, rows: int, words: dict[str, Any]) -> None:
    """For a billionth, and the most rows and the widest limits, enormous noise is drawn, and its size is known."""
    domain = {"cell": {"range": [0, 98]}, "wide": {"low": -(2**31), "high": 2**31}}
    terms = Terms(Declared.model_validate({"unit": "who", "rows_per_unit": rows, "domain": domain}), accounting)
    price = "epsilon" if accounting is Accounting.PURE else "rho"
    asked = statistic(**words, **{price: "0.000000001"})
    result = asked.answer([], terms)
    groups: Any = result.get("groups", [result])
    assert len({group["value"] for group in groups}) > len(groups) / 2
    (noise,) = asked.accuracy(terms)
    assert noise["within_95"] > 0  # type: ignore[operator] - it is a number


def test_numbers_are_told_as_whole_if_they_are() -> None:
    """A fraction that is whole is a whole number, however large; others are the nearest float."""
    assert [plain(number) for number in (Fraction(3), Fraction(1, 4), 2**80, Fraction(-1, 3))] == [
        3,
        0.25,
        2**80,
        -1 / 3,
    ]
    assert type(plain(Fraction(4, 2))) is int


@pytest.mark.dp
@pytest.mark.parametrize("epsilon", ["0.01", "0.09", "0.3", "1", "4"])
@pytest.mark.parametrize(
    "words",
    [
        {"statistic": "count"},
        {"statistic": "histogram", "by": ["genre"]},
        {"statistic": "sum", "column": "cents", "by": ["genre"]},
        {"statistic": "mean", "column": "score", "where": ["genre = drama"]},
    ],
)
def test_others_price_it_alike(words: dict[str, Any], epsilon: str) -> None:
    """OpenDP's privacy map of the scales and sensitivities of a request adds up to what it costs."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    integers = dp.vector_domain(dp.atom_domain(T=int))
    terms = terms_of(domain=DOMAIN, unit="who", rows_per_unit=3)

    def price(noise: Noise) -> float:
        laplace = dp.m.make_laplace(integers, dp.l1_distance(T=int), scale=float(noise.parameter))
        return float(laplace.map(noise.sensitivity.l1))

    noises = statistic(**words, epsilon=epsilon).noises(terms)
    assert sum(map(price, noises)) == pytest.approx(float(epsilon), rel=1e-12)
