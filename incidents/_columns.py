"""Exact sums, orders and unions over columns of whole numbers, by group.

Microseconds are large and reports add up a million of them, so a sum may leave 64 bits: sums are taken in parts that a
float64 holds exactly, and put together as integers, where it must be Python's unbounded ones.
"""

from typing import Final

from checks.classes.arrays import np
from incidents.spans import Ints

_MANTISSA: Final = 53
_LARGEST: Final = 1 << 62


def totals(values: Ints, group: Ints, size: int) -> list[int]:
    """Return the exact sum of non-negative values for each of the groups 0 to `size` - 1.

    Raises:
        ValueError: a value is negative: an episode ends before it begins.
    """
    if values.size == 0:
        return [0] * size
    if int(values.min()) < 0:
        raise ValueError("a length of time is negative; an episode ends before it begins")
    largest, shift = int(values.max()), 0
    is_small = largest * values.size < _LARGEST
    is_exact = is_small and int(values.sum()) < 1 << _MANTISSA  # then one part is enough
    bits = _MANTISSA - (0 if is_exact else int(values.size).bit_length())
    sums = np.zeros(size, dtype=np.int64 if is_small else object)
    while largest >> shift:
        part = np.bincount(group, weights=(values >> shift) & ((1 << bits) - 1), minlength=size)
        sums += part.astype(np.int64).astype(sums.dtype) << shift
        shift += bits
    result: list[int] = sums.tolist()
    return result


def counts(group: Ints, size: int) -> list[int]:
    """Return how many rows each of the groups 0 to `size` - 1 has."""
    result: list[int] = np.bincount(group, minlength=size).tolist()
    return result


def dense(keys: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys in order, and for each row the number of its key among them."""
    lowest, highest = (int(keys.min()), int(keys.max())) if keys.size else (0, 0)
    if highest - lowest > 4 * keys.size + 1024:
        distinct, which = np.unique(keys, return_inverse=True)
        return distinct, which
    present = np.bincount(keys - lowest) > 0  # codes lie close together: counting them is faster than sorting them
    return np.flatnonzero(present) + lowest, (np.cumsum(present) - 1)[keys - lowest]


def order_by(group: Ints, *value: Ints) -> Ints:
    """Return the order of rows by group (numbered densely from 0) and then by value, if one is given.

    The smaller the type of the groups the faster: up to 65,536 are sorted by counting.
    """
    return np.lexsort((*value, group.astype(np.min_scalar_type(group.max(initial=0)))))


def union(group: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the union of intervals within each group (numbered densely from 0).

    Disjoint intervals with their group.
    """
    real = end > start
    group, start, end = group[real], start[real], end[real]
    if group.size == 0:
        return group, start, end
    origin = int(start.min())
    width = int(end.max()) - origin + 1
    first, last = int(group.min()), int(group.max())
    if last > first and (last - first + 1) * width >= _LARGEST:
        lower = group <= (first + last) // 2
        halves = (union(group[half], start[half], end[half]) for half in (lower, ~lower))
        return tuple(np.concatenate(columns) for columns in zip(*halves, strict=True))  # type: ignore[return-value]  # zip keeps the three columns
    offset = (group - first) * width - origin
    order = order_by(group, start)
    group, start, end = group[order], start[order], end[order]
    # laid end to end, one group after the other, so that no interval reaches into the next group
    reach = np.maximum.accumulate(end + offset[order])
    begins = np.flatnonzero(np.concatenate(([True], (start + offset[order])[1:] > reach[:-1])))
    ends = np.concatenate((begins[1:], [group.size])) - 1
    return group[begins], start[begins], reach[ends] - offset[order][ends]
