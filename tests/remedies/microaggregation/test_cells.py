"""A table that is too large to be held is cut into cells from a sample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies.microaggregation._stages import CellTree, directions, joined


def test_cells_of_a_sample_are_balanced() -> None:
    """Each of 16 cells of other records of the same kind has about its share."""
    rng = np.random.default_rng(1)
    cells = CellTree.fit(rng.normal(size=(4000, 5)), 4, directions(5, 3, seed=1))
    counts = np.bincount(cells.of(rng.normal(size=(16_000, 5))), minlength=16)
    assert len(counts) == 16
    assert counts.min() > 700
    assert counts.max() < 1300


def test_a_point_is_where_the_tree_says() -> None:
    """Cells are numbered from the left; a value equal to the cut goes left."""
    cells = CellTree.fit(np.array([[1.0], [2.0], [3.0], [4.0]]), 2, np.eye(1))
    assert cells.of(np.array([[0.0], [1.5], [1.6], [2.5], [2.6], [3.5], [9.0]])).tolist() == [0, 0, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("sample", [np.zeros((10, 2)), np.zeros((0, 2))])
def test_equal_records_are_in_one_cell(sample: np.ndarray) -> None:
    """What cannot be distinguished stays together, and a sample without records cuts somewhere."""
    cells = CellTree.fit(sample, 3, np.eye(2))
    assert len(set(cells.of(np.zeros((5, 2))).tolist())) == 1


def test_no_depth_is_one_cell() -> None:
    """A table that fits is one cell."""
    cells = CellTree.fit(np.ones((3, 2)), 0, np.eye(2))
    assert cells.of(np.ones((4, 2))).tolist() == [0, 0, 0, 0]


@given(
    st.integers(0, 4).flatmap(lambda depth: st.lists(st.integers(0, 12), min_size=2**depth, max_size=2**depth)),
    st.integers(1, 10),
)
def test_joined_cells_have_enough_records(counts: list[int], least: int) -> None:
    """Whatever the counts: each cell with records belongs to one that has enough, if the table has."""
    counts[0] += least
    home = joined(dict(enumerate(counts)), len(counts), least)
    together = np.bincount(home, weights=counts, minlength=len(counts))
    assert ((together == 0) | (together >= least)).all()
    assert together.sum() == sum(counts)


def test_neighbours_are_joined_first() -> None:
    """A cell of too few joins its sister in the tree, not a larger one farther off."""
    assert joined({0: 1, 1: 5, 2: 50, 3: 50}, 4, 4).tolist() == [1, 1, 2, 3]
