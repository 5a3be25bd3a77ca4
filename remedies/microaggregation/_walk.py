"""Walk from record to record, always to the nearest that was not visited."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled, inner
from remedies.microaggregation._leaves import SIZE, Leaves, box_squares, leaf_squares, leaves_of, take_out
from remedies.microaggregation._margin import apart64, at_most, margins, tie

_REBUILD = 0.6  # leaves are filled anew when so few of their records are left


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
    kept = np.empty(leaves.filled.sum(), np.int64)
    many = 0
    for leaf in range(leaves.filled.size):
        for slot in range(leaves.filled[leaf]):
            kept[many] = leaves.record[leaf, slot]
            many += 1
    return kept


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
    """Look into a leaf; give how many records have been near by now."""
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
    """Queue the leaves whose boxes are near enough; give how many."""
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
    """Let the leaf at a place of the heap sink to where it belongs."""
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
