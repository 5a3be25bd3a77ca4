"""The lattice of full-domain generalisations: a node is a level for each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lattice:
    """All nodes of some columns, numbered so that a node comes after all that it generalises.

    `shape`: how many levels each column has.
    """

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Count the nodes."""
        return prod(self.shape)

    @property
    def strides(self) -> Whole:
        """Return by how much the number of a node grows when a column goes up one level."""
        return np.append(np.cumprod(np.array(self.shape[:0:-1], dtype=np.int64))[::-1], 1).astype(np.int64)

    def levels(self, nodes: npt.NDArray[np.intp] | Whole) -> Whole:
        """Return the levels of numbered nodes: int64 (nodes, columns)."""
        return np.stack(np.unravel_index(nodes, self.shape), axis=-1).astype(np.int64)

    def number(self, levels: Sequence[int] | Whole) -> int:
        """Return the number of a node."""
        return int(np.dot(self.strides, np.asarray(levels, dtype=np.int64)))


def minimal(holds: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return of each node, in an array of the lattice's shape, whether it holds and none that it generalises does."""
    somewhere = holds.copy()  # holds, or something below holds
    for axis in range(holds.ndim):
        np.logical_or.accumulate(somewhere, axis=axis, out=somewhere)
    below = np.zeros_like(holds)
    for axis in range(holds.ndim):
        upper = [slice(None)] * holds.ndim
        lower = [slice(None)] * holds.ndim
        upper[axis], lower[axis] = slice(1, None), slice(None, -1)
        below[tuple(upper)] |= somewhere[tuple(lower)]
    return holds & ~below
