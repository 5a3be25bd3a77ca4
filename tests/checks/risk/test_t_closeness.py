"""t-closeness of frames."""

import datetime as dt
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from checks.risk import Hierarchy, t_closeness
from checks.risk.pairs import ClassPairs
from checks.risk.t_distances import class_distances

TREE = Hierarchy.of({"a": ["A", "*"], "b": ["A", "*"], "c": ["C", "*"], "d": ["D", "*"], "e": ["D", "*"]})
ROWS = st.lists(
    st.tuples(st.sampled_from(["x", "y", None]), st.integers(0, 1), st.sampled_from(["a", "b", "c", "d", "e", None])),
    min_size=1,
    max_size=40,
)
NUMBERS = st.lists(
    st.tuples(st.sampled_from(["x", "y", None]), st.integers(0, 2), st.one_of(st.none(), st.integers(-5, 12))),
    min_size=1,
    max_size=40,
)


def shares(values):
    """Return the share of each value, exactly."""
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}


def farthest(rows, distance):
    """Return the largest distance of a class of rows (two keys and a value) from all rows, by a definition."""
    classes: dict[object, list[object]] = {}
    for *keys, value in rows:
        classes.setdefault(tuple(keys), []).append(value)
    everybody = shares([row[-1] for row in rows])
    return max(distance(shares(values), everybody) for values in classes.values())


def equal(p, q):
    """Half the sum of absolute differences."""
    return sum(abs(p.get(value, 0) - q.get(value, 0)) for value in p.keys() | q.keys()) / 2


def ordered(p, q):
    """The mean absolute cumulative difference; None after the largest."""
    order = sorted(p.keys() | q.keys(), key=lambda value: (value is None, value or 0))
    cumulated = [abs(sum(p.get(v, 0) - q.get(v, 0) for v in order[: i + 1])) for i in range(len(order))]
    return sum(cumulated) / Fraction(max(len(order) - 1, 1))


def hierarchical(p, q):
    """Half the sum, over the edges of the tree, of the absolute differences below, each edge half a height of 2."""
    paths = {value: (f"0{value}", f"1{node}") for value, node, _ in zip(*TREE.levels, strict=True)}
    paths[None] = ("0", "1")
    found: Counter[str] = Counter()
    for value in p.keys() | q.keys():
        for node in paths[value]:
            found[node] += p.get(value, 0) - q.get(value, 0)
    return sum(abs(one) for one in found.values()) / 4


def test_salaries_of_the_paper():
    """Salaries of 3k to 11k: the classes of {3,4,5} and of {6,8,11} (Li et al. 2007)."""
    table = pd.DataFrame({"q": [1, 1, 1, 2, 2, 2, 3, 3, 3], "salary": [3, 4, 5, 6, 8, 11, 7, 9, 10]})
    everybody = table.copy()
    low = t_closeness(table[:3], ["q"], "salary", distance="ordered", reference=everybody)
    spread = t_closeness(table[3:6], ["q"], "salary", distance="ordered", reference=everybody)
    assert (low.t, spread.t) == (0.375, pytest.approx(1 / 6, abs=1e-15))
    assert (low.reference, low.distance) == ("reference", "ordered")
    whole = t_closeness(table, ["q"], "salary", distance="ordered", t=0.3)
    assert (whole.t, whole.reference) == (0.375, "table")
    assert (whole.columns["salary"].above.records, whole.columns["salary"].above.classes) == (3, 1)
    assert t_closeness(table, ["q"], "salary", distance="ordered", t=0.375).columns["salary"].above.records == 0


def test_adult(reference_data):
    """The published figure of Adult: salary class, by the other eight columns."""
    adult = pd.read_csv(reference_data / "adult" / "adult.csv", sep=";")
    others = [name for name in adult.columns if name != "salary-class"]
    assert t_closeness(adult, others, "salary-class").t == pytest.approx(0.7510775147536636, rel=1e-15)
    text = (reference_data / "adult" / "hierarchies" / "adult_hierarchy_salary-class.csv").read_text(encoding="utf-8")
    flat = Hierarchy.from_csv(text)
    assert t_closeness(adult, others, "salary-class", hierarchy=flat).t == pytest.approx(0.7510775147536636, rel=1e-15)


def test_diseases_of_a_tree():
    """Diseases under one node are nearer than those under two: half of the height."""
    table = pd.DataFrame({"q": [1, 2], "s": ["a", "b"]})
    assert t_closeness(table, ["q"], "s").t == 0.5
    assert t_closeness(table, ["q"], "s", hierarchy=TREE).t == 0.25
    far = pd.DataFrame({"q": [1, 2], "s": ["a", None]})
    assert t_closeness(far, ["q"], "s", hierarchy=TREE).t == 0.5


def test_dates_have_an_order():
    """Days, times and decimals are put in order; a reference may hold others."""
    days = pd.DataFrame({"q": [1, 1, 2], "s": [dt.date(2026, 1, 1), dt.date(2026, 1, 2), dt.date(2026, 3, 1)]})
    assert t_closeness(days, ["q"], "s", distance="ordered").t == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert t_closeness(days.assign(s=pd.to_datetime(days["s"])), ["q"], "s", distance="ordered").t == 0.5


