"""Kernels on one contiguous block of records: no checks, float32, every distance by brute force.

For blocks of some thousand records. Exact up to float32: near ties may fall differently than in `npn_path` and `mdav`.

npn_order(scores: float32 (n, d) contiguous) -> int64 (n,)
    the path: record farthest from the centroid, then always the nearest unvisited; ties to the lowest index.
mdav_labels(scores: float32 (n, d) contiguous, k: int) -> int64 (n,)
    MDAV groups, numbered 0..g-1 in the order they were made; n >= k >= 2.
mhm_labels(scores: float64 (n, d) contiguous, path: int64 (n,), k: int) -> int64 (n,)
    the optimal cut of the path (in `_mhm`), groups numbered along the path; n >= k >= 2.

All can be called from other compiled code, and from several threads at once.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled, inner
from remedies.microaggregation._mhm import mhm_labels

__all__ = ["mdav_labels", "mhm_labels", "npn_order"]

_TILE = 1024  # distances of so many records stay in the fastest cache


@inner
def distances(
    columns: npt.NDArray[np.float32], alive: int, to: npt.NDArray[np.float32], out: npt.NDArray[np.float32]
) -> None:
    """Write squared distances of the first `alive` records to one point: columns (d, n), to (d,), out (n,)."""
    d = columns.shape[0]
    for low in range(0, alive, _TILE):
        high = min(low + _TILE, alive)
        tile = out[low:high]
        tile[:] = np.float32(0.0)
        j = 0
        while j + 4 <= d:
            first, second = columns[j][low:high], columns[j + 1][low:high]
            third, fourth = columns[j + 2][low:high], columns[j + 3][low:high]
            ta, tb, tc, te = to[j], to[j + 1], to[j + 2], to[j + 3]
            for i in range(tile.size):
                a = first[i] - ta
                b = second[i] - tb
                c = third[i] - tc
                e = fourth[i] - te
                tile[i] += (a * a + b * b) + (c * c + e * e)
            j += 4
        while j < d:
            first = columns[j][low:high]
            ta = to[j]
            for i in range(tile.size):
                a = first[i] - ta
                tile[i] += a * a
            j += 1


@inner
def keep(
    columns: npt.NDArray[np.float32], index: npt.NDArray[np.int64], values: npt.NDArray[np.bool_], alive: int
) -> int:
    """Move the records that are not gone to the front, in their order; give their number."""
    d = columns.shape[0]
    for j in range(d):
        to = 0
        for i in range(alive):
            if not values[i]:
                columns[j, to] = columns[j, i]
                to += 1
    to = 0
    for i in range(alive):
        if not values[i]:
            index[to] = index[i]
            to += 1
    for i in range(to):
        values[i] = False
    return to


@inner
def in_columns(scores: npt.NDArray[np.floating[Any]], columns: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Write (n, d) scores as (d, n) columns; return the sum of each column."""
    n, d = scores.shape
    total = np.zeros(d)
    for i in range(n):
        for j in range(d):
            columns[j, i] = scores[i, j]
            total[j] += scores[i, j]
    return total


@compiled
def npn_order(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Return the path from the record farthest from the centroid always to the nearest unvisited one."""
    n, d = scores.shape
    columns = np.empty((d, n), np.float32)
    point = (in_columns(scores, columns) / n).astype(np.float32)
    apart = np.empty(n, np.float32)
    index = np.arange(n)
    visited = np.zeros(n, np.bool_)
    path = np.empty(n, np.int64)
    distances(columns, n, point, apart)
    at = _farthest(apart, visited, n)
    alive = n
    for step in range(n):
        path[step] = index[at]
        visited[at] = True
        point[:] = columns[:, at]
        if 8 * (n - 1 - step) < 7 * alive:
            alive = keep(columns, index, visited, alive)
        distances(columns, alive, point, apart)
        at = _nearest(apart, visited, alive)
    return path


@inner
def _nearest(apart: npt.NDArray[np.float32], values: npt.NDArray[np.bool_], alive: int) -> int:
    at = -1
    least = np.float32(np.inf)
    for i in range(alive):
        if apart[i] < least and not values[i]:
            least = apart[i]
            at = i
    return at


@inner
def _farthest(apart: npt.NDArray[np.float32], values: npt.NDArray[np.bool_], alive: int) -> int:
    at = -1
    most = np.float32(-1.0)
    for i in range(alive):
        if apart[i] > most and not values[i]:
            most = apart[i]
            at = i
    return at


@inner
def _take_nearest(
    apart: npt.NDArray[np.float32],
    values: npt.NDArray[np.bool_],
    alive: int,
    near: npt.NDArray[np.int64],
) -> None:
    """Mark the records nearest by `apart` as gone and list them in `near` (its size says how many)."""
    size = near.size
    count = 0
    limit = np.float32(np.inf)
    for i in range(alive):
        if apart[i] < limit and not values[i]:
            slot = count if count < size else size - 1
            while slot > 0 and apart[near[slot - 1]] > apart[i]:
                near[slot] = near[slot - 1]
                slot -= 1
            near[slot] = i
            count = min(count + 1, size)
            if count == size:
                limit = apart[near[size - 1]]
    for i in near:
        values[i] = True


@compiled
def mdav_labels(scores: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.int64]:
    """Return MDAV's groups: two of k around opposite records while 3k are left, then the rest."""
    n, d = scores.shape
    columns = np.empty((d, n), np.float32)
    total = in_columns(scores, columns)
    point = np.empty(d, np.float32)
    apart = np.empty(n, np.float32)
    index = np.arange(n)
    grouped = np.zeros(n, np.bool_)
    labels = np.full(n, -1, np.int64)
    near = np.empty(k, np.int64)
    alive = n
    groups = 0
    while n - groups * k >= 2 * k:
        distances(columns, alive, (total / (n - groups * k)).astype(np.float32), apart)
        at = _farthest(apart, grouped, alive)
        for _ in range(2 if n - groups * k >= 3 * k else 1):
            point[:] = columns[:, at]
            distances(columns, alive, point, apart)
            apart[at] = np.float32(-1.0)  # before its duplicates
            _take_nearest(apart, grouped, alive, near)
            at = _farthest(apart, grouped, alive)
            labels[index[near]] = groups
            for i in near:
                total -= columns[:, i]
            groups += 1
        if 8 * (n - groups * k) < 7 * alive:
            alive = keep(columns, index, grouped, alive)
    return np.where(labels < 0, groups, labels)
