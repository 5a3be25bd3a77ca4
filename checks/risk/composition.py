"""Composition: what two releases of the same people disclose together, though each of them is k-anonymous.

Ganta, Kasiviswanathan & Smith 2008, "Composition attacks and auxiliary information in data privacy" (KDD), section 3,
the intersection attack: who knows that a person is in two releases, and the person's quasi-identifiers in both, looks
up the person's class in each; only people who are in both classes remain. Two 3-anonymous releases of nine people can
leave six of them, even all nine, in groups smaller than three.

The same intersection holds for sensitive values: an attacker who knows a person's classes
intersects their values ( (`few_values_signed`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from checks.classes.arrays import np, npt
from checks.classes.pairs import CLASS_VALUE, SIGNATURE

if TYPE_CHECKING:
    import pandas as pd

    Classes: TypeAlias = "npt.ArrayLike | pd.Series[Any] | pd.DataFrame"

_TRIPLE = 3


@dataclass(frozen=True, slots=True, eq=False)
class Composition:
    """The sizes of the groups that remain when two releases are intersected.

    `groups`: for each person who is in both, int64 of shape (people,), how many people are alike with the person in
    both, the person included; the smallest number where a person has several rows. `wanted`: the k that is asked for.
    """

    groups: npt.NDArray[np.int64]
    wanted: int

    @property
    def persons(self) -> int:
        """Count the people who are in both releases."""
        return len(self.groups)

    @property
    def exposed(self) -> int:
        """Count the people who are in groups smaller than k."""
        return int((self.groups < self.wanted).sum())

    @property
    def smallest(self) -> int | None:
        """Return the size of the smallest group; None where no person is in both."""
        return int(self.groups.min()) if len(self.groups) else None

    @property
    def histogram(self) -> tuple[tuple[int, int], ...]:
        """Return how many people are in groups of which size: (size, people), ascending."""
        sizes, persons = np.unique(self.groups, return_counts=True)
        return tuple(zip(sizes.tolist(), persons.tolist(), strict=True))


def intersect(classes_before: Classes, classes_after: Classes, k: int) -> Composition:
    """Intersect the classes of two releases, person by person.

    It says nothing about people who are in one release only, about sensitive values that an intersection gives away
    although it is large (intersect those too), nor about releases by others. Differential privacy composes;
    k-anonymity does not.

    Args:
        classes_before: the class of each person: labels of shape (n,), or a frame whose columns are the
            quasi-identifiers, NULL a value of its own. Pandas objects are joined by their index, which names the
            people; a person may have several rows. Arrays are joined by position.
        classes_after: the same of the later release, whatever its quasi-identifiers are.
        k: at least 2; people in smaller groups are exposed.

    Raises:
        ValueError: k is below 2, or two arrays differ in length.
    """
    if k < 2:
        raise ValueError(f"k is {k}; expected at least 2, since a person is always alike with itself")
    before, after = _labelled(classes_before), _labelled(classes_after)
    if before[0] is None and after[0] is None and len(before[1]) != len(after[1]):
        raise ValueError(
            f"the releases have {len(before[1])} and {len(after[1])} rows; expected as many, or frames whose index "
            "names the people"
        )
    people = [np.arange(len(labels)) if index is None else index for index, labels in (before, after)]
    joined = _codes_of([*map(list, people)])
    return Composition(_groups(joined[0], before[1], joined[1], after[1]), k)


def intersect_signed(before: tuple[bytes, bytes], after: tuple[bytes, bytes], k: int) -> Composition:
    """Intersect two releases of which signatures were kept: of people and of their classes, 16 bytes for each row.

    As `intersect` otherwise.
    """
    people = codes_of_signatures(before[0], after[0])
    (classes_before,) = codes_of_signatures(before[1])
    (classes_after,) = codes_of_signatures(after[1])
    return Composition(_groups(people[0], classes_before, people[1], classes_after), k)


def intersect_all_signed(releases: Sequence[tuple[bytes, bytes]], k: int) -> int:
    """Count the people of the last release who are in groups of fewer than k by all of their releases together.

    Signatures as of `intersect_signed`. Three releases can single out a person though no two of them do.
    """
    people = codes_of_signatures(*(release[0] for release in releases))
    tables = [
        distinct_pairs(persons, *codes_of_signatures(release[1]))
        for persons, release in zip(people, releases, strict=True)
    ]
    return _exposed(tables[-1], tables[:-1], np.unique(tables[-1][:, 0]), k)


def _exposed(joint: npt.NDArray[np.int64], others: Sequence[npt.NDArray[np.int64]], persons: Any, k: int) -> int:
    """Count those of some people who are in small groups: `joint` with the other releases that they are in."""
    if not len(persons):
        return 0
    if not others:
        small = joint[np.bincount(joint[:, 1])[joint[:, 1]] < k, 0]
        return int(np.isin(persons, small).sum())
    first, rest = others[0], others[1:]
    is_member = np.isin(persons, first[:, 0])
    return _exposed(joint, rest, persons[~is_member], k) + _exposed(
        join_classes(joint, first), rest, persons[is_member], k
    )


def left_over_signed(before: tuple[bytes, bytes], after: tuple[bytes, bytes], k: int) -> int:
    """Count the people that two releases single out by their difference: signatures as of `intersect_signed`.

    Who knows which people are in each release subtracts: of a class, those remain who are in one release only. Fewer
    than k of them, but some, are exposed; both directions are counted.
    """
    return _left_over(before, after, k) + _left_over(after, before, k)


@dataclass(frozen=True, slots=True, eq=False)
class SignedClasses:
    """A release of which signatures were kept: of people and of their classes as of `intersect_signed`.

    `triples`: of each value that a class has in a column, as `PersonPairs.values`.
    """

    people: bytes
    classes: bytes
    triples: bytes


def few_values_signed(
    releases: Sequence[SignedClasses], attribute: bytes, least: float, *, missing: bytes = b""
) -> int:
    """Count the people of the last release with fewer than `least` possible sensitive values by all releases together.

    For each person the sets of values of the person's classes are intersected over all releases that have the column
    and hold the person; a person of one release only is not counted. Where a person has several rows in a release,
    its rows cannot be matched with another release's: each class goes with the one that leaves most values.

    Args:
        releases: in their order; the last one is the new one.
        attribute: the signature of the sensitive column.
        least: how many values have to remain; an empty intersection, which values that changed meanwhile can leave, is
            too few.
        missing: the signature of what is no value.
    """
    having = [(release, sets) for release in releases if (sets := _value_sets(release, attribute, missing))]
    if len(having) < 2 or having[-1][0] is not releases[-1]:
        return 0
    people = codes_of_signatures(*(item.people for item, _ in having))
    tables = []
    for (item, sets), persons in zip(having, people, strict=True):
        (codes,) = codes_of_signatures(item.classes)
        first = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
        first[codes] = np.arange(len(codes))
        of_class = [sets.get(item.classes[at * SIGNATURE : (at + 1) * SIGNATURE], frozenset()) for at in first]
        tables.append((distinct_pairs(persons, codes), of_class))
    return _few_values(tables, least)


def _value_sets(signed_classes: SignedClasses, attribute: bytes, missing: bytes) -> Mapping[bytes, frozenset[bytes]]:
    """Return the signatures of the values that each class has in a column, by the signature of the class."""
    results, triples = defaultdict(set), signed_classes.triples
    for at in range(0, len(triples), CLASS_VALUE):
        starts = range(at, at + _TRIPLE * SIGNATURE, SIGNATURE)
        column, numbers, value = (triples[start : start + SIGNATURE] for start in starts)
        if column == attribute:
            results[numbers].add(value)
    return {numbers: frozenset(values - {missing}) for numbers, values in results.items()}


_Table: TypeAlias = "tuple[npt.NDArray[np.int64], Sequence[frozenset[bytes]]]"
"""Pairs of a person and a class, in order; and the values of each class."""


def _few_values(tables: Sequence[_Table], least: float) -> int:
    most = 1 + max((int(pairs[:, 0].max(initial=-1)) for pairs, _ in tables), default=-1)
    rows = np.stack([np.bincount(pairs[:, 0], minlength=most) for pairs, _ in tables])
    is_shared = (rows[-1] > 0) & ((rows > 0).sum(axis=0) > 1)
    single = is_shared & (rows <= 1).all(axis=0)
    profiles = np.full((most, len(tables)), -1, dtype=np.int64)
    for place, (pairs, _) in enumerate(tables):
        profiles[pairs[:, 0], place] = pairs[:, 1]
    distinct, persons = np.unique(profiles[single], axis=0, return_counts=True)
    count = 0
    for profile, many in zip(distinct.tolist(), persons.tolist(), strict=True):
        sets = [of_class[code] for code, (_, of_class) in zip(profile, tables, strict=True) if code >= 0]
        count += many if len(frozenset.intersection(*sets)) < least else 0
    several = set(np.flatnonzero(is_shared & ~single).tolist())
    return count + sum(_has_few(person, least) for person in _sets_of_each(several, tables))


def _sets_of_each(persons: set[int], tables: Sequence[_Table]) -> Iterable[Sequence[Sequence[frozenset[bytes]]]]:
    """Return, for each of some people, the values of their classes in each release that holds them, the last first."""
    results: dict[int, list[list[frozenset[bytes]]]] = {person: [] for person in persons}
    for pairs, of_class in reversed(tables):
        selected = pairs[np.isin(pairs[:, 0], list(persons))]
        sets_of: dict[int, list[frozenset[bytes]]] = defaultdict(list)
        for person, code in selected.tolist():
            sets_of[person].append(of_class[code])
        for person, sets in sets_of.items():
            results[person].append(sets)
    return results.values()


def _has_few(releases: Sequence[Sequence[frozenset[bytes]]], least: float) -> bool:
    """Return whether a class of a person has too few values left, however classes of other releases go with it."""
    last, earlier = releases[0], releases[1:]
    for values in last:
        left = values
        for sets in earlier:
            left = max((left & item for item in sets), key=len)
        if len(left) < least:
            return True
    return any(max(len(item & values) for values in last) < least for sets in earlier for item in sets)


def joined_classes_signed(
    releases: Sequence[tuple[bytes, bytes]], *, with_absent: bool = False
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return which rows of the last release are of people who are in all releases, and a number for the joined class.

    Two rows have one number where their people are in the same classes of all releases; a row of a person who has
    several classes in an earlier release comes once for each. Signatures as of `intersect_signed`.

    Args:
        releases: in their order; the last one is the new one.
        with_absent: whether rows of people who are not in all releases are returned, too; those of a release are then
            a class of it.

    Returns:
        Places of rows of the last release, and as many numbers of joined classes, int64.
    """
    people = codes_of_signatures(*(release[0] for release in releases))
    classes = [codes_of_signatures(release[1])[0] for release in releases]
    rows, group = np.arange(len(people[-1])), classes[-1]
    for persons, codes in zip(people[:-1], classes[:-1], strict=True):
        pairs = distinct_pairs(persons, codes)
        begin = np.searchsorted(pairs[:, 0], people[-1][rows], side="left")
        matches = np.searchsorted(pairs[:, 0], people[-1][rows], side="right") - begin
        if with_absent:
            begin, matches = np.where(matches, begin, len(pairs)), np.maximum(matches, 1)
            pairs = np.concatenate([pairs, [[-1, -1]]])
        within = np.arange(int(matches.sum())) - np.repeat(np.cumsum(matches) - matches, matches)
        other = pairs[np.repeat(begin, matches) + within, 1]
        rows, group = np.repeat(rows, matches), np.repeat(group, matches)
        _, joint = np.unique(np.stack([group, other], axis=1), axis=0, return_inverse=True)
        group = joint.reshape(-1).astype(np.int64)
    return rows, group


