"""The distributions, privacy maps and accounting of OpenDP, which others proved, are the oracle for our own.

OpenDP has no seed, so its draws differ in every run: they may lie 6.5 standard deviations away, which all of them
together do in fewer than 1e-8 of all runs.
"""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from remedies.differential_privacy._binary import BinaryMechanism
from remedies.differential_privacy._samplers import (
    exponential_mechanism,
    gaussian_square,
    many_discrete_laplace,
    permute_and_flip,
    quantile_utilities,
)
from remedies.differential_privacy.accounting import delta_of, epsilon_of_rho, rho_of_pure
from remedies.differential_privacy.epsilon import decimal_of, laplace_scale, nano
from remedies.differential_privacy.frequency_oracles import GRR, SUE
from remedies.differential_privacy.sensitivity import (
    Adjacency,
    histogram_sensitivity,
    quantile_sensitivity,
    sum_sensitivity,
)
from tests.needs import needed_module
from tests.remedies.differential_privacy.distributions import FALSE_ALARM, farthest, laplace_probability, permuted

dp = needed_module("opendp.prelude", need="dp")
dp.enable_features("contrib")

UNSEEDED = 6.5
INTEGERS = dp.vector_domain(dp.atom_domain(T=int))
EPSILONS = ["0.01", "0.09", "0.1", "0.13", "0.3", "1", "1.5", "4"]


def _laplace(scale: Fraction) -> Callable[[list[int]], list[int]]:
    return dp.m.make_laplace(INTEGERS, dp.l1_distance(T=int), scale=float(scale))


@pytest.mark.parametrize("scale", [Fraction(20), Fraction(2), Fraction(1, 2)], ids=str)
@pytest.mark.usefixtures("fixed_bytes")
def test_both_draw_the_same_discrete_laplace(scale: Fraction):
    """A hundred thousand draws of each have the probabilities of the formula."""
    probability = laplace_probability(float(scale))
    assert farthest(np.array(_laplace(scale)([0] * 100_000)), probability, span=6) < UNSEEDED
    assert farthest(many_discrete_laplace(scale, 100_000), probability, span=6) < FALSE_ALARM


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sensitivity", [1, 2, 3])
def test_the_scale_costs_what_was_asked_for(epsilon: str, sensitivity: int):
    """Its map of our exact scale is epsilon, but for the rounding of the scale to a float."""
    scale = laplace_scale(sensitivity, nano(epsilon))
    assert _laplace(scale).map(sensitivity) == pytest.approx(float(epsilon), rel=1e-14)


@pytest.mark.parametrize("rho", ["0.0025", "0.1", "2"])
def test_the_gaussian_costs_what_was_asked_for(rho: str):
    """Its zCDP map of our sigma is rho, for the histogram's sensitivity of sqrt 2."""
    sigma = math.sqrt(gaussian_square(2, nano(rho, name="rho")))
    gaussian = dp.m.make_gaussian(INTEGERS, dp.l2_distance(T=float), scale=sigma)
    assert gaussian.map(math.sqrt(2)) == pytest.approx(float(rho), rel=1e-12)


@pytest.mark.parametrize("rho", ["0.0025", "0.1", "2"])
@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1e-9])
def test_our_reading_of_rho_is_never_below_the_tight_one(rho: str, delta: float):
    """Rho + 2 sqrt(rho ln 1/delta) is simpler than its conversion, and never smaller."""
    nano_rho = nano(rho, name="rho")
    gaussian = dp.m.make_gaussian(INTEGERS, dp.l2_distance(T=float), scale=math.sqrt(gaussian_square(1, nano_rho)))
    tight = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0).epsilon(delta)
    ours = float(decimal_of(epsilon_of_rho(nano_rho, delta_of(delta))))
    assert tight <= ours <= 1.5 * tight


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_pure_answers_cost_the_same_rho(epsilon: str):
    """Half the square of epsilon; ours is rounded up to nine places."""
    theirs = dp.c.make_pureDP_to_zCDP(_laplace(laplace_scale(1, nano(epsilon)))).map(1)
    assert float(decimal_of(rho_of_pure(nano(epsilon)))) == pytest.approx(theirs, rel=1e-9, abs=1e-9)


