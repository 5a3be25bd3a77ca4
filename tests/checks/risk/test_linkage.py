"""Linkage attacks on frames: the voter list, and films that were rated on known days."""

import itertools
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.risk import Linkage, linkage

DAY = timedelta(days=1)
PATIENTS = pd.DataFrame({
    "born": ["1976-01-21", "1986-04-13", "1976-02-28", "1976-01-21", "1986-04-13", "1976-02-28"],
    "sex": ["m", "f", "m", "m", "f", "f"],
    "zip": ["53715", "53715", "53703", "53703", "53706", "53706"],
})  # fmt: skip
VOTERS = pd.DataFrame({
    "name": ["Andre", "Beth", "Carol", "Dan", "Ellen"],
    "birthday": ["1976-01-21", "1981-01-10", "1944-10-01", "1984-02-21", "1972-04-19"],
    "gender": ["m", "f", "f", "m", "f"],
    "postcode": ["53715", "55410", "90210", "02174", "02237"],
})  # fmt: skip


def test_voter_list():
    """Of the patients and voters of LeFevre et al. 2005, one patient is found: Andre."""
    found = linkage(PATIENTS, VOTERS, on={"born": "birthday", "sex": "gender", "zip": "postcode"})
    assert found == Linkage(rows=6, uniquely_matched_both_ways=1, candidates={0: 5, 1: 1})
    assert (found.matched, found.uniquely_matched, found.fraction) == (1, 1, 1 / 6)


def test_candidates_are_rows():
    """Copies in the auxiliary table are candidates one by one; copies in the table are each matched."""
    table, auxiliary = pd.DataFrame({"a": [1, 1, 2, 3, 4]}), pd.DataFrame({"a": [1, 2, 2, 3, 9]})
    found = linkage(table, auxiliary, on=["a"])
    assert found.candidates == {0: 1, 1: 3, 2: 1}
    assert found.uniquely_matched_both_ways == 1
    assert linkage(auxiliary, table, on=["a"]).uniquely_matched_both_ways == 1


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA])
def test_null_matches_nothing(nothing):
    """A NULL tells an attacker nothing, not even beside another NULL."""
    table = pd.DataFrame({"a": pd.Series([1.0, nothing], dtype="Float64"), "b": [1, 1]})
    assert linkage(table, table, on=["a", "b"]).candidates == {0: 1, 1: 1}
    assert linkage(table, table, on=["a", "b"], tolerance={"a": 5}).candidates == {0: 1, 1: 1}


def test_tolerance_on_numbers():
    """Numbers match up to the tolerance itself, also where floating point is a little beside it."""
    table, auxiliary = pd.DataFrame({"a": [0.8, 5.0]}), pd.DataFrame({"a": [0.7, 0.9, 5.2]})
    assert linkage(table, auxiliary, on=["a"], tolerance={"a": 0.1}).candidates == {0: 1, 2: 1}
    assert linkage(table, auxiliary, on=["a"], tolerance={"a": 0.2}).candidates == {1: 1, 2: 1}
    prices = [pd.DataFrame({"a": [Decimal(text) for text in texts]}) for texts in (["0.80"], ["0.70", "0.91"])]
    assert linkage(prices[0], prices[1], on=["a"], tolerance={"a": 0.1}).candidates == {1: 1}


def test_whole_numbers_are_exact():
    """Whole numbers are as far apart as they are, however large."""
    table, auxiliary = pd.DataFrame({"a": [2**60]}), pd.DataFrame({"a": [2**60 + 1, 2**60 + 2]})
    assert linkage(table, auxiliary, on=["a"], tolerance={"a": 1}).candidates == {1: 1}
    assert linkage(table, auxiliary, on=["a"], tolerance={"a": 1.9}).candidates == {1: 1}
    largest = pd.DataFrame({"a": [2**63 - 1]})
    assert linkage(largest, largest, on=["a"], tolerance={"a": 1}).matched == 1


def test_times_in_every_form():
    """Dates, wall clocks and ISO texts are one thing; moments are compared as moments."""
    day = pd.DataFrame({"at": [date(2026, 1, 3)]})
    wall = pd.DataFrame({"at": pd.to_datetime(["2026-01-06 00:00:00"])})
    text = pd.DataFrame({"at": ["2026-01-06T00:00:01"]})
    assert linkage(day, wall, on=["at"], tolerance={"at": 3 * DAY}).matched == 1
    assert linkage(day, text, on=["at"], tolerance={"at": 3 * DAY}).matched == 0
    tokyo = pd.DataFrame({"at": ["2026-01-03T09:00:00+09:00"]})
    utc = pd.DataFrame({"at": pd.to_datetime(["2026-01-03 00:00:00"]).tz_localize("UTC")})
    assert linkage(tokyo, utc, on=["at"], tolerance={"at": timedelta()}).matched == 1
    assert linkage(utc, pd.DataFrame({"at": [datetime(2026, 1, 3, tzinfo=UTC)]}), on=["at"]).matched == 1


