"""Suppression of records, and of as few cells as it takes."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from checks.risk import k_anonymity
from remedies._errors import Misfit
from remedies.generalisation import LDiversityLimit, TClosenessLimit, suppress_cells, suppress_records
from remedies.generalisation.frequencies import read_table
from remedies.generalisation.levels import plain
from remedies.generalisation.suppression import MOST_PATTERNS, _patterns, blank_cells, without_broken
from tests.remedies.generalisation.lattices import cases
from tests.remedies.generalisation.losses import classes_of, read


@given(case=cases(), k=st.integers(2, 5))
def test_small_classes_go(case, k):
    """Exactly the rows in classes smaller than k are suppressed, and nothing else changes."""
    assume(case.rows >= k)
    known = read(case)
    node = [0] * len(case.hierarchies)
    sizes = {labels: one.total() for labels, one in case.classes(node).items()}
    for row in known.rows(without_broken(known.frequencies, k)):
        assert row.gone == (sizes[row.held] < k)
        assert row.gone or row.labels == row.held


@given(case=cases(columns=2), k=st.integers(2, 3))
def test_classes_that_tell_too_much_go(case, k):
    """Rows in classes that break a criterion are suppressed too."""
    assume(case.rows >= k)
    known = read(case)
    rows = known.rows(without_broken(known.frequencies, k, criteria=[LDiversityLimit("secret", 2)]))
    node = [0] * len(case.hierarchies)
    classes = case.classes(node, "secret")
    assert all(row.gone == (classes[row.held].total() < k or len(classes[row.held]) < 2) for row in rows)


def _tables(**options):
    cell = st.sampled_from(["a", "b", "c", None])
    return st.lists(st.tuples(cell, cell, cell), min_size=5, max_size=30, **options).map(
        lambda rows: pd.DataFrame(rows, columns=["p", "q", "r"])
    )


def _blanked(table, k, **arguments):
    frequencies, places = read_table(table, {name: plain(table[name]) for name in table})
    recoding = blank_cells(frequencies, k, **arguments)
    return recoding, recoding.apply(table, places)


@given(table=_tables(), k=st.integers(2, 5))
def test_blanked_tables_are_k_anonymous(table, k):
    """With NULL as a value of its own, each row that leaves reads like k - 1 others."""
    recoding, found = _blanked(table, k)
    if len(found):
        assert k_anonymity(found, list(table)).k >= k
    assert len(found) == len(table) - recoding.rows_suppressed


@given(table=_tables(), k=st.integers(2, 5))
def test_cells_are_blanked_or_stay(table, k):
    """No cell gets another value; rows in large classes are not touched; fewer than k rows are suppressed."""
    recoding, found = _blanked(table, k)
    before = table.loc[found.index]
    same = (found == before) | (found.isna() & before.isna())
    assert (same | found.isna()).all(axis=None)
    sizes = table.groupby(list(table), dropna=False)["p"].transform("size")
    assert same[sizes.loc[found.index] >= k].all(axis=None)
    assert not set(table.index[sizes >= k]) - set(found.index)
    assert recoding.rows_suppressed < k


@given(cells=st.lists(st.sampled_from(["a", "b", None]), min_size=2, max_size=5), data=st.data())
def test_one_cell_is_blanked_where_one_is_enough(cells, data):
    """Rows that differ in one column only lose that cell and no other."""
    place = data.draw(st.integers(0, len(cells) - 1))
    names = list("pqrst"[: len(cells)])
    rows = [[*cells[:place], other, *cells[place + 1 :]] for other in "xyz"]
    table = pd.DataFrame(rows, columns=names)
    _, found = _blanked(table, 3)
    assert found[names[place]].isna().all()
    others = [name for name in names if name != names[place]]
    assert (found[others].isna() == table[others].isna()).all(axis=None)


def test_the_lighter_column_is_blanked():
    """Of two columns that would do, the one whose cells are worth less is blanked."""
    table = pd.DataFrame({"p": ["a", "a", "b", "b"], "q": ["u", "v", "u", "v"]})
    for light, heavy in (("p", "q"), ("q", "p")):
        _, found = _blanked(table, 2, weights={heavy: 2})
        assert found[light].isna().all()
        assert found[heavy].notna().all()


def test_a_row_joins_those_whose_cell_was_null_before():
    """NULL is a value: a blank makes a row one of those that had none from the start, which stay as they are."""
    table = pd.DataFrame({"p": ["a", None, None], "q": ["u", "u", "u"]})
    recoding, found = _blanked(table, 2)
    assert found["p"].isna().all()
    assert found["q"].tolist() == ["u", "u", "u"]
    assert recoding.rows_suppressed == 0


def test_who_has_no_company_is_suppressed():
    """A single row that nothing helps is suppressed, not blanked into a class of its own."""
    table = pd.DataFrame({"p": ["a", "a", "a", "z"], "q": ["u", "u", "u", "w"]})
    recoding, found = _blanked(table, 3)
    assert recoding.rows_suppressed == 1
    assert found.equals(table.iloc[:3])


def test_numbers_stay_numbers():
    """A blanked column of whole numbers or truths has a type that knows NULL."""
    table = pd.DataFrame({"n": np.array([1, 2, 3], np.int32), "b": [True, True, True], "c": [True, False, True]})
    _, found = _blanked(table, 3)
    assert found["n"].dtype == "Int32"
    assert found["b"].dtype == table["b"].dtype
    assert found["c"].dtype == "boolean"
    assert found[["n", "c"]].isna().all(axis=None)


@pytest.mark.parametrize("criterion", [LDiversityLimit("secret", 2), TClosenessLimit("secret", 0.4)])
@given(case=cases(columns=3), k=st.integers(2, 3))
def test_criteria_hold(criterion, case, k):
    """Each class that leaves is diverse, or close to the whole table; equal rows are treated alike."""
    assume(case.rows >= k)
    known = read(case)
    whole = list(known.table["secret"])
    rows = known.rows(blank_cells(known.frequencies, k, criteria=[criterion]))
    assert len({(row.held, row.labels, row.gone) for row in rows}) == len({row.held for row in rows})
    for values in classes_of(rows).values():
        assert values.total() >= k
        if isinstance(criterion, LDiversityLimit):
            assert len(values) >= 2
        else:
            far = (abs(whole.count(one) / len(whole) - values[one] / values.total()) for one in set(whole))
            assert sum(far) / 2 <= 0.4 + 1e-9


@pytest.mark.parametrize("width", [1, 2, 3, 7, 12, 13, 20])
def test_sets_of_columns(width):
    """All sets of up to twelve columns are tried, light ones first; of more, small and large ones, and always all."""
    found = [pattern for _, equal in _patterns([1.0] * width) for pattern in equal]
    assert len(found) == len(set(found)) <= MOST_PATTERNS
    assert found[-1] == tuple(range(width))
    assert [len(pattern) for pattern in found] == sorted(len(pattern) for pattern in found)
    if width <= 12:
        assert len(found) == 2**width - 1
    if width > 1:
        assert {(place,) for place in range(width)} <= set(found)


@pytest.mark.reference_data
def test_adult(adult, adult_rows):
    """Of Adult's 23,470 rows in classes below 5 none is suppressed, and less than a cell in six is blanked."""
    names = list(adult.hierarchies)
    frequencies, places = read_table(adult_rows[names], {name: plain(adult_rows[name]) for name in names})
    reported: list[float] = []
    recoding = blank_cells(frequencies, 5, progress=reported.append)
    found = recoding.apply(adult_rows, places)[names]
    assert k_anonymity(found, names).k >= 5
    assert recoding.rows_suppressed < 5
    assert found.isna().sum().sum() < found.size / 6
    assert reported == sorted(reported)
    assert math.isclose(reported[-1], 1, abs_tol=1e-3)
    assert without_broken(frequencies, 5).rows_suppressed == 23_470


