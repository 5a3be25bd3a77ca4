"""The one loop that everything here is made of: frequency sets of nodes, each rolled up from one that is finer.

A frequency set is a list of classes, uint64 (classes, words + 1): the words of its key, then how many rows it has, side
by side, since both are needed at once. A key holds, for each column, the number of the smallest leaf that has the same
label at the node's level, in bits of its own: so that a key says by itself what is coarser, at whatever level it is.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled, inner

Keys = npt.NDArray[np.uint64]
Whole = npt.NDArray[np.int64]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio, as Knuth's multiplicative hashing has it
_ONE = np.uint64(1)


class Layout(NamedTuple):
    """The position of each column in a key, and the labels of its leaves by level.

    `word`, `shift`, `mask`: of shape (columns,). `above`: for each column and level the first leaf of each leaf's
    label, one after the other, beginning at `start` (columns, levels); the level after the highest leaves it out.
    """

    word: Whole
    shift: Keys
    mask: Keys
    start: Whole
    above: Keys


class Sets(NamedTuple):
    """Frequency sets that are kept, at most one per depth, beside space to make another.

    `classes` (depth, classes, words + 1), `sizes` (depth,), `levels` (depth, columns): the node of each, -1 where there
    is none. `slots`: the hash table, a power of two long.
    """

    classes: Keys
    sizes: Whole
    levels: Whole
    slots: npt.NDArray[np.int32]


class Walk(NamedTuple):
    """A walk through a lattice in the order of its numbers, as far as it has come.

    `columns`: which of the layout's columns the lattice is of. `strides` (columns,). `state` (nodes,): see
    the words below. `bounds` (nodes,), or empty: no node from here upwards is better. `best`: [the value of the best
    node so far, what is above that beyond doubt, its steps]: a node that is as good has to have fewer steps. `at`:
    numbers that the walk reads and writes, in the order of the words below.
    """

    columns: Whole
    strides: Whole
    state: npt.NDArray[np.uint8]
    bounds: npt.NDArray[np.float64]
    at: Whole
    best: npt.NDArray[np.float64]


OPEN, OUT, FAILS, HOLDS, PASSED_OVER = 0, 1, 2, 3, 4
"""Of a node: not looked at yet; no candidate; does not hold; holds; not looked at since it cannot be better."""
NEXT, LOOKED, READ, K, MOST, DEPTH = 0, 1, 2, 3, 4, 5
"""Of a walk: its next node, nodes searched, classes read for it; k, rows that may be in smaller classes; where the
frequency set of the node at which it stopped is kept."""
ENDED, PAUSED = -1, -2
"""The walk is over; it has read as many classes as it was allowed to."""
NO_BOUND, BY_SQUARES, BY_CLASSES = 0, 1, 2
"""Which bound follows from a frequency set: none, the sum of its squared counts, rows by classes."""


@inner
def hashed(classes: Keys, row: int, shift: np.uint64) -> np.int64:
    """Return a place in a table of 2^(64 - shift) slots."""
    result = classes[row, 0] * _SPREAD
    for word in range(1, classes.shape[1] - 1):
        result = (result ^ (result >> np.uint64(29)) ^ classes[row, word]) * _SPREAD
    return np.int64(result >> shift)


@inner
def same(classes: Keys, row: int, other: int) -> bool:
    """Check whether two classes have the same key."""
    alike = True
    for word in range(classes.shape[1] - 1):
        alike = alike and classes[row, word] == classes[other, word]
    return alike


@inner
def clear(slots: npt.NDArray[np.int32], rows: int) -> np.uint64:
    """Empty as many slots as so many rows need, and return the shift that leads to one of them."""
    size, shift = 64, np.uint64(58)
    while size < 2 * rows:
        size *= 2
        shift -= _ONE
    slots[:size] = -1
    return shift


@inner
def roll(
    layout: Layout, finer: Keys, columns: Whole, levels: Whole, coarser: Keys, slots: npt.NDArray[np.int32]
) -> int:
    """Raise columns to levels, add up the classes that become alike, and return how many are left.

    `coarser` is written; it may be what is read, since no class is written before it is read.
    """
    shift, last, count = clear(slots, len(finer)), 0, finer.shape[1] - 1
    most = np.int64((_ONE << (np.uint64(64) - shift)) - _ONE)
    for row in range(len(finer)):
        for word in range(count + 1):
            coarser[last, word] = finer[row, word]
        for change in range(len(columns)):
            column = columns[change]
            word, place = layout.word[column], layout.shift[column]
            leaf = (coarser[last, word] >> place) & layout.mask[column]
            label = layout.above[layout.start[column, levels[change]] + np.int64(leaf)]
            coarser[last, word] ^= (leaf ^ label) << place
        slot = hashed(coarser, last, shift)
        while True:
            result = slots[slot]
            if result < 0:
                slots[slot] = last
                last += 1
                break
            if same(coarser, result, last):
                coarser[result, count] += coarser[last, count]
                break
            slot = (slot + 1) & most
    return last


@compiled
def roll_up(layout: Layout, classes: Keys, columns: Whole, levels: Whole) -> Keys:
    """Return the frequency set of a coarser node: `columns` go up to `levels`."""
    coarser = np.empty_like(classes)
    size = 64
    while size < 2 * len(classes):
        size *= 2
    left = roll(layout, classes, columns, levels, coarser, np.empty(size, np.int32))
    return coarser[:left].copy()


@compiled
def walk_on(layout: Layout, sets: Sets, walk: Walk, quota: int, stop: bool, every: bool, measure: int) -> int:
    """Continue until a node holds (if `stop`), the walk is over, or `quota` classes were read; return the node, or why.

    A node comes after all that it generalises. Where one of these holds, it holds too (the generalisation property of
    Incognito), and is not looked at unless `every` node that holds is wanted.
    """
    levels = np.empty(len(walk.columns), np.int64)
    until = walk.at[READ] + quota
    for node in range(walk.at[NEXT], len(walk.state)):
        walk.at[NEXT] = node + 1
        if walk.state[node] == OUT:
            continue
        is_known = _look_down(walk, node, levels)
        if is_known and not every:
            walk.state[node] = HOLDS
            continue
        if len(walk.bounds) and _is_no_better(walk, walk.bounds[node], levels):
            walk.state[node] = PASSED_OVER
            continue
        depth = _reach(layout, sets, walk, levels)
        below = _rows_below(sets.classes[depth, : sets.sizes[depth], -1], np.uint64(walk.at[K]))
        walk.state[node] = HOLDS if below <= walk.at[MOST] else FAILS
        if measure != NO_BOUND:
            bound = _bound(sets.classes[depth, : sets.sizes[depth], -1], measure)
            walk.bounds[node] = max(walk.bounds[node], bound)
        if stop and walk.state[node] == HOLDS:
            walk.at[DEPTH] = depth
            return node
        if walk.at[READ] >= until:
            return PAUSED
    return ENDED


@inner
def _look_down(walk: Walk, node: int, levels: Whole) -> bool:
    """Find the levels of a node and what is known from the nodes right below: say whether one of them holds."""
    rest, is_known = node, False
    for place in range(len(levels)):
        levels[place] = rest // walk.strides[place]
        rest -= levels[place] * walk.strides[place]
        if levels[place]:
            below = node - walk.strides[place]
            is_known = is_known or walk.state[below] == HOLDS
            if len(walk.bounds):
                walk.bounds[node] = max(walk.bounds[node], walk.bounds[below])
    return is_known


@inner
def _is_no_better(walk: Walk, bound: float, levels: Whole) -> bool:
    """Check whether a node is worse than the best one by its bound, or at most as good with as many steps."""
    steps = 0.0
    for level in levels:
        steps += level
    return bool(bound > walk.best[1] or (bound >= walk.best[0] and steps >= walk.best[2]))


@inner
def _reach(layout: Layout, sets: Sets, walk: Walk, levels: Whole) -> int:
    """Make the frequency set of a node, from the smallest one that is kept and finer; return where it is kept.

    It is kept at the depth of its last column that is not at the lowest level, where it serves the nodes that follow:
    these differ in this column or later ones.
    """
    width = len(levels)
    target = 0
    for place in range(width):
        if levels[place] > sets.levels[0, place]:
            target = place + 1
    source = 0
    for depth in range(1, width + 1):
        if sets.levels[depth, 0] >= 0 and sets.sizes[depth] <= sets.sizes[source]:
            finer = True
            for place in range(width):
                finer = finer and sets.levels[depth, place] <= levels[place]
            if finer:
                source = depth
    columns, to = np.empty(width, np.int64), np.empty(width, np.int64)
    changes = 0
    for place in range(width):
        if levels[place] != sets.levels[source, place]:
            columns[changes], to[changes] = walk.columns[place], levels[place]
            changes += 1
    walk.at[LOOKED] += 1
    if not changes:
        return source
    rows = sets.sizes[source]
    read = sets.classes[source, :rows]
    sets.sizes[target] = roll(layout, read, columns[:changes], to[:changes], sets.classes[target], sets.slots)
    walk.at[READ] += rows
    sets.levels[target, :] = levels
    return target


@inner
def _rows_below(counts: Keys, k: np.uint64) -> np.int64:
    """Count the rows in classes smaller than k."""
    result = np.uint64(0)
    for count in counts:
        if count < k:
            result += count
    return np.int64(result)


@inner
def _bound(counts: Keys, measure: int) -> float:
    rows, squares = 0.0, 0.0
    for count in counts:
        rows += float(count)
        squares += float(count) * float(count)
    return squares if measure == BY_SQUARES else rows / len(counts)
