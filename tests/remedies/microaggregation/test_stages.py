"""A table is grouped in pieces, and whole groups travel between them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks._donors import donors
from remedies.microaggregation import information_loss, microaggregate
from remedies.microaggregation._input import canonical
from remedies.microaggregation._stages import Scheme, again, depth_of, first, means, replaced, travel
from remedies.microaggregation.numbers import decimals
from tests.tiers import examples


def _scheme(table: np.ndarray, depth: int, sweeps: int = 2) -> Scheme:
    return Scheme.fit(table, table.mean(axis=0), table.std(axis=0), depth=depth, sweeps=sweeps, seed=1)


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(2, 60), st.integers(2, 6), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_each_stage_keeps_k(records: int, k: int, columns: int, seed: int) -> None:
    """Groups of k to 2k - 1 records come out of both stages, whatever the values: many are equal here."""
    table = np.random.default_rng(seed).integers(0, 4, (max(records, k), columns)).astype(float)
    points = _scheme(table, 1).points(table)
    labels = first(points, k, seed)
    for _ in range(2):
        sizes = np.bincount(labels)
        assert sizes.min() >= k
        assert sizes.max() < 2 * k
        labels = again(points, labels, k, seed)


def test_a_sweep_never_loses_more() -> None:
    """Groups that are improved lose less than before, or as much."""
    table = donors(3_000)[:, :8]
    points = _scheme(table, 0).points(table)
    labels = first(points, 5, 1)
    before = information_loss(table, labels)
    assert information_loss(table, again(points, labels, 5, 2)) <= before + 1e-9
    assert before < 1.1 * microaggregate(table, 5, sweeps=3).information_loss


def test_groups_travel_whole() -> None:
    """All records of a group go to one cell: that of their centroid."""
    table = donors(2_000)[:, :5]
    scheme = _scheme(table, 3)
    points = scheme.points(table)
    labels = canonical(np.random.default_rng(1).integers(0, 300, 2_000))
    cells = travel(points, labels, scheme.trees[1])
    assert len(np.unique(np.column_stack([labels, cells]), axis=0)) == labels.max() + 1
    assert np.array_equal(cells, scheme.trees[1].of(means(points, labels))[labels])
    assert len(np.unique(cells)) == 8


def test_coordinates_are_the_same_in_any_company() -> None:
    """Bit for bit, a record's place does not depend on the records that come with it; nor on the order of sums."""
    table = donors(5_000)
    scheme = _scheme(table, 4)
    some = np.random.default_rng(1).permutation(5_000)[:77]
    assert np.array_equal(scheme.points(table)[some], scheme.points(table[some]))
    shaken = Scheme.fit(
        table[::-1], table.mean(axis=0) * (1 + 1e-15), table.std(axis=0) * (1 - 1e-15), depth=4, sweeps=2, seed=1
    )
    assert np.array_equal(scheme.points(table), shaken.points(table))
    assert np.array_equal(scheme.trees[2].of(scheme.points(table)), shaken.trees[2].of(scheme.points(table)))


def test_distances_are_those_of_z_scores() -> None:
    """Coordinates are rotated, to six digits; a column that does not vary adds nothing."""
    table = np.column_stack([donors(500)[:, :4], np.full(500, 7.0)])
    scores = (table - table.mean(axis=0)) / np.where(table.std(axis=0) > 0, table.std(axis=0), 1)
    points = _scheme(table, 0).points(table)
    assert np.allclose(
        np.linalg.norm(points[1:] - points[:-1], axis=1), np.linalg.norm(np.diff(scores, axis=0), axis=1)
    )


def test_centroids_fit_the_type_of_their_column() -> None:
    """Whole numbers are rounded half to even, floats to the width of their column, and equal values stay."""
    values = np.array([[1, 0.1, -0.0], [2, 0.3, -0.0], [3, 0.7, 0.1], [4, 0.7, 0.1]])
    out = replaced(values, np.array([0, 0, 1, 1]), ["i4", "f4", "f8"])
    assert out[:, 0].tolist() == [2, 2, 4, 4]
    assert out[:, 1].tolist() == [float(np.float32(0.2))] * 2 + [float(np.float32(0.7))] * 2
    assert out[:, 2].tolist() == [0, 0, 0.1, 0.1]
    assert not np.signbit(out).any()


def test_centroids_have_no_more_decimals_than_their_column() -> None:
    """Prices in cents give means in cents, whichever way rows pass by; equal values stay."""
    values = np.array([[1, 0.1], [2, 0.25], [2, 0.25], [3, 0.7]])
    out = replaced(values, np.array([0, 0, 0, 1]), ["f8", "f4"], [0, 2])
    assert out[:, 0].tolist() == [1.666667, 1.666667, 1.666667, 3]  # whole floats do not say how many they have
    assert out[:, 1].tolist() == [float(np.float32(0.2))] * 3 + [float(np.float32(0.7))]
    assert replaced(values, np.array([0, 0, 0, 1]), ["f8", "f4"], [None, None])[0, 0] == pytest.approx(5 / 3, rel=1e-15)


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([], 0),
        ([1.0, -2.0, 1e300], 0),
        ([0.1, 0.29, -7.25], 2),
        ([1e-15], 15),
        ([1 / 3], None),
        ([0.1 + 0.2], None),
        ([12345678.125, 0.5], 3),
        ([1e308, 1 / 3], None),
    ],
)
def test_the_decimals_of_a_column_are_those_it_is_written_in(values: list[float], places: int | None) -> None:
    """As few as give back every value; of a value that was computed there are too many."""
    assert decimals(np.array(values)) == places
    assert decimals(np.array([*[0.0] * 2_000, *values])) == places  # beyond the first ones too
    assert decimals(np.array([0.1, 0.25], dtype=np.float32)) == 2


def test_a_tree_is_as_deep_as_its_cells_need() -> None:
    """Cells hold so many records on average, or fewer."""
    assert [depth_of(records, 100) for records in (1, 100, 101, 200, 201, 800)] == [0, 0, 1, 1, 2, 3]
