"""Cells of a table that is too large to be held: cut once from a sample, then every record knows its own.

Records are grouped within cells. Sweeps cut along other directions, and whole groups travel to the cell of their
centroid, so that every group keeps its k records whatever happens to a cell.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled
from remedies.microaggregation.numbers import Floats

Cell = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CellTree:
    """A balanced k-d tree of 2**depth cells, in the order of a heap: the children of node i are 2 i + 1 and 2 i + 2.

    `directions` (d, a): the axes to cut along. `axis` and `cut`, (2**depth - 1,): a point whose coordinate on the axis
    of a node is at most its cut goes left.
    """

    directions: Floats
    axis: npt.NDArray[np.int64]
    cut: Floats

    @classmethod
    def fit(cls, sample: Floats, depth: int, directions: Floats) -> Self:
        """Cut a sample (m, d) by medians of its widest axis.

        A median among equal values cannot part them: such a cell may hold more than its share, or nothing.
        """
        points = along(sample, directions)
        axis = np.zeros(2**depth - 1, dtype=np.int64)
        cut = np.zeros(2**depth - 1)
        parts = [np.arange(len(points))]
        for node in range(2**depth - 1):
            here = points[parts[node]]
            if len(here):
                axis[node] = int(np.argmax(here.var(axis=0)))
                cut[node] = np.median(here[:, axis[node]])
            left = here[:, axis[node]] <= cut[node]
            parts += [parts[node][left], parts[node][~left]]
        return cls(directions, axis, cut)

    def of(self, points: Floats) -> Cell:
        """Return the cell (m,) of each point (m, d), from 0 to 2**depth - 1."""
        turned = along(points, self.directions)
        node = np.zeros(len(points), dtype=np.int64)
        rows = np.arange(len(points))
        for _ in range(int(len(self.cut) + 1).bit_length() - 1):
            node = 2 * node + 1 + (turned[rows, self.axis[node]] > self.cut[node])
        return node - len(self.cut)


def directions(columns: int, axes: int, seed: int) -> Floats:
    """Return random directions (columns, axes): cells along others than before bring other groups together."""
    values: Floats = np.random.default_rng(seed).normal(size=(columns, axes))
    return values


def along(points: Floats, directions: Floats) -> Floats:
    """Return points (n, d) on directions (d, a): the same bits for a point, whichever others it comes with."""
    return _along(np.ascontiguousarray(points, np.float64), np.ascontiguousarray(directions))


@compiled
def _along(points: Floats, directions: Floats) -> Floats:
    out = np.zeros((points.shape[0], directions.shape[1]))
    for i in range(points.shape[0]):
        for column in range(points.shape[1]):
            value = points[i, column]
            for axis in range(directions.shape[1]):
                out[i, axis] += value * directions[column, axis]
    return out


def joined(counts: Mapping[int, int], cells: int, least: int) -> Cell:
    """Return, for each of so many cells, the cell it belongs to, so that each that remains has `least` records or more.

    Args:
        counts: records by cell; cells without records may be left out.
        cells: how many there are, a power of two.
        least: the fewest records of a cell; the table has as many.
    """
    home = np.arange(cells, dtype=np.int64)
    many = np.array([counts.get(cell, 0) for cell in range(cells)], dtype=np.int64)
    width = 1
    while width < cells:  # neighbours in the tree are joined before those farther off
        for first in range(0, cells, 2 * width):
            left, right = (_names(home, many, first + side * width, width) for side in (0, 1))
            for few, other in ((left, right), (right, left)):
                for cell in few:
                    if 0 < many[cell] < least and len(other):
                        _join(home, many, cell, other[0])
        width *= 2
    return home


def _names(home: Cell, many: Cell, first: int, width: int) -> Cell:
    """Name the cells with records among neighbours, the fullest first."""
    names = np.unique(home[first : first + width])
    filled = names[many[names] > 0]
    return filled[np.argsort(-many[filled], kind="stable")]


def _join(home: Cell, many: Cell, cell: int, other: int) -> None:
    many[other] += many[cell]
    many[cell] = 0
    home[home == cell] = other
