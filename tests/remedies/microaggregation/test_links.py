"""Neighbours in a block are the nearest, and short links make one path through all records."""

import numpy as np
import pytest

from benchmarks._donors import donors
from remedies._compiled import reordered
from remedies.microaggregation import information_loss, mhm, npn_path
from remedies.microaggregation._blocks import on_axes
from remedies.microaggregation._nearest import list_nearest
from remedies.microaggregation._starts import linked_path
from remedies.microaggregation.standardisation import z_scores
from tests.remedies.microaggregation.tables import cloud, grid


@reordered
def _list(centre: np.ndarray, near: np.ndarray) -> None:
    list_nearest(centre, len(centre), centre.shape[1], near)


@pytest.mark.parametrize("groups", [1, 2, 7, 300])
def test_the_nearest_are_listed(groups: int) -> None:
    """Each list holds what a full comparison finds, nearest first; -1 where there are no more."""
    centre = np.random.default_rng(groups).normal(size=(groups, 8)).astype(np.float32)
    near = np.empty((groups, 5), np.int32)
    _list(centre, near)
    apart = ((centre[:, None] - centre[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    there = min(5, groups - 1)
    assert (near[:, there:] == -1).all()
    found = np.take_along_axis(apart, near[:, :there], axis=1)
    assert found == pytest.approx(np.sort(apart, axis=1)[:, :there], rel=1e-3)
    assert all(len(set(row.tolist())) == there for row in near[:, :there])


@pytest.mark.parametrize("table", [cloud(1, 3_000), grid(2, 3_000), np.ones((1_200, 3)), donors(40)])
def test_each_record_is_on_the_path_once(table: np.ndarray) -> None:
    """Whatever the table, many equal records too, the path is a permutation, and the same one again."""
    points = on_axes(z_scores(table), filled=True)
    path = linked_path(points, passes=2)
    assert np.array_equal(np.sort(path), np.arange(len(table)))
    assert np.array_equal(path, linked_path(points, passes=2))


def test_short_links_beat_the_walk_to_the_nearest() -> None:
    """Cut by MHM, the path of links loses less than the one that leaves stragglers."""
    table = donors(4_000)
    path = linked_path(on_axes(z_scores(table), filled=True), passes=6)
    assert information_loss(table, mhm(table, path, 2)) < information_loss(table, mhm(table, npn_path(table), 2))
