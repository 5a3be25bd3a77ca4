"""Why scans in float32 find exactly what float64 would: how far apart the two can be, and what counts as a tie.

A record of z-scores (row norm at most `radius`) is rounded to float32: the rounded record lies within
2^-24 radius of it, so a distance d changes by at most `error` = 2^-22 radius (both ends, their difference, and as much
again in reserve), and summing `columns` squares changes the square by at most the factor 1 +- `slack`. Whatever float64
calls nearest is therefore among the records whose float32 square is at most `at_most(least square)`; only those are
looked at again in float64. The same holds for the farthest and `at_least`, and for bounds of boxes.

z-scores themselves are rounded: equal distances of a table come out up to `tie` apart. Squares that close count as
equal, and the lowest index decides.
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
