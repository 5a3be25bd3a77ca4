"""The definitions, written down as they stand in the literature: slow, and in exact fractions where numbers are whole.

Squared distances of z-scores are sums of (difference)^2 / variance, so they need no root. With whole numbers they are
fractions, and ties are ties.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np


class Table:
    """Records and their distances; `exact` reckons in fractions, otherwise in float64."""

    def __init__(self, records: Any, *, exact: bool = True) -> None:
        """Standardise the records."""
        columns = np.asarray(records).reshape(len(records), -1).T
        number = Fraction if exact else float
        self.n = columns.shape[1]
        self.rows = [[number(value) for value in record.tolist()] for record in columns.T]
        self.weights = [_weight([row[j] for row in self.rows]) for j in range(len(columns))]
        self.everyone = list(range(self.n))

    def square(self, one: Sequence[Any], other: Sequence[Any]) -> Any:
        """Return the squared distance of two points."""
        return sum((w * (a - b) ** 2 for w, a, b in zip(self.weights, one, other, strict=True) if w), start=0)

    def centroid(self, of: Sequence[int]) -> list[Any]:
        """Return the mean of some records."""
        return [sum(self.rows[i][j] for i in of) / len(of) for j in range(len(self.weights))]

    def nearest(self, to: Sequence[Any], among: Sequence[int]) -> int:
        """Return the nearest record; ties to the lowest index."""
        return min(among, key=lambda i: (self.square(self.rows[i], to), i))

    def farthest(self, to: Sequence[Any], among: Sequence[int]) -> int:
        """Return the farthest record; ties to the lowest index."""
        return min(among, key=lambda i: (-self.square(self.rows[i], to), i))

    def sse(self, groups: Sequence[Sequence[int]]) -> Any:
        """Return the sum of squared distances to the groups' centroids."""
        total = 0
        for group in groups:
            centroid = self.centroid(group)
            total += sum(self.square(self.rows[i], centroid) for i in group)
        return total

    def loss(self, groups: Sequence[Sequence[int]]) -> float:
        """Return 100 SSE / SST."""
        total = self.sse([self.everyone])
        return float(100 * self.sse(groups) / total) if total else 0.0


def _weight(column: list[Any]) -> Any:
    if min(column) == max(column):
        return 0
    mean = sum(column) / len(column)
    return len(column) / sum((value - mean) ** 2 for value in column)


def labels(groups: Sequence[Sequence[int]]) -> list[int]:
    """Number groups by their first record."""
    ranked = sorted(groups, key=min)
    of = {i: number for number, group in enumerate(ranked) for i in group}
    return [of[i] for i in range(len(of))]


def npn(table: Table) -> list[int]:
    """Start at the record farthest from the centroid, then always go to the nearest unvisited."""
    left = table.everyone.copy()
    at = table.farthest(table.centroid(left), left)
    return walk(table, left, at)


def walk(table: Table, left: Sequence[int], at: int) -> list[int]:
    """Visit all that are left, starting with `at`."""
    path = [at]
    rest = [i for i in left if i != at]
    while rest:
        path.append(table.nearest(table.rows[path[-1]], rest))
        rest.remove(path[-1])
    return path


def fdh(table: Table, anchors: Sequence[int], divisor: float) -> list[int]:
    """Visit region after region; distances to anchors have roots, so they are floats with a margin."""
    bits: list[tuple[bool, ...]] = [()] * table.n
    for anchor in anchors:
        apart = [math.sqrt(table.square(row, table.rows[anchor])) for row in table.rows]
        radius = math.fsum(apart) / (table.n - 1) / divisor
        bits = [(*before, d <= radius * (1 + 1e-11)) for before, d in zip(bits, apart, strict=True)]
    left = {code: [i for i in table.everyone if bits[i] == code] for code in set(bits)}
    centroid = {code: table.centroid(members) for code, members in left.items()}
    at = table.farthest(table.centroid(table.everyone), table.everyone)
    here = bits[at]
    path = walk(table, left.pop(here), at)
    while left:
        here = min(left, key=lambda code: _step(table, here, code, centroid))
        members = left.pop(here)
        path += walk(table, members, table.nearest(table.rows[path[-1]], members))
    return path


def _step(table: Table, here: tuple[bool, ...], there: tuple[bool, ...], centroid: dict[Any, Any]) -> tuple[Any, ...]:
    differ = sum(a != b for a, b in zip(here, there, strict=True))
    return differ, table.square(centroid[here], centroid[there]), there


def mdav(table: Table, k: int) -> list[list[int]]:
    """Take groups of k around opposite ends while 3k are left; then one more, if 2k are left; then the rest."""
    left = table.everyone.copy()
    groups = []

    def take(record: int) -> None:
        groups.append(_with_nearest(table, record, left, k))

    while len(left) >= 3 * k:
        one = table.farthest(table.centroid(left), left)
        take(one)
        take(table.farthest(table.rows[one], left))
    if len(left) >= 2 * k:
        take(table.farthest(table.centroid(left), left))
    return [*groups, left]


def _with_nearest(table: Table, record: int, left: list[int], k: int) -> list[int]:
    group = [record]
    left.remove(record)
    while len(group) < k:
        group.append(table.nearest(table.rows[record], left))
        left.remove(group[-1])
    return group


def vmdav(table: Table, k: int, gamma: Fraction) -> list[list[int]]:
    """Take the record farthest from the table's centroid and its k-1 nearest; let the group grow while it pays."""
    left = table.everyone.copy()
    centroid = table.centroid(left)
    groups = []
    while len(left) >= k:
        group = _with_nearest(table, table.farthest(centroid, left), left, k)
        while left and len(group) < 2 * k - 1 and gamma > 0:
            inwards, one = min((min(_pairs(table, i, group)), i) for i in left)
            outwards = min(_pairs(table, one, [i for i in left if i != one]), default=math.inf)
            if not inwards < gamma**2 * outwards:
                break
            group.append(one)
            left.remove(one)
        groups.append(group)
    centres = [table.centroid(group) for group in groups]
    joins = [min(range(len(groups)), key=lambda g: (table.square(table.rows[i], centres[g]), g)) for i in left]
    for i, g in zip(left, joins, strict=True):
        groups[g].append(i)
    return groups


def _pairs(table: Table, one: int, others: Sequence[int]) -> list[Any]:
    return [table.square(table.rows[one], table.rows[i]) for i in others]


def cuts(path: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """Yield every way to cut a path into runs of k to 2k-1 records."""
    if not path:
        yield []
    for size in range(k, min(2 * k - 1, len(path)) + 1):
        for rest in cuts(path[size:], k):
            yield [list(path[:size]), *rest]


def partitions(records: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """Yield every partition into groups of at least k records."""
    if not records:
        yield []
        return
    first, *others = records
    for size in range(k - 1, len(others) + 1):
        for chosen in itertools.combinations(others, size):
            for rest in partitions([i for i in others if i not in chosen], k):
                yield [[first, *chosen], *rest]