def test_answers_add_up_alike():
    """0.1, 0.05 and 0.1 are 0.25: exactly in ours, up to float rounding in its."""
    parts = ["0.1", "0.05", "0.1"]
    together = dp.c.make_composition([_laplace(laplace_scale(1, nano(part))) for part in parts])
    assert together.map(1) == pytest.approx(0.25)
    assert sum(map(nano, parts)) == nano("0.25")


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [2, 14, 1000])
def test_randomised_response_costs_what_was_asked_for(epsilon: str, size: int):
    """Its map of our probability of the own value is epsilon."""
    own = float(GRR(size, epsilon).p)
    assert dp.m.make_randomized_response(list(range(size)), own).map(1) == pytest.approx(float(epsilon), rel=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_unary_encoding_costs_what_was_asked_for(epsilon: str):
    """Its map of basic RAPPOR with our probability of a wrong bit is epsilon."""
    wrong = float(2 * SUE(14, epsilon).q)
    rappor = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=wrong)
    assert rappor.map(1) == pytest.approx(float(epsilon), rel=1e-9)


@pytest.mark.parametrize("horizon", [1, 2, 8, 14, 16, 365])
def test_the_tree_has_as_many_levels(horizon: int):
    """A tree over 2^n leaves has as many levels as our nodes; for other horizons ours needs no root over all of it."""
    levels = BinaryMechanism(1, horizon=horizon).scale()
    tree = dp.t.make_b_ary_tree(INTEGERS, dp.l1_distance(T=int), leaf_count=horizon, branching_factor=2)
    assert levels == tree.map(1) - (0 if horizon.bit_count() == 1 else 1)


@pytest.mark.usefixtures("fixed_bytes")
def test_both_choose_candidates_alike():
    """The exponential mechanism of utilities -4, 0, -1, -20, as its noisy maximum with Gumbel noise has it."""
    utilities, scale = [-4, 0, -1, -20], 2 * 3 / 0.7
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    noisy_max = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)
    weights = [math.exp(utility / scale) for utility in utilities]
    theirs = Counter(noisy_max(utilities) for _ in range(5_000))
    ours = Counter(exponential_mechanism(utilities, sensitivity=3, nano_epsilon=nano("0.7")) for _ in range(5_000))
    for position, weight in enumerate(weights):
        share = weight / sum(weights)
        deviation = math.sqrt(5_000 * share * (1 - share))
        assert abs(theirs[position] - 5_000 * share) <= UNSEEDED * deviation
        assert abs(ours[position] - 5_000 * share) <= FALSE_ALARM * deviation


@pytest.mark.usefixtures("fixed_bytes")
def test_both_permute_and_flip_alike():
    """Its noisy maximum in pure accounting has exponential noise, which is permute-and-flip."""
    utilities, scale = [-4, 0, -1, -20], 2 * 3 / 0.7
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    noisy_max = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale)
    assert noisy_max.map(3) == pytest.approx(0.7)
    theirs = Counter(noisy_max(utilities) for _ in range(5_000))
    ours = Counter(permute_and_flip(utilities, sensitivity=3, nano_epsilon=nano("0.7")) for _ in range(5_000))
    for position, share in enumerate(permuted([math.exp(utility / scale) for utility in utilities])):
        deviation = math.sqrt(5_000 * share * (1 - share))
        assert abs(theirs[position] - 5_000 * share) <= UNSEEDED * deviation
        assert abs(ours[position] - 5_000 * share) <= FALSE_ALARM * deviation


DATA: dict[str, tuple[range, Callable[[np.random.Generator, int], np.ndarray]]] = {
    "ties": (range(1, 6), lambda draw, rows: draw.choice(range(1, 6), rows, p=[0.05, 0.05, 0.8, 0.05, 0.05])),
    "counts": (range(31), lambda draw, rows: draw.poisson(draw.uniform(1, 9), rows).clip(0, 30)),
    "normal": (range(101), lambda draw, rows: draw.normal(50, 15, rows).round().clip(0, 100).astype(int)),
    "constant": (range(101), lambda draw, rows: np.full(rows, draw.integers(101))),
}
"""Kinds of data: the candidates, and how so many rows are drawn."""