def test_more_columns_than_all_sets_of_which_can_be_tried():
    """A table of fourteen columns is treated too."""
    rows = list(product("ab", repeat=4))
    table = pd.DataFrame([(*row, *row, *row, *row[:2]) for row in rows], columns=list("abcdefghijklmn"))
    _, found = _blanked(table, 2)
    assert k_anonymity(found, list(table)).k >= 2


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ({"z": 1}, Misfit, "column 'z' is not a quasi-identifier"),
        ({"p": 0}, ValueError, "the weight of 'p' is 0"),
        ({"p": math.inf}, ValueError, "the weight of 'p' is inf"),
    ],
)
def test_weights_have_to_fit(weights, error, message):
    """Weights are numbers above 0 of columns that are there."""
    counts = pd.DataFrame({"p": ["a", "b"], "count": 1})
    with pytest.raises(error, match=message):
        suppress_cells(counts, 2, weights=weights)


def test_all_columns_but_the_count_are_quasi_identifiers():
    """No hierarchies are asked for, sensitive columns are those of the criteria, and counts weigh."""
    counts = pd.DataFrame({"p": ["a", "b", None], "s": ["x", "y", "x"], "count": [3, 1, 2]})
    found = suppress_records(counts, 2, criteria=[TClosenessLimit("s", 1)])
    assert found.frequencies.columns == ("p",)
    assert found.suppressed.tolist() == [False, True, False]
    blanked = suppress_cells(counts, 2, criteria=[TClosenessLimit("s", 1)])
    assert blanked.class_sizes().tolist() == [3, 3]
    with pytest.raises(Misfit, match="6 rows cannot form a class of 7"):
        suppress_records(counts, 7, criteria=[TClosenessLimit("s", 1)])


def test_a_column_without_a_value():
    """A column that holds only NULL does no harm."""
    counts = pd.DataFrame({"p": [None, None], "q": ["a", "b"], "count": 1})
    assert suppress_cells(counts, 2).class_sizes().tolist() == [2]
