"""Kernel that lists for each group of a block the groups whose centroids are nearest."""

import numpy as np
import numpy.typing as npt

from remedies._compiled import reordered_within

Rows = npt.NDArray[np.float32]

_NONE = np.int32(2**31 - 1)
_FAR = np.float32(1e30)  # squared, it is a float still
_FAR_BITS = np.float32(1e29).view(np.int32)
_LANES = 32


@reordered_within
def list_nearest(centre: Rows, groups: int, axes: int, near: npt.NDArray[np.int32]) -> None:
    """List for the first `groups` groups their nearest others, nearest first; -1 where there are no more.

    centre (g, columns), of which the first `axes` count, a multiple of 4; near (g, many), written. |a - b|^2 is
    |a|^2 + |b|^2 - 2 ab, of centroids less their mean: four rows of it at a time, a column of all centroids being one
    stretch of memory.
    """
    columns, half = _by_column(centre, groups, axes)
    apart = np.empty((4, half.size), np.float32)
    least = np.empty(half.size // 2, np.int32)
    names = 1
    while names < half.size:
        names *= 2
    near[:] = -1
    for a in range(0, groups, 4):
        _measure(columns, half, a, apart)
        for row in range(min(4, groups - a)):
            _least(apart[row].view(np.int32), a + row, names, least, near[a + row])


@reordered_within
def _by_column(centre: Rows, groups: int, axes: int) -> tuple[Rows, npt.NDArray[np.float32]]:
    """Return centroids less their mean as (axes, places), and half of their squared length (places,).

    Places are the groups, filled up with such as are far from all.
    """
    places = -(-groups // _LANES) * _LANES
    columns = np.zeros((axes, places), np.float32)
    half = np.zeros(places, np.float32)
    half[groups:] = _FAR
    for column in range(axes):
        mean = 0.0
        for a in range(groups):
            mean += centre[a, column]
        shift = np.float32(mean / groups)
        for a in range(groups):
            value = centre[a, column] - shift
            columns[column, a] = value
            half[a] += np.float32(0.5) * value * value
    return columns, half


@reordered_within
def _measure(columns: Rows, half: npt.NDArray[np.float32], a: int, apart: Rows) -> None:
    """Write for every group half its squared distance to group a and the three after it."""
    to_a, to_b, to_c, to_d = apart[0], apart[1], apart[2], apart[3]
    half_a, half_b, half_c, half_d = half[a], half[a + 1], half[a + 2], half[a + 3]
    for at in range(half.size):
        own = half[at]
        to_a[at], to_b[at], to_c[at], to_d[at] = half_a + own, half_b + own, half_c + own, half_d + own
    for column in range(0, columns.shape[0], 4):
        first, second, third, fourth = columns[column], columns[column + 1], columns[column + 2], columns[column + 3]
        a1, a2, a3, a4 = first[a], second[a], third[a], fourth[a]
        b1, b2, b3, b4 = first[a + 1], second[a + 1], third[a + 1], fourth[a + 1]
        c1, c2, c3, c4 = first[a + 2], second[a + 2], third[a + 2], fourth[a + 2]
        d1, d2, d3, d4 = first[a + 3], second[a + 3], third[a + 3], fourth[a + 3]
        for at in range(half.size):
            p, q, r, s = first[at], second[at], third[at], fourth[at]
            to_a[at] -= a1 * p + a2 * q + a3 * r + a4 * s
            to_b[at] -= b1 * p + b2 * q + b3 * r + b4 * s
            to_c[at] -= c1 * p + c2 * q + c3 * r + c4 * s
            to_d[at] -= d1 * p + d2 * q + d3 * r + d4 * s


@reordered_within
def _least(
    keys: npt.NDArray[np.int32], a: int, names: int, least: npt.NDArray[np.int32], near: npt.NDArray[np.int32]
) -> None:
    """Write where the least values stand, but for place a, least first.

    The values come as their bits, which are ordered as they are (one below 0 is a rounding of 0). Halves are laid upon
    each other, so that each lane of some tens holds the least of its places: as many lanes as places are wanted say
    how much the least can be at most, and few lanes hold anything so small.
    The place, counted from a, then takes the last bits of a value: one number says both, and slides into its slot. Of
    equal ones each place so finds others, not all places the first.
    """
    keys[a] = _NONE
    lanes = keys.size // 2
    for lane in range(lanes):
        least[lane] = min(keys[lane], keys[lane + lanes])
    while lanes % 2 == 0 and lanes >= 2 * _LANES:
        lanes //= 2
        for lane in range(lanes):
            least[lane] = min(least[lane], least[lane + lanes])
    near[:] = _NONE
    for lane in range(lanes):
        _slide(least[lane], near)
    most = near[near.size - 1] | np.int32(names - 1)
    near[:] = _NONE
    for lane in range(lanes):
        if least[lane] > most:
            continue
        for b in range(lane, keys.size, lanes):
            if keys[b] <= most and keys[b] < _FAR_BITS:
                _slide((keys[b] & np.int32(-names)) | (np.int32(b - a) & np.int32(names - 1)), near)
    for slot in range(near.size):
        near[slot] = -1 if near[slot] == _NONE else (near[slot] + np.int32(a)) & np.int32(names - 1)


@reordered_within
def _slide(key: np.int32, near: npt.NDArray[np.int32]) -> None:
    """Insert a key among those that are less, if it is less than the last."""
    if key >= near[near.size - 1]:
        return
    for slot in range(near.size):
        current = near[slot]
        near[slot] = min(current, key)
        key = max(current, key)
