"""The nearest-point-next path (NPN): from the outermost record always to the nearest that was not visited.

Identical records follow each other, and are searched for once.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled, inner
from remedies.microaggregation._blocks import on_axes
from remedies.microaggregation._extremes import apart64, at_most, margins, tie
from remedies.microaggregation._leaves import SIZE, Leaves, box_squares, leaf_squares, leaves_of, take_out
from remedies.microaggregation.standardisation import z_scores

_MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled
def first_identical(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return for every record of (n, d) the lowest index of an identical one: (n,). O(n d) by hashing."""
    n, d = scores.shape
    slots = np.int64(4)
    while slots < 2 * n:
        slots *= 2
    table = np.full(slots, -1, np.int64)
    first = np.empty(n, np.int64)
    bits = np.empty(d)
    for i in range(n):
        for j in range(d):
            bits[j] = scores[i, j] + 0.0  # a negative zero is a zero
        code = np.uint64(0)
        for word in bits.view(np.uint64):
            code = (code ^ word) * _MIX
            code ^= code >> np.uint64(29)
        slot = np.int64(code & np.uint64(slots - 1))
        while table[slot] >= 0 and not _identical(scores[table[slot]], scores[i]):
            slot = (slot + 1) & (slots - 1)
        if table[slot] < 0:
            table[slot] = i
        first[i] = table[slot]
    return first


