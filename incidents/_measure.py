"""Measure time that counts, or that does not: business hours, planned maintenance, the validity of a price.

A measure is a set of disjoint intervals and answers one question for a million moments at once: how much of the time
before this moment lies inside? The length of a span inside is then a difference of two answers, exact in microseconds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from checks.classes.arrays import np, npt
from incidents._columns import union
from incidents.spans import Ints

Bools: TypeAlias = "npt.NDArray[np.bool_]"


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
        """Return what lies inside of any of some."""
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
        kept = ends > starts
        return self.disjoint(starts[kept], ends[kept])


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
