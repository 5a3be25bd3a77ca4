"""Standardisation, loss, lower bound, labels, and what is asked of input."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remedies import Misfit, RemedyError
from remedies.microaggregation import (
    fdh_path,
    information_loss,
    lower_bound,
    lower_bound_estimate,
    mdav,
    mhm,
    npn_path,
    optimal_univariate,
    standardise,
    vmdav,
)
from remedies.microaggregation._input import canonical
from tests.remedies.microaggregation import textbook
from tests.remedies.microaggregation.tables import COMPANIES, cloud, grid, grids
from tests.tiers import examples

# DEIM 2015 G1-4, table 2
PUBLISHED = [
    (0.778, 1.297),
    (0.458, 0.705),
    (0.538, 0.059),
    (0.857, -0.749),
    (1.417, -1.502),
    (-0.342, -0.318),
    (-0.781, 0.758),
    (-1.061, 1.028),
    (-0.342, -1.395),
    (0.658, 1.135),
    (-2.180, -1.018),
]


def test_published_scores():
    """z-scores take the population's standard deviation."""
    assert standardise(COMPANIES) == pytest.approx(np.array(PUBLISHED), abs=6e-4)


@given(grids())
def test_standardised_columns(table):
    """Columns that vary have mean 0 and deviation 1; constant ones stay; doing it twice changes nothing."""
    scores = standardise(table)
    varies = table.min(axis=0) < table.max(axis=0)
    assert scores.shape == table.shape
    assert scores[:, varies].mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert scores[:, varies].std(axis=0) == pytest.approx(1)
    assert (scores[:, ~varies] == table[:, ~varies]).all()
    assert standardise(scores) == pytest.approx(scores, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_any_unit(scale: float):
    """Neither very large nor very small units overflow or vanish."""
    assert standardise(COMPANIES * scale) == pytest.approx(standardise(COMPANIES), abs=1e-12)
    assert npn_path(COMPANIES * scale).tolist() == npn_path(COMPANIES).tolist()


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint64, np.float16, np.float32])
def test_any_kind_of_number(kind):
    """Truth values, whole numbers and floats of any width are numbers."""
    table = (np.arange(12).reshape(6, 2) % 5 > 1).astype(kind)
    assert standardise(table).dtype == np.float64
    assert information_loss(table, [0, 0, 0, 1, 1, 1]) == information_loss(table.astype(float), [0, 0, 0, 1, 1, 1])


def test_frames():
    """A pandas frame is a table, also with whole numbers that may be missing and with truth values beside others."""
    frame = pd.DataFrame(COMPANIES, columns=["area", "employees"])
    mixed = frame.assign(employees=frame["employees"].astype("Int64"), large=frame["area"] > 600)
    assert npn_path(frame).tolist() == npn_path(COMPANIES).tolist()
    assert npn_path(frame["area"]).tolist() == npn_path(COMPANIES[:, 0]).tolist()
    assert npn_path(mixed).tolist() == npn_path(np.column_stack([COMPANIES, COMPANIES[:, 0] > 600])).tolist()


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (pd.array([4711, None, 4713], dtype="Int64"), "column 'age' has 1 missing or infinite values"),
        (["4711", "4712", "4713"], "column 'age' has type str; microaggregation needs integers or floats"),
        (pd.to_datetime(["4711-01-01"] * 3), "column 'age' has type datetime64"),
    ],
)
def test_frames_that_do_not_fit(column, says: str):
    """What does not fit is named by the frame's name for it, without a value."""
    with pytest.raises(Misfit, match=says) as refused:
        npn_path(pd.DataFrame({"sex": [0, 1, 1], "age": column}))
    assert "4711" not in str(refused.value)


@given(grids(), st.data())
@settings(max_examples=examples(60))
def test_loss_is_the_definition(table, data):
    """Loss is 100 SSE / SST in exact fractions, between 0 and 100, whatever numbers name the groups."""
    labels = data.draw(st.lists(st.integers(-3, 3), min_size=len(table), max_size=len(table)))
    groups = [[i for i, label in enumerate(labels) if label == name] for name in set(labels)]
    assert information_loss(table, labels) == pytest.approx(textbook.Table(table).loss(groups), abs=1e-9)
    assert 0 <= information_loss(table, labels) <= 100
    assert information_loss(table, np.zeros(len(table), int)) == pytest.approx(
        100 if np.ptp(table, axis=0).any() else 0
    )


def test_published_optimum():
    """The best partition of the companies loses what it is known to lose."""
    labels = textbook.labels([[0, 1, 2, 9], [3, 4, 8], [5, 6, 7, 10]])
    assert information_loss(COMPANIES, labels) == pytest.approx(34.0218, abs=5e-5)


@given(grids(most=8), st.integers(2, 4))
@settings(max_examples=examples(50))
def test_no_partition_is_below_the_bound(table, k):
    """No partition into groups of at least k loses less than the bound."""
    if len(table) < k:
        return
    reckoned = textbook.Table(table)
    bound = lower_bound(table, k)
    assert bound is not None
    assert 0 <= bound <= min(reckoned.loss(groups) for groups in textbook.partitions(range(len(table)), k))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 5, 12])
