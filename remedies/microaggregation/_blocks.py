"""Principal axes of the records, and kernels that cut them into blocks of neighbours: k-d cells."""

from typing import Final

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled, reordered, reordered_inner

_ENOUGH: Final = 65_536  # records that say where the axes lie: any rotation keeps distances
_VECTOR: Final = 8  # floats


def on_axes(scores: npt.NDArray[np.float64], *, filled: bool = False) -> npt.NDArray[np.float32]:
    """Rotate z-scores (n, d) to their principal axes, widest first: (n, d) float32. Distances stay. O(n d^2).

    `filled`: rows are filled up with zeros to whole vectors of the processor, as by `padded`.
    The products are our own: those of numpy wait on all threads of its linear algebra, which stalls on a busy machine.
    """
    n, d = scores.shape
    axes = np.linalg.eigh(_products(scores, max(1, n // _ENOUGH)))[1]
    return _rotated(scores, np.ascontiguousarray(axes[:, ::-1]), d + -d % _VECTOR if filled else d)


def padded(points: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Fill up rows with zeros to whole vectors of the processor."""
    return np.pad(points, ((0, 0), (0, -points.shape[1] % _VECTOR)))


@compiled
def _products(scores: npt.NDArray[np.float64], step: int) -> npt.NDArray[np.float64]:
    n, d = scores.shape
    total = np.zeros((d, d))
    for i in range(0, n, step):
        record = scores[i]
        for a in range(d):
            value = record[a]
            row = total[a]
            for b in range(d):
                row[b] += value * record[b]
    total /= n // step
    return total


@compiled
def _rotated(scores: npt.NDArray[np.float64], axes: npt.NDArray[np.float64], wide: int) -> npt.NDArray[np.float32]:
    n, d = scores.shape
    out = np.empty((n, wide), np.float32)
    record = np.empty(d)
    for i in range(n):
        record[:] = 0.0
        for a in range(d):
            value = scores[i, a]
            axis = axes[a]
            for b in range(d):
                record[b] += value * axis[b]
        for b in range(d):
            out[i, b] = record[b]
        for b in range(d, wide):
            out[i, b] = np.float32(0)
    return out


@reordered
def project(points: npt.NDArray[np.float32], directions: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return points (n, columns) on directions (columns, axes)."""
    out = np.empty((points.shape[0], directions.shape[1]), dtype=points.dtype)
    along = np.ascontiguousarray(directions.T)
    for i in range(points.shape[0]):
        for axis in range(along.shape[0]):
            total = np.float32(0)
            for column in range(points.shape[1]):
                total += points[i, column] * along[axis, column]
            out[i, axis] = total
    return out


@reordered
def kd_cells(points: npt.NDArray[np.float32], most: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Cut points into cells of equal size, at most `most`, by medians of the widest axis.

    Returns the records in the order of their cells (n,) and where each cell starts (cells + 1,). Equal values are
    parted by record number, so the cells are the same in every run.
    """
    n = points.shape[0]
    cells = -(-n // most)
    order = np.arange(n, dtype=np.int32)
    starts = np.empty(cells + 1, dtype=np.int64)
    starts[0] = 0
    keys = np.empty(n, dtype=points.dtype)
    stack = [(0, n, cells)]
    done = 0
    while stack:
        low, high, parts = stack.pop()
        if parts == 1:
            done += 1
            starts[done] = high
            continue
        axis = _widest(points, order, low, high)
        left = parts // 2
        middle = low + (high - low) * left // parts
        for at in range(low, high):
            keys[at] = points[order[at], axis]
        select(keys, order, low, high, middle)
        stack.append((middle, high, parts - left))
        stack.append((low, middle, left))
    return order, starts


@reordered_inner
def _widest(points: npt.NDArray[np.float32], order: npt.NDArray[np.int32], low: int, high: int) -> int:
    axes = points.shape[1]
    total = np.zeros(axes)
    squares = np.zeros(axes)
    step = max(1, (high - low) // 4096)  # a sample says which axis is the widest
    count = 0
    for at in range(low, high, step):
        for axis in range(axes):
            value = float(points[order[at], axis])
            total[axis] += value
            squares[axis] += value * value
        count += 1
    best, width = 0, -1.0
    for axis in range(axes):
        spread = squares[axis] - total[axis] * total[axis] / count
        if spread > width:
            best, width = axis, spread
    return best


@reordered_inner
def select(
    keys: npt.NDArray[np.float32],
    order: npt.NDArray[np.int32] | npt.NDArray[np.int64],
    low: int,
    high: int,
    middle: int,
) -> None:
    """Order keys[low:high] so that those before `middle` are the smallest; ties by record number."""
    high -= 1
    while low < high:
        centre = (low + high) // 2
        key, record = keys[centre], order[centre]
        i, j = low, high
        while i <= j:
            while keys[i] < key or (keys[i] == key and order[i] < record):
                i += 1
            while keys[j] > key or (keys[j] == key and order[j] > record):
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return