def test_one_value_is_close_and_an_empty_frame_has_no_figure():
    """A class of the whole table discloses nothing; without a record there is nothing to measure."""
    table = pd.DataFrame({"q": [1, 2], "s": [7, 7]})
    assert t_closeness(table, ["q"], "s", distance="ordered").t == 0
    empty = t_closeness(table[:0], ["q"], "s", t=0.1)
    assert (empty.t, empty.rows, empty.columns["s"].above.records) == (None, 0, 0)
    other = pd.DataFrame({"s": [8]})
    assert t_closeness(table, ["q"], "s", reference=other).t == 1
    assert t_closeness(table, ["q"], "s", reference=other, distance="ordered").t == 1


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"quasi_identifiers": []}, ValueError, "no quasi-identifier"),
        ({"sensitive": "q"}, ValueError, "both quasi-identifier and sensitive: q"),
        ({"t": 1.5}, ValueError, "expected 0 to 1"),
        (
            {"distance": "ordered"},
            TypeError,
            "column 's' holds string values; 'ordered' takes numbers",
        ),
        ({"distance": "emd"}, ValueError, "distance is 'emd'; expected 'equal' or 'ordered'"),
        ({"hierarchy": TREE, "distance": "ordered"}, ValueError, "is itself the distance"),
        ({"hierarchy": TREE, "sensitive": ["s", "n"]}, ValueError, "a hierarchy is of one sensitive column"),
        ({"hierarchy": Hierarchy.of({"x": ["*"]})}, ValueError, "column 's': 1 values are not in the hierarchy"),
        ({"reference": pd.DataFrame({"s": []})}, ValueError, "the reference has no record"),
    ],
)
def test_what_is_wrong_is_reported(given, error, message):
    """Each in its own words, none with a value."""
    table = pd.DataFrame({"q": [1, 1], "s": ["x", "canary"], "n": [1, 2]})
    asked = {"quasi_identifiers": ["q"], "sensitive": "s"} | given
    with pytest.raises(error, match=message) as caught:
        t_closeness(table, asked.pop("quasi_identifiers"), asked.pop("sensitive"), **asked)
    assert "canary" not in str(caught.value)


@given(ROWS)
def test_agrees_with_the_definitions(rows):
    """Equal and hierarchical distances are those of exact arithmetic, in any order of the rows."""
    table = pd.DataFrame(rows, columns=["a", "b", "s"]).sample(frac=1, random_state=1)
    found = t_closeness(table, ["a", "b"], "s", missing_is_a_value=True)
    assert found.t == pytest.approx(float(farthest(rows, equal)), rel=1e-12)
    found = t_closeness(table, ["a", "b"], "s", hierarchy=TREE, missing_is_a_value=True)
    assert (found.distance, found.t) == ("hierarchical", pytest.approx(float(farthest(rows, hierarchical)), rel=1e-12))


@given(NUMBERS, NUMBERS)
def test_the_ordered_distance_agrees_with_the_definition(rows, others):
    """Against the table's own distribution and another one, with values that only one of them has."""
    table = pd.DataFrame(rows, columns=["a", "b", "s"])
    table["s"] = table["s"].astype("Int64")
    of: Any = {"distance": "ordered", "missing_is_a_value": True}
    found = t_closeness(table.sample(frac=1, random_state=1), ["a", "b"], "s", **of)
    assert found.t == pytest.approx(float(farthest(rows, ordered)), rel=1e-12)
    reference = pd.DataFrame(others, columns=["a", "b", "s"]).astype({"s": "Int64"})
    everybody = dict.fromkeys((row[-1] for row in rows), Fraction()) | shares([row[-1] for row in others])
    expected = farthest(rows, lambda p, _: ordered(p, everybody))
    found = t_closeness(table, ["a", "b"], "s", reference=reference, **of)
    assert found.t == pytest.approx(float(expected), rel=1e-12)


@given(ROWS)
def test_generalising_never_raises_it(rows):
    """Leaving out a quasi-identifier merges classes: t does not grow (Li et al. 2007, generalisation property)."""
    table = pd.DataFrame(rows, columns=["a", "b", "s"])
    assume(table["s"].notna().any())  # else nothing is compared
    for tree in (None, TREE):
        fine, coarse = (t_closeness(table, names, "s", hierarchy=tree).t for names in (["a", "b"], ["a"]))
        assert coarse <= fine + 1e-12


@pytest.mark.parametrize("how", ["equal", "ordered"])
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(1, 9)), min_size=1, max_size=30))
def test_as_many_records_as_there_may_be_are_counted_exactly(how, rows):
    """Terabytes of records are as far apart as a handful: no product of counts overflows."""
    classes, values, records = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    classes = np.unique(classes, return_inverse=True)[1]
    totals = np.bincount(values, weights=records, minlength=5).astype(np.int64)
    few, many = (
        class_distances(ClassPairs.of(classes, values, records * times), totals * times, how=how)
        for times in (1, 2**40)
    )
    assert many.dtype == np.float64
    assert many == pytest.approx(few, abs=1e-12)
