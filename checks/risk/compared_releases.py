"""Compare a release with earlier ones of the same table: what they tell together, by rows as keyed signatures.

What one has more than the other, by class and value, meets the limits or is nothing. Where a reader can find the rows
of one release in the other, by a pseudonym or by columns that are not generalised, the classes that rows are in
both times meet the limits together, and so do the rows that are new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from checks.classes.arrays import np, npt
from checks.classes.counts import COLUMN, COUNT, KIND, NAME, PERSONS, SIZE, DisclosureKind, KnownRelease, PersonPairs
from checks.classes.pairs import COPIES, SIGNATURE
from checks.risk.composition import (
    SignedClasses,
    codes_of_signatures,
    distinct_pairs,
    few_values_signed,
    intersect_all_signed,
    intersect_signed,
    join_classes,
    joined_classes_signed,
    left_over_signed,
)
from checks.risk.differences import ClassLimits, OverlaidReleases, ReleasedValues, Subtraction, shown_by_subtracting
from checks.risk.joint_releases import MOST_SUMS, JointReleases
from checks.risk.pairs import ClassPairs, Whole

Mask: TypeAlias = "npt.NDArray[np.bool_]"
COMBINATIONS: Final = ""
"""What the combinations of quasi-identifiers are remembered under, in the place of a column's name."""
WRITTEN: Final = "\x1f"
"""What the values of a column, each spelling by itself, are remembered under: this after the column's name."""
OF_PEOPLE: Final = "\x1e"
"""What the values of a column by person are remembered under, where a pseudonym links rows: this after its name."""
SUPPRESSED: Final = "\x00suppressed"
"""As `COMBINATIONS`, of rows that are left out: their classes are those that they would be in."""
PUBLISHED: Final = "\x00published"
"""Which combinations leave; where a pseudonym links rows, those of `COMBINATIONS` are of all rows of a person."""


