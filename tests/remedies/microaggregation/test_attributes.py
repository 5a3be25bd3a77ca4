"""Columns of every kind have distances, a centroid for each group, and a loss."""

import statistics
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies import Misfit
from remedies.microaggregation.attributes import nominal, numeric, ordinal

_GROUPS = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=7), min_size=1, max_size=5)


def _laid_out(groups: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return np.concatenate(groups), labels.astype(np.int64)


@given(_GROUPS)
def test_numbers_become_the_mean_as_their_type_can_hold_it(groups: list[list[int]]) -> None:
    """Whole numbers are rounded half to even."""
    values, labels = _laid_out(groups)
    column = numeric(pd.Series(values, name="c"))
    centroids = column.write(column.centroid(column.codes, labels, len(groups))[labels], column.missing)
    assert centroids.tolist() == [round(statistics.fmean(group)) for group in groups for _ in group]


@given(_GROUPS)
def test_levels_become_the_lower_median(groups: list[list[int]]) -> None:
    """The median of a group is a level that occurs in it."""
    values, labels = _laid_out(groups)
    column = ordinal(pd.Series([f"level {value}" for value in values], name="c"), [f"level {n}" for n in range(6)])
    found = column.centroid(column.codes, labels, len(groups))
    assert found.tolist() == [statistics.median_low(group) for group in groups]


@given(_GROUPS)
def test_names_become_the_mode(groups: list[list[int]]) -> None:
    """The most frequent name stands for a group; of equally frequent ones, the first."""
    values, labels = _laid_out(groups)
    column = nominal(pd.Series([f"name {value}" for value in values], name="c"))
    written = column.write(column.centroid(column.codes, labels, len(groups))[labels], column.missing)
    assert written.tolist() == [
        min(f"name {n}" for n, count in Counter(group).items() if count == max(Counter(group).values()))
        for group in groups
        for _ in group
    ]


def test_axes_of_names_put_different_ones_at_distance_one() -> None:
    """Squared distance 0 for the same name, 1 for another."""
    column = nominal(pd.Series(["a", "b", "a", "c"], name="c"))
    axes = column.axes(column.codes)
    squared = ((axes[:, None] - axes[None]) ** 2).sum(axis=2)
    assert squared.tolist() == pytest.approx(1.0 - (np.array(list("abac"))[:, None] == np.array(list("abac"))[None]))


def test_rare_names_share_an_axis() -> None:
    """A column of a thousand names takes no more than 64 axes; frequent names stay apart from all others."""
    column = nominal(pd.Series([f"n{number}" for number in range(1000)] + ["often"] * 5, name="c"))
    axes = column.axes(column.codes)
    assert axes.shape == (1005, 64)
    assert ((axes[:1000] - axes[1000]) ** 2).sum(axis=1).tolist() == pytest.approx([1.0] * 1000)


def test_axes_of_numbers_are_z_scores_of_what_is_known() -> None:
    """Mean 0 and population standard deviation 1 over the values that are there."""
    column = numeric(pd.Series([1.0, 5.0, np.nan], name="c"))
    assert column.axes(column.codes)[:2, 0].tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("kind", [numeric, nominal, lambda column: ordinal(column, None)])
def test_a_column_without_differences_has_no_axis(kind: object) -> None:
    """A constant column, or an empty one, plays no part in distances."""
    for column in (pd.Series([3, 3, 3], name="c"), pd.Series([np.nan, np.nan], name="c")):
        read = kind(column)  # type: ignore[operator] - one of three functions of a column
        assert read.axes(read.codes).shape == (len(column), 0)


def test_losses_are_per_cent() -> None:
    """Numbers lose SSE / SST, levels the mean distance of ranks, names the share of mismatches."""
    numbers = numeric(pd.Series([0, 10, 20, 30], name="c"))
    assert numbers.loss(numbers.codes, np.array([5.0, 5.0, 25.0, 25.0])) == pytest.approx(100 * 100 / 500)
    levels = ordinal(pd.Series([0, 1, 2, 3, 4], name="c"), None)
    assert levels.loss(levels.codes, np.zeros(5)) == pytest.approx(100 * 2 / 4)
    names = nominal(pd.Series(["a", "b", "c", "a"], name="c"))
    assert names.loss(names.codes, np.zeros(4)) == pytest.approx(50.0)


def test_categories_keep_their_order_and_their_type() -> None:
    """A column of ordered categories needs no names of levels."""
    column = pd.Series(
        ["low", "high", "mid"], name="c", dtype=pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    )
    read = ordinal(column, None)
    assert read.codes.tolist() == [0.0, 2.0, 1.0]
    pd.testing.assert_series_equal(read.write(read.codes, read.missing), column)


def test_what_is_missing_is_written_as_missing() -> None:
    """Text keeps its type and its missing values."""
    column = pd.Series(["a", None, "b"], name="c", index=[4, 5, 6])
    read = nominal(column)
    pd.testing.assert_series_equal(read.write(read.codes, read.missing), column)


def test_values_that_are_no_level_are_counted_not_shown() -> None:
    """The error says how many, not which."""
    with pytest.raises(Misfit, match="column 'c' holds 2 values that are none of its 1 levels") as caught:
        ordinal(pd.Series(["low", "secret", "secret"], name="c"), ["low"])
    assert "secret" not in str(caught.value)


def test_names_that_cannot_be_compared_are_refused() -> None:
    """A list is no name."""
    with pytest.raises(Misfit, match="column 'c' holds values that cannot be compared"):
        nominal(pd.Series([["a"], ["b"]], name="c"))
