"""Sizes of equivalence classes: counted once, from frames and from pairs."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.risk import ClassSizes, class_sizes, k_anonymity, l_diversity, t_closeness


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
    """Without quasi-identifiers rows are not distinguished; an empty table has no k."""
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


def test_one_column_may_be_named_by_a_text():
    """A text is the name of a column, not a list of letters."""
    table = pd.DataFrame({"age": [1, 1, 2], "a": [1, 2, 3], "g": [1, 2, 3], "e": [1, 2, 3]})
    assert _pairs(class_sizes(table, "age")) == [(1, 1), (2, 1)]
    assert k_anonymity(table, "age") == k_anonymity(table, ["age"])
    assert l_diversity(table, "age", "a") == l_diversity(table, ["age"], ["a"])
    assert t_closeness(table, "age", "a") == t_closeness(table, ["age"], ["a"])


@pytest.mark.parametrize("measure", [class_sizes, k_anonymity, lambda *of: l_diversity(*of, "s")])
def test_unknown_columns_and_several_of_a_name_are_refused(measure):
    """The nearest column is suggested, also for a table without rows."""
    table = pd.DataFrame([[1, 2, 3]], columns=["age", "age", "s"])
    with pytest.raises(ValueError, match="2 columns are named 'age'; rename them"):
        measure(table, ["age"])
    with pytest.raises(KeyError, match="column 'agee' not found; did you mean 'age'"):
        measure(table[:0], ["agee"])


@pytest.mark.parametrize("k", [1, 0, -1, 2.5, float("nan"), float("inf")])
def test_k_is_a_whole_number_of_two_or_more(k):
    """A k that is not a number would count no record as too rare."""
    with pytest.raises(ValueError, match="expected a whole number of at least 2"):
        k_anonymity(pd.DataFrame({"a": [1]}), ["a"], k)


@given(st.lists(st.integers(1, 9), max_size=60))
def test_sizes_are_what_counting_gives(values):
    """The same sizes come from the frame, from pairs in any order, and from pairs that come in parts."""
    table = pd.DataFrame({"a": np.array(values, dtype=np.int64)})
    counted = table["a"].value_counts().tolist()
    found = class_sizes(table, ["a"])
    assert _pairs(found) == _pairs(ClassSizes.of((size, 1) for size in reversed(counted)))
    assert found.rows == len(values)
    assert found.rows_below(10**9) == len(values)
