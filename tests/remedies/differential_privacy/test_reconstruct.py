"""Counts before a table was randomised, estimated from those after: iterative Bayes, the inverse, its projection."""

from fractions import Fraction
from functools import reduce

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from remedies import Misfit
from remedies.differential_privacy._matrix import (
    Dense,
    Factor,
    Floats,
    Replacement,
    backward,
    forward,
    inverse,
    inverse_squared,
    squared,
)
from remedies.differential_privacy._reconstruct import Stopped, project, reconstruct
from remedies.differential_privacy._retention import retention
from remedies.differential_privacy.mechanism import redrawn
from tests.remedies.differential_privacy.movielens import COUNTS, SIZES
from tests.tiers import examples

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
METHODS = ("bayes", "inverse", "inverse-projected")


@st.composite
def tables(draw: st.DrawFn, *, largest: int = 1000) -> tuple[npt.NDArray[np.float64], list[Factor]]:
    """Return counts and a factor for each axis: replacements and matrices of any probabilities above 0."""
    shape = draw(SHAPES)
    counts = draw(arrays(np.int64, shape, elements=st.integers(0, largest))).astype(float)
    factors: list[Factor] = []
    for size in shape:
        if draw(st.booleans()):
            factors.append(Replacement(draw(st.floats(0.05, 0.95)), size))
        else:
            any_rows = draw(arrays(np.float64, (size, size), elements=st.floats(0.01, 1))) + size * np.eye(size)
            factors.append(Dense(any_rows / any_rows.sum(axis=1, keepdims=True)))
    return counts, factors


def dense(factor: Factor) -> Floats:
    """Return a factor as a matrix."""
    return factor.matrix if isinstance(factor, Dense) else factor.dense()


def kronecker(factors: list[Factor]) -> Floats:
    """Return the matrix of all cells that the product never builds."""
    return np.asarray(reduce(np.kron, [dense(factor) for factor in factors]))


def log_likelihood(counts: Floats, estimate: Floats, factors: list[Factor]) -> float:
    """Return that of the randomised counts, but for a constant."""
    expected = forward(estimate, factors)
    return float((counts[counts > 0] * np.log(expected[counts > 0])).sum())


@pytest.mark.parametrize(
    ("epsilon", "distances"),
    [
        (1, {1: 1254.350338, 10: 1081.184146, 100: 277.821212, 1000: 57.611967}),
        (4, {1: 385.556488, 10: 24.736908, 100: 0.012126}),
    ],
)
def test_counts_of_the_paper_come_nearer_as_computed_apart(epsilon: int, distances: dict[int, float]) -> None:
    """On what is expected to come out, without noise, the distance to the truth after t steps is known."""
    rho = retention(epsilon, SIZES)
    factors = [Replacement(rho, size) for size in SIZES]
    randomised = forward(COUNTS.astype(float), factors)
    for steps, distance in distances.items():
        found = reconstruct(randomised, factors, stop=steps)
        assert np.linalg.norm(found.counts - COUNTS) == pytest.approx(distance, abs=5e-7)
        assert (found.iterations, found.stopped) == (steps, Stopped.ITERATIONS)


@given(tables())
def test_factors_do_what_the_matrix_of_all_cells_does(table: tuple[Floats, list[Factor]]) -> None:
    """Forward, backward, inverse, and both with squared entries."""
    counts, factors = table
    matrix = kronecker(factors)
    inverted = np.linalg.inv(matrix)
    flat, close = counts.ravel(), {"rtol": 1e-6, "atol": 1e-6}
    assert np.allclose(forward(counts, factors).ravel(), flat @ matrix, **close)
    assert np.allclose(backward(counts, factors).ravel(), matrix @ flat, **close)
    assert np.allclose(squared(counts, factors).ravel(), flat @ matrix**2, **close)
    back = inverse(counts, factors).ravel()
    assert np.allclose(back @ matrix, flat, **close)
    squares = inverse_squared(counts, factors).ravel()
    assert np.allclose(squares, flat @ inverted**2, rtol=1e-5, atol=1e-5)


@given(tables(), st.integers(0, 30))
def test_bayes_keeps_the_total_and_never_falls(table: tuple[Floats, list[Factor]], steps: int) -> None:
    """No cell falls below 0, the total stays, each step is at least as likely, and all cells at once give the same."""
    counts, factors = table
    found = reconstruct(counts, factors, stop=steps)
    assert (found.counts >= 0).all()
    assert found.counts.sum() == pytest.approx(counts.sum())
    following = reconstruct(counts, factors, stop=steps + 1)
    before, after = (log_likelihood(counts, one.counts, factors) for one in (found, following))
    assert after >= before - 1e-9 * (1 + abs(before))
    assert np.allclose(reconstruct(counts, kronecker(factors), stop=steps).counts, found.counts, rtol=1e-6, atol=1e-6)


@given(tables())
@settings(max_examples=examples(12))
def test_discrepancy_stops_where_chi2_falls_below_the_cells(table: tuple[Floats, list[Factor]]) -> None:
    """It is below there, and was not a step before; the result says both how many steps and which rule."""
    counts, factors = table
    found = reconstruct(counts, factors)
    if found.stopped is Stopped.DISCREPANCY:
        assert found.chi2 is not None
        assert found.chi2 < counts.size - 1 or found.chi2 == 0
    if found.iterations and found.stopped is Stopped.DISCREPANCY:
        before = reconstruct(counts, factors, stop=found.iterations - 1)
        assert before.chi2 is None or before.chi2 >= counts.size - 1
    assert found.stopped in {Stopped.DISCREPANCY, Stopped.STILL, Stopped.MOST}


