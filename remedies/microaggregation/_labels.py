"""Labels: which group each record is in."""

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled


@compiled
def _by_first_appearance(codes: npt.NDArray[np.int64], groups: int) -> npt.NDArray[np.int64]:
    names = np.full(groups, -1, np.int64)
    labels = np.empty(codes.size, np.int64)
    following = 0
    for i in range(codes.size):
        if names[codes[i]] < 0:
            names[codes[i]] = following
            following += 1
        labels[i] = names[codes[i]]
    return labels


def canonical(labels: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Number groups 0..g-1 by their first record.

    Args:
        labels: (n,) integers of any kind; equal integers are one group.

    Returns:
        (n,) int64; two partitions into the same groups give the same array. O(n) when the labels lie in 0..2n,
        O(n log n) otherwise.
    """
    codes = np.asarray(labels, np.int64)
    if codes.size == 0:
        return codes.copy()
    if codes.min() < 0 or codes.max() > 2 * codes.size:
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return _by_first_appearance(np.ascontiguousarray(codes), int(codes.max()) + 1)
