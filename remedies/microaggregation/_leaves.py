"""Records in leaves of a k-d tree, to find the nearest one that has not been taken out yet.

A leaf is a block of up to 64 records that lie column by column, so that one vector instruction works on several of
them, with the box around them. A search computes the distance to all boxes in one scan, then looks into leaves from
the nearest box on until no box is near enough. It runs in float32 within `_extremes.margins`; what may be nearest is
computed again in float64.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from remedies._compiled import inner
from remedies.microaggregation._blocks import select
from remedies.microaggregation._extremes import FAR

SIZE = 64
LEADING = 16  # so many axes decide for most leaves that no record in them is near enough


class Leaves(NamedTuple):
    """The leaves and where each record is; m leaves, n records, d axes."""

    block: npt.NDArray[np.float32]  # (m, d, SIZE) coordinates; FAR where no record is
    record: npt.NDArray[np.int64]  # (m, SIZE) record numbers
    filled: npt.NDArray[np.int64]  # (m,) so many are left
    low: npt.NDArray[np.float32]  # (d, m) the boxes' ends
    high: npt.NDArray[np.float32]
    leaf_of: npt.NDArray[np.int64]  # (n,)
    slot_of: npt.NDArray[np.int64]


@inner
def leaves_of(points: npt.NDArray[np.float32], records: npt.NDArray[np.int64]) -> Leaves:
    """Return the leaves of records (numbers of rows of points (n, d))."""
    n, d = points.shape
    order = records.copy()
    _by_leaf(points, order)
    m = (order.size + SIZE - 1) // SIZE
    leaves = Leaves(
        np.full((m, d, SIZE), FAR, np.float32),
        np.full((m, SIZE), -1, np.int64),
        np.zeros(m, np.int64),
        np.full((d, m), np.inf, np.float32),
        np.full((d, m), -np.inf, np.float32),
        np.full(n, -1, np.int64),
        np.full(n, -1, np.int64),
    )
    for position in range(order.size):
        leaf, slot = position // SIZE, position % SIZE
        i = order[position]
        leaves.record[leaf, slot] = i
        leaves.leaf_of[i] = leaf
        leaves.slot_of[i] = slot
        leaves.filled[leaf] += 1
        for j in range(d):
            value = points[i, j]
            leaves.block[leaf, j, slot] = value
            leaves.low[j, leaf] = min(leaves.low[j, leaf], value)
            leaves.high[j, leaf] = max(leaves.high[j, leaf], value)
    return leaves


@inner
def _by_leaf(points: npt.NDArray[np.float32], order: npt.NDArray[np.int64]) -> None:
    """Sort records so that every run of SIZE is a leaf: halves along the axis of largest variance, again and again."""
    parts = [(0, order.size)]
    while len(parts) > 0:
        low, high = parts.pop()
        if high - low <= SIZE:
            continue
        axis = _widest(points, order[low:high])
        middle = min((high - low) // 2 + SIZE - 1, high - low - 1) // SIZE * SIZE
        keys = np.empty(high - low, np.float32)
        for position in range(low, high):
            keys[position - low] = points[order[position], axis]
        select(keys, order[low:high], 0, high - low, middle)
        parts.append((low, low + middle))
        parts.append((low + middle, high))


@inner
def _widest(points: npt.NDArray[np.float32], records: npt.NDArray[np.int64]) -> int:
    d = points.shape[1]
    total = np.zeros(d)
    squares = np.zeros(d)
    for i in records:
        for j in range(d):
            value = np.float64(points[i, j])
            total[j] += value
            squares[j] += value * value
    return int(np.argmax(squares - total * total / records.size))


@inner
def take_out(leaves: Leaves, i: int) -> int:
    """Remove record i; return the leaf in which it was."""
    leaf, slot = leaves.leaf_of[i], leaves.slot_of[i]
    last = leaves.filled[leaf] - 1
    leaves.filled[leaf] = last
    moved = leaves.record[leaf, last]
    leaves.record[leaf, slot] = moved
    leaves.slot_of[moved] = slot
    for j in range(leaves.block.shape[1]):
        leaves.block[leaf, j, slot] = leaves.block[leaf, j, last]
        leaves.block[leaf, j, last] = FAR
    if last == 0:
        leaves.low[0, leaf] = FAR
    return int(leaf)


@inner
def box_squares(leaves: Leaves, point: npt.NDArray[np.float32], out: npt.NDArray[np.float32]) -> None:
    """Write the squared distances of a point (d,) to the boxes, on the leading axes, into out (m,)."""
    zero = np.float32(0.0)
    out[:] = zero
    for j in range(min(point.size, LEADING)):
        low, high, at = leaves.low[j], leaves.high[j], point[j]
        for leaf in range(out.size):
            gap = max(low[leaf] - at, at - high[leaf], zero)
            out[leaf] += gap * gap


@inner
def leaf_squares(
    block: npt.NDArray[np.float32], point: npt.NDArray[np.float32], limit: float, out: npt.NDArray[np.float32]
) -> bool:
    """Write the squared distances of a point (d,) to the records of a block (d, SIZE); give whether one is within.

    Where not even the leading axes come within the limit, the others are left out.
    """
    d = point.size
    out[:] = np.float32(0.0)
    _add_axes(block, point, 0, min(d, LEADING), out)
    if not _any_within(out, limit):
        return False
    _add_axes(block, point, LEADING, d, out)
    return _any_within(out, limit)


@inner
def _any_within(squares: npt.NDArray[np.float32], limit: float) -> bool:
    near = 0
    for slot in range(SIZE):
        near += squares[slot] <= limit
    return near > 0


@inner
def _add_axes(
    block: npt.NDArray[np.float32], point: npt.NDArray[np.float32], start: int, stop: int, out: npt.NDArray[np.float32]
) -> None:
    j = start
    while j + 4 <= stop:
        first, second, third, fourth = block[j], block[j + 1], block[j + 2], block[j + 3]
        ta, tb, tc, te = point[j], point[j + 1], point[j + 2], point[j + 3]
        for slot in range(SIZE):
            a = first[slot] - ta
            b = second[slot] - tb
            c = third[slot] - tc
            e = fourth[slot] - te
            out[slot] += (a * a + b * b) + (c * c + e * e)
        j += 4
    while j < stop:
        first, ta = block[j], point[j]
        for slot in range(SIZE):
            a = first[slot] - ta
            out[slot] += a * a
        j += 1
