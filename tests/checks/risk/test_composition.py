"""Composition: two releases that are k-anonymous each, laid beside one another."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.risk import intersect
from checks.risk.composition import intersect_signed
from checks.risk.signatures import Signer


def test_two_3_anonymous_releases_of_nine_people_expose_six():
    """Three stay together in both; the other six are left in groups of two and one."""
    found = intersect(list("aaabbbccc"), list("aaabcbccb"), 3)
    assert (found.persons, found.exposed, found.smallest) == (9, 6, 1)
    assert found.groups.tolist() == [3, 3, 3, 2, 1, 2, 2, 2, 1]
    assert found.histogram == ((1, 2), (2, 4), (3, 3))


def test_two_3_anonymous_releases_of_nine_people_expose_all_nine():
    """Rows and columns of a square: each group of one release has one person of each group of the other."""
    found = intersect(list("aaabbbccc"), list("abcabcabc"), 3)
    assert (found.exposed, found.smallest) == (9, 1)


def test_the_same_release_twice_exposes_nobody_new():
    """Who learns nothing new learns nothing: the groups are those of the release."""
    found = intersect(list("aaabbb"), list("xxxyyy"), 3)
    assert (found.exposed, found.smallest) == (0, 3)


def test_frames_are_joined_by_who_the_rows_are_about():
    """The index names the people: other order, people who come and go, and columns of other names."""
    before = pd.DataFrame({"age": ["30-39", "30-39", None, None]}, index=["ann", "bob", "cy", "dee"])
    after = pd.DataFrame({"zip": [1, 1, 2], "sex": ["f", "f", None]}, index=["bob", "ann", "dee"])
    found = intersect(before, after, 2)
    assert (found.persons, found.exposed) == (3, 1)
    assert intersect(before["age"], after["zip"], 2).exposed == 1


def test_null_is_a_value_of_its_own():
    """People without a value are alike with one another, as in a GROUP BY."""
    assert intersect([None, None, "a", "a"], ["x", "x", "x", "x"], 2).exposed == 0


def test_a_person_with_several_rows_counts_with_the_smallest_group():
    """Who is known by one row that few share is found by it."""
    before = pd.Series(["a", "a", "b"], index=["ann", "bob", "ann"])
    after = pd.Series(["x", "x"], index=["ann", "bob"])
    assert intersect(before, after, 2).groups.tolist() == [1, 2]


def test_nobody_in_both():
    """Where no person is in both releases there is nothing to intersect."""
    found = intersect(pd.Series(["a"], index=[1]), pd.Series(["a"], index=[2]), 2)
    assert (found.persons, found.exposed, found.smallest, found.histogram) == (0, 0, None, ())
    assert intersect([], [], 2).persons == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40), st.integers(2, 5))
def test_the_groups_are_those_of_both_columns_together(rows, k):
    """For one row per person, the intersection is the class of the pair of classes; signatures say the same."""
    before, after = [row[0] for row in rows], [row[1] for row in rows]
    found = intersect(before, after, k)
    sizes = pd.Series(rows).map(pd.Series(rows).value_counts()).tolist() if rows else []
    assert found.groups.tolist() == sizes
    assert found.exposed == sum(size < k for size in sizes)
    signer = Signer(b"k" * 32)
    signed = [b"".join(signer.signature((one,)) for one in column) for column in (range(len(rows)), before, after)]
    assert intersect_signed((signed[0], signed[1]), (signed[0], signed[2]), k).histogram == found.histogram


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_an_intersection_is_never_larger_than_either_class(rows):
    """Two releases together never hide a person better than one of them."""
    before = np.array([row[0] for row in rows])
    alone = np.array([(before == one).sum() for one in before])
    assert (intersect(before, [row[1] for row in rows], 2).groups <= alone).all()


def test_bad_input_is_refused():
    """K below 2 means nothing, and arrays of two lengths cannot be the same people."""
    with pytest.raises(ValueError, match="k is 1; expected at least 2"):
        intersect(["a"], ["a"], 1)
    with pytest.raises(ValueError, match="the releases have 1 and 2 rows"):
        intersect(["a"], ["a", "b"], 2)
