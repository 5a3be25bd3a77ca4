"""Randomised tables and noisy answers at the same epsilon, on the counts of the paper."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from remedies import Misfit
from remedies.differential_privacy._matrix import Factor, Replacement
from remedies.differential_privacy.comparison import ComparisonAtEpsilon, compare
from remedies.differential_privacy.expected_error import (
    Error,
    NoisyAnswers,
    inverted_moments,
    randomised_moments,
    spearman,
)
from remedies.differential_privacy.mechanism import redrawn
from tests.remedies.differential_privacy.movielens import COUNTS, ROWS
from tests.tiers import examples

DELTA = Fraction(1, 10**6)


def at(epsilon: object, **options: Any) -> ComparisonAtEpsilon:
    """Compare on the counts of the paper, without simulation."""
    (found,) = compare(COUNTS, [epsilon], **{"runs": 0, **options}).at  # type: ignore[list-item] - tests give any
    return found


@pytest.mark.parametrize(
    ("epsilon", "rho", "k", "scale", "bias", "batch", "continuous", "discrete"),
    [
        ("0.1", 0.0113503191, 4945.3150, 20, 1427.357, 1429.320, 105.830052, 105.819029),
        (1, 0.1334634167, 818.2898, 2, 1274.771, 1276.948, 10.583005, 10.473564),
        (4.0, 0.6242631238, 3.0259, Fraction(1, 2), 603.102, 606.441, 2.645751, 2.251318),
    ],
)
def test_figures_of_the_paper_follow_its_equations(  # noqa: PLR0917 - a row of a table
    epsilon: object,
    rho: float,
    k: float,
    scale: Fraction,
    bias: float,
    batch: float,
    continuous: float,
    discrete: float,
) -> None:
    """Retention, k and scale of its table 2; the errors of a randomised table and of one answer, its table 5."""
    found = at(epsilon)
    answer = found.interactive[0]
    assert found.attribute_wise.retention == pytest.approx(rho, abs=1e-8)
    assert found.pk == pytest.approx(k, abs=1e-4)
    assert answer.scale == scale
    assert found.attribute_wise.as_is.bias_l2 == pytest.approx(bias, abs=5e-4)
    assert found.attribute_wise.as_is.rms_l2 == pytest.approx(batch, abs=5e-4)
    assert answer.continuous == pytest.approx(continuous, abs=5e-7)
    assert answer.rms_l2 == pytest.approx(discrete, abs=5e-7)


@pytest.mark.parametrize(("epsilon", "basic", "zcdp"), [("0.1", 14, 27), (1, 121, 2035), (4, 230, 6671)])
def test_answers_from_which_on_a_batch_is_nearer(epsilon: object, basic: int, zcdp: int) -> None:
    """Its table 6 with the right retention, and under zCDP."""
    crossover = at(epsilon).crossovers["as-is"]
    assert (crossover.basic, crossover.zcdp) == (basic, zcdp)


@pytest.mark.parametrize(
    ("nano_epsilon", "error", "answers"), [(10**8, 1430, 14), (10**9, 959, 91), (4 * 10**9, 287, 109)]
)
def test_crossovers_that_the_paper_prints_follow_from_its_errors(nano_epsilon: int, error: float, answers: int) -> None:
    """By the same rule."""
    assert NoisyAnswers(14, nano_epsilon).crossover(error) == answers


def test_a_crossover_is_the_first_number_of_answers_that_are_farther() -> None:
    """One answer fewer is nearer, or as near."""
    answering = NoisyAnswers(14, 10**9)
    for error in (0.0, 1.0, 1276.948, 2884.9):
        first = answering.crossover(error)
        assert answering.continuous(first) > error
        assert first == 1 or answering.continuous(first - 1) <= error
        noisier = answering.gaussian_crossover(error, DELTA)
        assert noisier is not None
        assert (answering.gaussian(noisier, DELTA) or 0) > error * (1 - 1e-12)


def test_joint_is_better_reconstructed_and_attribute_wise_for_margins() -> None:
    """At epsilon 1: 681 against 2885 records; as they are, 1286 against 1277; of genders, 500 against 408."""
    found = at(1)
    assert found.joint is not None
    assert found.joint.inverse.rms_l2 == pytest.approx(681, abs=0.5)
    assert found.attribute_wise.inverse.rms_l2 == pytest.approx(2885, abs=0.5)
    assert found.joint.as_is.rms_l2 == pytest.approx(1285.9, abs=0.05)
    assert found.attribute_wise.as_is.rms_l2 == pytest.approx(1276.9, abs=0.05)
    assert found.joint.margins_inverse[0] == pytest.approx(499.7, abs=0.05)
    assert found.attribute_wise.margins_inverse[0] == pytest.approx(408.1, abs=0.05)


@pytest.mark.usefixtures("fixed_bytes")
def test_reconstruction_helps_at_1_and_4_and_brings_nothing_at_a_tenth() -> None:
    """Iterative Bayes until the discrepancy rule stops it, simulated 50 times."""
    tenth, one, four = (each.attribute_wise for each in compare(COUNTS, ["0.1", 1, 4], runs=50).at)
    assert one.bayes is not None
    assert four.bayes is not None
    assert tenth.bayes is not None
    assert one.bayes.rms_l2 < 0.6 * one.as_is.rms_l2
    assert four.bayes.rms_l2 < 0.4 * four.as_is.rms_l2
    assert tenth.bayes.rms_l2 == pytest.approx(tenth.as_is.rms_l2, rel=0.1)


@pytest.mark.usefixtures("fixed_bytes")
@pytest.mark.parametrize("joint", [False, True])
def test_closed_forms_agree_with_simulation(joint: bool) -> None:
    """Mean squares over 400 tables are within 10 % of the closed forms, for all cells together."""
    rho = Fraction(1, 2)
    factors: list[Factor] = [Replacement(0.5, 14)] if joint else [Replacement(0.5, size) for size in COUNTS.shape]
    sizes = [factor.size for factor in factors]
    truth = COUNTS.astype(float).reshape(sizes)
    codes = [part.astype(np.int64) for part in np.unravel_index(np.repeat(np.arange(14), COUNTS.ravel()), sizes)]
    drawn = np.array(
        [
            np.bincount(
                np.ravel_multi_index([redrawn(*each, rho) for each in zip(codes, sizes, strict=True)], sizes),
                minlength=14,
            ).reshape(sizes)
            for _ in range(400)
        ]
    )
    bias, variance = randomised_moments(truth, factors)
    assert ((drawn - truth) ** 2).mean(axis=0).sum() == pytest.approx((bias**2 + variance).sum(), rel=0.1)
    assert drawn.var(axis=0).sum() == pytest.approx(variance.sum(), rel=0.1)
    nothing, spread = inverted_moments(truth, factors)
    inverted = np.array([_inverse(one, factors) for one in drawn])
    assert not nothing.any()
    assert ((inverted - truth) ** 2).mean(axis=0).sum() == pytest.approx(spread.sum(), rel=0.1)


def _inverse(counts: Any, factors: list[Factor]) -> Any:
    for axis, factor in enumerate(factors):
        counts = factor.inverse(counts, axis)
    return counts


@given(
    arrays(np.int64, st.tuples(st.integers(2, 4), st.integers(1, 4)), elements=st.integers(0, 50)).filter(np.any),
    st.integers(10**7, 10**10),
)
@settings(max_examples=examples(25))
def test_errors_are_finite_and_fall_with_epsilon(counts: Any, nano_epsilon: int) -> None:
    """Down to epsilon 0.01: twice the epsilon is nowhere farther from the truth."""
    epsilons = [Decimal(nano_epsilon).scaleb(-9), Decimal(2 * nano_epsilon).scaleb(-9)]
    tight, loose = compare(counts, epsilons, runs=0).at
    for one, other in ((tight.attribute_wise, loose.attribute_wise), (tight.joint, loose.joint)):
        if one is None or other is None:
            continue
        assert math.isfinite(one.inverse.rms_l2)
        assert other.inverse.rms_l2 <= one.inverse.rms_l2 * (1 + 1e-9)
        assert other.as_is.bias_l2 <= one.as_is.bias_l2 + 1e-9
        assert one.as_is.worst >= one.as_is.quartiles[2] >= one.as_is.quartiles[0] >= 0
    assert loose.interactive[0].rms_l2 <= tight.interactive[0].rms_l2


def test_rows_of_a_person_share_the_epsilon() -> None:
    """A unit of five rows at epsilon 5 is as one of one row at epsilon 1; zCDP costs more."""
    five, one = at(5, rows_per_unit=5), at(1)
    assert five.attribute_wise == one.attribute_wise
    assert five.interactive[0].scale == one.interactive[0].scale
    assert five.pk == one.pk
    assert (five.interactive[0].zcdp or 0) > (one.interactive[0].zcdp or 0)


def test_an_epsilon_too_small_for_its_delta_has_no_zcdp() -> None:
    """Rather than noise without end."""
    found = at("0.000001", delta="1e-300")
    assert found.interactive[0].zcdp is None
    assert found.crossovers["as-is"].zcdp is None


@pytest.mark.usefixtures("fixed_bytes")
def test_simulation_says_how_many_tables_it_saw() -> None:
    """As many as 20 million rows allow, or as asked for; its errors have ranks."""
    found = compare(COUNTS, [1], queries=[1], runs=3)
    assert (found.runs, found.rows, found.shape) == (3, ROWS, (2, 7))
    assert found.label == "computed from the protected table, not a privacy-preserving release"
    single = found.at[0].attribute_wise
    assert single.as_is.spearman is not None
    assert -1 <= single.as_is.spearman <= 1
    assert found.at[0].interactive[0].spearman == pytest.approx(1, abs=0.02)
    assert set(found.at[0].crossovers) == {
        f"{how}{name}" for how in ("", "joint-") for name in ("as-is", "inverse", "projected", "bayes")
    }
    assert compare(np.full(14, 10**6), ["0.01"], queries=[], runs=0).runs == 0


def test_one_attribute_has_no_joint_way() -> None:
    """It would be the same."""
    (found,) = compare(COUNTS.sum(axis=0), [1], runs=0).at
    assert found.joint is None
    assert set(found.crossovers) == {"as-is", "inverse"}


def test_ranks_of_ties_are_averaged() -> None:
    """Spearman as it is defined for ties; without any order there is none."""
    truth = np.array([1.0, 2.0, 2.0, 4.0])
    assert spearman(truth, truth[np.newaxis]) == pytest.approx(1)
    assert spearman(truth, -truth[np.newaxis]) == pytest.approx(-1)
    ranks, others = np.array([1, 2.5, 2.5, 4]), np.array([1, 2, 3, 4])
    assert spearman(truth, np.array([[1.0, 2.0, 3.0, 9.0]])) == pytest.approx(np.corrcoef(ranks, others)[0, 1])
    assert spearman(truth, np.ones((1, 4))) == 0
    assert spearman(np.ones(4), truth[np.newaxis]) is None
    with pytest.raises(Misfit, match="at least one estimate"):
        spearman(truth, np.empty((0, 4)))


def test_worst_cell_and_quartiles_are_of_single_cells() -> None:
    """Root mean squared errors, with the place of the largest."""
    found = Error.of(np.array([[3.0, 0.0], [0.0, 0.0]]), np.array([[16.0, 1.0], [4.0, 9.0]]))
    assert (found.worst_cell, found.worst, found.quartiles) == ((0, 0), 5.0, (1.75, 2.5, 3.5))
    assert (found.rms_l2, found.bias_l2) == (pytest.approx(math.sqrt(39)), 3.0)


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        ([1.5, 2], {}, "whole numbers"),
        ([1, np.nan], {}, "whole numbers"),
        (["a", "b"], {}, "whole numbers"),
        ([-1, 2], {}, "0 or more in two or more cells"),
        ([5], {}, "two or more cells"),
        ([0, 0], {}, "at least one record"),
        ([1, 2], {"queries": [0]}, "each 1 or more"),
        ([1, 2], {"runs": -1}, "0 or more"),
        ([1, 2], {"rows_per_unit": 0}, "1 or more"),
        ([1, 2], {"delta": "1"}, "delta is '1'"),
        ([1, 2], {"epsilons": [0]}, "epsilon '0' is not above 0"),
    ],
)
def test_what_cannot_be_compared_is_refused(counts: Any, options: dict[str, Any], message: str) -> None:
    """Each error says what is expected."""
    with pytest.raises(Misfit, match=message):
        compare(counts, **{"epsilons": [1], **options})
