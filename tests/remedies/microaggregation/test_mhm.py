"""The optimal partition along a path, and the univariate optimum."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remedies import Misfit
from remedies.microaggregation import information_loss, mhm, npn_path, optimal_univariate, standardise
from tests.remedies.microaggregation import textbook
from tests.remedies.microaggregation.tables import COMPANIES, cloud, grids
from tests.tiers import examples


@pytest.mark.parametrize(
    ("path", "groups", "loss"),
    [
        ([10, 8, 5, 2, 1, 9, 0, 6, 7, 3, 4], [[10, 8, 5], [2, 1, 9, 0, 6], [7, 3, 4]], 55.1027),
        ([10, 5, 2, 1, 6, 7, 9, 0, 3, 4, 8], [[10, 5, 2], [1, 6, 7, 9, 0], [3, 4, 8]], 43.7401),
    ],
)
def test_companies(path: list[int], groups: list[list[int]], loss: float):
    """Along the published paths the groups and the loss are the published ones."""
    labels = mhm(COMPANIES, path, 3)
    assert labels.tolist() == textbook.labels(groups)
    assert information_loss(COMPANIES, labels) == pytest.approx(loss, abs=5e-5)


@pytest.mark.parametrize(
    ("file", "k", "loss"),
    [
        ("Tarragona", 3, 17.526),
        ("Tarragona", 5, 28.167),
        ("Tarragona", 10, 38.718),
        ("CASCrefmicrodata", 3, 6.211),
        ("CASCrefmicrodata", 5, 11.054),
        ("CASCrefmicrodata", 10, 20.227),
    ],
)
def test_reference_sets(reference_data: Path, file: str, k: int, loss: float):
    """On the literature's reference sets NPN and MHM together lose what was measured before."""
    table = np.loadtxt(reference_data / "microdata" / f"{file}.csv", delimiter=",", skiprows=1)
    assert information_loss(table, mhm(table, npn_path(table), k)) == pytest.approx(loss, abs=5e-4)


@given(grids(most=13), st.data())
@settings(max_examples=examples(80))
def test_no_cut_of_the_path_loses_less(table, data):
    """Among all ways to cut a path into k to 2k-1 records, none loses less."""
    k = data.draw(st.integers(2, min(5, len(table))))
    path = data.draw(st.permutations(range(len(table))))
    reckoned = textbook.Table(table)
    labels = mhm(table, path, k)
    groups = [np.flatnonzero(labels == g).tolist() for g in range(labels.max() + 1)]
    assert sorted(map(sorted, groups)) in [sorted(map(sorted, cut)) for cut in textbook.cuts(path, k)]
    assert reckoned.sse(groups) <= min(map(reckoned.sse, textbook.cuts(path, k))) + 1e-9


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=8), st.integers(2, 4))
@settings(max_examples=examples(60))
def test_no_partition_of_a_column_loses_less(column, k):
    """Among all partitions into groups of at least k, none loses less than the univariate optimum."""
    if len(column) < k:
        return
    reckoned = textbook.Table(column)
    best = min(reckoned.loss(groups) for groups in textbook.partitions(range(len(column)), k))
    assert information_loss(column, optimal_univariate(column, k)) == pytest.approx(best, abs=1e-9)


def test_published_column():
    """Hansen and Mukherjee's values are grouped as they group them."""
    column = np.array([300, 302, 308, 310, 315, 420, 425, 431, 560, 565, 900.0])
    labels = optimal_univariate(column, 3)
    assert labels.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    sse = sum(((column[labels == g] - column[labels == g].mean()) ** 2).sum() for g in range(3))
    assert sse == pytest.approx(76158.666667, abs=1e-6)
    assert information_loss(column, labels) == pytest.approx(100 * 76158.666667 / 330922.545455, abs=1e-6)


def test_order_of_the_column_does_not_matter():
    """Groups follow values, not positions."""
    assert optimal_univariate([900, 300, 420, 302, 425, 308], 3).tolist() == [0, 1, 0, 1, 0, 1]


def test_duplicates_cost_nothing():
    """Five distinct records of which each comes twenty times are grouped without any loss."""
    table = np.repeat(cloud(2, 5), 20, axis=0)
    assert information_loss(table, mhm(table, np.arange(100), 7)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("n", range(2, 30))
def test_sizes(n: int):
    """Every n of at least k can be cut into groups of k to 2k-1."""
    table = cloud(n, n)
    for k in range(2, n + 1):
        sizes = np.bincount(mhm(table, npn_path(table), k))
        assert k <= sizes.min() <= sizes.max() < 2 * k


def test_far_from_zero():
    """Values that are large and close together are grouped as if they were small."""
    column = np.array([1.0, 2.0, 3.0, 11.0, 12.0, 14.0, 30.0, 31.0])
    assert optimal_univariate(column + 1e9, 2).tolist() == optimal_univariate(column, 2).tolist()


def test_standardises_itself():
    """Standardising before changes nothing."""
    path = npn_path(COMPANIES)
    assert mhm(standardise(COMPANIES), path, 3).tolist() == mhm(COMPANIES, path, 3).tolist()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (range(10), r"the path has shape \(10,\); expected one index per record: \(11,\)"),
        ([0] * 11, "the path does not visit each of the 11 records once"),
        (range(1, 12), r"the path has indices outside 0\.\.10"),
        (range(-1, 10), r"the path has indices outside 0\.\.10"),
        (np.arange(11) * 1.0, "the path has dtype float64; expected whole numbers"),
    ],
)
def test_wrong_path(path, says: str):
    """A path that does not visit every record once is refused."""
    with pytest.raises(Misfit, match=says):
        mhm(COMPANIES, list(path) if isinstance(path, range) else path, 3)


def test_wrong_column():
    """The univariate optimum takes one column."""
    with pytest.raises(Misfit, match="the table has 2 columns; the univariate optimum takes one"):
        optimal_univariate(COMPANIES, 3)
    with pytest.raises(Misfit, match="groups of k = 4 need at least 4"):
        optimal_univariate([1, 2, 3], 4)