RATINGS = pd.DataFrame({
    "subscriber": [1, 1, 1, 2, 2, 3, 3],
    "film": ["a", "b", "c", "a", "b", "a", "c"],
    "stars": [5, 4, 3, 5, 1, 4, 3],
    "rated": pd.to_datetime([f"2005-01-{day:02}" for day in (1, 9, 20, 2, 9, 3, 21)]),
})  # fmt: skip
KNOWN = pd.DataFrame({
    "friend": ["ann", "ann", "bob", "bob", "cid", "dan", None],
    "film": ["a", "b", "a", "b", "c", None, "a"],
    "stars": [5, 4, 5, 2, 3, 5, 5],
    "rated": pd.to_datetime([f"2005-01-{day:02}" for day in (2, 10, 2, 9, 20, 1, 1)]),
})  # fmt: skip


def known(**parameters):
    """Return the linkage of known people with the subscribers."""
    days = {"rated": 3 * DAY}
    given_too = parameters.pop("tolerance", {})
    return linkage(
        RATINGS,
        KNOWN,
        on=["film", "stars", "rated"],
        tolerance=days | given_too,
        entity={"subscriber": "friend"},
        **parameters,
    )


def test_ratings():
    """A few ratings known to within days single a person out: ann; no person fits bob; cid may be one of two.

    Ann's only match is not hers alone: what is known of cid fits the same person.
    """
    assert known() == Linkage(rows=4, uniquely_matched_both_ways=0, candidates={0: 2, 1: 1, 2: 1})


def test_some_of_what_is_known_may_be_wrong():
    """With `at_least`, so many of the known ratings are enough; a person known by fewer is not found."""
    assert known(at_least=1).candidates == {0: 1, 2: 3}
    assert known(at_least=2) == Linkage(rows=4, uniquely_matched_both_ways=1, candidates={0: 3, 1: 1})
    assert known(tolerance={"stars": 1}).candidates == {0: 1, 1: 2, 2: 1}


def test_a_fact_that_is_told_twice_is_one():
    """Copies among the known rows, or among those of the table, change nothing."""
    twice = pd.concat([KNOWN, KNOWN.iloc[:1]], ignore_index=True)
    exact = {"on": ["film", "stars"], "entity": {"subscriber": "friend"}, "at_least": 2}
    assert linkage(RATINGS, twice, **exact) == linkage(RATINGS, KNOWN, **exact)
    assert linkage(pd.concat([RATINGS, RATINGS]), KNOWN, **exact) == linkage(RATINGS, KNOWN, **exact)


def test_frames_are_not_changed_and_their_index_does_not_matter():
    """A shuffled frame, with an index that repeats, gives the same and stays as it is."""
    shuffled = RATINGS.sample(frac=1, random_state=2).set_axis([0] * len(RATINGS))
    before = shuffled.copy()
    assert linkage(shuffled, KNOWN, on=["film"]) == linkage(RATINGS, KNOWN, on=["film"])
    assert linkage(KNOWN, shuffled, on=["rated"], tolerance={"rated": DAY}).rows == len(KNOWN)
    pd.testing.assert_frame_equal(shuffled, before)


def test_nothing_to_link():
    """Without rows there is no share; an auxiliary table without rows links no person."""
    empty = RATINGS[:0]
    assert linkage(empty, KNOWN, on=["film"]) == Linkage(0, 0, {}, not_compared=("film",))
    assert linkage(empty, KNOWN, on=["film"]).fraction is None
    assert linkage(RATINGS, KNOWN[:0], on=["film", "rated"], tolerance={"rated": DAY}).candidates == {0: 7}
    assert linkage(RATINGS, KNOWN[:0], on=["film"], entity={"subscriber": "friend"}).fraction is None
    assert linkage(empty, KNOWN, on=["film"], entity={"subscriber": "friend"}).candidates == {0: 4}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"on": []}, "at least one shared column"),
        ({"on": ["stars", "film"], "tolerance": {"film": 1}}, "'film' holds no numbers"),
        ({"on": ["rated"], "tolerance": {"rated": 1}}, "'rated' holds no numbers"),
        ({"on": ["stars"], "tolerance": {"stars": DAY}}, "'stars': 7 values are not valid timestamps"),
        ({"on": ["film"], "tolerance": {"film": DAY}}, "'film': 7 values are not valid timestamps"),
        ({"on": ["stars"], "tolerance": {"stars": -1}}, "not below 0"),
        ({"on": ["stars"], "tolerance": {"stars": float("inf")}}, "not below 0"),
        ({"on": ["rated"], "tolerance": {"rated": -DAY}}, "not below 0"),
        ({"on": ["film"], "tolerance": {"stars": 1}}, "not shared: stars"),
        ({"on": {"film": "stars"}}, "'film' is of two kinds, number and text"),
        ({"on": ["film"], "at_least": 2}, "it needs 'entity'"),
        ({"on": ["film"], "at_least": 0, "entity": {"subscriber": "friend"}}, "from 1"),
    ],
)
def test_what_does_not_fit_is_refused(parameters, message):
    """Tolerances of the wrong kind, negative ones, and columns of two kinds are named, without a value."""
    with pytest.raises(ValueError, match=message) as error:
        linkage(RATINGS, KNOWN, **parameters)
    assert "2005" not in str(error.value)


