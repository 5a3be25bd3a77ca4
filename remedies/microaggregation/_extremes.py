"""The farthest and the nearest records, exactly as in float64, from scans in float32.

A record of z-scores (row norm at most `radius`) is rounded to float32: the rounded record lies within
2^-24 radius of it, so a distance d changes by at most `error` = 2^-22 radius (both ends, their difference, and as much
again in reserve), and summing `columns` squares changes the square by at most the factor 1 +- `slack`. Whatever float64
calls nearest is therefore among the records whose float32 square is at most `at_most(least square)`; only those are
looked at again in float64. The same holds for the farthest and `at_least`, and for bounds of boxes.

z-scores themselves are rounded: equal distances of a table come out up to `tie` apart. Squares that close count as
equal, and the lowest index decides.

All take z-scores (n, d), `index` (m,) the records that were scanned in ascending order, and `apart` (m,) their float32
squared distances, infinite for those that no longer count; `bounds` are those of `margins`. They give positions in
`index`.
"""

import math
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled, inner

_TIE = 2.0**-46


@compiled
def margins(scores: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Return (radius, error, slack) of z-scores (n, d)."""
    n, d = scores.shape
    largest = 0.0
    for i in range(n):
        square = 0.0
        for j in range(d):
            square += scores[i, j] * scores[i, j]
        largest = max(largest, square)
    radius = math.sqrt(largest)
    return radius, 2.0**-22 * radius, (d + 8) * 2.0**-22


@inner
def at_most(square: float, error: float, slack: float) -> float:
    """Return the largest float32 square that may stand for one that is not above `square`."""
    reach = math.sqrt(square * (1.0 + slack)) + 2.0 * error
    return reach * reach * (1.0 + slack)


@inner
def at_least(square: float, error: float, slack: float) -> float:
    """Return the smallest float32 square that may stand for one that is not below `square`."""
    reach = max(0.0, math.sqrt(square * (1.0 - slack)) - 2.0 * error)
    return reach * reach * (1.0 - slack)


@compiled
def tie(square: float, radius: float) -> float:
    """Return by how much two squares near this one may differ and still be equal distances in the table."""
    return _TIE * (square + radius * math.sqrt(square))


@inner
def apart64(scores: npt.NDArray[np.float64], i: SupportsIndex, point: npt.NDArray[np.float64]) -> float:
    """Return the squared distance of record i to a point, in float64, summed from the first column to the last."""
    total = 0.0
    for j in range(point.size):
        gap = scores[i, j] - point[j]
        total += gap * gap
    return total


GONE = np.float32(1e29)  # no squared distance between z-scores is so large
FAR = np.float32(1e15)  # a coordinate of records that are gone: its square is above GONE and still a float32


@inner
def farthest(
    scores: npt.NDArray[np.float64],
    index: npt.NDArray[np.int64],
    apart: npt.NDArray[np.float32],
    point: npt.NDArray[np.float64],
    bounds: tuple[float, float, float],
) -> int:
    """Return the position of the record farthest from a point; ties to the lowest; -1 if none counts."""
    radius, error, slack = bounds
    most = np.float32(-1.0)
    for i in range(apart.size):
        if apart[i] > most and apart[i] < GONE:
            most = apart[i]
    if most < 0:
        return -1
    least = at_least(float(most), error, slack)
    true_most = 0.0
    for i in range(apart.size):
        if least <= apart[i] < GONE:
            true_most = max(true_most, apart64(scores, index[i], point))
    at = 0
    while not (least <= apart[at] < GONE) or apart64(scores, index[at], point) < true_most - tie(true_most, radius):
        at += 1
    return at


@inner
def nearest(
    scores: npt.NDArray[np.float64],
    index: npt.NDArray[np.int64],
    apart: npt.NDArray[np.float32],
    point: npt.NDArray[np.float64],
    bounds: tuple[float, float, float],
    values: npt.NDArray[np.int64],
) -> None:
    """Write the positions of the nearest records into `values`, as many as it holds; of equal ones the lowest."""
    if values.size == 0:
        return
    limit = at_most(_smallest(apart, values), bounds[1], bounds[2])
    near = 0
    for i in range(apart.size):
        if apart[i] <= limit:
            near += 1
    if near == values.size:
        return
    close = np.empty(near, np.int64)
    squares = np.empty(near)
    near = 0
    for i in range(apart.size):
        if apart[i] <= limit:
            close[near] = i
            squares[near] = apart64(scores, index[i], point)
            near += 1
    _first(close, squares, bounds[0], values)


@inner
def _smallest(apart: npt.NDArray[np.float32], values: npt.NDArray[np.int64]) -> float:
    """Write the positions of the smallest values into `values`; return the largest of them."""
    size = values.size
    full = 0
    limit = np.float32(np.inf)
    for i in range(apart.size):
        if apart[i] < limit:
            slot = min(full, size - 1)
            while slot > 0 and apart[values[slot - 1]] > apart[i]:
                values[slot] = values[slot - 1]
                slot -= 1
            values[slot] = i
            full = min(full + 1, size)
            if full == size:
                limit = apart[values[size - 1]]
    return float(limit)


@inner
def _first(
    close: npt.NDArray[np.int64], squares: npt.NDArray[np.float64], radius: float, values: npt.NDArray[np.int64]
) -> None:
    """Choose among ascending positions those with the smallest squares; of equal squares the first."""
    last = _ranked(squares, values.size)
    reach = tie(last, radius)
    count = 0
    for i in range(close.size):
        if squares[i] < last - reach:
            values[count] = close[i]
            count += 1
    i = 0
    while count < values.size:
        if last - reach <= squares[i] <= last + reach:
            values[count] = close[i]
            count += 1
        i += 1


@inner
def _ranked(squares: npt.NDArray[np.float64], rank: int) -> float:
    """Return the rank-th smallest square."""
    smallest = np.full(rank, np.inf)
    for square in squares:
        slot = rank - 1
        if square >= smallest[slot]:
            continue
        while slot > 0 and smallest[slot - 1] > square:
            smallest[slot] = smallest[slot - 1]
            slot -= 1
        smallest[slot] = square
    return float(smallest[rank - 1])
