"""MDAV: groups of k around opposite ends of what is left."""

from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled, inner
from remedies.microaggregation._extremes import FAR, farthest, nearest
from remedies.microaggregation._input import canonical, group_size
from remedies.microaggregation._kernels import distances, in_columns, keep
from remedies.microaggregation._margin import margins
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
    gone = np.zeros(n, np.bool_)
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
                gone[i] = True
                apart[i] = np.float32(np.inf)
                columns[0, i] = FAR
                for j in range(d):
                    total[j] -= scores[index[i], j]
            groups += 1
            at = farthest(scores, index[:alive], apart[:alive], scores[record], bounds)
        if 8 * (n - groups * k) < 7 * alive:
            alive = keep(columns, index, gone, alive)
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