@given(tables())
def test_projection_is_the_nearest_point_without_negative_cells(table: tuple[Floats, list[Factor]]) -> None:
    """Its total is kept; cells above 0 are all moved by the same, cells at 0 by no more (Karush, Kuhn, Tucker)."""
    counts, factors = table
    plain = reconstruct(counts, factors, method="inverse").counts
    projected = reconstruct(counts, factors, method="inverse-projected").counts
    scale = 1 + np.abs(plain).max()
    assert (projected >= 0).all()
    assert projected.sum() == pytest.approx(counts.sum(), abs=1e-9 * scale * counts.size)
    moved = plain - projected
    if (projected > 0).any():
        level = moved[projected > 0]
        assert np.allclose(level, level[0], rtol=0, atol=1e-9 * scale)
        assert (moved[projected == 0] <= level[0] + 1e-9 * scale).all()


def test_inverse_is_the_truth_without_noise() -> None:
    """It undoes what is expected to come out, and can leave cells below 0 on anything else."""
    factors = [Replacement(0.2, size) for size in SIZES]
    randomised = forward(COUNTS.astype(float), factors)
    assert np.allclose(reconstruct(randomised, factors, method="inverse").counts, COUNTS)
    assert reconstruct([90, 10, 0], Replacement(0.2, 3), method="inverse").counts.min() < 0
    assert reconstruct([90, 10, 0], Replacement(0.2, 3), method="inverse-projected").counts.tolist() == [100, 0, 0]


def test_empty_cells_can_be_filled() -> None:
    """A cell that happens to be empty in the randomised table is not empty for good."""
    matrix = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert reconstruct([0, 100, 0], matrix).counts == pytest.approx([100, 0, 0])


def test_tables_of_nobody_and_of_one_cell_stay() -> None:
    """Nothing is divided by 0."""
    for method in METHODS:
        assert (
            reconstruct(np.zeros((2, 3)), [Replacement(0.5, 2), Replacement(0.5, 3)], method=method).counts.sum() == 0
        )
        assert reconstruct([7], Replacement(0.5, 1), method=method).counts.tolist() == [7]


def test_large_tables_need_no_matrix_of_all_cells() -> None:
    """A table of a quarter of a million cells, whose matrix would have 68 thousand million entries."""
    shape = (8, 8, 8, 8, 8, 8)
    counts = np.arange(8**6, dtype=float).reshape(shape) % 11
    found = reconstruct(counts, [Replacement(0.7, 8)] * 6, stop=3)
    assert found.counts.sum() == pytest.approx(counts.sum())


def test_many_steps_make_no_denormal_numbers() -> None:
    """Cells that die out become 0, on their way to which no number is too small to be counted with at full speed."""
    smallest = []
    for steps in range(200, 300, 5):
        cells = reconstruct([1000, 1, 1], Replacement(0.9, 3), stop=steps).counts
        assert cells.sum() == pytest.approx(1002)
        smallest.append(cells.min())
    assert 0 < smallest[0] < 1e-200
    assert smallest[-1] == 0
    assert not any(0 < one < 1e-280 for one in smallest)


@pytest.mark.parametrize(
    ("counts", "matrix", "options", "message"),
    [
        ([1, 2], np.eye(3), {}, r"of \(3,\) values, the counts of \(2,\)"),
        ([[1, 2], [3, 4]], [np.eye(2), np.eye(3)], {}, "one for each axis"),
        ([1, 2], [[1, 0], [0, 1]], {}, "a list of such arrays"),
        ([1, 2], np.ones((2, 3)), {}, r"shape \(2, 3\)"),
        ([1, 2], np.ones((2, 2)), {}, "do not sum to 1"),
        ([1, 2], np.array([[1.5, -0.5], [0, 1]]), {}, "below 0"),
        ([1, -2], np.eye(2), {}, "1 counts are below 0"),
        ([1, np.nan], np.eye(2), {}, "finite"),
        ([], np.eye(2), {}, "finite"),
        ([1, 2], np.eye(2), {"stop": -1}, "0 or more"),
        ([1, 2], np.eye(2), {"stop": 1.5}, "0 or more"),
        ([1, 2], np.full((2, 2), 0.5), {"method": "inverse"}, "singular"),
        ([1, 2], Replacement(0, 2), {"method": "inverse"}, "nothing of an attribute is kept"),
        ([1, 2], np.array([[1.0, 0.0], [1.0, 0.0]]), {"stop": 1}, "lets nothing come out"),
    ],
)
def test_what_does_not_fit_is_refused(counts: object, matrix: object, options: dict[str, object], message: str) -> None:
    """Each error says what is expected."""
    with pytest.raises(Misfit, match=message):
        reconstruct(counts, matrix, **options)  # type: ignore[arg-type] - wrong on purpose


def test_projection_of_a_total_that_all_cells_are_below() -> None:
    """Cells are raised by the same."""
    assert project(np.array([-3.0, -1.0]), 4.0).tolist() == [1.0, 3.0]


@pytest.mark.usefixtures("fixed_bytes")
def test_run_on_reconstruction_hurts_at_a_tenth() -> None:
    """On noise that outweighs the counts, what is likeliest is farther from the truth than where it began."""
    rho = Fraction(retention("0.1", SIZES))
    gender, age = np.unravel_index(np.repeat(np.arange(14), COUNTS.ravel()), SIZES)
    cells = redrawn(gender, 2, rho) * 7 + redrawn(age, 7, rho)
    randomised = np.bincount(cells, minlength=14).reshape(SIZES)
    found = reconstruct(randomised, [Replacement(float(rho), size) for size in SIZES], stop=20_000)
    assert np.linalg.norm(found.counts - COUNTS) > 1.5 * np.linalg.norm(randomised - COUNTS)
