"""Principal axes: a rotation of the records in which the first coordinates hold most of every distance."""

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled


def on_axes(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Rotate z-scores (n, d) to their principal axes, widest first: (n, d) float32. Distances stay. O(n d^2).

    The products are our own: those of numpy wait on all threads of its linear algebra, which stalls on a busy machine.
    """
    axes = np.linalg.eigh(_products(scores))[1]
    return _rotated(scores, np.ascontiguousarray(axes[:, ::-1]))


def padded(points: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Fill up rows with zeros to whole vectors of the processor."""
    return np.pad(points, ((0, 0), (0, -points.shape[1] % 8)))


@compiled
def _products(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    n, d = scores.shape
    total = np.zeros((d, d))
    for i in range(n):
        record = scores[i]
        for a in range(d):
            value = record[a]
            row = total[a]
            for b in range(d):
                row[b] += value * record[b]
    total /= n
    return total


@compiled
def _rotated(scores: npt.NDArray[np.float64], axes: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    n, d = scores.shape
    out = np.empty((n, d), np.float32)
    record = np.empty(d)
    for i in range(n):
        record[:] = 0.0
        for a in range(d):
            value = scores[i, a]
            axis = axes[a]
            for b in range(d):
                record[b] += value * axis[b]
        for b in range(d):
            out[i, b] = record[b]
    return out
