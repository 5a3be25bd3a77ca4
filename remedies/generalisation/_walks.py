"""Walks through lattices: which nodes are k-anonymous, with the frequency table read as seldom as possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from time import perf_counter
from typing import Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from remedies._contract import Progress, StopRequest
from remedies.generalisation._kernels import (
    DEPTH,
    ENDED,
    HOLDS,
    LOOKED,
    NEXT,
    NO_BOUND,
    OPEN,
    OUT,
    READ,
    Layout,
    Sets,
    Walk,
    roll_up,
    walk_on,
)
from remedies.generalisation.frequencies import Frequencies

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lattice:
    """All nodes of some columns, numbered so that a node comes after all that it generalises.

    `shape`: how many levels each column has.
    """

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Count the nodes."""
        return prod(self.shape)

    @property
    def strides(self) -> Whole:
        """Return by how much the number of a node grows when a column goes up one level."""
        return np.append(np.cumprod(np.array(self.shape[:0:-1], dtype=np.int64))[::-1], 1).astype(np.int64)

    def levels(self, nodes: npt.NDArray[np.intp] | Whole) -> Whole:
        """Return the levels of numbered nodes: int64 (nodes, columns)."""
        return np.stack(np.unravel_index(nodes, self.shape), axis=-1).astype(np.int64)

    def number(self, levels: Sequence[int] | Whole) -> int:
        """Return the number of a node."""
        return int(np.dot(self.strides, np.asarray(levels, dtype=np.int64)))


