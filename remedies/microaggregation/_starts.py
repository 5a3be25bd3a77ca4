"""What a search starts from: a path of shortest links, cut by MHM; MDAV inside k-d blocks; an untangled path."""

import numpy as np
import numpy.typing as npt

from remedies._compiled import reordered
from remedies.microaggregation._bench import distance
from remedies.microaggregation._blocks import kd_cells
from remedies.microaggregation._kernels import mdav_labels
from remedies.microaggregation._links import linked_path
from remedies.microaggregation._mhm import mhm_labels

_AXES = 8  # the widest ones; blocks need no more


def start_large(
    scores: npt.NDArray[np.float64], Z: npt.NDArray[np.float32], k: int
) -> tuple[str, npt.NDArray[np.int64]]:
    """Return the start of a table of thousands of records, and what it is called."""
    if k >= 50:
        return "mdav in blocks", group_blocks(Z, k, max(2_000, 20 * k))
    passes = 12 if k == 2 else 6 if k < 5 else 3  # the smaller groups are, the less a search can mend
    return "links, then mhm", mhm_labels(scores, linked_path(Z, passes=passes), k)


def group_blocks(Z: npt.NDArray[np.float32], k: int, most: int) -> npt.NDArray[np.int64]:
    """Group each k-d block of at most `most` records by MDAV."""
    order, starts = kd_cells(np.ascontiguousarray(Z[:, :_AXES]), max(most, 2 * k))
    return _group_blocks(Z, order, starts, k)


def cut_untangled_path(
    scores: npt.NDArray[np.float64], Z: npt.NDArray[np.float32], k: int, path: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Shorten a path by 2-opt, then cut it by MHM."""
    return mhm_labels(scores, untangle(Z, path), k)


@reordered
def _group_blocks(
    Z: npt.NDArray[np.float32], order: npt.NDArray[np.int32], starts: npt.NDArray[np.int64], k: int
) -> npt.NDArray[np.int64]:
    labels = np.empty(len(Z), np.int64)
    following = 0
    for block in range(len(starts) - 1):
        low, high = starts[block], starts[block + 1]
        values = mdav_labels(_rows(Z, order[low:high]), k)
        for i in range(high - low):
            labels[order[low + i]] = following + values[i]
        following += values.max() + 1
    return labels


@reordered
def _rows(Z: npt.NDArray[np.float32], records: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
    out = np.empty((len(records), Z.shape[1]), np.float32)
    for i in range(len(records)):
        out[i] = Z[records[i]]
    return out


@reordered
def untangle(Z: npt.NDArray[np.float32], path: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Reverse parts of a path as long as that shortens it (2-opt, at most 20 rounds). O(n^2 d) a round."""
    n = len(path)
    path = path.copy()
    step = np.empty(n, np.float64)
    for _ in range(20):
        shorter = False
        for i in range(n - 1):
            step[i] = np.sqrt(distance(Z, path[i], Z, path[i + 1]))
        for i in range(n - 2):
            for j in range(i + 2, n - 1):
                across = np.sqrt(distance(Z, path[i], Z, path[j]))
                if across >= step[i] + step[j]:
                    continue
                along = np.sqrt(distance(Z, path[i + 1], Z, path[j + 1]))
                if across + along < (step[i] + step[j]) * (1.0 - 1e-6):
                    path[i + 1 : j + 1] = path[i + 1 : j + 1][::-1].copy()
                    step[i + 1 : j] = step[i + 1 : j][::-1].copy()
                    step[i], step[j] = across, along
                    shorter = True
        if not shorter:
            break
    return path