def test_bound_is_its_definition(seed: int, k: int):
    """The bound is the sum over the k-1 nearest of the whole table, divided by 2k."""
    table = grid(seed, 120) if seed % 2 else cloud(seed, 120)
    scores = standardise(table)[:, np.ptp(table, axis=0) > 0]
    squares = ((scores[:, None] - scores[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    near = np.sort(squares, axis=1)[:, : k - 1].sum()
    assert lower_bound(table, k) == pytest.approx(100 * near / (2 * k) / (scores**2).sum(), rel=1e-9)
    assert lower_bound_estimate(table, k, sample=500) == pytest.approx(lower_bound(table, k), rel=1e-9)


@pytest.mark.parametrize(
    ("file", "k", "bound"),
    [
        ("Tarragona", 3, 9.855),
        ("Tarragona", 5, 13.927),
        ("Tarragona", 10, 19.218),
        ("CASCrefmicrodata", 3, 3.444),
        ("CASCrefmicrodata", 5, 5.017),
        ("CASCrefmicrodata", 10, 7.336),
    ],
)
def test_bound_of_reference_sets(reference_data: Path, file: str, k: int, bound: float):
    """The certified bounds of the literature's reference sets are those measured before."""
    table = np.loadtxt(reference_data / "microdata" / f"{file}.csv", delimiter=",", skiprows=1)
    assert lower_bound(table, k) == pytest.approx(bound, abs=5e-4)


def test_bound_of_large_tables_is_on_request():
    """Above 20,000 records there is no certificate unless it is asked for, and an estimate is near it."""
    column = np.random.default_rng(1).normal(size=20_001)
    assert lower_bound(column, 2) is None
    assert lower_bound(column[:-1], 2) is not None
    exact = lower_bound(column, 2, exact=True)
    assert exact == pytest.approx(lower_bound_estimate(column, 2, sample=20_001), rel=1e-9)


def test_bound_where_nothing_varies():
    """A constant table has nothing to lose."""
    assert lower_bound(np.ones((5, 2)), 2) == 0.0
    assert information_loss(np.ones((5, 2)), [0, 0, 1, 1, 1]) == 0.0


@given(st.lists(st.integers(-4, 40), min_size=1, max_size=30))
def test_canonical_labels(names):
    """Groups are numbered by their first record, and the same groups get the same numbers."""
    labels = canonical(names)
    seen: list[int] = []
    for label in labels.tolist():
        if label not in seen:
            assert label == len(seen)
            seen.append(label)
    assert all((labels[i] == labels[j]) == (names[i] == names[j]) for i in range(len(names)) for j in range(i))
    assert canonical([7 * name - 100 for name in names]).tolist() == labels.tolist()


TAKE_A_TABLE = [
    standardise,
    npn_path,
    lambda table: fdh_path(table, anchors=1),
    lambda table: mhm(table, [0, 1, 2], 2),
    lambda table: mdav(table, 2),
    lambda table: vmdav(table, 2),
    lambda table: optimal_univariate(table, 2),
    lambda table: information_loss(table, [0, 0, 0]),
    lambda table: lower_bound(table, 2),
]


@pytest.mark.parametrize("function", TAKE_A_TABLE)
@pytest.mark.parametrize(
    ("table", "says"),
    [
        ([4711.0, np.nan, 4712.0], "column 0 has 1 missing or infinite values"),
        ([[1.0, 4711.0], [2.0, np.inf], [3.0, -np.inf]], "column 1 has 2 missing or infinite values"),
        (["4711", "4712", "4713"], "the table has dtype <U4"),
        ([None, 4711, 4712], "the table has dtype object"),
        (np.array([4711j, 1, 2]), "the table has dtype complex128"),
        ([[1, 4711], [2], [3, 4]], "not rectangular"),
        (np.zeros((0, 2)), "the table has no records"),
        (np.zeros((3, 1, 1)), "the table has 3 dimensions"),
        (4711, "the table has 0 dimensions"),
    ],
)
def test_tables_that_do_not_fit(function, table, says: str):
    """Every function refuses what is not a finite numeric table, naming column and rule and no value."""
    with pytest.raises(Misfit, match=says) as refused:
        function(table)
    assert isinstance(refused.value, RemedyError)
    assert "4711" not in str(refused.value)


@pytest.mark.parametrize(
    ("labels", "says"),
    [([0] * 10, r"the labels have shape \(10,\)"), ([0.0] * 11, "the labels have dtype float64")],
)
def test_labels_that_do_not_fit(labels, says: str):
    """Labels are one whole number per record."""
    with pytest.raises(Misfit, match=says):
        information_loss(COMPANIES, labels)


@pytest.mark.parametrize(("k", "says"), [(True, "k is a truth value"), (2.5, "k is a float"), ("3", "k is a str")])
def test_k_is_a_whole_number(k, says: str):
    """A group size is a whole number."""
    with pytest.raises(Misfit, match=says):
        mdav(COMPANIES, k)


def test_numpy_whole_numbers():
    """A whole number of numpy is a whole number."""
    assert mdav(COMPANIES, np.int32(3)).tolist() == mdav(COMPANIES, 3).tolist()


def test_sample_of_an_estimate():
    """An estimate needs a record to look at."""
    with pytest.raises(Misfit, match="the sample has 0 records"):
        lower_bound_estimate(COMPANIES, 3, sample=0)