@dataclass(frozen=True, slots=True)
class SuppressedRows:
    """Rows that are left out, as `ReleasedRows`: the class that each would be in. Pseudonyms link none of them."""

    classes: bytes = b""
    made_of: bytes = b""
    values: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReleasedRows:
    """Signatures of 16 bytes for each row, in the order of the rows.

    `people`: only of rows that name a person, as `named` says. `made_of`: the quasi-identifiers of the row before it
    was treated. `values`: by sensitive column, as before it was treated: what a label of the output stands for is at
    least the values that the class had; in one spelling, unless the release declares each to be a value, and as they
    are written where t is promised, which no spelling may bring nearer. `table`: by sensitive column, the values of all
    rows of the table. `missing`: the signature of what is no value, empty where it is one. `published`: the quasi-
    identifiers of the row alone, where `made_of` has those of other rows too. `unnamed`: rows without a person that
    are not among these. Where a pseudonym leaves with the rows, `columns` has a signature of each sensitive column with
    `OF_PEOPLE`, too: as in the file, values are remembered by person.
    """

    digest: bytes
    people: bytes
    named: Sequence[int]
    classes: bytes
    made_of: bytes
    values: Mapping[str, bytes]
    table: Mapping[str, bytes]
    columns: Mapping[str, bytes]
    missing: Mapping[str, bytes]
    published: bytes = b""
    suppressed: SuppressedRows = SuppressedRows()
    unnamed: int = 0

    def numbered(self, name: str) -> tuple[Whole, Whole, int]:
        """Return the number of the value of each row, rows of the table by number, and the number of no value.

        All values are alike in the column "".
        """
        alike = bytes(len(self.classes))
        values, table, missing = codes_of_signatures(
            self.values.get(name, alike), self.table.get(name, alike), self.missing.get(name, b"")
        )
        totals = np.bincount(table, minlength=1 + int(values.max(initial=0))).astype(np.int64)
        return values, totals, int(missing.max(initial=-1))

    @property
    def persons(self) -> PersonPairs:
        """Return the people and their classes."""
        every = len(self.classes) // SIGNATURE
        is_all = len(self.named) == every
        classes = self.classes if is_all else b"".join(_at(self.classes, place) for place in self.named)
        return PersonPairs(self.digest, self.people, classes, self.unnamed + every - len(self.named))

    def pairs(self) -> PersonPairs:
        """Return what is remembered of it."""
        person = {place: _at(self.people, number) for number, place in enumerate(self.named)}
        parts = [(name, self.classes, values) for name, values in ((COMBINATIONS, self.made_of), *self.values.items())]
        parts.append((SUPPRESSED, self.suppressed.classes, self.suppressed.made_of))
        holder = b"".join(person.get(place, bytes(SIGNATURE)) for place in range(len(self.classes) // SIGNATURE))
        linked = ((name + OF_PEOPLE, values) for name, values in self.values.items())
        parts += [(name, holder, values) for name, values in linked if name in self.columns]
        if self.published not in {b"", self.made_of}:
            parts.append((PUBLISHED, self.published, self.published))
        counts, people = Counter[bytes](), set()
        for name, groups, values in parts:
            for place in range(len(values) // SIGNATURE):
                cell = self.columns[name] + _at(groups, place) + _at(values, place)
                counts[cell] += 1
                people.add((cell, None if groups is self.suppressed.classes else person.get(place)))
        holders = Counter(cell for cell, _ in people)
        stored = b"".join(
            cell + b"".join(many.to_bytes(COPIES, "little") for many in (copies, holders[cell]))
            for cell, copies in sorted(counts.items())
        )
        return replace(self.persons, values=stored)


def _at(signatures: bytes, place: int) -> bytes:
    return signatures[place * SIGNATURE : (place + 1) * SIGNATURE]


def worst_of_columns(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return the largest count of each column, of those by its values in one spelling and as they are written."""
    columns = dict.fromkeys(map(column_of, counts))
    return {name: max(counts.get(name, 0), counts.get(name + WRITTEN, 0)) for name in columns}


def column_of(name: str) -> str:
    """Return the column whose values are remembered under a name."""
    return name.removesuffix(WRITTEN)


class GoneRows(NamedTuple):
    """Rows of an earlier export that are not in a later one, by class and value; int64 of shape (classes and values,).

    `own`: the values of the rows of the later one by the same numbers, int64 of shape (rows,). `missing`: that of no
    value. `totals`: rows of the table with each value.
    """

    classes: Whole
    values: Whole
    copies: Whole
    own: Whole
    missing: int
    totals: Whole

    def few(self, least: float) -> Mask:
        """Return which of them are in classes of which fewer values are gone than a limit on l wants."""
        _, place = np.unique(self.classes, return_inverse=True)
        known = np.bincount(place, self.values != self.missing)
        result: Mask = (known < least)[place]
        return result


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """The rows of a new export, all of which name a person, beside an earlier export.

    `linkable`: of each row, whether a reader can find it in the earlier export by more than its class.
    """

    earlier: KnownRelease
    rows: ReleasedRows
    linkable: Mask

    @cached_property
    def people(self) -> tuple[Whole, Whole]:
        """Number the people of the earlier export and of the rows, each alike in both."""
        before, now = codes_of_signatures(self.earlier.pairs.people, self.rows.people)
        return before, now

    @cached_property
    def classes(self) -> tuple[Whole, Whole]:
        """Number the classes of the earlier export and of the rows, apart."""
        before, now = (codes_of_signatures(part)[0] for part in (self.earlier.pairs.classes, self.rows.classes))
        return before, now

    @cached_property
    def is_new(self) -> Mask:
        """Return of each row whether its person is not in the earlier export."""
        before, now = self.people
        return ~np.isin(now, before)

    @cached_property
    def earlier_classes(self) -> tuple[Whole, Whole]:
        """Return places of rows and the number of the earlier class of each, once for each that it may have been in.

        Of several rows of a person each goes with those that were made of its quasi-identifiers, if any was.
        """
        earlier, now = self.earlier.pairs, self.rows
        made_of = self.values_of("").made_of
        classes, made = codes_of_signatures(earlier.classes, made_of[0])
        leaves, combination = codes_of_signatures(made_of[1], now.made_of)
        places, order = joined_classes_signed(
            [(earlier.people, earlier.classes), (now.people, bytes(len(now.classes)))]
        )
        before, people = self.people
        first = np.unique(classes[np.isin(before, people)])[order]
        width = 1 + int(max(leaves.max(initial=-1), combination.max(initial=-1)))
        is_made = np.isin(first * width + combination[places], made * width + leaves)
        stay = is_made | ~np.isin(places, places[is_made])
        return places[stay], first[stay]

    def by_person(self, name: str) -> ReleasedValues | None:
        """Return the values of a sensitive column in the earlier export, by person in the place of class.

        By "" people alone. None where values are not remembered so: no pseudonym left with the rows, or the column did
        not.
        """
        if not name:
            people = self.earlier.pairs.people
            ones = np.ones(len(people) // SIGNATURE, dtype=np.int64)
            return ReleasedValues(people, bytes(len(people)), ones, (b"", b""), (people, b""), ones)
        column = self.rows.columns.get(name + OF_PEOPLE)
        if column is None:
            return None
        values = ReleasedValues.of(self.earlier.pairs, column, self.rows.columns[COMBINATIONS])
        return values if len(values.copies) else None

    def gone(self, name: str, places: Whole, first: Whole) -> GoneRows:
        """Return what an earlier class has more of a sensitive column than the rows that were in it.

        Args:
            name: of the column.
            places: of some rows.
            first: the earlier class of each of them, as `earlier_classes`.
        """
        before, pairs = self.values_of(name), self.earlier.pairs
        _, classes = codes_of_signatures(pairs.classes, before.groups)
        values, own, missing, table = codes_of_signatures(
            before.values, self.rows.values[name], self.rows.missing[name], self.rows.table[name]
        )
        width = 1 + max(int(part.max(initial=-1)) for part in (values, own, missing, table))
        keys, at = np.unique(
            np.concatenate([classes * width + values, first * width + own[places]]), return_inverse=True
        )
        left = np.bincount(at[: len(classes)], before.copies, len(keys)) - np.bincount(
            at[len(classes) :], minlength=len(keys)
        )
        some = np.flatnonzero(left > 0) if self.is_counted else np.array([], dtype=np.int64)
        totals = np.bincount(table, minlength=width).astype(np.int64)
        none = int(missing.max(initial=-1))
        return GoneRows(*np.divmod(keys[some], width), left[some].astype(np.int64), own, none, totals)

    @cached_property
    def is_counted(self) -> bool:
        """Check whether the values of the earlier export can be subtracted; earlier versions kept no counts."""
        pairs = self.earlier.pairs
        if pairs.values is None or not pairs.is_counted:
            return False
        return all(self.values_of(name).is_counted for name in self._read)

    @property
    def _read(self) -> Sequence[str]:
        """Return the sensitive columns, also as written where the earlier export has them, and "" for all rows."""
        names = [name for name in self.rows.values if not name.endswith(WRITTEN) or len(self.values_of(name).copies)]
        return [*names, ""]

    def values_of(self, name: str) -> ReleasedValues:
        """Return the rows of the earlier export by class and value of a sensitive column; by "" alone."""
        columns = self.rows.columns
        return ReleasedValues.of(self.earlier.pairs, columns[name] if name else b"", columns[COMBINATIONS])

    @cached_property
    def _overlaid(self) -> Mapping[str, OverlaidReleases]:
        rows = self.rows
        if not self.is_counted:
            return {}
        ones = np.ones(len(self.linkable), dtype=np.int64)
        made_of, people, alike = (rows.classes, rows.made_of), (rows.people, rows.classes), bytes(len(rows.classes))
        return {
            name: OverlaidReleases.of(
                self.values_of(name),
                ReleasedValues(rows.classes, rows.values.get(name, alike), ones, made_of, people, ones),
                rows.table.get(name, alike),
                missing=rows.missing.get(name, b""),
            )
            for name in self._read
        }

    def subtractions(self, rows: Mask, limits: ClassLimits) -> Mapping[str, tuple[Subtraction, ClassLimits]]:
        """Subtract by each sensitive column, by the unions of classes that the earlier export and `rows` are made of.

        Each with the limits that hold for it; by "" people are counted alone. Nothing where the earlier export kept no
        counts.
        """
        of_people = ClassLimits(limits.k)
        return {name: (item.united(rows), limits if name else of_people) for name, item in self._overlaid.items()}

    def by_difference(self, limits: ClassLimits, kept: Mask) -> Mapping[str, int]:
        """Count, by sensitive column, the parts of which the difference in either direction breaks a limit.

        By "" those in which it is of fewer than k people, where no column says so.
        """
        every = self.subtractions(kept, limits)
        broken = {name: sum(map(len, item.exposed(kept, limit))) for name, (item, limit) in every.items()}
        counts = {**worst_of_columns(broken)}
        of_people = counts.pop("", 0)
        return counts | ({"": of_people} if of_people and not any(counts.values()) else {})

    def alike_in_both(self, k: int, kept: Mask) -> Whole:
        """Return the numbers of people who are in both exports, and alike in both with fewer than k - 1 others."""
        (before, now), (earlier, classes) = self.people, self.classes
        both = join_classes(distinct_pairs(before, earlier), distinct_pairs(now[kept], classes[kept]))
        return both[np.bincount(both[:, 1])[both[:, 1]] < k, 0] if len(both) else both[:, 0]


def linked_rows(every: Sequence[ComparedRows], name: str, limits: ClassLimits, kept: Mask) -> Mask:
    """Return which rows are in a joined class, or among new rows of a class, that breaks l or t, and can be found.

    Each earlier export is joined with the rows, and all that link are joined together: that a row is not in one of them
    is seen, too. Where no row links, joined classes are found by subtracting classes. By "" people are counted alone.
    """
    result = np.zeros(len(kept), dtype=np.bool_)
    limits = limits if name else ClassLimits(limits.k)
    linking = [item for item in every if (item.linkable & kept).any()]
    of_values = replace(limits, k=1)
    for item in linking:
        fresh = np.flatnonzero(item.is_new & kept)
        result[_breaking(item, name, of_values, fresh, item.classes[1][fresh], every=True)] = True
    linked = [item for item in linking if item.linkable[kept].all()]
    by_person = [(item, values) for item in linked if (values := item.by_person(name)) is not None]
    result |= _left_together(by_person, name, limits, kept)
    for item in linked:
        if item.is_counted and item.by_person(name) is None:  # an earlier version exported it
            result |= _left_behind(item, name, of_values, kept)
    for item in every:
        result |= _subtracted(item, name, limits, kept)
    result |= _broken_together(every, name, limits, kept)
    for group in [*([item] for item in linking), *([linking] if len(linking) > 1 else [])]:
        earlier = [(item.earlier.pairs.people, item.earlier.pairs.classes) for item in group]
        releases = [*earlier, (group[0].rows.people, group[0].rows.classes)]
        places, numbers = joined_classes_signed(releases, with_absent=len(group) > 1)
        stay = kept[places]
        of_cells = limits if len(group) > 1 else replace(limits, k=1)  # pairs are judged by people already
        result[_breaking(group[0], name, of_cells, places[stay], numbers[stay])] = True
    return result


def _left_together(
    found: Sequence[tuple[ComparedRows, ReleasedValues]], name: str, limits: ClassLimits, kept: Mask
) -> Mask:
    """Return which rows stay of a joined class of earlier exports whose people who left break a limit.

    A reader finds them by their pseudonyms. `found`: earlier exports with the values that people had in each.
    """
    result = np.zeros(len(kept), dtype=np.bool_)
    if not found:
        return result
    rows = found[0][0].rows
    *parts, own = codes_of_signatures(
        *(part for item, values in found for part in (item.earlier.pairs.people, values.groups)), rows.people
    )
    cell = np.zeros(1 + max(int(part.max(initial=-1)) for part in (*parts, own)), dtype=np.int64)
    for (item, _), people in zip(found, parts[::2], strict=True):
        cell = _refined(cell, distinct_pairs(people, item.classes[0]))
    has_left = ~np.isin(np.arange(len(cell)), own[kept])
    for (_, values), people, holders in zip(found, parts[::2], parts[1::2], strict=True):
        alike = bytes(SIGNATURE)
        codes, missing, table = codes_of_signatures(
            values.values, rows.missing.get(name, b""), rows.table.get(name, alike)
        )
        is_gone = has_left[holders] & np.isin(holders, people)
        left, who = cell[holders[is_gone]], holders[is_gone]
        groups, owner = np.unique(left, return_inverse=True)
        owner = owner.astype(np.int64)
        value, copies, none = codes[is_gone], values.copies[is_gone], int(missing.max(initial=-1))
        totals = np.bincount(table, minlength=1 + int(codes.max())).astype(np.int64)
        broken = limits.broken(ClassPairs.of(owner, value, copies), totals, missing=none)
        persons = np.bincount(np.unique(np.stack([owner, who], axis=1), axis=0)[:, 0]).astype(np.int64)
        if copies.sum() > persons.sum():
            broken |= limits.broken(ClassPairs.of(owner, value), totals, missing=none, people=persons)
        result |= np.isin(cell[own], groups[broken])
    return result & kept


def _refined(cell: Whole, pairs: Whole) -> Whole:
    """Return the cell of each person, apart by the classes that `pairs` (person, class; in order) say of it."""
    rank = np.arange(len(pairs)) - np.searchsorted(pairs[:, 0], pairs[:, 0])
    for place in range(1 + int(rank.max(initial=-1))):
        classes = np.full(len(cell), -1, dtype=np.int64)
        of_rank = pairs[rank == place]
        classes[of_rank[:, 0]] = of_rank[:, 1]
        cell = np.unique(np.stack([cell, classes]), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return cell


def _left_behind(item: ComparedRows, name: str, limits: ClassLimits, kept: Mask) -> Mask:
    """Return which rows stay of earlier classes whose people who left, by their pseudonyms, break l or t."""
    places, first = item.earlier_classes
    places, first = places[kept[places]], first[kept[places]]
    gone, (before, people) = item.gone(name, places, first), item.people
    classes, owner = np.unique(gone.classes, return_inverse=True)
    broken = limits.broken(
        ClassPairs.of(owner.astype(np.int64), gone.values, gone.copies), gone.totals, missing=gone.missing
    )
    left = np.intersect1d(classes[broken], item.classes[0][~np.isin(before, people[kept])])
    result = np.zeros(len(kept), dtype=np.bool_)
    result[places[np.isin(first, left)]] = True
    return result


def _subtracted(item: ComparedRows, name: str, limits: ClassLimits, kept: Mask) -> Mask:
    """Return which rows are in joined classes, or new ones of a class, that break l and that subtracting shows.

    Where it shows those who have left an earlier class, the rows of this class that stay.
    """
    result = np.zeros(len(kept), dtype=np.bool_)
    if limits.l is None or not kept.any():
        return result
    places, first = item.earlier_classes
    places, first = places[kept[places]], first[kept[places]]
    fresh = np.flatnonzero(item.is_new & kept)
    gone = item.gone(name, places, first)
    empty = gone._replace(classes=fresh[:0], values=fresh[:0], copies=fresh[:0])
    outside = 1 + max(int(part.max(initial=-1)) for part in (*item.classes, first, gone.classes))
    for new in (fresh[:0], fresh):  # newcomers hide what is left only by chance, and can be what is left
        for left in (empty, gone) if len(gone.classes) else (empty,):  # so do those who have left
            rows = np.concatenate([places, new])
            before = np.concatenate([first, np.full(len(new), outside), left.classes])
            after = np.concatenate([item.classes[1][rows], np.full(len(left.classes), outside)])
            ends, joined = np.unique(np.stack([before, after]), axis=1, return_inverse=True)
            joined = joined.reshape(-1).astype(np.int64)
            broken = np.zeros(ends.shape[1], dtype=np.bool_)
            broken[joined[: len(rows)]] = in_broken_classes(
                item, name, ClassLimits(1, limits.l), rows, joined[: len(rows)]
            )
            broken[joined[len(rows) :]] = left.few(limits.l)
            values = np.concatenate([gone.own[rows], left.values])
            copies = np.concatenate([np.ones(len(rows), dtype=np.int64), left.copies])
            shown = shown_by_subtracting(ends, ClassPairs.of(joined, values, copies), broken, outside=outside)
            result[rows[shown[joined[: len(rows)]]]] = True
            result[places[np.isin(first, left.classes[shown[joined[len(rows) :]]])]] = True
    return result


def _broken_together(every: Sequence[ComparedRows], name: str, limits: ClassLimits, kept: Mask) -> Mask:
    """Return which rows all exports together show to be in a group that breaks l or t, or to have been with one.

    Exports in which people have several rows are not used: their rows cannot be matched.
    """
    result, chosen = np.zeros(len(kept), dtype=np.bool_), np.flatnonzero(kept)
    single = [item for item in every if item.is_counted and not _repeat(item.people[0])]
    if not single or not len(chosen) or _repeat(single[0].people[1]) or limits == ClassLimits(limits.k):
        return result
    laid = _joint_releases(single, name, chosen)
    if laid is None:
        return result
    joint, cell, totals = laid
    found = np.zeros(len(joint.people), dtype=np.bool_)
    if limits.l is not None:
        found |= joint.few(limits.l)
    if limits.t is not None:
        found |= joint.computable(ClassLimits(1, limits.l, limits.t), totals)
    left = joint.classes[found & ~joint.is_known]
    stays = joint.is_known & np.isin(joint.classes, left[left >= 0]).any(axis=1)
    if len(left) and not stays.any():
        stays = joint.is_known & np.isin(joint.group, joint.group[found])
    result[chosen] = (found | stays)[cell]
    return result


def _repeat(people: Whole) -> bool:
    return len(np.unique(people)) < len(people)


def _joint_releases(
    every: Sequence[ComparedRows], name: str, chosen: Whole
) -> tuple[JointReleases, Whole, Whole] | None:
    """Lay some rows beside all earlier exports; return also the cell of each, and rows of the table by value.

    None where these are too many.
    """
    rows, before = every[0].rows, [item.values_of(name) for item in every]
    *people, own = codes_of_signatures(*(item.earlier.pairs.people for item in every), rows.people)
    *values, mine, table, missing = codes_of_signatures(
        *(item.values for item in before), rows.values[name], rows.table[name], rows.missing[name]
    )
    width = 1 + max(int(part.max(initial=-1)) for part in (*values, mine, table, missing))
    profiles = np.full((1 + max(int(part.max(initial=-1)) for part in (*people, own)), len(every) + 1), -1)
    if width * (len(own) + sum(map(len, people))) > MOST_SUMS:
        return None
    published = list[Whole]()
    for place, (item, value) in enumerate(zip(before, values, strict=True)):
        of_person, of_value = codes_of_signatures(every[place].earlier.pairs.classes, item.groups)
        profiles[people[place], place] = sum(map(len, published)) + of_person
        published.append(np.zeros((1 + int(max(of_person.max(), of_value.max())), width), dtype=np.int64))
        np.add.at(published[-1], (of_value, value), item.copies)
    profiles[own[chosen], -1] = sum(map(len, published)) + every[0].classes[1][chosen]
    published.append(np.zeros((1 + int(every[0].classes[1].max()), width), dtype=np.int64))
    is_there = (profiles >= 0).any(axis=1)
    cells, of_person, sizes = np.unique(profiles[is_there], axis=0, return_inverse=True, return_counts=True)
    cell = of_person.reshape(-1)[(np.cumsum(is_there) - 1)[own[chosen]]]
    held = np.zeros((len(cells), width), dtype=np.int64)
    np.add.at(held, (cell, mine[chosen]), 1)
    joint = JointReleases.of(cells, sizes, published, held, int(missing.max(initial=-1)))
    return joint, cell, np.bincount(table, minlength=width).astype(np.int64)


def _breaking(
    item: ComparedRows, name: str, limits: ClassLimits, rows: Whole, classes: Whole, *, every: bool = False
) -> Whole:
    """Return the rows in classes that break a limit, of those with a row that can be found, or of `every` class."""
    broken = in_broken_classes(item, name, limits, rows, classes)
    if not every:
        broken &= np.isin(classes, classes[item.linkable[rows]])
    result: Whole = rows[broken]
    return result


def in_broken_classes(item: ComparedRows, name: str, limits: ClassLimits, rows: Whole, classes: Whole) -> Mask:
    """Return which of some rows are in a class that breaks a limit: by rows, or by people and their values.

    `classes`: the class of each of these rows.
    """
    values, totals, missing = item.rows.numbered(name)
    _, groups = np.unique(classes, return_inverse=True)
    people, width = item.people[1], 1 + int(values.max(initial=0))
    broken = limits.broken(ClassPairs.of(groups, values[rows]), totals, missing=missing)
    once = np.unique(np.stack([groups, people[rows], values[rows]], axis=1), axis=0)
    persons = np.bincount(np.unique(once[:, :2], axis=0)[:, 0]).astype(np.int64)
    if len(rows) > persons.sum():
        held = np.bincount(np.unique(people * width + values) % width, minlength=len(totals)).astype(np.int64)
        pairs = ClassPairs.of(once[:, 0], once[:, 2])
        broken |= limits.broken(pairs, held, missing=missing, people=persons)
    result: Mask = broken[groups]
    return result


def compared(now: ReleasedRows, releases: Sequence[KnownRelease]) -> list[Mapping[str, Any]]:
    """Return, per release and size of group, how many people are in groups of that size: `release`, `size`, `persons`.

    A release without a person of the table has one row, of size 0 and no people. One whose people are
    distinguished otherwise (by other columns, or under another key) has one row whose size is None.
    """
    rows: list[Mapping[str, Any]] = []
    for release in releases:
        if release.pairs.digest != now.digest:
            rows.append({NAME: release.name, SIZE: None, PERSONS: 0})
            continue
        before = (release.pairs.people, release.pairs.classes)
        composition = intersect_signed(before, (now.people, now.persons.classes), 2)
        sizes = composition.histogram or ((0, 0),)
        rows += [{NAME: release.name, SIZE: size, PERSONS: persons} for size, persons in sizes]
    return rows


def joint_disclosures(
    now: ReleasedRows, releases: Sequence[KnownRelease], limits: ClassLimits
) -> Iterator[Mapping[str, Any]]:
    """Yield what releases tell by their differences, and all of them together, that breaks limits.

    Releases without a person of the table add nothing. `kind`, `release` ("" for all), `column` ("" for
    none) and `count`. All rows are of people; which rows other columns link is not known, so that values are
    intersected as sets.
    """
    none_gone = np.zeros(len(now.people) // SIGNATURE, dtype=np.bool_)
    every = [ComparedRows(item, now, none_gone) for item in releases if item.pairs.digest == now.digest]
    every = [item for item in every if not item.is_new.all()]
    own, kept = (now.people, now.persons.classes), ~none_gone
    results: list[tuple[DisclosureKind, str, str, int]] = []
    for item in every:
        name, before = item.earlier.name, (item.earlier.pairs.people, item.earlier.pairs.classes)
        results.append((DisclosureKind.LEFT_OVER, name, "", left_over_signed(before, own, limits.k)))
        broken = item.by_difference(limits, kept)
        results += [(DisclosureKind.DIFFERENCE, name, column, many) for column, many in broken.items()]
        results.append((DisclosureKind.UNCOUNTED, name, "", not item.is_counted))
    pairs = [(item.earlier.pairs.people, item.earlier.pairs.classes) for item in every]
    if len(every) > 1:
        results.append((DisclosureKind.TOGETHER, "", "", intersect_all_signed([*pairs, own], limits.k)))
    if every:
        by_name = {name: int(_breaking_rows(every, name, limits).sum()) for name in now.values}
        results += [(DisclosureKind.VALUES, "", column, many) for column, many in worst_of_columns(by_name).items()]
        results += [(DisclosureKind.FEW_VALUES, "", column, many) for column, many in _few_values(every, limits)]
    for kind, name, column, many in results:
        if many:
            yield {KIND: kind.value, NAME: name, COLUMN: column, COUNT: int(many)}


def _breaking_rows(every: Sequence[ComparedRows], name: str, limits: ClassLimits) -> Mask:
    """Return the rows of people whose possible values, by all releases together, break l or t."""
    now, kept = every[0].rows, np.ones(len(every[0].linkable), dtype=np.bool_)
    result = linked_rows(every, name, limits, kept)
    pairs = [(item.earlier.pairs.people, item.earlier.pairs.classes) for item in every]
    own = (now.people, now.persons.classes)
    if limits.t is not None:
        far = ClassLimits(1, None, limits.t)
        for joined in [[item] for item in pairs] + [pairs] * (len(pairs) > 1):
            places, numbers = joined_classes_signed([*joined, own])
            result[places[in_broken_classes(every[0], name, far, places, numbers)]] = True
    return result


def _few_values(every: Sequence[ComparedRows], limits: ClassLimits) -> Iterator[tuple[str, int]]:
    """Yield by column how many people all releases together leave with fewer than l values."""
    now = every[0].rows
    if limits.l is None or not now.values:
        return
    pairs = [*(item.earlier.pairs for item in every), now.pairs()]
    signed = [SignedClasses(item.people, item.classes, item.values or b"") for item in pairs]
    for name in now.values:
        if not name.endswith(WRITTEN):
            yield name, few_values_signed(signed, now.columns[name], limits.l, missing=now.missing[name])
