"""MDAV: groups of k around opposite ends of the remaining records; V-MDAV: the same, with groups that may grow."""

import math
from typing import NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled, inner
from remedies._errors import Misfit
from remedies.microaggregation._extremes import FAR, GONE, apart64, at_most, farthest, margins, nearest, tie
from remedies.microaggregation._input import canonical, finite, group_size
from remedies.microaggregation._kernels import distances, in_columns, keep
from remedies.microaggregation.standardisation import z_scores


def mdav(X: npt.ArrayLike, k: SupportsIndex) -> npt.NDArray[np.int64]:
    """Group records by MDAV, exactly: all groups have k records, the last one up to 2k-1.

    While at least 3k records are left: r is the one farthest from their centroid and takes its k-1 nearest, then s, the
    one of the others farthest from r, takes its k-1 nearest. With 2k to 3k-1 left, r takes its k-1 nearest and the rest
    is the last group; fewer than 2k are one group. Ties go to the lowest index. O(n^2 d / k); scans run in float32 and
    every near tie is decided in float64, so the groups are those of float64.

    Args:
        X: (n, d), or (n,) for one column; finite numbers in any unit; standardised here.
        k: smallest group, 2 <= k <= n.

    Returns:
        (n,) int64 labels, groups numbered by their first record.

    Raises:
        Misfit: the table is not finite and numeric, or k does not fit.

    Source: Domingo-Ferrer & Torra, Data Mining and Knowledge Discovery 11 (2005), algorithm MDAV-generic;
    Domingo-Ferrer & Mateo-Sanz, IEEE TKDE 14 (2002).
    """
    scores = z_scores(X)
    return canonical(exact_mdav(scores, group_size(k, records=scores.shape[0])))


@compiled
def exact_mdav(scores: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.int64]:
    """Return MDAV's groups of z-scores (n, d), contiguous, in the order they are made."""
    n, d = scores.shape
    bounds = margins(scores)
    columns = np.empty((d, n), np.float32)
    in_columns(scores, columns)
    apart = np.empty(n, np.float32)
    index = np.arange(n)
    grouped = np.zeros(n, np.bool_)
    labels = np.full(n, -1, np.int64)
    near = np.empty(k, np.int64)
    alive = n
    groups = 0
    total = _total(scores, index)
    point = np.empty(d)
    rounded = np.empty(d, np.float32)
    while n - groups * k >= 2 * k:
        for j in range(d):
            point[j] = total[j] / (n - groups * k)
            rounded[j] = point[j]
        distances(columns, alive, rounded, apart)
        at = farthest(scores, index[:alive], apart[:alive], point, bounds)
        for _ in range(2 if n - groups * k >= 3 * k else 1):
            record = index[at]
            for j in range(d):
                rounded[j] = columns[j, at]
            distances(columns, alive, rounded, apart)
            near[0] = at
            apart[at] = np.float32(np.inf)
            nearest(scores, index[:alive], apart[:alive], scores[record], bounds, near[1:])
            for i in near:
                labels[index[i]] = groups
                grouped[i] = True
                apart[i] = np.float32(np.inf)
                columns[0, i] = FAR
                for j in range(d):
                    total[j] -= scores[index[i], j]
            groups += 1
            at = farthest(scores, index[:alive], apart[:alive], scores[record], bounds)
        if 8 * (n - groups * k) < 7 * alive:
            alive = keep(columns, index, grouped, alive)
            total = _total(scores, index[:alive])
    for i in index[:alive]:
        if labels[i] < 0:
            labels[i] = groups
    return labels


