"""The result of a microaggregation, its information loss, and a lower bound on that of every partition."""

from dataclasses import dataclass
from typing import Final, SupportsIndex

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled
from remedies._errors import Misfit
from remedies.microaggregation._extremes import apart64, margins, nearest
from remedies.microaggregation._input import canonical, group_size, groups_of, table, whole
from remedies.microaggregation._kernels import distances, in_columns
from remedies.microaggregation.standardisation import z_scores


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way that was tried, and what it alone would lose, per cent."""

    method: str
    information_loss: float


@dataclass(frozen=True, slots=True, eq=False)
class Microaggregation:
    """Groups, and what they cost."""

    labels: npt.NDArray[np.int64]  # (n,) groups numbered 0..g-1 by their first record
    information_loss: float  # per cent, 100 SSE / SST, in float64
    lower_bound: float | None  # per cent; no grouping can lose less; None: too many records to say
    group_sizes: npt.NDArray[np.int64]  # (g,)
    tried: tuple[Attempt, ...]  # in the order they were tried
    sweeps: int  # how many were made: with the same seed, `sweeps=` of this number gives the same labels
    seconds: float  # of the clock, without those for the lower bound


def information_loss(X: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return 100 x SSE / SST of a partition: 0 means nothing was lost, 100 that every record became the table's mean.

    SSE is the sum of squared distances of records to their group's centroid, SST to the table's centroid, both on
    z-scores and in float64. A table in which nothing varies loses nothing: 0. O(n d).

    Args:
        X: (n, d), or (n,) for one column; finite numbers in any unit.
        labels: (n,) whole numbers; equal numbers are one group.

    Returns:
        Per cent, in [0, 100].

    Raises:
        Misfit: the input is not a finite numeric table, or the labels are not one per record.

    Source: DEIM 2015 G1-4, equations 1 to 3; Domingo-Ferrer et al., VLDB Journal 15 (2006), section 2.
    """
    scores = z_scores(X)
    groups = canonical(groups_of(labels, records=scores.shape[0]))
    return loss_of(scores, groups)


def loss_of(scores: npt.NDArray[np.float64], groups: npt.NDArray[np.int64]) -> float:
    """Return the loss in per cent of z-scores (n, v) in canonical groups, without looking at either again."""
    total = float(np.einsum("ij,ij->", scores, scores))  # z-scores are centred
    if total == 0.0:
        return 0.0
    return min(100.0, 100.0 * sse_within(scores, groups, int(groups.max()) + 1) / total)


@compiled
def sse_within(scores: npt.NDArray[np.float64], labels: npt.NDArray[np.int64], groups: int) -> float:
    """Sum the squared distances of records to their group's centroid: scores (n, d), labels in 0..groups-1."""
    n, d = scores.shape
    centroid = np.zeros((groups, d))
    size = np.zeros(groups)
    for i in range(n):
        size[labels[i]] += 1.0
        for j in range(d):
            centroid[labels[i], j] += scores[i, j]
    for g in range(groups):
        for j in range(d):
            centroid[g, j] /= max(size[g], 1.0)
    total = 0.0
    for i in range(n):
        record = 0.0
        for j in range(d):
            apart = scores[i, j] - centroid[labels[i], j]
            record += apart * apart
        total += record
    return total


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
    dice = np.random.default_rng(seed)  # randomness: function
    drawn = np.sort(dice.choice(records, min(many, records), replace=False))
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
