"""The difference of two releases: an attacker who holds both subtracts the counts of each class.

Rows that one release has more than the other are a release of their own, and meet its limits or are none (m-invariance:
Xiao & Tao 2007, "m-invariance: towards privacy preserving re-publication of dynamic datasets", SIGMOD; Byun, Sohn,
Bertino & Li 2006). Counting people alone misses it: five people who join a class, all with one diagnosis.

Classes that read alike in both releases are subtracted; so are the smallest unions of classes that are made of the same
combinations of quasi-identifiers, where one release groups more finely than the other. A class is made of the rows that
leave: when rows are held back, a union can fall apart, and its parts are subtracted each on its own.

Rows are those of people: what is left has k people or is nothing, however many rows they have, and l and t hold by rows
and by people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from checks.classes.arrays import np, npt
from checks.classes.counts import PersonPairs
from checks.classes.pairs import COPIES, SIGNATURE
from checks.risk.composition import codes_of_signatures
from checks.risk.pairs import ClassPairs, ValueReading, Whole
from checks.risk.t_distances import T_SLACK, distances_as_read
from sources import import_extra

_LAYOUT = np.dtype(
    [
        *((name, f"V{SIGNATURE}") for name in ("column", "group", "value")),
        *((name, f"<u{COPIES}") for name in ("copies", "people")),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedValues:
    """Rows of a release by class and value of one column: signatures of 16 bytes each, and as many counts.

    `made_of`: signatures of classes, and of a combination of quasi-identifiers that each has among its rows. `people`:
    signatures of the person and the class of each row. `holders`: how many people have the value, where it is known.
    """

    groups: bytes
    values: bytes
    copies: Whole
    made_of: tuple[bytes, bytes]
    people: tuple[bytes, bytes]
    holders: Whole

    @classmethod
    def of(cls, pairs: PersonPairs, column: bytes, combinations: bytes) -> ReleasedValues:
        """Take those of a column from what is remembered; none: rows alone. `combinations`: under which these are."""
        every = np.frombuffer(pairs.values or b"", dtype=_LAYOUT)
        own = every[every["column"] == np.void(combinations)]
        rows = every[every["column"] == np.void(column)] if column else own
        values = rows["value"].tobytes() if column else bytes(SIGNATURE) * len(own)
        made_of, copies = (own["group"].tobytes(), own["value"].tobytes()), rows["copies"].astype(np.int64)
        holders = np.where(rows["people"] > 0, rows["people"].astype(np.int64), copies) if column else copies
        return cls(rows["group"].tobytes(), values, copies, made_of, (pairs.people, pairs.classes), holders)

    @property
    def is_counted(self) -> bool:
        """Check whether rows were counted; earlier versions kept only which values there are."""
        return bool((self.copies > 0).all())


@dataclass(frozen=True, slots=True)
class ClassLimits:
    """What a class has to hold: people, distinct values, and the largest distance from the table. None: no limit."""

    k: int
    l: float | None = None
    t: float | None = None

    def broken(
        self, pairs: ClassPairs, totals: Whole, *, missing: int = -1, people: Whole | None = None
    ) -> npt.NDArray[np.bool_]:
        """Return of each class whether it breaks a limit.

        Args:
            pairs: rows by value; people by value where `people` are given.
            totals: rows, or people, of the table with each value.
            missing: the value that does not count towards l; t is judged with it and without it, and the larger
                distance counts.
            people: of each class, where they can have several rows: a value of all of them is certain, an l of 1.
        """
        result: npt.NDArray[np.bool_] = (pairs.sizes if people is None else people) < self.k
        if self.l is not None:
            known = (pairs.value != missing).astype(np.int64)
            distinct = pairs.sums(known)
            if people is not None:
                is_certain = pairs.sums(known * (pairs.copies >= people[pairs.owner])) > 0
                distinct = np.where(is_certain, np.minimum(distinct, 1), distinct)
            result |= distinct < self.l
        if self.t is not None and len(pairs.starts):
            width = max(len(totals), int(pairs.value.max()) + 1)
            readings = [_without(missing, width)] if 0 <= missing < width else []
            far = distances_as_read(pairs, totals, how="equal", levels=None, readings=readings)
            result |= np.max(far, axis=0) > self.t + T_SLACK
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Surplus:
    """What one of two releases has more, by cell, int64 of shape (cells,).

    `holders`: at most how many people have these rows. `people`: at least how many people have those of each part,
    int64 of shape (parts,). `known`: who has more rows in which part, where people can have several.
    """

    rows: Whole
    holders: Whole
    people: Whole
    known: Whole


@dataclass(frozen=True, slots=True, eq=False)
class Subtraction:
    """Two releases by part and value: a part is a class, or the smallest union of classes that both are made of.

    `parts`, `values`, `before`: of each cell its part, its value and the rows of the earlier release, int64 of shape
    (cells,). `cell`, `person`: of each row of the later release, int64 of shape (rows,). `earlier`: part and person of
    each row of the earlier one; `holders`: of each cell at most how many people of it. `totals`: rows of the table with
    each value; `held`: people of the later release with each. `missing`: the value that does not count towards l, -1
    for none. `repeats`: whether people have several rows.
    """

    parts: Whole
    values: Whole
    before: Whole
    holders: Whole
    cell: Whole
    person: Whole
    earlier: tuple[Whole, Whole]
    totals: Whole
    held: Whole
    missing: int
    repeats: bool

    def more(self, kept: npt.NDArray[np.bool_]) -> Surplus:
        """Return what the later release has more, of which some rows are kept."""
        rows, cell = np.maximum(self.after(kept) - self.before, 0), self.cell[kept]
        if not self.repeats:
            return Surplus(rows, rows, self._by_part(rows), rows[:0])
        later = self._keys(self.parts[cell], self.person[kept])
        pairs = np.unique(later)
        held, copies = np.unique(cell * len(pairs) + np.searchsorted(pairs, later), return_counts=True)
        cells, pair = np.divmod(held, max(1, len(pairs)))
        most = np.bincount(pair, np.minimum(copies, rows[cells]), len(pairs)).astype(np.int64)
        people, has_more, is_holder = self._people(rows, pairs, most, later, self._keys(*self.earlier))
        holders = np.bincount(cells[is_holder[pair]], minlength=len(rows)).astype(np.int64)
        return Surplus(rows, np.minimum(rows, holders), people, pairs[has_more])

    def less(self, kept: npt.NDArray[np.bool_]) -> Surplus:
        """Return what the earlier release has more than what is kept; which values a person had is not remembered."""
        rows, cell = np.maximum(self.before - self.after(kept), 0), self.cell[kept]
        if not self.repeats:
            return Surplus(rows, rows, self._by_part(rows), rows[:0])
        earlier = self._keys(*self.earlier)
        pairs, most = np.unique(earlier, return_counts=True)
        later = self._keys(self.parts[cell], self.person[kept])
        people, has_more, _ = self._people(rows, pairs, most, earlier, later)
        return Surplus(rows, np.minimum(rows, self.holders), people, pairs[has_more])

    def of_people(self, keys: Whole) -> npt.NDArray[np.bool_]:
        """Return which rows of the later release are of people in parts, by `Surplus.known`."""
        return np.isin(self._keys(self.parts[self.cell], self.person), keys)

    @property
    def _width(self) -> int:
        return 1 + max(_last(self.person), _last(self.earlier[1]))

    def _keys(self, parts: Whole, people: Whole) -> Whole:
        return parts * self._width + people

    def _by_part(self, rows: Whole) -> Whole:
        return np.bincount(self.parts, rows, 1 + _last(self.parts)).astype(np.int64)

    def _people(
        self, rows: Whole, pairs: Whole, most: Whole, own: Whole, other: Whole
    ) -> tuple[Whole, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return the fewest people who can have the rows of each part: those who have more rows in it, and others.

        Args:
            rows: what one release has more, by cell.
            pairs: each part with each person of that release, ascending, as `_keys`.
            most: of each pair, at most how many of the rows it can have.
            own: part and person of each row of that release, as `_keys`.
            other: the same of the other release.

        Returns:
            The people of each part, which pairs have more rows, and which can have some of them: no others than these
            where they can have all of the part.
        """
        part = pairs // self._width
        counts = [np.unique(keys, return_counts=True) for keys in (own, other)]
        has_more = (_found(*counts[0], pairs) > _found(*counts[1], pairs)) & (most > 0)
        needed = self._by_part(rows)
        order = np.lexsort((-most, ~has_more, part))
        reached = np.cumsum(most[order]) - most[order]  # by all pairs before
        reached -= reached[np.searchsorted(part[order], part[order])]  # by those of the part
        is_counted = has_more[order] | ((reached < needed[part[order]]) & (most[order] > 0))
        people = np.bincount(part[order], is_counted, len(needed)).astype(np.int64)
        known = np.bincount(part, most * has_more, len(needed))
        return people, has_more, has_more | (known < needed)[part]

    def after(self, kept: npt.NDArray[np.bool_]) -> Whole:
        """Count the rows of the later release of which some are kept: int64 of shape (cells,)."""
        return np.bincount(self.cell[kept], minlength=len(self.parts)).astype(np.int64)

    def broken(self, surplus: Surplus, limits: ClassLimits) -> Whole:
        """Return the parts whose rows, or whose people, break a limit; a part without rows breaks none."""
        some = np.flatnonzero(surplus.rows > 0)
        parts, classes = np.unique(self.parts[some], return_inverse=True)
        by_rows, by_people = (
            ClassPairs.of(classes.astype(np.int64), self.values[some], many[some])
            for many in (surplus.rows, np.maximum(surplus.holders, 1))
        )
        broken = limits.broken(by_rows, self.totals, missing=self.missing)
        people = surplus.people[parts]
        if (people < by_rows.sizes).any():
            broken |= limits.broken(by_people, self.held, missing=self.missing, people=people)
        result: Whole = parts[broken]
        return result

    def breaks(self, cells: Whole, rows: Whole, limits: ClassLimits) -> bool:
        """Check whether some rows of one part break a limit; no row breaks none. `rows`: of each of the cells."""
        some = np.flatnonzero(rows > 0)
        pairs = ClassPairs.of(np.zeros(len(some), dtype=np.int64), self.values[cells[some]], rows[some])
        return bool(limits.broken(pairs, self.totals, missing=self.missing).any())

    def cells_of(self, part: int) -> Whole:
        """Return the cells of a part."""
        return np.arange(*np.searchsorted(self.parts, [part, part + 1]))

    def exposed(self, kept: npt.NDArray[np.bool_], limits: ClassLimits) -> tuple[Whole, Whole]:
        """Return the parts in which what the later release has more breaks a limit, and in which what it has less."""
        return self.broken(self.more(kept), limits), self.broken(self.less(kept), limits)


