"""Choose the rows of an export that wait for a later one, so that no limit is broken together with earlier exports.

New rows of a class wait until they are k with enough values. Where rows have left, or changed, others of their class
are left out with them. Each step holds back the fewest rows that mend what it finds; steps repeat until nothing is
broken, also by the smaller unions of classes that the rows that are left are made of. Among rows that would do equally,
those of new people go first, then the first by the signature of the person, a keyed hash: the same state holds back
the same rows.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from checks.risk.compared_releases import ComparedRows, in_broken_classes, linked_rows
from checks.risk.composition import codes_of_signatures, distinct_pairs
from checks.risk.differences import ClassLimits, Subtraction

Whole = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def rows_to_keep(compared: Sequence[ComparedRows], limits: ClassLimits) -> Mask:
    """Return of each row whether it can leave: none of them where nothing would do.

    Args:
        compared: the same rows beside each earlier export, at least one.
        limits: the strictest that any export of the table has promised.
    """
    choice = _Choice(compared, limits)
    left = -1
    while left != int(choice.kept.sum()):
        left = int(choice.kept.sum())
        choice.step()
    return choice.kept


class _Choice:
    def __init__(self, compared: Sequence[ComparedRows], limits: ClassLimits) -> None:
        self._compared, self._limits = compared, limits
        rows = compared[0].rows
        (signed,) = codes_of_signatures(rows.people)  # in the order of the signatures
        newcomer = np.logical_and.reduce([item.is_new for item in compared])
        self._turn = np.lexsort((np.arange(len(signed)), signed, ~newcomer))
        self._rank = np.argsort(self._turn)
        self.kept = np.ones(len(signed), dtype=np.bool_)

    def step(self) -> None:
        """Hold back what breaks a limit beside each earlier export, and classes that break one by what is left."""
        everything = np.ones_like(self.kept)
        for item in self._compared:
            self._new_persons(item)
            self._gone_persons(item)
            self.kept &= ~np.isin(item.people[1], item.alike_in_both(self._limits.k, self.kept))
            for rows in (everything, self.kept):  # unions of classes as the table has them, and as the file does
                for subtraction, limits in item.subtractions(rows, self._limits).values():
                    self._more(item, subtraction, limits)
                    self._less(subtraction, limits)
        for name in self._compared[0].rows.values or ("",):
            self.kept &= ~linked_rows(self._compared, name, self._limits, self.kept)
        self._classes()

    def _new_persons(self, item: ComparedRows) -> None:
        """Let fewer than k new people of a class wait."""
        (_, people), (_, classes) = item.people, item.classes
        fresh = item.is_new & self.kept
        pairs = distinct_pairs(people[fresh], classes[fresh])
        few = np.bincount(pairs[:, 1], minlength=1 + int(classes.max(initial=-1))) < self._limits.k
        self.kept &= ~(fresh & few[classes])

    def _gone_persons(self, item: ComparedRows) -> None:
        """Leave out others of an earlier class of which fewer than k people are gone, until it is k."""
        (before, people), (earlier, _) = item.people, item.classes
        pairs = distinct_pairs(before, earlier)
        stays = np.isin(pairs[:, 0], people[self.kept])
        gone = np.bincount(pairs[~stays, 1], minlength=1 + int(earlier.max(initial=-1)))
        turns = np.full(1 + int(max(before.max(initial=-1), people.max(initial=-1))), len(people))
        np.minimum.at(turns, people[self._turn], np.arange(len(people)))
        lacking = np.where((gone > 0) & (gone < self._limits.k), self._limits.k - gone, 0)
        person, group = pairs[stays & (lacking[pairs[:, 1]] > 0)].T
        order = np.lexsort((turns[person], group))
        place = np.arange(len(order)) - np.searchsorted(group[order], group[order])
        self.kept &= ~np.isin(people, person[order][place < lacking[group[order]]])

    def _more(self, item: ComparedRows, subtraction: Subtraction, limits: ClassLimits) -> None:
        """Let the rows wait that a part has more, where these break a limit: all, or so many that t holds."""
        more = subtraction.more(self.kept)
        first, by_cell = item.is_new | subtraction.of_people(more.known), self._by_cell(subtraction)
        for part in subtraction.broken(more, limits):
            cells = subtraction.cells_of(part)
            left = more.rows[cells].copy()
            if not subtraction.breaks(cells, left, limits):  # they are of few people, or of few values of people
                left[:] = 0
            while subtraction.breaks(cells, left, limits) and left.any():
                can = left > 0 if self._can_mend(subtraction, cells, left) else np.zeros(len(left), dtype=np.bool_)
                if not can.any():
                    left[:] = 0
                    break
                surplus = left / left.sum() - self._wanted(subtraction, cells)
                left[np.argmax(np.where(can, surplus, -np.inf))] -= 1
            self._drop(by_cell, cells, more.rows[cells] - left, first=first)

    def _less(self, subtraction: Subtraction, limits: ClassLimits) -> None:
        """Leave out more rows of a part that has fewer than before, where these break a limit, until they do not."""
        after, less, by_cell = subtraction.after(self.kept), subtraction.less(self.kept), self._by_cell(subtraction)
        known = subtraction.of_people(less.known)
        for part in subtraction.broken(less, limits):
            cells = subtraction.cells_of(part)
            gone, there = less.rows[cells].copy(), after[cells].copy()
            more = np.maximum(there - subtraction.before[cells], 0)
            if not subtraction.breaks(cells, gone, limits):
                rows = self._rows_of(by_cell, cells)
                self._leave(rows, subtraction.person, known, self._limits.k - int(less.people[part]))
                continue
            while subtraction.breaks(cells, gone, limits) and there.any():
                few_values = limits.l is not None and self._values(subtraction, cells, gone) < limits.l
                can = (there > 0) & ((gone == 0) if few_values and ((gone == 0) & (there > 0)).any() else True)
                lacks = self._wanted(subtraction, cells) - gone / max(1, gone.sum()) - more  # what is also more, last
                at = int(np.argmax(np.where(can, lacks, -np.inf)))
                removed = min(int(there[at]), int(more[at]) + 1)
                gone[at] += max(0, removed - int(more[at]))
                there[at] -= removed
                more[at] = 0
            self._drop(by_cell, cells, after[cells] - there, first=None)

    def _leave(self, rows: Whole, person: Whole, known: Mask, wanted: int) -> None:
        """Leave out a row each of further people of a part of which rows of few people are gone; of all, if need be.

        `rows`: of the part, in their turn. `known`: which rows are of people with removed rows.
        """
        others = rows[~known[rows]]
        _, first = np.unique(person[others], return_index=True)
        self.kept[others[np.sort(first)][:wanted] if 0 < wanted <= len(first) else rows] = False

    def _by_cell(self, subtraction: Subtraction) -> tuple[Whole, Whole]:
        """Return the rows by cell, those of a cell in their turn, and where each cell begins."""
        order = np.lexsort((self._rank, subtraction.cell))
        return order, np.searchsorted(subtraction.cell[order], np.arange(len(subtraction.parts) + 1))

    def _rows_of(self, by_cell: tuple[Whole, Whole], cells: Whole) -> Whole:
        """Return the rows of consecutive cells that are kept, in their turn."""
        order, begins = by_cell
        rows = order[begins[cells[0]] : begins[cells[-1] + 1]]
        rows = rows[self.kept[rows]]
        result: Whole = rows[np.argsort(self._rank[rows])]
        return result

    def _values(self, subtraction: Subtraction, cells: Whole, rows: Whole) -> int:
        """Count the values that count towards l."""
        return int(((rows > 0) & (subtraction.values[cells] != subtraction.missing)).sum())

    def _can_mend(self, subtraction: Subtraction, cells: Whole, rows: Whole) -> bool:
        """Return whether fewer of these rows could hold k and l, so that t alone is to be mended."""
        limits = self._limits
        return int(rows.sum()) > limits.k and (limits.l is None or self._values(subtraction, cells, rows) >= limits.l)

    def _wanted(self, subtraction: Subtraction, cells: Whole) -> npt.NDArray[np.float64]:
        totals = subtraction.totals[subtraction.values[cells]]
        shares: npt.NDArray[np.float64] = totals / max(1, int(subtraction.totals.sum()))
        return shares

    def _drop(self, by_cell: tuple[Whole, Whole], cells: Whole, many: Whole, *, first: Mask | None) -> None:
        """Hold back so many rows of each cell, in their turn; those of `first` before all others."""
        for cell, count in zip(cells, many, strict=True):
            rows = self._rows_of(by_cell, np.array([cell]))
            if first is not None:
                rows = rows[np.argsort(~first[rows], kind="stable")]
            self.kept[rows[:count]] = False

    def _classes(self) -> None:
        """Leave out classes that break a limit by what is left of them."""
        item = self._compared[0]
        (_, people), (_, classes) = item.people, item.classes
        pairs = distinct_pairs(people[self.kept], classes[self.kept])
        few = np.bincount(pairs[:, 1], minlength=1 + int(classes.max(initial=-1))) < self._limits.k
        self.kept &= ~few[classes]
        for name in item.rows.values:
            rows = np.flatnonzero(self.kept)
            self.kept[rows[in_broken_classes(item, name, self._limits, rows, classes[rows])]] = False