@inner
def _identical(values: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> bool:
    for j in range(values.size):  # noqa: SIM110 - compiled: a generator is not
        if values[j] != other[j]:
            return False
    return True


@compiled
def with_identical(path: npt.NDArray[np.int64], first: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return a path in which each record is followed by those identical to it, in ascending order.

    Args:
        path: (m,) the records i with first[i] == i.
        first: (n,) the lowest index of an identical record.
    """
    n = first.size
    following = np.full(n, -1, np.int64)
    last = np.arange(n)
    for i in range(n):
        if first[i] != i:
            following[last[first[i]]] = i
            last[first[i]] = i
    out = np.empty(n, np.int64)
    position = 0
    for start in path:
        i = start
        while i >= 0:
            out[position] = i
            position += 1
            i = following[i]
    return out


_REBUILD = 0.6  # leaves are filled again when so few of their records are left


class _Table(NamedTuple):
    scores: npt.NDArray[np.float64]  # (n, d) z-scores: what decides
    points: npt.NDArray[np.float32]  # (n, d) the same records on their principal axes: what rules out
    bounds: tuple[float, float, float]


class _Search(NamedTuple):
    """Arrays for one search, used again for the next."""

    box: npt.NDArray[np.float32]  # (m,) squared distances to the leaves' boxes
    waiting: npt.NDArray[np.int64]  # (m,) a heap of leaves to look into, the nearest box first
    square: npt.NDArray[np.float32]  # (SIZE,)
    limit: npt.NDArray[np.float32]  # (1,) no float32 square above this one can be the least
    least: npt.NDArray[np.float64]  # (1,) the least square yet
    near: npt.NDArray[np.int64]  # (m SIZE,) records that were as near as any before them
    apart: npt.NDArray[np.float64]  # and their squares


@compiled
def outermost(scores: npt.NDArray[np.float64]) -> int:
    """Return the z-score record (n, d) farthest from the centroid, which is 0; ties to the lowest index."""
    n, d = scores.shape
    centroid = np.zeros(d)
    radius = margins(scores)[0]
    most = radius * radius
    for i in range(n):
        if apart64(scores, i, centroid) >= most - tie(most, radius):
            return i
    return 0


@compiled
def walk(scores: npt.NDArray[np.float64], points: npt.NDArray[np.float32], start: int) -> npt.NDArray[np.int64]:
    """Visit all records, starting with one, always going to the nearest; ties to the lowest index.

    Args:
        scores: (n, d) z-scores, contiguous: what decides.
        points: (n, d) the same records on their principal axes: what rules out.
        start: the first record.

    Returns:
        (n,) the path.
    """
    table = _Table(scores, points, margins(scores))
    n = scores.shape[0]
    path = np.empty(n, np.int64)
    leaves = leaves_of(points, np.arange(n))
    search = _new_search(leaves.filled.size)
    at = start
    filled = n
    for step in range(n):
        path[step] = at
        home = take_out(leaves, at)
        left = n - step - 1
        if 0 < left < _REBUILD * filled:
            leaves = leaves_of(points, _left(leaves))
            search = _new_search(leaves.filled.size)
            filled = left
            home = -1
        at = _nearest(table, leaves, search, at, home)
    return path


@inner
def _new_search(m: int) -> _Search:
    return _Search(
        np.empty(m, np.float32),
        np.empty(m, np.int64),
        np.empty(SIZE, np.float32),
        np.empty(1, np.float32),
        np.empty(1),
        np.empty(m * SIZE, np.int64),
        np.empty(m * SIZE),
    )


@inner
def _left(leaves: Leaves) -> npt.NDArray[np.int64]:
    """Return the records that were not taken out."""
    records = np.empty(leaves.filled.sum(), np.int64)
    many = 0
    for leaf in range(leaves.filled.size):
        for slot in range(leaves.filled[leaf]):
            records[many] = leaves.record[leaf, slot]
            many += 1
    return records


@inner
def _nearest(table: _Table, leaves: Leaves, search: _Search, at: int, home: int) -> int:
    """Return the record nearest to record `at` that is still in a leaf, or -1.

    `home` is the leaf to look into first.
    """
    box_squares(leaves, table.points[at], search.box)
    leaf = home if home >= 0 and leaves.filled[home] > 0 else int(np.argmin(search.box))
    search.box[leaf] = np.float32(np.inf)
    search.limit[0] = np.float32(np.inf)
    search.least[0] = np.inf
    many = _look(table, leaves, search, at, leaf, 0)
    waiting = _queue(search)
    while waiting > 0 and search.box[search.waiting[0]] <= search.limit[0]:
        leaf = search.waiting[0]
        waiting -= 1
        search.waiting[0] = search.waiting[waiting]
        _sink(search, waiting, 0)
        many = _look(table, leaves, search, at, leaf, many)
    return _lowest(search, many, table.bounds[0])


@inner
def _look(table: _Table, leaves: Leaves, search: _Search, at: int, leaf: int, many: int) -> int:
    """Search a leaf; return how many records have been near by now."""
    square = search.square
    if not leaf_squares(leaves.block[leaf], table.points[at], search.limit[0], square):
        return many
    radius, error, slack = table.bounds
    limit = min(search.limit[0], np.float32(at_most(square.min(), error, slack)))
    for slot in range(leaves.filled[leaf]):
        if square[slot] > limit:
            continue
        apart = apart64(table.scores, leaves.record[leaf, slot], table.scores[at])
        if many == 0 or apart <= search.least[0] + tie(search.least[0], radius):
            search.near[many] = leaves.record[leaf, slot]
            search.apart[many] = apart
            many += 1
        if apart < search.least[0]:
            search.least[0] = apart
            search.limit[0] = at_most(apart, error, slack)
    return many


@inner
def _queue(search: _Search) -> int:
    """Queue the leaves whose boxes are near enough; return how many."""
    waiting = 0
    for leaf in range(search.box.size):
        if search.box[leaf] <= search.limit[0]:
            search.waiting[waiting] = leaf
            waiting += 1
    for root in range(waiting // 2 - 1, -1, -1):
        _sink(search, waiting, root)
    return waiting


@inner
def _sink(search: _Search, waiting: int, root: int) -> None:
    """Sift the leaf at a place of the heap down."""
    box, heap = search.box, search.waiting
    leaf = heap[root]
    child = 2 * root + 1
    while child < waiting:
        if child + 1 < waiting and box[heap[child + 1]] < box[heap[child]]:
            child += 1
        if box[heap[child]] >= box[leaf]:
            break
        heap[root] = heap[child]
        root = child
        child = 2 * root + 1
    heap[root] = leaf


@inner
def _lowest(search: _Search, many: int, radius: float) -> int:
    """Return the lowest of the records that are as near as the nearest."""
    lowest = -1
    for i in range(many):
        equal = search.apart[i] <= search.least[0] + tie(search.least[0], radius)
        if equal and (lowest < 0 or search.near[i] < lowest):
            lowest = search.near[i]
    return lowest


def npn_path(X: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Order the records: first the one farthest from the centroid, then always the nearest unvisited one.

    Ties go to the lowest index. Exact at every size: a k-d tree and float32 only rule out what cannot be nearest, and
    float64 decides among the rest. Identical records follow each other in ascending order, and are searched for once.
    Worst case O(n^2 d), as the definition; how much the tree spares depends on the data.

    Args:
        X: (n, d), or (n,) for one column; finite numbers in any unit; standardised here.

    Returns:
        (n,) int64: a permutation of 0..n-1.

    Raises:
        Misfit: the table is not finite and numeric.

    Source: DEIM 2015 G1-4, section 2 (NPN-MHM); Domingo-Ferrer et al., VLDB Journal 15 (2006), section 4.
    """
    scores = z_scores(X)
    first = first_identical(scores)
    distinct = np.flatnonzero(first == np.arange(first.size))
    chosen = np.ascontiguousarray(scores[distinct])
    path = walk(chosen, on_axes(chosen), outermost(chosen))
    return with_identical(distinct[path], first)