@inner
def _total(scores: npt.NDArray[np.float64], records: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    total = np.zeros(scores.shape[1])
    for i in records:
        for j in range(total.size):
            total[j] += scores[i, j]
    return total


def vmdav(X: npt.ArrayLike, k: SupportsIndex, gamma: float = 0.2) -> npt.NDArray[np.int64]:
    """Group records by V-MDAV, exactly: groups of k that take in what is nearer to them than to the rest.

    While at least k records are left: the one farthest from the table's centroid takes its k-1 nearest. Then, up to
    2k-1 records, the unassigned record nearest to any member joins if its distance to that member is below gamma times
    its distance to the nearest other unassigned record (with none left, it joins when gamma > 0). The last, fewer than
    k records join the group with the nearest centroid. A group that thereby has 2k records or more is split by MDAV,
    which never loses more. Ties go to the lowest index. O(n^2 d); scans run in float32 and near ties are decided in
    float64.

    Args:
        X: (n, d), or (n,) for one column; finite numbers in any unit; standardised here.
        k: smallest group, 2 <= k <= n.
        gamma: gain factor, >= 0; 0 never extends; the authors use 0.2 for scattered and 1.1 for clustered tables.

    Returns:
        (n,) int64 labels, groups numbered by their first record.

    Raises:
        Misfit: the table is not finite and numeric, or k or gamma do not fit.

    Source: Solanas & Martinez-Balleste, V-MDAV: a multivariate microaggregation with variable group size,
    COMPSTAT 2006.
    """
    scores = z_scores(X)
    smallest = group_size(k, records=scores.shape[0])
    gain = finite(gamma, name="gamma")
    if gain < 0:
        raise Misfit(f"gamma is {gain}; expected at least 0")
    return canonical(exact_vmdav(scores, smallest, gain))


class _Scratch(NamedTuple):
    """The records that may still be unassigned, by position; n records, d columns."""

    columns: npt.NDArray[np.float32]  # (d, n)
    record: npt.NDArray[np.int64]  # (n,) record at each position, ascending
    place: npt.NDArray[np.int64]  # (n,) position of each record
    assigned: npt.NDArray[np.bool_]  # (n,) since positions were given
    apart: npt.NDArray[np.float32]  # (n,) squared distances to one record
    closest: npt.NDArray[np.float32]  # (n,) squared distances to the nearest member of the group that grows
    bounds: tuple[float, float, float]


def exact_vmdav(scores: npt.NDArray[np.float64], k: int, gamma: float) -> npt.NDArray[np.int64]:
    """Return V-MDAV's groups of z-scores (n, d), contiguous; sizes k..2k-1."""
    labels = _grown(scores, _outermost_first(scores), k, gamma)
    groups = int(labels.max()) + 1
    _join_nearest_centroid(scores, labels, groups)
    for group in np.flatnonzero(np.bincount(labels) >= 2 * k):
        members = np.flatnonzero(labels == group)
        parts = exact_mdav(np.ascontiguousarray(scores[members]), k)
        labels[members] = np.where(parts > 0, groups + parts - 1, group)
        groups += int(parts.max())
    return labels


def _outermost_first(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Order z-scores by their distance to the centroid, which is 0; equal distances by index."""
    squares = np.square(scores).sum(axis=1)
    radius = math.sqrt(squares.max())
    order = np.argsort(-squares)
    falling = squares[order]
    shorter = falling[1:] < falling[:-1] - [tie(square, radius) for square in falling[:-1].tolist()]
    return order[np.lexsort((order, np.concatenate([[0], np.cumsum(shorter)])))]


@compiled
def _grown(
    scores: npt.NDArray[np.float64], outwards: npt.NDArray[np.int64], k: int, gamma: float
) -> npt.NDArray[np.int64]:
    """Make groups around records from the outermost on, while k are left; -1 labels the others."""
    n, d = scores.shape
    scratch = _Scratch(
        np.empty((d, n), np.float32),
        np.arange(n),
        np.arange(n),
        np.zeros(n, np.bool_),
        np.empty(n, np.float32),
        np.empty(n, np.float32),
        margins(scores),
    )
    in_columns(scores, scratch.columns)
    labels = np.full(n, -1, np.int64)
    group = np.empty(2 * k - 1, np.int64)
    alive = n
    left = n
    groups = 0
    for start in outwards:
        if left < k:
            break
        if labels[start] >= 0:
            continue
        _take_nearest(scores, scratch, alive, start, group[:k])
        size = _extended(scores, scratch, alive, group[: min(2 * k - 1, left)], k, gamma)
        for member in group[:size]:
            labels[member] = groups
        groups += 1
        left -= size
        if 8 * left < 7 * alive:
            alive = keep(scratch.columns, scratch.record, scratch.assigned, alive)
            for position in range(alive):
                scratch.place[scratch.record[position]] = position
    return labels


@inner
def _extended(
    scores: npt.NDArray[np.float64],
    scratch: _Scratch,
    alive: int,
    group: npt.NDArray[np.int64],
    size: int,
    gamma: float,
) -> int:
    """Extend a group of `size` members while that lowers the loss, to what `group` holds at most; return its size."""
    if gamma == 0.0:
        return size
    for member in group[1:size]:
        _measure(scores, scratch, alive, member)
        _bring_closer(scratch, alive)
    while size < group.size:
        joins = _next_member(scores, scratch, alive, group[:size], gamma)
        if joins < 0:
            break
        group[size] = joins
        size += 1
    return size


@inner
def _take_nearest(
    scores: npt.NDArray[np.float64], scratch: _Scratch, alive: int, start: int, group: npt.NDArray[np.int64]
) -> None:
    """Fill a group with `start` and its nearest records, and measure how far the others are from it."""
    closest = scratch.closest[:alive]
    _measure(scores, scratch, alive, start)
    closest[:] = scratch.apart[:alive]
    near = np.empty(group.size, np.int64)
    near[0] = scratch.place[start]
    scratch.apart[near[0]] = np.float32(np.inf)
    nearest(scores, scratch.record[:alive], scratch.apart[:alive], scores[start], scratch.bounds, near[1:])
    for member in range(near.size):
        position = near[member]
        group[member] = scratch.record[position]
        scratch.assigned[position] = True
        scratch.columns[0, position] = FAR
        closest[position] = np.float32(np.inf)


@inner
def _measure(scores: npt.NDArray[np.float64], scratch: _Scratch, alive: int, record: int) -> None:
    distances(scratch.columns, alive, scores[record].astype(np.float32), scratch.apart)


@inner
def _bring_closer(scratch: _Scratch, alive: int) -> None:
    closest, apart = scratch.closest[:alive], scratch.apart[:alive]
    for position in range(alive):
        closest[position] = min(closest[position], apart[position])


@inner
def _next_member(
    scores: npt.NDArray[np.float64], scratch: _Scratch, alive: int, group: npt.NDArray[np.int64], gamma: float
) -> int:
    """Return the record that joins the group, and count it in, or -1."""
    at, inwards = _nearest_to_group(scores, scratch, alive, group)
    joins = scratch.record[at]
    _measure(scores, scratch, alive, joins)
    apart = scratch.apart[:alive]
    apart[at] = np.float32(np.inf)
    result = np.zeros(1, np.int64)
    nearest(scores, scratch.record[:alive], apart, scores[joins], scratch.bounds, result)
    outwards = np.inf
    if apart[result[0]] < GONE:
        outwards = gamma * gamma * apart64(scores, scratch.record[result[0]], scores[joins])
    if not inwards < outwards - tie(inwards, scratch.bounds[0]):
        return -1
    scratch.assigned[at] = True
    scratch.columns[0, at] = FAR
    scratch.closest[at] = np.float32(np.inf)
    _bring_closer(scratch, alive)
    return int(joins)


@inner
def _nearest_to_group(
    scores: npt.NDArray[np.float64], scratch: _Scratch, alive: int, group: npt.NDArray[np.int64]
) -> tuple[int, float]:
    """Return the position of the record nearest to a member of the group, and the squared distance."""
    radius, error, slack = scratch.bounds
    closest = scratch.closest[:alive]
    limit = at_most(closest.min(), error, slack)
    least = np.inf
    for position in range(alive):
        if closest[position] <= limit:
            least = min(least, _to_group(scores, scratch.record[position], group))
    at = 0
    while closest[at] > limit or _to_group(scores, scratch.record[at], group) > least + tie(least, radius):
        at += 1
    return at, least


@inner
def _to_group(scores: npt.NDArray[np.float64], record: int, group: npt.NDArray[np.int64]) -> float:
    least = np.inf
    for member in group:
        least = min(least, apart64(scores, member, scores[record]))
    return least


@compiled
def _join_nearest_centroid(scores: npt.NDArray[np.float64], labels: npt.NDArray[np.int64], groups: int) -> None:
    """Label the records that have none by the group with the nearest centroid; of equally near ones the first made."""
    centroid = np.zeros((groups, scores.shape[1]))
    size = np.zeros(groups)
    for i in range(labels.size):
        if labels[i] >= 0:
            size[labels[i]] += 1.0
            for j in range(scores.shape[1]):
                centroid[labels[i], j] += scores[i, j]
    for group in range(groups):
        for j in range(scores.shape[1]):
            centroid[group, j] /= size[group]
    radius = margins(scores)[0]
    for other in np.flatnonzero(labels < 0):
        least = np.inf
        for group in range(groups):
            square = apart64(centroid, group, scores[other])
            if group == 0 or square < least - tie(least, radius):
                least = square
                labels[other] = group
