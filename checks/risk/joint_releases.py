"""Several releases together: an attacker who holds all of them adds and subtracts their classes.

Two releases can be subtracted from one another (`differences`). With three, sums count too: those who join in the third
are the third, and the first, minus the second, where the second is the first with those who left after it. So the
releases are read as one system of equations: people who are in the same class of each release are a cell, and how many
people of a cell have a value is unknown; for each class the sum over its cells is published.

- A value is possible in a cell if some solution has it. Fewer possible values than a limit on l wants are too few. That
  is a linear programme: the solution with the most values that are not 0 (solutions need not be whole numbers).
- Sets of cells whose sum no solution changes can be computed by subtraction: their distance from the table is
  judged where t has a limit. Those are the sets on which a random vector of the null space of the system is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from checks.classes.arrays import np, npt
from checks.risk.differences import ClassLimits
from checks.risk.pairs import ClassPairs, Whole
from sources import import_extra

Mask = npt.NDArray[np.bool_]

MOST_UNKNOWNS: Final = 50_000
"""So many unknowns a linear programme has at most; classes that hang together with more are not judged."""
MOST_SUMS: Final = 20_000_000
"""So many sums, classes by values, are held at most."""
_ZERO: Final = 1e-6


@dataclass(frozen=True, eq=False)
class JointReleases:
    """People by the class that they are in in each release, and the values that the releases publish.

    `classes`: of each cell the number of its class in each release, -1 where its people are not in it, int64 of shape
    (cells, releases); no number is one of two releases. The last release is the new one. `people`: of each cell, int64
    of shape (cells,). `published`: int64 of shape (all classes, values). `own`: what the people of cells of the last
    release have, int64 of shape (cells, values); rows of other cells are 0. `missing`: the value that is none, -1 where
    each is one.
    """

    classes: Whole
    people: Whole
    published: Whole
    own: Whole
    missing: int
    persons: int

    @classmethod
    def of(cls, classes: Whole, people: Whole, published: Sequence[Whole], own: Whole, missing: int) -> JointReleases:
        """Take the releases: `published` by release, of the last one nothing is needed.

        What an earlier class has published, and its people who are still there do not have, is of people who left. It
        can be of more than these where values were corrected; what is more has cells of its own.
        """
        sums = np.concatenate(published)
        there, persons = np.zeros_like(sums), np.zeros(len(sums), dtype=np.int64)
        for numbers in classes.T:
            inside = numbers >= 0
            np.add.at(there, numbers[inside], own[inside])
            np.add.at(persons, numbers[inside], people[inside])
        sums = np.maximum(sums, there)
        more = np.flatnonzero(sums.sum(axis=1) > persons)
        left = np.full((len(more), classes.shape[1]), -1)
        ends = np.cumsum([len(item) for item in published])
        left[np.arange(len(more)), np.searchsorted(ends, more, side="right")] = more
        many = np.concatenate([people, (sums.sum(axis=1) - persons)[more]])
        own = np.concatenate([own, np.zeros((len(more), own.shape[1]), dtype=np.int64)])
        return cls(np.concatenate([classes, left]), many, sums, own, missing, len(people))

    @cached_property
    def is_known(self) -> Mask:
        """Return which cells are in the last release."""
        result: Mask = self.classes[:, -1] >= 0
        return result

    @cached_property
    def group(self) -> Whole:
        """Number the cells that hang together by their classes."""
        cell, release = np.nonzero(self.classes >= 0)
        return _hanging(cell, self.classes[cell, release], self.classes.shape[0], len(self.published))

    @property
    def _is_of_people(self) -> Mask:
        result: Mask = np.arange(len(self.people)) < self.persons
        return result

    def without_last(self) -> JointReleases:
        """Return the releases before the last one, of the same cells."""
        earlier = self.classes.copy()
        earlier[:, -1] = -1
        return replace(self, classes=earlier)

    def few(self, least: float) -> Mask:
        """Return the cells in which fewer values are possible than `least`, and were not before the last release."""
        distinct = (self.own > 0).sum(axis=1)
        if self.missing >= 0:
            distinct -= self.own[:, self.missing] > 0
        found = self.possibly_few((~self.is_known | (distinct < least)) & self._is_of_people, least)
        return found & ~self.without_last().possibly_few(found, least) if found.any() else found

    def possibly_few(self, doubtful: Mask, least: float) -> Mask:
        """Return which of some cells have fewer possible values than `least`."""
        result = np.zeros(len(self.people), dtype=np.bool_)
        wanted = np.flatnonzero(np.isin(self.group, self.group[doubtful]))
        order = wanted[np.argsort(self.group[wanted], kind="stable")]
        sizes = np.bincount(self.group, weights=self._may.sum(axis=1)).astype(np.float64)
        queue = _batches(order[sizes[self.group[order]] <= MOST_UNKNOWNS], self.group, sizes)
        while queue:
            cells = queue.pop()
            possible = self._possible(cells)
            if possible is not None:
                known = possible.sum(axis=1) - (possible[:, self.missing] if self.missing >= 0 else 0)
                result[cells] = doubtful[cells] & (known < least)
            elif len(groups := np.unique(self.group[cells])) > 1:  # in one of them values have changed meanwhile
                first = np.isin(self.group[cells], groups[: len(groups) // 2])
                queue += [cells[first], cells[~first]]
        return result

    @cached_property
    def _may(self) -> Mask:
        """Return which values each class of a cell has: bool of shape (cells, values)."""
        result = np.ones((len(self.people), self.published.shape[1]), dtype=np.bool_)
        for numbers in self.classes.T:
            result &= (self.published[numbers] > 0) | (numbers < 0)[:, np.newaxis]
        return result

    def _possible(self, cells: Whole) -> Mask | None:
        """Return which values some of the cells can have, together with all that hang together with them.

        bool of shape (these cells, values); None where no solution is there, since values have changed meanwhile.
        """
        place, value = np.nonzero(self._may[cells])
        many = len(place)
        parts = [(np.arange(many), self._equations(cells[place], numbers, value)) for numbers in self.classes.T]
        unknown = np.concatenate([item[equation >= 0] for item, equation in parts])
        equation = np.concatenate([equation[equation >= 0] for _, equation in parts])
        sums = self.published.reshape(-1)
        asked = np.flatnonzero(np.isin(np.arange(len(sums)), equation))
        rows = np.concatenate([np.searchsorted(asked, equation), len(asked) + place])
        right = np.concatenate([sums[asked], self.people[cells]]).astype(np.float64)
        return self._solved(rows, np.concatenate([unknown, np.arange(many)]), right, (place, value, len(cells)))

    def _equations(self, cells: Whole, numbers: Whole, value: Whole) -> Whole:
        return np.where(numbers[cells] < 0, -1, numbers[cells] * self.published.shape[1] + value)

    def _solved(
        self, rows: Whole, unknown: Whole, right: npt.NDArray[np.float64], cells: tuple[Whole, Whole, int]
    ) -> Mask | None:
        """Return which unknowns some solution has: of those that meet `right` times 1 or more, the one with most."""
        sparse, linprog = import_extra("scipy.sparse"), import_extra("scipy.optimize").linprog
        place, value, count = cells
        many, every = len(place), np.arange(len(right))
        system = sparse.coo_array((np.ones(len(rows)), (rows, unknown)), shape=(len(right), many))
        scale = sparse.coo_array((-right, (every, np.zeros_like(every))), shape=(len(right), 1))
        one = sparse.eye_array(many)
        found = linprog(
            np.concatenate([np.zeros(many), -np.ones(many), [0.0]]),
            A_eq=sparse.hstack([system, sparse.coo_array((len(right), many)), scale]).tocsr(),
            b_eq=np.zeros(len(right)),
            A_ub=sparse.hstack([-one, one, sparse.coo_array((many, 1))]).tocsr(),
            b_ub=np.zeros(many),
            bounds=[*[(0, None)] * many, *[(0, 1)] * many, (1, None)],
            method="highs",
        )
        if found.x is None:
            return None
        result = np.zeros((count, self.published.shape[1]), dtype=np.bool_)
        result[place, value] = found.x[many : 2 * many] > _ZERO
        return result

    def computable(self, limits: ClassLimits, totals: Whole) -> Mask:
        """Return the cells in sets that break a limit, and whose sum can be computed, but could not before.

        Sets are a cell; those of a class, or of all classes that hang together, who are in another release, or are not.

        `totals`: rows of the table with each value.
        """
        sets, cells = self._sets()
        many, result = 1 + int(sets.max(initial=-1)), np.zeros(len(self.people), dtype=np.bool_)
        now, before = (
            np.abs(np.bincount(sets, joint.null_vector()[cells], many)) < _ZERO for joint in (self, self.without_last())
        )
        chosen = (now & ~before)[sets]
        _, sets = np.unique(sets[chosen], return_inverse=True)
        cells = cells[chosen]
        has_gone = np.bincount(sets, ~self.is_known[cells]) > 0
        values = self._values(cells[has_gone[sets]])
        if values is None:
            stay = ~has_gone[sets]
            sets, cells, values = sets[stay], cells[stay], self.own.astype(np.float64)
        _, sets = np.unique(sets, return_inverse=True)
        sparse = import_extra("scipy.sparse")
        shape = (1 + int(sets.max(initial=-1)), len(self.people))
        members = sparse.coo_array((np.ones(len(sets)), (sets, cells)), shape=shape).tocsr()
        rows = np.rint(members @ values).astype(np.int64)
        place, value = np.nonzero(rows > 0)
        if len(place):
            numbers, owner = np.unique(place, return_inverse=True)
            broken = limits.broken(ClassPairs.of(owner, value, rows[place, value]), totals, missing=self.missing)
            result[cells[np.isin(sets, numbers[broken])]] = True
        return result & self._is_of_people

    def _sets(self) -> tuple[Whole, Whole]:
        """Return the number of a set and a cell of it, for each of its cells."""
        everyone = np.arange(self.persons)
        keys, group = [everyone], self.group[: self.persons]
        cells, releases = [everyone], range(self.classes.shape[1])
        for own, other in ((own, other) for own in releases for other in releases if own != other):
            numbers, elsewhere = self.classes[: self.persons, own], self.classes[: self.persons, other] >= 0
            inside = numbers >= 0
            keys += [2 * numbers[inside] + elsewhere[inside], group[inside & ~elsewhere]]
            cells += [everyone[inside], everyone[inside & ~elsewhere]]
        sets, count = list[Whole](), 0
        for key in keys:
            sets.append(count + np.unique(key, return_inverse=True)[1])
            count += len(key)
        return np.concatenate(sets), np.concatenate(cells)

    @property
    def _system(self) -> Any:
        """Return which cells each class has: a sparse array of shape (all classes, cells)."""
        cell, release = np.nonzero(self.classes >= 0)
        ones, shape = np.ones(len(cell)), (len(self.published), len(self.people))
        return import_extra("scipy.sparse").coo_array((ones, (self.classes[cell, release], cell)), shape=shape).tocsr()

    def null_vector(self) -> npt.NDArray[np.float64]:
        """Return a random vector by which cells can be changed without any class changing."""
        drawn = np.random.default_rng(0).normal(size=len(self.people))  # randomness: function
        system = self._system
        result: npt.NDArray[np.float64] = drawn - system.T @ _least_squares(system.T.tocsr(), drawn)
        return result

    def _values(self, cells: Whole) -> npt.NDArray[np.float64] | None:
        """Return how many people of each cell have each value, in some solution; None where there is none.

        Of those who left, only such values as are needed for some of the cells.
        """
        result, left = self.own.astype(np.float64), np.flatnonzero(~self.is_known)
        system = self._system
        rest = np.where(self._system.sum(axis=1)[:, np.newaxis] > 0, self.published, 0) - system @ result
        gone = system[:, left]
        for value in np.flatnonzero(self._may[cells].any(axis=0)).tolist():
            result[left, value] = _least_squares(gone, rest[:, value])
            if np.abs(gone @ result[left, value] - rest[:, value]).max(initial=0) > _ZERO:
                return None
        return result


def _least_squares(system: Any, right: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    lsqr = import_extra("scipy.sparse.linalg").lsqr
    result: npt.NDArray[np.float64] = lsqr(system, right, atol=1e-13, btol=1e-13, conlim=0, iter_lim=10_000)[0]
    return result


def _batches(order: Whole, group: Whole, sizes: npt.NDArray[np.float64]) -> list[Whole]:
    """Split cells, those of a group one after the other, into as few parts as are not too large."""
    parts = np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else []
    result, many = list[list[Whole]](), np.inf
    for cells in parts:
        many += (size := float(sizes[group[cells[0]]]))
        if many > MOST_UNKNOWNS:
            result.append([])
            many = size
        result[-1].append(cells)
    return [np.concatenate(item) for item in result]


def _hanging(cells: Whole, classes: Whole, many: int, count: int) -> Whole:
    """Number the cells that have classes in common, also by way of others."""
    sparse = import_extra("scipy.sparse")
    graph = sparse.coo_array((np.ones(len(cells)), (cells, many + classes)), shape=(many + count,) * 2)
    label: Whole = import_extra("scipy.sparse.csgraph").connected_components(graph, directed=False)[1]
    return label[:many].astype(np.int64)