def _left_over(pair: tuple[bytes, bytes], other: tuple[bytes, bytes], k: int) -> int:
    people, in_other = codes_of_signatures(pair[0], other[0])
    (classes,) = codes_of_signatures(pair[1])
    pairs = np.unique(np.stack([people, classes], axis=1), axis=0)
    alone = pairs[~np.isin(pairs[:, 0], in_other), 1]
    left = np.bincount(alone) if len(alone) else np.zeros(0, dtype=np.int64)
    return int(left[(left > 0) & (left < k)].sum())


def _groups(
    people_before: npt.NDArray[np.int64],
    classes_before: npt.NDArray[np.int64],
    people_after: npt.NDArray[np.int64],
    classes_after: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Return, for each person in both, the size of the smallest group that is alike with it in both."""
    both = join_classes(distinct_pairs(people_before, classes_before), distinct_pairs(people_after, classes_after))
    person, place = np.unique(both[:, 0], return_inverse=True)
    smallest = np.full(len(person), np.iinfo(np.int64).max)
    np.minimum.at(smallest, place, np.bincount(both[:, 1])[both[:, 1]])
    return smallest


def distinct_pairs(people: npt.NDArray[np.int64], classes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return each pair of a person and a class once, in order: int64 of shape (pairs, 2)."""
    return np.unique(np.stack([people, classes], axis=1), axis=0)


def join_classes(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the people who are in both, with a number for their classes in both; pairs in order."""
    begin = np.searchsorted(second[:, 0], first[:, 0], side="left")
    matches = np.searchsorted(second[:, 0], first[:, 0], side="right") - begin
    left = np.repeat(np.arange(len(first)), matches)
    within = np.arange(len(left)) - np.repeat(np.cumsum(matches) - matches, matches)
    right = np.repeat(begin, matches) + within
    _, group = np.unique(np.stack([first[left, 1], second[right, 1]], axis=1), axis=0, return_inverse=True)
    return distinct_pairs(first[left, 0], group.reshape(-1))


def _labelled(classes: Classes) -> tuple[Sequence[Any] | None, npt.NDArray[np.int64]]:
    """Return the people, None where they are known by their place, and a number for the class of each."""
    import pandas as pd

    if isinstance(classes, pd.DataFrame):
        numbers = classes.groupby(list(classes.columns), dropna=False, observed=True, sort=False).ngroup()
        return list(classes.index), numbers.to_numpy().astype(np.int64)
    index = list(classes.index) if isinstance(classes, pd.Series) else None
    codes, _ = pd.factorize(pd.Series(np.asarray(classes, dtype=object)), use_na_sentinel=False)
    return index, codes.astype(np.int64)


def _codes_of(people: Sequence[list[Any]]) -> list[npt.NDArray[np.int64]]:
    """Number the people of two releases, each alike in both."""
    numbers: dict[Any, int] = {}
    return [np.array([numbers.setdefault(person, len(numbers)) for person in item], dtype=np.int64) for item in people]


def codes_of_signatures(*signatures: bytes) -> list[npt.NDArray[np.int64]]:
    """Number signatures, each alike in all of them."""
    halves = np.frombuffer(b"".join(signatures), dtype="<u8").reshape(-1, 2)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    sorted_ = halves[order]
    new = np.concatenate(([False], (sorted_[1:] != sorted_[:-1]).any(axis=1))) if len(halves) else np.array([], bool)
    codes = np.empty(len(halves), dtype=np.int64)
    codes[order] = np.cumsum(new)
    ends = np.cumsum([len(signature) // SIGNATURE for signature in signatures])[:-1]
    return list(np.split(codes, ends))
