"""The NPN path: always to the nearest."""

import numpy as np
import pytest
from hypothesis import given, settings

from remedies.microaggregation import npn_path, standardise
from tests.remedies.microaggregation import textbook
from tests.remedies.microaggregation.tables import COMPANIES, cloud, grid, grids
from tests.tiers import examples


def test_companies():
    """The published example has the published path."""
    assert npn_path(COMPANIES).tolist() == [10, 8, 5, 2, 1, 9, 0, 6, 7, 3, 4]


@given(grids())
@settings(max_examples=examples(60))
def test_ties_go_to_the_lowest_index(table):
    """On whole numbers with many ties the path is that of exact fractions."""
    assert npn_path(table).tolist() == textbook.npn(textbook.Table(table))


@pytest.mark.parametrize("seed", range(4))
def test_many_ties(seed: int):
    """The path is that of exact fractions where records fill several leaves and many are equally near."""
    table = grid(seed, 150)
    assert npn_path(table).tolist() == textbook.npn(textbook.Table(table))


@pytest.mark.parametrize("seed", range(6))
def test_tables_of_floats(seed: int):
    """The path is the definition's in float64, through several rebuildings of the tree."""
    table = cloud(seed, 400)
    assert npn_path(table).tolist() == textbook.npn(textbook.Table(table, exact=False))


def test_larger_table():
    """Thousands of records in 36 columns take the path that a plain scan in float64 takes."""
    rng = np.random.default_rng(5)
    table = rng.normal(size=(3_000, 5)) @ rng.normal(size=(5, 36)) + 0.5 * rng.normal(size=(3_000, 36))
    scores = standardise(table)
    left = np.ones(len(scores), bool)
    path = [int(np.argmax((scores**2).sum(axis=1)))]
    for _ in range(len(scores) - 1):
        left[path[-1]] = False
        path.append(int(np.argmin(np.where(left, ((scores - scores[path[-1]]) ** 2).sum(axis=1), np.inf))))
    assert npn_path(table).tolist() == path


def test_nearly_the_same():
    """Distances that are equal in float32 are distinguished."""
    far = np.array([[1e6], [0.0], [1.0 + 2e-7], [1.0], [2.0 + 1e-7], [-1e6]])
    table = textbook.Table(far, exact=False)
    assert npn_path(far).tolist() == textbook.npn(table)


def test_constant_columns_do_not_matter():
    """A column in which nothing varies, however large, leaves the path as it is."""
    assert npn_path(np.column_stack([COMPANIES, np.full(11, 1e12)])).tolist() == npn_path(COMPANIES).tolist()


def test_nothing_varies():
    """Where all records are the same they come in their order."""
    assert npn_path(np.ones((70, 2))).tolist() == list(range(70))


def test_one_column():
    """A table of shape (n,) is one column."""
    assert npn_path([5, 1, 2, 9]).tolist() == npn_path([[5], [1], [2], [9]]).tolist() == [3, 0, 2, 1]


def test_one_record():
    """A single record is its own path."""
    assert npn_path([[3.0, 4.0]]).tolist() == [0]
