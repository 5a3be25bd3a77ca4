"""Identical records."""

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled, inner

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
    """Let every record of a path be followed by those identical to it, in ascending order.

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
