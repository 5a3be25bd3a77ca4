"""Exact arithmetic on columns of whole microseconds: sums, orders and unions by group, and measures of time.

A sum of a million long times may leave 64 bits: sums are taken in parts that a float64 holds exactly, and added as
Python's unbounded integers where necessary.

A measure is a set of disjoint intervals (business hours, planned maintenance, the validity of a price). It returns, for
a million moments at once, the time before each moment that lies inside; the length of a span inside is a difference of
two of these, exact in microseconds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from checks.classes.arrays import np, npt
from incidents.spans import Ints

Bools: TypeAlias = "npt.NDArray[np.bool_]"

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


@dataclass(frozen=True, slots=True, eq=False)
class TimeMeasure:
    """Disjoint intervals `[start, end)` in order, with the time inside that lies before each start (microseconds)."""

    starts: Ints
    ends: Ints
    before: Ints

    @classmethod
    def of(cls, intervals: Iterable[tuple[int, int]]) -> "TimeMeasure":
        """Return the measure of a union of intervals in microseconds; they may overlap, empty ones are dropped."""
        return cls.union(*np.array(list(intervals), dtype=np.int64).reshape(-1, 2).T)

    @classmethod
    def union(cls, starts: Ints, ends: Ints) -> "TimeMeasure":
        """Return the measure of a union of intervals, as `of` does."""
        _, starts, ends = union(np.zeros_like(starts), starts, ends)
        return cls.disjoint(starts, ends)

    @classmethod
    def disjoint(cls, starts: Ints, ends: Ints) -> "TimeMeasure":
        """Return the measure of intervals in order of which none is empty or touches another."""
        return cls(starts, ends, np.concatenate(([0], np.cumsum(ends - starts)))[:-1].astype(np.int64))

    @classmethod
    def any_of(cls, measures: Sequence["TimeMeasure"]) -> "TimeMeasure":
        """Return the union of measures."""
        if len(measures) == 1:
            return measures[0]
        nothing = np.zeros((2, 0), dtype=np.int64)
        return cls.union(*np.concatenate((nothing, *((item.starts, item.ends) for item in measures)), axis=1))

    def __call__(self, moments: Ints) -> Ints:
        """Return, for each moment, how much of the time before it lies inside."""
        if self.starts.size == 0:
            return np.zeros_like(moments)
        at = np.searchsorted(self.starts, moments, side="right") - 1
        inside = self.before[at] + np.minimum(moments, self.ends[at]) - self.starts[at]
        return np.where(at < 0, 0, inside)

    def covers(self, moments: Ints) -> Bools:
        """Return, for each moment, whether it lies inside."""
        if self.starts.size == 0:
            return np.zeros(moments.shape, dtype=np.bool_)
        at = np.searchsorted(self.starts, moments, side="right") - 1
        return (at >= 0) & (moments < self.ends[at])

    def minus(self, other: "TimeMeasure") -> "TimeMeasure":
        """Return what lies inside this one and outside the other."""
        cuts = np.unique(np.concatenate((self.starts, self.ends, other.starts, other.ends)))
        starts, ends = cuts[:-1], cuts[1:]
        flags = self.covers(starts) & ~other.covers(starts)
        return self.disjoint(starts[flags], ends[flags])

    def within(self, start: int, end: int) -> "TimeMeasure":
        """Return the part of it between two moments."""
        starts, ends = np.clip(self.starts, start, end), np.clip(self.ends, start, end)
        real = ends > starts
        return self.disjoint(starts[real], ends[real])


@dataclass(frozen=True, slots=True, eq=False)
class MaintenanceSpans:
    """Planned work by table: time that does not count.

    `measures` are the distinct sets of intervals, the first of them empty; `of_table` gives, for each code of a name,
    which one holds.
    """

    measures: tuple[TimeMeasure, ...]
    of_table: Ints

    @classmethod
    def of(cls, names: Sequence[str], planned: Mapping[str, Iterable[tuple[int, int]]]) -> "MaintenanceSpans":
        """Return the maintenance of tables by name, for spans with these names; intervals in microseconds UTC."""
        distinct: dict[tuple[tuple[int, int], ...], int] = {(): 0}
        which = np.zeros(len(names), dtype=np.int64)
        for code, name in enumerate(names):
            intervals = tuple(sorted(planned.get(name, ())))
            which[code] = distinct.setdefault(intervals, len(distinct))
        return cls(tuple(TimeMeasure.of(intervals) for intervals in distinct), which)

    def __call__(self, tables: Ints, moments: Ints) -> Ints:
        """Return, for each table and moment, how much of the time before the moment was planned work on that table."""
        result = np.zeros_like(moments)
        for rows, measure in self.by_measure(tables):
            result[rows] = measure(moments[rows])
        return result

    def by_measure(self, tables: Ints) -> Iterable[tuple[Ints, TimeMeasure]]:
        """Return the rows that share a set of intervals, with it; rows without planned work are left out."""
        which = self.of_table[tables]
        planned = np.flatnonzero(which)
        ordered = planned[np.argsort(which[planned], kind="stable")]
        bounds = np.flatnonzero(np.diff(which[ordered], prepend=-1, append=-1))
        for start, end in pairwise(bounds):
            rows = ordered[start:end]
            yield rows, self.measures[which[rows[0]]]
