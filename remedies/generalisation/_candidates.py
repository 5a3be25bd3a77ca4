"""Incognito's candidates, of which a node can only hold if its levels hold in all columns; and how far a search is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from time import perf_counter
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from remedies._contract import Progress, StopRequest
from remedies.generalisation._kernels import ENDED, HOLDS
from remedies.generalisation._walks import OrderedTable, Walker


class SearchProgress:
    """Reports to the caller of one part of a search after the other, as shares of the whole that never fall."""

    def __init__(self, budget: float | None = None, progress: Progress | None = None) -> None:
        """Begin now. `budget`: seconds."""
        self._began = perf_counter()
        self._budget = budget
        self._progress = progress
        self._from = self._until = self._told = 0.0

    @property
    def seconds(self) -> float:
        """Return how long it has taken so far."""
        return perf_counter() - self._began

    @property
    def is_over(self) -> bool:
        """Check whether the budget is used up."""
        return self._budget is not None and self.seconds >= self._budget

    def begin(self, share: float) -> None:
        """Begin a part of the search that is so large a share of what is left."""
        self._from = self._told
        self._until = self._told + share * (1 - self._told)

    def tell(self, done: float) -> None:
        """Report how much of the part is done, 0 to 1."""
        self._told = self._from + done * (self._until - self._from)
        try:
            if self._progress is not None:
                self._progress(self._told)
        except StopRequest:
            self._budget = 0.0


Mask: TypeAlias = npt.NDArray[np.bool_]
Held: TypeAlias = Mapping[tuple[int, ...], Mask]
"""By columns: which nodes of their lattice hold."""

_WORTH: Final = 0.15
"""Parts of one more column are looked at while what was read so far is less than this share of what is to come."""
_COARSER: Final = 6
"""How many times fewer classes than the ground a walk reads on average for a node; measured on Adult: 5 to 8."""
_SHARE: Final = 0.2
"""How large a part of what is left each size of parts is, to who watches the progress."""
_BEGIN: Final = 2
"""What it costs to begin a walk, per class of the ground: a class whose other columns go is read once, but slowly."""


def find_candidates(ground: OrderedTable, *, k: int, most: int, course: SearchProgress) -> tuple[OrderedTable, Mask]:
    """Rule out nodes by parts of their columns: join and prune, one column more at a time (LeFevre et al. 2005, 3.1).

    Rows in classes smaller than k are never fewer with more columns, so a node holds only if all parts of it do, also
    where `most` rows may be suppressed. All sizes of parts would be complete but slow: with many columns the parts
    become as costly as the whole, and rule out little. So it ends when the whole costs little enough; what the whole
    walk then finds is the same.

    Gives the ground at the lowest levels that are left, and the candidates: bool of the lattice's shape. A course that
    is over ends it, too.
    """
    width = len(ground.heights)
    shape = tuple(height + 1 for height in ground.heights)
    held: Held = {}
    candidates, read = np.ones(shape, dtype=np.bool_), 0
    for size in range(1, width):
        if read >= _WORTH * int(candidates.sum()) * len(ground.classes) / _COARSER:
            break
        course.begin(_SHARE)
        now, work = _held(ground, size, held, k=k, most=most, course=course)
        if course.is_over:
            break
        held, read = now, read + work
        candidates = joined(range(width), held, shape)
        if not candidates.any():
            break
        ground = ground.raised(_lowest(held, width))
    return ground, candidates


def joined(columns: Sequence[int], held: Held, shape: tuple[int, ...]) -> Mask:
    """Return the nodes of some columns all of whose parts held: bool of the shape."""
    result = np.ones(shape, dtype=np.bool_)
    for part, nodes in held.items():
        if set(part) <= set(columns):
            result &= nodes[tuple(slice(None) if column in part else None for column in columns)]
    return result


def _held(
    ground: OrderedTable, size: int, before: Held, *, k: int, most: int, course: SearchProgress
) -> tuple[Held, int]:
    """Walk through the lattices of all parts of so many columns."""
    results, read = {}, 0
    parts = list(combinations(range(len(ground.heights)), size))
    for number, part in enumerate(parts):
        shape = tuple(ground.heights[column] + 1 for column in part)
        candidates = joined(part, before, shape)
        if not candidates.any():
            results[part] = candidates
            break
        walker = Walker(ground, part, candidates, k=k, most=most)
        while walker.go_on() != ENDED and not course.is_over:
            pass
        if course.is_over:
            break
        course.tell((number + 1) / len(parts))
        results[part] = (walker.state == HOLDS).reshape(shape)
        read += walker.read + _BEGIN * len(ground.classes)
    return results, read


def _lowest(held: Held, width: int) -> npt.NDArray[np.int64]:
    """Return the lowest level of each column at which something holds in all parts that it is in."""
    low = np.zeros(width, dtype=np.int64)
    for part, nodes in held.items():
        for place, column in enumerate(part):
            others = tuple(axis for axis in range(len(part)) if axis != place)
            low[column] = max(low[column], int(np.argmax(nodes.any(axis=others))))
    return low