def minimal(holds: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return of each node, in an array of the lattice's shape, whether it holds and none that it generalises does."""
    somewhere = holds.copy()  # holds, or something below holds
    for axis in range(holds.ndim):
        np.logical_or.accumulate(somewhere, axis=axis, out=somewhere)
    below = np.zeros_like(holds)
    for axis in range(holds.ndim):
        upper = [slice(None)] * holds.ndim
        lower = [slice(None)] * holds.ndim
        upper[axis], lower[axis] = slice(1, None), slice(None, -1)
        below[tuple(upper)] |= somewhere[tuple(lower)]
    return holds & ~below


Keys = npt.NDArray[np.uint64]

_QUOTA: Final = 10_000_000
"""Classes that are read between two looks at the clock: about a fifth of a second."""
_BITS: Final = 64
_NOISE: Final = 1e-12
"""By which share a bound may differ from the value of a node that is as good: sums of floats, in other orders."""


def order_of(frequencies: Frequencies) -> list[int]:
    """Return the columns, those with the most leaves first: so that what is kept deep in a walk is small."""
    domains = frequencies.domains
    return sorted(range(len(domains)), key=lambda place: (-len(domains[place].values), place))


def pack(columns: Sequence[Whole], nodes: Sequence[Whole], counts: Whole) -> tuple[Keys, Layout]:
    """Pack numbers of leaves into classes. `nodes`: of each column, by level, the first leaf with the same label.

    Above its highest level a column has one more, at which it is left out.
    """
    word, shift, mask, free = [], [], [], [0]
    for firsts in nodes:
        bits = max(1, (firsts.shape[1] - 1).bit_length())
        if free[-1] + bits > _BITS:
            free.append(0)
        word.append(len(free) - 1)
        shift.append(free[-1])
        mask.append(2**bits - 1)
        free[-1] += bits
    classes = np.zeros((len(counts), len(free) + 1), dtype=np.uint64)
    classes[:, -1] = counts
    start = np.zeros((len(nodes), max(len(firsts) for firsts in nodes) + 1), dtype=np.int64)
    above: list[Whole] = []
    at = 0
    for place, (codes, firsts) in enumerate(zip(columns, nodes, strict=True)):
        classes[:, word[place]] |= codes.astype(np.uint64) << np.uint64(shift[place])
        for level, first in enumerate([*firsts, np.zeros_like(firsts[0])]):
            start[place, level:] = at
            above.append(first)
            at += len(first)
    return classes, Layout(
        np.array(word),
        np.array(shift, np.uint64),
        np.array(mask, np.uint64),
        start,
        np.concatenate(above).astype(np.uint64),
    )


def pack_rows(columns: Sequence[Whole], layout: Layout) -> Keys:
    """Return the keys of rows of leaves, without how many rows they have: uint64 (rows, words)."""
    keys = np.zeros((len(columns[0]), int(layout.word[: len(columns)].max()) + 1), dtype=np.uint64)
    for codes, word, shift in zip(columns, layout.word, layout.shift, strict=False):
        keys[:, word] |= codes.astype(np.uint64) << shift
    return keys


@dataclass(frozen=True, slots=True, eq=False)
class OrderedTable:
    """A frequency table in the order in which walks go through its columns, and the levels that it begins at."""

    layout: Layout
    classes: Keys
    heights: tuple[int, ...]
    floor: Whole

    @classmethod
    def of(cls, frequencies: Frequencies, order: Sequence[int]) -> Self:
        """Pack a frequency table."""
        domains = [frequencies.domains[place] for place in order]
        columns = [frequencies.codes[:, place] for place in order]
        classes, layout = pack(columns, [domain.nodes for domain in domains], frequencies.counts)
        heights = tuple(domain.height for domain in domains)
        return cls(layout, classes, heights, np.zeros(len(heights), dtype=np.int64))

    def raised(self, floor: Whole) -> OrderedTable:
        """Return the same, beginning at higher levels: fewer classes."""
        higher = np.flatnonzero(floor > self.floor)
        if not len(higher):
            return self
        classes = roll_up(self.layout, self.classes, higher, floor[higher])
        return OrderedTable(self.layout, classes, self.heights, np.maximum(floor, self.floor))

    def set_of(self, columns: Sequence[int], levels: Whole) -> Keys:
        """Return the frequency set of some columns at their levels; the others are left out."""
        to = np.array(self.heights, dtype=np.int64) + 1
        to[list(columns)] = levels
        changed = np.flatnonzero(to != self.floor)
        return roll_up(self.layout, self.classes, changed, to[changed])


class Walker:
    """A walk through the lattice of some columns of a ground. It can be left and taken up again at any node."""

    def __init__(
        self,
        ground: OrderedTable,
        columns: Sequence[int],
        candidates: npt.NDArray[np.bool_],
        *,
        k: int,
        most: int,
        bounds: npt.NDArray[np.float64] | None = None,
    ) -> None:
        """Start it. `candidates`: bool, of the lattice's shape. `most`: rows that may be in classes smaller than k.

        `bounds` float64 (nodes,): from each node upwards nothing is better; lower is better.
        """
        self.lattice = Lattice(candidates.shape)
        low = np.array([_first(candidates, axis) for axis in range(candidates.ndim)], dtype=np.int64)
        classes = ground.set_of(columns, low)
        depths, rows = len(columns) + 1, len(classes)
        self._layout = ground.layout
        self._sets = Sets(
            classes=np.empty((depths, *classes.shape), dtype=np.uint64),
            sizes=np.zeros(depths, dtype=np.int64),
            levels=np.full((depths, len(columns)), -1, dtype=np.int64),
            slots=np.empty(max(64, 1 << (2 * rows - 1).bit_length()), dtype=np.int32),
        )
        self._sets.classes[0], self._sets.sizes[0], self._sets.levels[0] = classes, rows, low
        self._walk = Walk(
            columns=np.array(columns, dtype=np.int64),
            strides=self.lattice.strides,
            state=np.where(candidates.ravel(), np.uint8(OPEN), np.uint8(OUT)),
            bounds=np.empty(0) if bounds is None else bounds,
            at=np.array([0, 0, 0, k, most, 0], dtype=np.int64),
            best=np.array([np.inf, np.inf, 0.0]),
        )

    @property
    def state(self) -> npt.NDArray[np.uint8]:
        """Return what is known of each node; a caller that stops at a node may add what else it fails."""
        return self._walk.state

    @property
    def searched(self) -> int:
        """Count the nodes whose frequency sets were made."""
        return int(self._walk.at[LOOKED])

    @property
    def read(self) -> int:
        """Count the classes that were read to make them."""
        return int(self._walk.at[READ])

    @property
    def share(self) -> float:
        """Return which share of the nodes lies behind, 0 to 1."""
        return float(self._walk.at[NEXT]) / self.lattice.size

    @property
    def frequency_set(self) -> Keys:
        """Return that of the node at which it stopped; it is overwritten when the walk goes on."""
        depth = self._walk.at[DEPTH]
        return self._sets.classes[depth, : self._sets.sizes[depth]]

    def must_beat(self, value: float, steps: int) -> None:
        """Pass over nodes that cannot be better than this from now on, nor as good with fewer steps."""
        self._walk.best[:] = value, value + _NOISE * abs(value), steps

    def go_on(self, *, stop: bool = False, every: bool = False, measure: int = NO_BOUND) -> int:
        """Continue; return the node that holds and at which it stopped, PAUSED to read the clock, or ENDED."""
        return int(walk_on(self._layout, self._sets, self._walk, _QUOTA, stop, every, measure))


def _first(candidates: npt.NDArray[np.bool_], axis: int) -> int:
    """Return the lowest level that a column has in any candidate."""
    others = tuple(other for other in range(candidates.ndim) if other != axis)
    return int(np.argmax(candidates.any(axis=others)))


class SearchProgress:
    """Reports to the caller of one part of a search after the other, as shares of the whole that never fall."""

    def __init__(self, budget: float | None = None, progress: Progress | None = None) -> None:
        """Start now. `budget`: seconds."""
        self._began = perf_counter()
        self._budget = budget
        self._progress = progress
        self._from = self._until = self._reported = 0.0

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
        self._from = self._reported
        self._until = self._reported + share * (1 - self._reported)

    def tell(self, done: float) -> None:
        """Report how much of the part is done, 0 to 1."""
        self._reported = self._from + done * (self._until - self._from)
        try:
            if self._progress is not None:
                self._progress(self._reported)
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
