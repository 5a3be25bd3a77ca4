"""MDAV and V-MDAV."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remedies import Misfit
from remedies.microaggregation import information_loss, mdav, vmdav
from tests.remedies.microaggregation import textbook
from tests.remedies.microaggregation.tables import COMPANIES, cloud, grid, grids
from tests.tiers import examples


def _sizes(labels) -> list[int]:
    return np.bincount(labels).tolist()


@pytest.mark.parametrize(
    ("file", "k", "loss"),
    [
        ("Tarragona", 3, 16.93259),
        ("Tarragona", 5, 22.46186),
        ("Tarragona", 10, 33.19288),
        ("CASCrefmicrodata", 3, 5.692186),
        ("CASCrefmicrodata", 5, 9.088435),
        ("CASCrefmicrodata", 10, 14.15593),
    ],
)
def test_reference_sets(reference_data: Path, file: str, k: int, loss: float):
    """On the literature's reference sets MDAV loses what sdcMicro's MDAV loses."""
    table = np.loadtxt(reference_data / "microdata" / f"{file}.csv", delimiter=",", skiprows=1)
    assert information_loss(table, mdav(table, k)) == pytest.approx(loss, abs=1e-5)


@given(grids(), st.data())
@settings(max_examples=examples(60))
def test_mdav_with_ties(table, data):
    """On whole numbers with many ties the groups are those of exact fractions."""
    k = data.draw(st.integers(2, min(6, len(table))))
    assert mdav(table, k).tolist() == textbook.labels(textbook.mdav(textbook.Table(table), k))


@pytest.mark.parametrize("seed", range(4))
def test_mdav_with_many_ties(seed: int):
    """The groups are those of exact fractions where hundreds of records are duplicates."""
    table = grid(seed, 150)
    assert mdav(table, 3 + seed).tolist() == textbook.labels(textbook.mdav(textbook.Table(table), 3 + seed))


@pytest.mark.parametrize("seed", range(6))
def test_mdav_on_floats(seed: int):
    """The groups are the definition's in float64."""
    table = cloud(seed, 300)
    expected = textbook.mdav(textbook.Table(table, exact=False), 2 + seed)
    assert mdav(table, 2 + seed).tolist() == textbook.labels(expected)


@pytest.mark.parametrize("n", range(2, 40))
def test_mdav_sizes(n: int):
    """All groups have k records, the last one k to 2k-1."""
    for k in range(2, min(n, 8) + 1):
        sizes = sorted(_sizes(mdav(cloud(n, n), k)))
        assert sizes[:-1] == [k] * (n // k - 1)
        assert sizes[-1] == k + n % k


@given(grids(most=16), st.data())
@settings(max_examples=examples(50))
def test_vmdav_with_ties(table, data):
    """On whole numbers the groups are those of exact fractions; splitting one above 2k-1 costs nothing."""
    k = data.draw(st.integers(2, min(6, len(table))))
    gamma = data.draw(st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1), Fraction(5, 4), Fraction(2)]))
    reckoned = textbook.Table(table)
    expected = textbook.vmdav(reckoned, k, gamma)
    labels = vmdav(table, k, float(gamma))
    assert k <= min(_sizes(labels)) <= max(_sizes(labels)) < 2 * k
    if max(map(len, expected)) < 2 * k:
        assert labels.tolist() == textbook.labels(expected)
    else:
        assert information_loss(table, labels) <= reckoned.loss(expected) + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_vmdav_on_floats(seed: int):
    """The groups are the definition's in float64."""
    table = cloud(seed, 120)
    reckoned = textbook.Table(table, exact=False)
    expected = textbook.vmdav(reckoned, 3, Fraction(11, 10))
    labels = vmdav(table, 3, 1.1)
    if max(map(len, expected)) < 6:
        assert labels.tolist() == textbook.labels(expected)
    assert information_loss(table, labels) <= reckoned.loss(expected) + 1e-9


def test_clusters_of_different_sizes():
    """V-MDAV finds clusters of k to 2k-1 records where MDAV has to cut through them."""
    clusters = np.repeat([0.0, 10.0, 20.0, 31.0], [3, 5, 4, 3]) + np.tile([0.0, 0.1, 0.2], 5)
    assert sorted(_sizes(vmdav(clusters, 3, 1.1))) == [3, 3, 4, 5]
    assert information_loss(clusters, vmdav(clusters, 3, 1.1)) < information_loss(clusters, mdav(clusters, 3))


@pytest.mark.parametrize("group", [mdav, vmdav])
def test_edges(group):
    """As many records as k, and fewer than 2k, are one group; tables without variation are grouped too."""
    assert group(COMPANIES, 11).tolist() == [0] * 11
    assert group(COMPANIES, 6).tolist() == [0] * 11
    sizes = _sizes(group(np.ones((20, 3)), 3))
    assert 3 <= min(sizes) <= max(sizes) <= 5
    assert group([1, 2, 3, 50, 51, 52], 3).tolist() == [0, 0, 0, 1, 1, 1]
    wide = np.column_stack([COMPANIES, np.full(11, 1e12)])
    assert group(wide, 3).tolist() == group(COMPANIES, 3).tolist()


@pytest.mark.parametrize("group", [mdav, vmdav])
def test_wrong_k(group):
    """A group size below 2 or above the number of records is refused."""
    with pytest.raises(Misfit, match="k is 1; a group needs at least 2 records"):
        group(COMPANIES, 1)
    with pytest.raises(Misfit, match="the table has 11 records; groups of k = 12 need at least 12"):
        group(COMPANIES, 12)


@pytest.mark.parametrize(
    ("gamma", "says"), [(-0.1, "gamma is -0.1; expected at least 0"), (float("inf"), "gamma is not finite")]
)
def test_wrong_gamma(gamma: float, says: str):
    """A gain factor is finite and at least 0."""
    with pytest.raises(Misfit, match=says):
        vmdav(COMPANIES, 3, gamma)