def test_missing_columns_are_named():
    """A column that a frame has not is named, and the nearest one suggested."""
    for on in (["flim"], {"film": "flim"}):
        with pytest.raises(KeyError, match="column 'flim' not found; did you mean 'film'"):
            linkage(RATINGS, KNOWN, on=on)
    with pytest.raises(KeyError, match="column 'subscriber' not found"):
        linkage(RATINGS, KNOWN, on=["film"], entity="subscriber")


def test_mixed_values_are_refused():
    """A column of several kinds, and times of which only some know their offset, cannot be compared."""
    mixed = pd.DataFrame({"film": ["a", 1], "rated": ["2026-01-01", "2026-01-01T00:00:00Z"]})
    aware = pd.DataFrame({"film": ["a"], "rated": ["2026-01-01T00:00:00Z"]})
    with pytest.raises(ValueError, match="'film' holds mixed-integer values"):
        linkage(mixed, mixed, on=["film"])
    with pytest.raises(ValueError, match="some values have an offset, the others have none"):
        linkage(mixed, mixed, on=["rated"], tolerance={"rated": DAY})
    with pytest.raises(ValueError, match="one table has timestamps without a time zone"):
        linkage(RATINGS, aware, on=["rated"], tolerance={"rated": DAY})


VALUES = st.integers(-3, 3) | st.none()
ROWS = st.lists(st.tuples(VALUES, st.sampled_from("xy") | st.none(), st.integers(0, 3)), max_size=10)


def by_hand(own, other, reach):
    """Compare every row with every row."""
    fits = [
        [j for j, (b, y, _) in enumerate(other) if None not in (a, b, x, y) and x == y and abs(a - b) <= reach]
        for a, x, _ in own
    ]
    back = [sum(j in found for found in fits) for j in range(len(other))]
    both = sum(len(found) == 1 and back[found[0]] == 1 for found in fits)
    return both, [len(found) for found in fits]


def frame(rows):
    """Return rows as a frame, with its types also where there are none."""
    return pd.DataFrame(rows, columns=["a", "x", "who"]).astype({"a": "Int64", "x": "str", "who": "int64"})


@given(ROWS, ROWS, st.sampled_from([0, 1, 2, 5]))
def test_records_agree_with_comparing_all(own, other, reach):
    """Joining by buckets and by counted values finds what comparing every row with every row finds."""
    both, lengths = by_hand(own, other, reach)
    found = linkage(frame(own), frame(other), on=["a", "x"], tolerance={"a": reach})
    expected = Linkage(len(own), both, {n: lengths.count(n) for n in sorted(set(lengths))})
    assert replace(found, not_compared=()) == expected
    if not reach:
        assert linkage(frame(own), frame(other), on=["a", "x"]) == found


@given(ROWS, ROWS, st.sampled_from([0, 1, 5]), st.sampled_from([None, 1, 2]))
def test_persons_agree_with_comparing_all(own, other, reach, at_least):
    """Matches are what comparing every known row with every row of every person finds."""
    facts = {who: {(a, x) for a, x, w in other if w == who and None not in (a, x)} for _, _, who in other}
    people = {who: [(a, x) for a, x, w in own if w == who and None not in (a, x)] for _, _, who in own}
    fits = {
        target: [
            person
            for person, rows in people.items()
            if sum(any(x == y and abs(a - b) <= reach for b, y in rows) for a, x in known_rows)
            >= max(1, len(known_rows) if at_least is None else at_least)
        ]
        for target, known_rows in facts.items()
    }
    back = list(itertools.chain(*fits.values()))
    both = sum(len(found) == 1 and back.count(found[0]) == 1 for found in fits.values())
    lengths = [len(found) for found in fits.values()]
    found = linkage(frame(own), frame(other), on=["a", "x"], tolerance={"a": reach}, entity="who", at_least=at_least)
    expected = Linkage(len(facts), both, {n: lengths.count(n) for n in sorted(set(lengths))})
    assert replace(found, not_compared=()) == expected