@dataclass(frozen=True, slots=True, eq=False)
class OverlaidReleases:
    """Two releases, of which the rows of the later one may be held back.

    `by_class`: with each class as a part. `made_of`: numbers of classes of the earlier release, and of a combination
    that each has. `combination`: of each row of the later release, int64 of shape (rows,).
    """

    by_class: Subtraction
    made_of: tuple[Whole, Whole]
    combination: Whole

    @classmethod
    def of(
        cls, before: ReleasedValues, after: ReleasedValues, table: bytes, *, missing: bytes = b""
    ) -> OverlaidReleases:
        """Lay two releases over one another.

        `after`: by rows, in the order of its people. `table`: the values of all rows of the table. `missing`: the one
        that is none, if any is.
        """
        of_classes = (before.groups, after.groups, before.made_of[0], before.people[1])
        groups, rows, made, own = codes_of_signatures(*of_classes)
        people, person = codes_of_signatures(before.people[0], after.people[0])
        leaves, combination = codes_of_signatures(before.made_of[1], after.made_of[1])
        values = codes_of_signatures(before.values, after.values, table, missing)
        width = 1 + max(map(_last, values))
        keys = np.concatenate([groups * width + values[0], rows * width + values[1]])
        cells, place = np.unique(keys, return_inverse=True)
        place, cell = place[: len(groups)], place[len(groups) :].astype(np.int64)
        earlier, holders = (
            np.bincount(place, of, len(cells)).astype(np.int64) for of in (before.copies, before.holders)
        )
        totals = np.bincount(values[2], minlength=width).astype(np.int64)
        held = np.bincount(np.unique(person * width + values[1]) % width, minlength=width).astype(np.int64)
        repeats = any(len(np.unique(item)) < len(item) for item in (people, person))
        by_class = Subtraction(
            *(cells // width, cells % width, earlier, holders, cell, person),
            *((own, people), totals, held, _last(values[3]), repeats),
        )
        return cls(by_class, (made, leaves), combination)

    def united(self, rows: npt.NDArray[np.bool_]) -> Subtraction:
        """Subtract by the smallest unions of classes that the earlier release and these rows are made of."""
        apart, (made, leaves) = self.by_class, self.made_of
        classes = np.concatenate([made, apart.parts[apart.cell[rows]]])
        count = 1 + max(_last(made), _last(apart.parts))
        part = _unions(classes, np.concatenate([leaves, self.combination[rows]]), count)
        width = len(apart.totals)
        cells, place = np.unique(part[apart.parts] * width + apart.values, return_inverse=True)
        before, holders = (np.bincount(place, of, len(cells)).astype(np.int64) for of in (apart.before, apart.holders))
        return replace(
            apart,
            parts=cells // width,
            values=cells % width,
            before=before,
            holders=holders,
            cell=place[apart.cell],
            earlier=(part[apart.earlier[0]], apart.earlier[1]),
        )


def shown_by_subtracting(
    ends: Whole, pairs: ClassPairs, broken: npt.NDArray[np.bool_], *, outside: int = -1
) -> npt.NDArray[np.bool_]:
    """Return which of the joined classes that break l a reader can compute by subtracting classes of two releases.

    Classes of the one release of which all people are in some classes of the other are subtracted from these: what is
    left are joined classes that only the other release has together with them. It breaks l where all of them do, with
    the same few values; those do not count that have none of these, since a class that they are in has none.

    Args:
        ends: the class of each joined class in the one and in the other release, int64 of shape (2, joined classes).
        pairs: the values of each joined class.
        broken: of each joined class whether it breaks l.
        outside: the class of people who are in one release only; a reader knows none of its values.
    """
    result, each = np.zeros(len(broken), dtype=np.bool_), np.split(pairs.value, pairs.starts[1:])
    values = {at: frozenset(each[at].tolist()) for at in np.flatnonzero(broken).tolist()}
    by_value = np.argsort(pairs.value, kind="stable")
    begins = np.searchsorted(pairs.value[by_value], np.arange(_last(pairs.value) + 2))
    by_class = [_by_class(numbers) for numbers in ends]
    for few in set(values.values()):
        holding = np.concatenate([pairs.owner[by_value[begins[item] : begins[item + 1]]] for item in few])
        may = [np.union1d(numbers[holding], [outside]) for numbers in ends]
        near = _edges_of(by_class[0], may[0])
        near = near[np.isin(ends[1][near], may[1])]
        chosen = np.array([values.get(at, few | {-1}) <= few for at in near.tolist()], dtype=np.bool_)
        result[near[_lead_one_way(ends[:, near], np.flatnonzero(chosen))]] = True
    return result


def _by_class(numbers: Whole) -> tuple[Whole, Whole]:
    """Return the joined classes by the class of one release that they are in, and where each begins."""
    order = np.argsort(numbers, kind="stable")
    return order, np.searchsorted(numbers[order], np.arange(_last(numbers) + 2))


def _edges_of(by_class: tuple[Whole, Whole], classes: Whole) -> Whole:
    """Return the joined classes that are in some classes, ascending."""
    order, begins = by_class
    own = classes[(classes >= 0) & (classes < len(begins) - 1)]
    return np.sort(np.concatenate([order[:0], *(order[begins[at] : begins[at + 1]] for at in own.tolist())]))


def _lead_one_way(ends: Whole, chosen: Whole) -> npt.NDArray[np.bool_]:
    """Return which of the chosen joined classes a union of classes of one release has more than one of the other.

    And no others but chosen ones: all others lie in both unions or in none, so they join their ends in both directions.
    """
    sparse = import_extra("scipy.sparse")
    connected_components = import_extra("scipy.sparse.csgraph").connected_components
    one, other = (np.unique(numbers, return_inverse=True)[1].reshape(-1) for numbers in ends)
    other = other + 1 + _last(one)
    back = np.delete(np.arange(len(one)), chosen)
    arcs = np.concatenate([one, other[back]]), np.concatenate([other, one[back]])
    graph = sparse.coo_array((np.ones(len(arcs[0]), dtype=np.bool_), arcs), shape=(1 + _last(other),) * 2)
    label = connected_components(graph, connection="strong")[1]
    result = np.zeros(len(one), dtype=np.bool_)
    result[chosen] = label[one[chosen]] != label[other[chosen]]
    return result


def _without(missing: int, width: int) -> ValueReading:
    """Return the reading of so many values in which one of them is missing."""
    places = np.arange(width)
    return ValueReading(np.where(places == missing, -1, places - (places > missing)), np.delete(places, missing))


def _found(keys: Whole, counts: Whole, wanted: Whole) -> Whole:
    """Return the count of each key that is wanted; 0 for one that is not there. `keys`: ascending."""
    place = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
    return np.where(keys[place] == wanted, counts[place], 0) if len(keys) else np.zeros(len(wanted), dtype=np.int64)


def _last(codes: Whole) -> int:
    return int(codes.max(initial=-1))


def _unions(groups: Whole, leaves: Whole, count: int) -> Whole:
    """Return of each class the number of its union: classes that have a combination in common belong together."""
    label = np.arange(count)
    while True:
        low = np.full(_last(leaves) + 1, count)
        np.minimum.at(low, leaves, label[groups])
        united = label.copy()
        np.minimum.at(united, groups, low[leaves])
        united = united[united]
        if (united == label).all():
            return label
        label = united
