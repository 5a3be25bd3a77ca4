"""Kernel that lists for each group of a block the groups whose centroids are nearest."""

import numpy as np
import numpy.typing as npt

from remedies._compiled import reordered, reordered_inner

Rows = npt.NDArray[np.float32]

_NONE = np.int32(2**31 - 1)


@reordered
def list_nearest(centre: Rows, groups: int, near: npt.NDArray[np.int32]) -> None:
    """List for the first `groups` groups their nearest others, nearest first; -1 where there are no more.

    centre (g, columns), columns a multiple of 4; near (g, many), written. |a - b|^2 is |a|^2 + |b|^2 - 2 ab, of
    centroids less their mean: two rows of it at a time, a column of all centroids being one stretch of memory.
    """
    columns, half = _by_column(centre, groups)
    apart = np.empty((2, groups), np.float32)
    names = 1
    while names < groups:
        names *= 2
    near[:] = -1
    for a in range(0, groups, 2):
        b = min(a + 1, groups - 1)
        _measure(columns, half, a, b, apart[0], apart[1])
        _least(apart[0].view(np.int32), a, names, near[a])
        if b > a:
            _least(apart[1].view(np.int32), b, names, near[b])


@reordered_inner
def _by_column(centre: Rows, groups: int) -> tuple[Rows, npt.NDArray[np.float32]]:
    """Give centroids less their mean as (columns, groups), and half of their squared length (groups,)."""
    wide = centre.shape[1]
    columns = np.empty((wide, groups), np.float32)
    half = np.zeros(groups, np.float32)
    for column in range(wide):
        mean = 0.0
        for a in range(groups):
            mean += centre[a, column]
        shift = np.float32(mean / groups)
        for a in range(groups):
            value = centre[a, column] - shift
            columns[column, a] = value
            half[a] += np.float32(0.5) * value * value
    return columns, half


@reordered_inner
def _measure(
    columns: Rows,
    half: npt.NDArray[np.float32],
    a: int,
    b: int,
    to_a: npt.NDArray[np.float32],
    to_b: npt.NDArray[np.float32],
) -> None:
    """Write for every group half its squared distance to group a, and to b."""
    for at in range(half.size):
        to_a[at] = half[a] + half[at]
    for at in range(half.size):
        to_b[at] = half[b] + half[at]
    for column in range(0, columns.shape[0], 4):
        first, second, third, fourth = columns[column], columns[column + 1], columns[column + 2], columns[column + 3]
        a1, a2, a3, a4 = first[a], second[a], third[a], fourth[a]
        b1, b2, b3, b4 = first[b], second[b], third[b], fourth[b]
        for at in range(half.size):
            p, q, r, s = first[at], second[at], third[at], fourth[at]
            to_a[at] -= a1 * p + a2 * q + a3 * r + a4 * s
            to_b[at] -= b1 * p + b2 * q + b3 * r + b4 * s


@reordered_inner
def _least(keys: npt.NDArray[np.int32], a: int, names: int, near: npt.NDArray[np.int32]) -> None:
    """Write where the least values stand, but for place a, least first.

    The values come as their bits, which are ordered as they are (one below 0 is a rounding of 0). The place, counted
    from a, takes the last bits of each: one number then says both, and slides into its slot without a question that the
    processor must guess. Of equal ones each place so finds others, not all places the first.
    """
    for b in range(keys.size):
        keys[b] = (keys[b] & np.int32(-names)) | (np.int32(b - a) & np.int32(names - 1))
    keys[a] = _NONE
    near[:] = _NONE
    last = near.size - 1
    worst = near[last]
    for b in range(keys.size):
        key = keys[b]
        if key < worst:
            for slot in range(near.size):
                here = near[slot]
                near[slot] = min(here, key)
                key = max(here, key)
            worst = near[last]
    for slot in range(near.size):
        near[slot] = -1 if near[slot] == _NONE else (near[slot] + np.int32(a)) & np.int32(names - 1)
