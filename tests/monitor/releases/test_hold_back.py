"""Rows wait for a later export where two exports together would break a limit: laws over random tables and exports."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checks.classes.counts import KnownRelease
from checks.risk.compared_releases import COMBINATIONS, OF_PEOPLE, ComparedRows, ReleasedRows, linked_rows
from checks.risk.differences import ClassLimits
from monitor.releases.hold_back import rows_to_keep
from tests.tiers import examples

AT = datetime(2026, 11, 28, tzinfo=UTC)
LIMITS = ClassLimits(k=3, l=2)


class Row(NamedTuple):
    """A person, the combination of quasi-identifiers, and a sensitive value."""

    person: int
    place: int
    value: int


def _signature(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "big") for number in numbers)


def _label(row: Row, width: int) -> int:
    """Return the class of a row, of as many combinations as the last digit says; the other digits are the first."""
    return (row.place + width // 10) // (width % 10)


def _exported(rows: Sequence[Row], table: Sequence[Row], *, width: int, named: bool = False) -> ReleasedRows:
    """Return rows as they are exported where `width` combinations have one label; `named`: with a pseudonym."""
    return ReleasedRows(
        digest=bytes(16),
        people=b"".join(_signature(1, row.person * 7919 % 104_729) for row in rows),
        named=range(len(rows)),
        classes=b"".join(_signature(10 + width, _label(row, width)) for row in rows),
        made_of=b"".join(_signature(2, row.place) for row in rows),
        values={"ill": b"".join(_signature(3, row.value) for row in rows)},
        table={"ill": b"".join(_signature(3, row.value) for row in table)},
        columns={"ill": _signature(4, 1), COMBINATIONS: _signature(4, 2)}
        | ({"ill" + OF_PEOPLE: _signature(4, 3)} if named else {}),
        missing={"ill": b""},
    )


def _compared(
    earlier: Sequence[tuple[Sequence[Row], int]], rows: Sequence[Row], *, width: int, linkable: bool = False
) -> Sequence[ComparedRows]:
    now = _exported(rows, rows, width=width, named=linkable)
    known = [_exported(before, before, width=old, named=linkable).pairs() for before, old in earlier]
    found = np.full(len(rows), linkable)
    return [ComparedRows(KnownRelease(str(number), AT, pairs), now, found) for number, pairs in enumerate(known)]


def _meets(rows: Iterable[int]) -> bool:
    counts = Counter(rows)
    return not counts or (counts.total() >= LIMITS.k and len(counts) >= (LIMITS.l or 0))


def _by_label(rows: Iterable[Row], width: int) -> Mapping[int, Counter[int]]:
    labels: dict[int, Counter[int]] = defaultdict(Counter)
    for row in rows:
        labels[row.place // width][row.value] += 1
    return labels


def _differences_hold(one: tuple[Sequence[Row], int], other: tuple[Sequence[Row], int]) -> bool:
    """Subtract by the smallest unions of classes that both are made of: classes with a combination in common."""
    classes: dict[tuple[int, int], set[int]] = defaultdict(set)
    for rows, width in (one, other):
        for row in rows:
            classes[width, row.place // width].add(row.place)
    part = {place: place for places in classes.values() for place in places}
    for _ in range(len(part)):
        for places in classes.values():
            part |= dict.fromkeys(places, min(part[place] for place in places))
    first, second = (_by_label((row._replace(place=part[row.place]) for row in rows), 1) for rows, _ in (one, other))
    return all(
        _meets((first[label] - second[label]).elements()) and _meets((second[label] - first[label]).elements())
        for label in {*first, *second}
    )


def _kept(
    earlier: Sequence[tuple[Sequence[Row], int]], rows: Sequence[Row], width: int, *, linkable: bool = False
) -> Sequence[Row]:
    if not earlier or not rows:
        return rows
    stays = rows_to_keep(_compared(earlier, rows, width=width, linkable=linkable), LIMITS)
    return [row for row, stay in zip(rows, stays, strict=True) if stay]


states = st.lists(
    st.tuples(
        st.lists(
            st.builds(Row, st.integers(0, 30), st.integers(0, 3), st.integers(0, 2)),
            max_size=30,
            unique_by=lambda row: row.person,
        ),
        st.sampled_from([1, 2, 3]),
    ),
    min_size=2,
    max_size=4,
)


@given(states=states)
@example(  # what is held back leaves less in a coarse class: of the finer ones it then covers one, not both
    states=[
        ([Row(0, 2, 0), Row(4, 3, 0), Row(5, 3, 0), Row(6, 3, 1), Row(7, 2, 0), Row(8, 2, 2)], 1),
        ([Row(0, 3, 0), Row(1, 2, 0), Row(2, 2, 0), Row(3, 2, 1)], 2),
    ]
)
@settings(deadline=None, max_examples=examples(150))
def test_whatever_the_table_was_no_two_exports_differ_by_less_than_the_limits(
    states: Sequence[tuple[list[Row], int]],
) -> None:
    """By class and value, in both directions, also between exports of other levels; each file holds them too.

    None that held rows back is refused.
    """
    exported: list[tuple[Sequence[Row], int]] = []
    for state, width in states:
        by_label = _by_label(state, width)
        treated = [row for row in state if _meets(by_label[row.place // width].elements())]
        published = _kept(exported, treated, width)
        judged = _compared(exported, published, width=width)
        every = np.ones(len(published), dtype=np.bool_)
        assert not any(sum(item.by_difference(LIMITS, every).values()) for item in judged)
        exported += [(published, width)] if published else []
    for rows, width in exported:
        assert all(_meets(values.elements()) for values in _by_label(rows, width).values())
    for place, one in enumerate(exported):
        assert all(_differences_hold(one, other) for other in exported[:place])


def _classes(rows: Sequence[Row], width: int) -> Sequence[frozenset[Row]]:
    return [frozenset(row for row in rows if _label(row, width) == label) for label in {_label(r, width) for r in rows}]


def _left_by_subtracting(one: Sequence[frozenset[Row]], other: Sequence[frozenset[Row]]) -> Iterable[frozenset[Row]]:
    """Subtract, from any classes of the one, those classes of the other that they cover."""
    for some in (some for many in range(len(one)) for some in combinations(one, many + 1)):
        rows = frozenset[Row]().union(*some)
        yield rows.difference(*(item for item in other if item <= rows))


@given(
    cells=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), max_size=40),
    widths=st.lists(st.sampled_from([1, 2, 3, 12, 13, 23]), min_size=2, max_size=3, unique=True),
)
@example(  # by districts 0 | 1, 2 | 3 and by 0, 1 | 2, 3: the second file minus the first are those of district 1
    cells=[(place, value) for place in (0, 2, 3) for value in (0, 1, 2)] + [(1, 0)] * 3, widths=[12, 2]
)
@settings(deadline=None, max_examples=examples(150))
def test_no_sets_of_classes_of_two_groupings_leave_few_values(
    cells: Sequence[tuple[int, int]], widths: Sequence[int]
) -> None:
    """Of one table grouped otherwise, whatever classes of one export are subtracted from whatever of another."""
    table, exported = [Row(number, *cell) for number, cell in enumerate(cells)], list[tuple[Sequence[Row], int]]()
    for width in widths:
        meeting = [part for part in _classes(table, width) if _meets(row.value for row in part)]
        published = _kept(exported, sorted(frozenset[Row]().union(*meeting)), width)
        exported += [(published, width)] if published else []
    for (one, first), (other, second) in permutations(exported, 2):
        for left in _left_by_subtracting(_classes(one, first), _classes(other, second)):
            assert _meets(row.value for row in left)


STAYING = (Row(16, 1, 1), Row(20, 1, 1), Row(21, 1, 2))
LEAVING = (Row(4, 1, 1), Row(6, 0, 1), Row(11, 0, 0), Row(13, 0, 1))


@given(states=states)
@example(  # by place, by both together, by place: three left place 1, then a fourth did
    states=[
        ([*STAYING, *LEAVING, Row(5, 1, 0), Row(7, 1, 2), Row(8, 1, 2)], 1),
        ([*STAYING, *LEAVING], 2),
        ([*STAYING], 1),
    ]
)
@settings(deadline=None, max_examples=examples(60))
def test_no_sums_and_differences_of_three_exports_leave_few_values(states: Sequence[tuple[list[Row], int]]) -> None:
    """Whatever classes of all exports are added or subtracted: if what is left are people, they have l values.

    People keep their values here. Sets of people that earlier exports left are not counted again.
    """
    exported, value_of = list[tuple[Sequence[Row], int]](), dict[int, int]()
    for state, width in states[:3]:
        rows = [row._replace(value=value_of.setdefault(row.person, row.value)) for row in state]
        by_label = _by_label(rows, width)
        treated = [row for row in rows if _meets(by_label[row.place // width].elements())]
        published = _kept(exported, treated, width)
        exported += [(published, width)] if published else []
    classes = [part for rows, width in exported for part in _classes(rows, width)][:9]
    if not classes:
        return
    holds = np.array([[person in {row.person for row in part} for person in range(31)] for part in classes], dtype=int)
    signs = np.stack(np.meshgrid(*[[-1, 0, 1]] * len(classes), indexing="ij"), axis=-1).reshape(-1, len(classes))
    sums = signs @ holds.reshape(len(classes), 31)
    left = np.unique(sums[((sums == 0) | (sums == 1)).all(axis=1) & (sums.sum(axis=1) > 0)], axis=0)
    assert all(len({value_of[person] for person in np.flatnonzero(people).tolist()}) >= 2 for people in left)


visits = st.lists(
    st.tuples(
        st.lists(st.builds(Row, st.integers(0, 9), st.integers(0, 1), st.integers(0, 3)), max_size=24),
        st.sampled_from([1, 2]),
    ),
    min_size=2,
    max_size=3,
)


def _of_people(rows: Sequence[Row]) -> bool:
    """Return whether rows of a class are of k people with two values."""
    people = {row.person for row in rows}
    holders = Counter(value for _, value in {(row.person, row.value) for row in rows})
    return len(people) >= LIMITS.k and len(holders) >= 2 and max(holders.values()) < len(people)


def _are_of_few(one: Sequence[Row], other: Sequence[Row], *, of_whom: bool) -> bool:
    """Return whether what `one` has more than `other`, by value, can be of fewer than k people who have it more.

    `of_whom`: whether it is known which values a person has; of those who left it is not (ADR 64), so all count.
    """
    more = Counter(row.value for row in one) - Counter(row.value for row in other)
    mine, theirs = (Counter(row.person for row in rows) for rows in (one, other))
    having = {row.person for row in one if more[row.value] or not of_whom}
    known = {person for person in having if mine[person] > theirs[person]}
    if not more or len(known) >= LIMITS.k:
        return False
    return any(
        more <= Counter(row.value for row in one if row.person in {*known, *others})
        for others in combinations(sorted(having - known), min(LIMITS.k - 1 - len(known), len(having - known)))
    )


@given(states=visits)
@example(states=[([Row(p, 0, p % 2) for p in range(4)], 1), ([Row(p, 0, p % 2) for p in (0, 0, 0, 0, 1, 2, 3)], 1)])
@settings(deadline=None, max_examples=examples(150))
def test_no_difference_is_of_few_people(states: Sequence[tuple[list[Row], int]]) -> None:
    """However many rows a person has; what is held back suffices, and each file holds the limits by people."""
    exported: list[tuple[Sequence[Row], int]] = []
    for state, width in states:
        classes = [[row for row in state if row.place // width == label] for label in range(2)]
        treated = [row for rows in classes if _of_people(rows) for row in rows]
        published = _kept(exported, treated, width)
        judged, every = _compared(exported, published, width=width), np.ones(len(published), dtype=np.bool_)
        assert not any(sum(item.by_difference(LIMITS, every).values()) for item in judged)
        exported += [(published, width)] if published else []
    for rows, width in exported:
        for label in {row.place // width for row in rows}:
            assert _of_people([row for row in rows if row.place // width == label])
    for (one, width), (other, same) in combinations(exported, 2):
        for label in {row.place // width for row in (*one, *other)} if width == same else ():
            ours, theirs = ([row for row in rows if row.place // width == label] for rows in (one, other))
            assert not _are_of_few(ours, theirs, of_whom=False)
            assert not _are_of_few(theirs, ours, of_whom=True)


grown = st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=6), min_size=1, max_size=5)


@given(arrivals=grown)
@settings(deadline=None, max_examples=examples(150))
def test_a_growing_table_stays_publishable(arrivals: Sequence[Sequence[tuple[int, int]]]) -> None:
    """Nothing that was published is left out, and what waits is taken in once it is enough."""
    rows = [Row(3 * place + value, place, value) for place in range(3) for value in range(3)]
    exported = [(list(rows), 1)]
    for batch in arrivals:
        rows += [Row(len(rows) + number, place, value) for number, (place, value) in enumerate(batch)]
        published = _kept(exported, rows, 1)
        assert set(exported[-1][0]) <= set(published)
        waiting = _by_label(set(rows) - set(published), 1)
        assert not any(_meets(values.elements()) for values in waiting.values() if values)
        exported.append((published, 1))


def test_the_same_state_holds_back_the_same_rows() -> None:
    """In whatever order the rows are read."""
    before = [Row(number, number % 2, number % 3) for number in range(12)]
    rows = [row for row in before if row.person not in {0, 2}]
    kept, again = _kept([(before, 1)], rows, 1), _kept([(before, 1)], rows[::-1], 1)
    assert set(kept) == set(again)
    assert 0 < len(kept) < len(rows)


def test_rows_that_can_be_found_in_both_are_judged_by_the_joined_class() -> None:
    """Two groupings each have two values in a class, and together one; where nothing links, sets are the model."""
    rows = [Row(number, number // 6, number // 6 % 2) for number in range(24)]
    turned = [row._replace(place=(row.place + 1) % 4) for row in rows]
    for linkable in (True, False):
        (compared,) = _compared([(rows, 2)], turned, width=2, linkable=linkable)
        found = linked_rows([compared], "ill", LIMITS, np.ones(len(rows), dtype=bool))
        assert found.all() == linkable
        assert found.any() == linkable


def _of_one_class(*values: Sequence[int]) -> list[tuple[list[Row], int]]:
    """Return states of one class: of each person the value, -1 where the person is not in it."""
    return [([Row(person, 0, value) for person, value in enumerate(state) if value >= 0], 1) for state in values]


AWAY = [-1] * 3
RETURNED = _of_one_class([0, 0, 0, 1, 2, 1, 0, 1, 2], [*AWAY, *AWAY, 0, 1, 2], [0, 0, 0, *AWAY, 0, 1, 2, 1, 1, 2])


@given(states=states)
@example(states=RETURNED)  # no pair tells of 0 to 2, who are in the first and the third export
@settings(deadline=None, max_examples=examples(100))
def test_people_whom_a_pseudonym_finds_in_some_of_all_exports_are_alike_with_others(
    states: Sequence[tuple[list[Row], int]],
) -> None:
    """Their classes in the exports that hold them, and that others do not, leave k people with l values.

    So do those who left such a class, with the values that they had in each export, as long as others of it stay.
    """
    exported: list[tuple[Sequence[Row], int]] = []
    for state, width in states:
        by_label = _by_label(state, width)
        treated = [row for row in state if _meets(by_label[row.place // width].elements())]
        published = _kept(exported, treated, width, linkable=True)
        exported += [(published, width)] if published else []
        cells: dict[tuple[int | None, ...], list[int]] = defaultdict(list)
        labels = [{row.person: row.place // step for row in rows} for rows, step in exported]
        for row in published:
            cells[tuple(item.get(row.person) for item in labels)].append(row.value)
        assert all(map(_meets, cells.values()))
        stays = {row.person for row in published}
        for rows, _ in exported[:-1]:
            left: dict[tuple[int | None, ...], list[int]] = defaultdict(list)
            for row in rows:
                if row.person not in stays:
                    left[tuple(item.get(row.person) for item in labels[:-1])].append(row.value)
            with_some = {tuple(item.get(person) for item in labels[:-1]) for person in stays}
            assert all(_meets(values) for cell, values in left.items() if cell in with_some)


def test_few_people_who_return_are_found_without_a_sensitive_column() -> None:
    """Where a pseudonym links rows, two people who were in the first export and not in the second are a group."""
    every = [[Row(person, 0, 0) for person in people] for people in (range(9), range(6, 9), [0, 1, *range(6, 12)])]
    compared = _compared([(rows, 1) for rows in every[:2]], every[2], width=1, linkable=True)
    assert linked_rows(compared, "", LIMITS, np.ones(8, dtype=np.bool_)).tolist() == [True] * 2 + [False] * 6


def test_few_people_who_left_two_classes_together_are_found() -> None:
    """Of each class of either export people of both values left; of those in the same two classes, of one value."""
    cells = [(cell, one) for cell in range(4) for one in range(6)]
    values = [[0, 1, 1, 0][cell] if one < 2 else one % 2 for cell, one in cells]
    first, second = (
        [Row(person, place[cell], value) for person, ((cell, _), value) in enumerate(zip(cells, values, strict=True))]
        for place in ([0, 0, 1, 1], [0, 1, 0, 1])
    )
    now = [row._replace(place=0) for row, (_, one) in zip(first, cells, strict=True) if one >= 2]
    compared = _compared([(first, 1), (second, 1)], now, width=1, linkable=True)
    for every in (compared, compared[:1], compared[1:]):
        found = linked_rows(every, "ill", LIMITS, np.ones(len(now), dtype=np.bool_))
        assert found.tolist() == [len(every) == 2] * len(now)


def test_a_pseudonym_shows_a_few_who_left_although_as_many_came() -> None:
    """Without a sensitive column: two of a class are gone and two others came, and a reader knows which rows."""
    before, now = ([Row(person, 0, 0) for person in people] for people in (range(9), range(2, 11)))
    for linkable in (True, False):
        (compared,) = _compared([(before, 1)], now, width=1, linkable=linkable)
        found = linked_rows([compared], "", LIMITS, np.ones(9, dtype=np.bool_))
        assert found.tolist() == [linkable] * 7 + [False] * 2


def test_pseudonyms_show_who_left_although_newcomers_have_the_same_values() -> None:
    """By counts alone nothing has left; three with one value have, which is further from the table than t."""
    (before, _), (after, _) = _of_one_class([0, 0, 0, 0, 1, 0, 1], [*AWAY, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1])
    limits, every = ClassLimits(3, None, 0.3), np.ones(11, dtype=np.bool_)
    for linkable in (True, False):
        (compared,) = _compared([(before, 1)], after, width=1, linkable=linkable)
        assert not any(compared.by_difference(limits, every).values())
        assert linked_rows([compared], "ill", limits, every).tolist() == [linkable] * 4 + [False] * 7
