"""Information loss: how much of the table's variation the groups' centroids no longer show."""

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled
from remedies.microaggregation._input import canonical, groups_of
from remedies.microaggregation.standardisation import z_scores


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
