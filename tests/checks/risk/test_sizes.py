"""Sizes of equivalence classes: counted once, from frames and from pairs."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.risk import ClassSizes, class_sizes


def _pairs(sizes):
    return list(zip(sizes.sizes.tolist(), sizes.classes.tolist(), strict=True))


def test_null_is_a_value_of_its_own():
    """Eight rows of which some have no prefecture: the class of ([-25], NULL) has one row, so k is 1."""
    table = pd.DataFrame({
        "age": ["[-25]", "[-25]", "[-25]", "[30-50]", "[30-50]", "[30-50]", "[50-]", "[50-]"],
        "prefecture": ["東京都", None, "東京都", None, None, None, None, None],
    })  # fmt: skip
    found = class_sizes(table, ["age", "prefecture"])
    assert _pairs(found) == [(1, 1), (2, 2), (3, 1)]
    assert (found.smallest, found.uniques, found.rows, found.count) == (1, 1, 8, 4)
    assert (found.rows_below(3), found.classes_below(3)) == (5, 3)


def test_the_index_of_a_frame_does_not_matter():
    """A shuffled or filtered frame has the classes of its rows."""
    table = pd.DataFrame({"a": [1, 1, 2, 2, 2], "b": list("xxyyz")})
    shuffled = table.sample(frac=1, random_state=3)
    assert _pairs(class_sizes(shuffled, ["a", "b"])) == _pairs(class_sizes(table, ["a", "b"])) == [(1, 1), (2, 2)]
    assert _pairs(class_sizes(shuffled[shuffled["a"] == 2], ["a"])) == [(3, 1)]


def test_no_quasi_identifier_makes_one_class_and_no_row_makes_none():
    """Whoever knows nothing cannot tell rows apart; an empty table has no k."""
    table = pd.DataFrame({"a": [1, 2, 3]})
    assert _pairs(class_sizes(table, [])) == [(3, 1)]
    empty = class_sizes(table[:0], ["a"])
    assert (empty.smallest, empty.rows, empty.count, empty.uniques) == (None, 0, 0, 0)


def test_categories_that_do_not_occur_are_no_classes():
    """A categorical column has the classes of its rows only."""
    table = pd.DataFrame({"a": pd.Categorical(["x", "x"], categories=["x", "y"]), "b": [1, 1]})
    assert _pairs(class_sizes(table, ["a", "b"])) == [(2, 1)]


def test_a_size_that_is_not_positive_is_refused():
    """Sizes are counted; a class of no row is none."""
    with pytest.raises(ValueError, match="at least 1"):
        ClassSizes.of([(0, 3)])
    with pytest.raises(ValueError, match="at least 1"):
        ClassSizes.of([(2, -1)])


@given(st.lists(st.integers(1, 9), max_size=60))
def test_sizes_are_what_counting_gives(values):
    """The same sizes come from the frame, from pairs in any order, and from pairs that come in parts."""
    table = pd.DataFrame({"a": np.array(values, dtype=np.int64)})
    counted = table["a"].value_counts().tolist()
    found = class_sizes(table, ["a"])
    assert _pairs(found) == _pairs(ClassSizes.of((size, 1) for size in reversed(counted)))
    assert found.rows == len(values)
    assert found.rows_below(10**9) == len(values)
