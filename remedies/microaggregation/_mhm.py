"""The optimal partition that keeps a path's order (MHM), and the univariate optimum as its special case."""

from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled, inner
from remedies._errors import Misfit
from remedies.microaggregation._input import canonical, group_size, order, table
from remedies.microaggregation.standardisation import z_scores


def mhm(X: npt.ArrayLike, path: npt.ArrayLike, k: SupportsIndex) -> npt.NDArray[np.int64]:
    """Cut a path into the groups of k to 2k-1 successive records that lose least: optimal for the path.

    The shortest way through the graph whose edges are all runs of k to 2k-1 records of the path, each as long as the
    run's sum of squared errors. An edge's length is summed up along its records in float64, never as a difference of
    large sums, so identical records cost exactly 0. Of equally short ways, the one whose last groups are longest.
    O(n k d) time; memory beside the table: two numbers of 8 bytes per record.

    Args:
        X: (n, d), or (n,) for one column; finite numbers in any unit; standardised here.
        path: (n,) the order of the records: a permutation of 0..n-1.
        k: smallest group, 2 <= k <= n.

    Returns:
        (n,) int64 labels, groups numbered by their first record.

    Raises:
        Misfit: the table is not finite and numeric, the path is not a permutation, or k does not fit.

    Source: Domingo-Ferrer et al., VLDB Journal 15 (2006), section 4 (MHM); Hansen & Mukherjee, IEEE TKDE 15 (2003).
    """
    scores = z_scores(X)
    smallest = group_size(k, records=scores.shape[0])
    return canonical(mhm_labels(scores, order(path, records=scores.shape[0]), smallest))


def optimal_univariate(x: npt.ArrayLike, k: SupportsIndex) -> npt.NDArray[np.int64]:
    """Group one column so that no other grouping with groups of at least k loses less.

    The groups of an optimal grouping are runs of the sorted values, so this is `mhm` on the sorted order (equal values
    by index). O(n log n + n k).

    Args:
        x: (n,) or (n, 1) finite numbers in any unit.
        k: smallest group, 2 <= k <= n.

    Returns:
        (n,) int64 labels, groups numbered by their first record.

    Raises:
        Misfit: not one column of finite numbers, or k does not fit.

    Source: Hansen & Mukherjee, A polynomial algorithm for optimal univariate microaggregation, IEEE TKDE 15 (2003).
    """
    column = table(x)
    if column.shape[1] != 1:
        raise Misfit(f"the table has {column.shape[1]} columns; the univariate optimum takes one")
    smallest = group_size(k, records=column.shape[0])
    ascending = np.argsort(column[:, 0], kind="stable").astype(np.int64)
    return canonical(mhm_labels(z_scores(column), ascending, smallest))


@compiled
def mhm_labels(scores: npt.NDArray[np.float64], path: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.int64]:
    """Cut a path, without looking at the input: scores (n, d) contiguous, path (n,) a permutation, 2 <= k <= n.

    Returns (n,) int64 labels numbered along the path.
    """
    n, d = scores.shape
    cost = np.full(n + 1, np.inf)  # cost[j]: of the best partition of the first j records of the path
    start = np.zeros(n + 1, np.int64)  # where the last group of that partition starts
    cost[0] = 0.0
    mean = np.empty(d)
    for i in range(n - k + 1):
        if cost[i] == np.inf:
            continue
        mean[:] = scores[path[i]]
        error = cost[i]
        for size in range(2, min(2 * k - 1, n - i) + 1):
            error += _joined(mean, scores[path[i + size - 1]], 1.0 / size)
            if size >= k and error < cost[i + size]:
                cost[i + size] = error
                start[i + size] = i
    return _cut(path, start)


@inner
def _joined(mean: npt.NDArray[np.float64], record: npt.NDArray[np.float64], share: float) -> float:
    """Add a record to a group: move the mean, return what the squared error grows by (Welford)."""
    a, b, c, e = 0.0, 0.0, 0.0, 0.0  # four sums side by side: the processor need not wait for one
    d = mean.size
    j = 0
    while j + 4 <= d:
        p, q = record[j] - mean[j], record[j + 1] - mean[j + 1]
        r, s = record[j + 2] - mean[j + 2], record[j + 3] - mean[j + 3]
        mean[j] += p * share
        mean[j + 1] += q * share
        mean[j + 2] += r * share
        mean[j + 3] += s * share
        a, b, c, e = a + p * p, b + q * q, c + r * r, e + s * s
        j += 4
    while j < d:
        p = record[j] - mean[j]
        mean[j] += p * share
        a += p * p
        j += 1
    return ((a + b) + (c + e)) * (1.0 - share)


@inner
def _cut(path: npt.NDArray[np.int64], start: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Number the groups along the path, given where each possible last group starts."""
    labels = np.empty(path.size, np.int64)
    groups = 0
    j = path.size
    while j > 0:
        groups += 1
        for position in range(start[j], j):
            labels[path[position]] = -groups
        j = start[j]
    return labels + groups
