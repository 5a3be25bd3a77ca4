"""What no partition can lose less than."""

from typing import Final, SupportsIndex

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled
from remedies._errors import Misfit
from remedies.microaggregation._extremes import nearest
from remedies.microaggregation._input import group_size, table, whole
from remedies.microaggregation._kernels import distances, in_columns
from remedies.microaggregation._margin import apart64, margins
from remedies.microaggregation.standardisation import z_scores

_MOST_UNASKED: Final = 20_000
_ROUNDING: Final = 1 - 2.0**-40  # what float64 may have added; a certificate errs downwards


def lower_bound(X: npt.ArrayLike, k: SupportsIndex, *, exact: bool = False) -> float | None:
    """Return a loss that no partition into groups of at least k records can go below.

    In a group of g records, SSE is 1 / (2g) times the sum of squared distances over all ordered pairs; with g = k..2k-1
    that is at least 1 / (2k) times the sum over its records of the squared distances to their k-1 nearest, taken in the
    whole table. A result of x % against a bound of y % is at most (x / y - 1) above the optimum. O(n^2 d); near ties of
    the float32 scan are decided in float64, and the sum is rounded down.

    Args:
        X: (n, d), or (n,) for one column; finite numbers in any unit; standardised here.
        k: smallest group, 2 <= k <= n.
        exact: also for more than 20,000 records, where it takes minutes and more.

    Returns:
        Per cent of SST, in [0, 100]; None for more than 20,000 records unless `exact`. A table in which nothing varies
        has the bound 0.

    Raises:
        Misfit: the table is not finite and numeric, or k does not fit.
    """
    records = len(table(X))
    smallest = group_size(k, records=records)
    if records > _MOST_UNASKED and not exact:
        return None
    scores = z_scores(X)
    return _per_cent(scores, near_sums(scores, np.arange(scores.shape[0]), smallest - 1), smallest) * _ROUNDING


def lower_bound_estimate(X: npt.ArrayLike, k: SupportsIndex, *, sample: SupportsIndex = 2_000, seed: int = 0) -> float:
    """Estimate `lower_bound` from some records: an estimate, not a certificate. O(sample n d).

    Args:
        X: (n, d), or (n,) for one column; finite numbers in any unit; standardised here.
        k: smallest group, 2 <= k <= n.
        sample: so many records, drawn without replacement, look for their neighbours in the whole table.
        seed: of the draw.

    Returns:
        Per cent of SST; may lie above the loss of the best partition.

    Raises:
        Misfit: the table is not finite and numeric, or k or the sample do not fit.
    """
    scores = z_scores(X)
    smallest = group_size(k, records=scores.shape[0])
    many = whole(sample, name="sample")
    if many < 1:
        raise Misfit(f"the sample has {many} records; an estimate needs at least 1")
    records = scores.shape[0]
    drawn = np.sort(np.random.default_rng(seed).choice(records, min(many, records), replace=False))
    return _per_cent(scores, near_sums(scores, drawn, smallest - 1), smallest)


def _per_cent(scores: npt.NDArray[np.float64], sums: npt.NDArray[np.float64], k: int) -> float:
    total = float(np.square(scores).sum())
    if total == 0.0:
        return 0.0
    near = float(sums.mean()) * len(scores)
    return min(100.0, 100.0 * near / (2 * k) / total)


@compiled
def near_sums(
    scores: npt.NDArray[np.float64], records: npt.NDArray[np.int64], neighbours: int
) -> npt.NDArray[np.float64]:
    """Return the sum of squared distances of each record to its nearest neighbours, itself excluded by index."""
    n, d = scores.shape
    bounds = margins(scores)
    columns = np.empty((d, n), np.float32)
    in_columns(scores, columns)
    apart = np.empty(n, np.float32)
    everyone = np.arange(n)
    results = np.empty(neighbours, np.int64)
    sums = np.zeros(records.size)
    for position in range(records.size):
        i = records[position]
        distances(columns, n, columns[:, i].copy(), apart)
        apart[i] = np.float32(np.inf)
        nearest(scores, everyone, apart, scores[i], bounds, results)
        for j in results:
            sums[position] += apart64(scores, j, scores[i])
    return sums
