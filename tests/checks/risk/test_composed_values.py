"""Which sensitive values remain when the classes of several releases are intersected, as an attacker finds them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checks.classes.pairs import CLASS_VALUE, SIGNATURE
from checks.risk.composition import SignedClasses, few_values_signed, joined_classes_signed

Rows = Sequence[tuple[int, int, int]]
"""A person, a class and a sensitive value for each row."""

COLUMN = b"c" * 16
rows_of_persons = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 2), st.integers(0, 3)),
    min_size=1,
    max_size=20,
    unique_by=lambda x: x[0],
)


def _signature(number: int) -> bytes:
    return number.to_bytes(16, "big")


def _signed(rows: Rows, attribute: bytes = COLUMN) -> SignedClasses:
    triples = {(group, value) for _, group, value in rows}
    return SignedClasses(
        b"".join(_signature(person) for person, _, _ in rows),
        b"".join(_signature(100 + group) for _, group, _ in rows),
        b"".join(
            attribute + _signature(100 + group) + _signature(1000 + value) + bytes(CLASS_VALUE - 3 * SIGNATURE)
            for group, value in sorted(triples)
        ),
    )


def _values(rows: Rows) -> Mapping[int, set[int]]:
    found = defaultdict(set)
    for _, group, value in rows:
        found[group].add(value)
    return found


@given(releases=st.lists(rows_of_persons, min_size=1, max_size=4), least=st.integers(2, 3))
def test_values_are_intersected_as_the_attack_does(releases: Sequence[Rows], least: int) -> None:
    """For each person of the last release: the values of the person's class in each release that holds the person."""
    expected = 0
    for person, _, _ in releases[-1]:
        sets = [_values(rows)[group] for rows in releases for who, group, _ in rows if who == person]
        expected += len(sets) > 1 and len(set.intersection(*sets)) < least
    assert few_values_signed([_signed(rows) for rows in releases], COLUMN, least) == expected


def test_several_rows_of_a_person_in_the_same_release_twice_expose_nobody() -> None:
    """A class goes with the one of the other release that leaves most values: with itself."""
    rows = [(1, 0, 0), (2, 0, 1), (1, 1, 2), (3, 1, 3)]
    assert few_values_signed([_signed(rows)] * 2, COLUMN, 2) == 0
    apart = [(1, 0, 0), (2, 0, 2), (1, 1, 1), (3, 1, 3)]
    assert few_values_signed([_signed(rows), _signed(apart)], COLUMN, 2) == 3


def test_releases_without_the_column_do_not_count() -> None:
    """A column that only one release has is narrowed by nothing."""
    rows, other = [(1, 0, 0), (2, 0, 1)], [(1, 0, 0), (2, 1, 1)]
    assert few_values_signed([_signed(rows, b"x" * 16), _signed(other)], COLUMN, 2) == 0
    assert few_values_signed([_signed(rows), _signed(other, b"x" * 16)], COLUMN, 2) == 0
    assert few_values_signed([_signed(rows), _signed(other)], COLUMN, 2) == 2


@given(releases=st.lists(rows_of_persons, min_size=1, max_size=3))
def test_joined_classes_are_those_of_persons_in_all_releases(releases: Sequence[Rows]) -> None:
    """Two rows are in one joined class where their people are in the same classes of all releases."""
    signed = [_signed(rows) for rows in releases]
    places, numbers = joined_classes_signed([(one.people, one.classes) for one in signed])
    of = [{person: group for person, group, _ in rows} for rows in releases]
    expected = defaultdict(set)
    for place, (person, _, _) in enumerate(releases[-1]):
        if all(person in groups for groups in of):
            expected[tuple(groups[person] for groups in of)].add(place)
    found = defaultdict(set)
    for place, number in zip(places.tolist(), numbers.tolist(), strict=True):
        found[number].add(place)
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, expected.values()))
    assert isinstance(numbers, np.ndarray)
