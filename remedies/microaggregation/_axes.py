"""Principal axes: a rotation of the records in which the first coordinates hold most of every distance."""

from typing import Final

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled

_ENOUGH: Final = 65_536  # records that say where the axes lie: any rotation keeps distances
_VECTOR: Final = 8  # floats


def on_axes(scores: npt.NDArray[np.float64], *, filled: bool = False) -> npt.NDArray[np.float32]:
    """Rotate z-scores (n, d) to their principal axes, widest first: (n, d) float32. Distances stay. O(n d^2).

    `filled`: rows are filled up with zeros to whole vectors of the processor, as by `padded`.
    The products are our own: those of numpy wait on all threads of its linear algebra, which stalls on a busy machine.
    """
    n, d = scores.shape
    axes = np.linalg.eigh(_products(scores, max(1, n // _ENOUGH)))[1]
    return _rotated(scores, np.ascontiguousarray(axes[:, ::-1]), d + -d % _VECTOR if filled else d)


def padded(points: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Fill up rows with zeros to whole vectors of the processor."""
    return np.pad(points, ((0, 0), (0, -points.shape[1] % _VECTOR)))


@compiled
def _products(scores: npt.NDArray[np.float64], step: int) -> npt.NDArray[np.float64]:
    n, d = scores.shape
    total = np.zeros((d, d))
    for i in range(0, n, step):
        record = scores[i]
        for a in range(d):
            value = record[a]
            row = total[a]
            for b in range(d):
                row[b] += value * record[b]
    total /= n // step
    return total


@compiled
def _rotated(scores: npt.NDArray[np.float64], axes: npt.NDArray[np.float64], wide: int) -> npt.NDArray[np.float32]:
    n, d = scores.shape
    out = np.empty((n, wide), np.float32)
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
        for b in range(d, wide):
            out[i, b] = np.float32(0)
    return out