@pytest.mark.combinations
@pytest.mark.parametrize("epsilon", ["0.05", "0.1", "0.5", "1", "4"])
@pytest.mark.parametrize("rows", [200, 2_000])
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)], ids=str)
@pytest.mark.parametrize("kind", DATA)
def test_quantiles_are_as_near_as_those_by_its_score(kind: str, share: Fraction, rows: int, epsilon: str):
    """At equal epsilon the mean rank error is at most that of its quantile score with its noisy maximum: 120 cases.

    Each expectation is exact, and the mean is of 30 tables of a kind. In a single one q n may lie so near to the end of
    an interval that its score, which counts ties to one side of it, happens to tell the two neighbours apart better.
    """
    candidates, draw = DATA[kind]
    generator = np.random.default_rng(rows)
    space = dp.vector_domain(dp.atom_domain(T=int), size=rows), dp.symmetric_distance()
    score = dp.t.make_quantile_score_candidates(*space, candidates=list(candidates), alpha=float(share))
    scale = 2 * score.map(2) / float(epsilon)  # one row is removed and another one added
    moved = quantile_sensitivity(Adjacency.SUBSTITUTE, share=share)
    ours, theirs = [], []
    for _ in range(30):
        data = draw(generator, rows)
        counts = [int((data == candidate).sum()) for candidate in candidates]
        utilities = np.array(quantile_utilities(counts, share=share), dtype=float)
        errors = np.maximum(-utilities, 0) / share.denominator
        scores = np.array(score(data.tolist()), dtype=float)
        ours.append(errors @ permuted(np.exp(float(epsilon) * (utilities - utilities.max()) / (2 * moved))))
        theirs.append(errors @ permuted(np.exp(-(scores - scores.min()) / scale)))
    assert np.mean(ours) <= np.mean(theirs)


def test_both_draw_the_same_discrete_gaussian():
    """A hundred thousand of its draws have the probabilities that ours are tested against."""
    drawn = dp.m.make_gaussian(INTEGERS, dp.l2_distance(T=float), scale=1.5)([0] * 100_000)
    total = sum(math.exp(-(z**2) / 4.5) for z in range(-50, 51))
    assert farthest(np.array(drawn), lambda z: math.exp(-(z**2) / 4.5) / total, span=4) < UNSEEDED


def test_counts_move_as_far():
    """A histogram by two under substitute, by one under add-remove."""
    sized = dp.vector_domain(dp.atom_domain(T=int), size=100), dp.change_one_distance()
    categories = list(range(14))
    substitute = dp.t.make_metric_unbounded(*sized) >> dp.t.then_count_by_categories(
        categories=categories, null_category=False
    )
    add_remove = dp.t.make_count_by_categories(
        INTEGERS, dp.symmetric_distance(), categories=categories, null_category=False
    )
    assert histogram_sensitivity(Adjacency.SUBSTITUTE).l1 == substitute.map(1)
    assert histogram_sensitivity(Adjacency.ADD_REMOVE).l1 == add_remove.map(1)


@pytest.mark.parametrize("limits", [(0, 100), (-3, 5), (100, 101), (-5, -2)], ids=str)
def test_sums_move_as_far(limits: tuple[int, int]):
    """By the larger limit when a row enters, by the width when it is another row."""
    low, high = limits
    entering = dp.t.make_sum(dp.vector_domain(dp.atom_domain(bounds=limits)), dp.symmetric_distance())
    sized = dp.vector_domain(dp.atom_domain(bounds=limits), size=50)
    changing = dp.t.make_metric_unbounded(sized, dp.change_one_distance()) >> dp.t.then_sum()
    assert sum_sensitivity(Adjacency.ADD_REMOVE, low=low, high=high).l1 == entering.map(1)
    assert sum_sensitivity(Adjacency.SUBSTITUTE, low=low, high=high, one_row_each=True).l1 == changing.map(1)
