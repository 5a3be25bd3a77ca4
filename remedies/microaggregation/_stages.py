"""Microaggregation of a table in cells: cut once from a sample, grouped one by one, then improved across their borders.

Records are grouped within cells. Sweeps cut along other directions, and whole groups travel to the cell of their
centroid, so that every group keeps its k records whatever happens to a cell.

Every stage sees whole groups only, so each record has k - 1 companions after every stage, whatever happens in a piece.
Where the pieces lie, and who works on them, is up to `spark` and `out_of_core`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from remedies._compiled import compiled
from remedies.microaggregation._best import GroupSearch
from remedies.microaggregation._blocks import padded
from remedies.microaggregation._input import canonical
from remedies.microaggregation._kernels import npn_order
from remedies.microaggregation._mhm import mhm_labels
from remedies.microaggregation._starts import start_large
from remedies.microaggregation.numbers import Floats, rounded

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
            inside = points[parts[node]]
            if len(inside):
                axis[node] = int(np.argmax(inside.var(axis=0)))
                cut[node] = np.median(inside[:, axis[node]])
            left = inside[:, axis[node]] <= cut[node]
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
    values: Floats = np.random.default_rng(seed).normal(size=(columns, axes))  # randomness: function
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
    """Return the cells with records among neighbours, the fullest first."""
    names = np.unique(home[first : first + width])
    filled = names[many[names] > 0]
    return filled[np.argsort(-many[filled], kind="stable")]


def _join(home: Cell, many: Cell, cell: int, other: int) -> None:
    many[other] += many[cell]
    many[cell] = 0
    home[home == cell] = other


Labels = npt.NDArray[np.int64]

SAMPLE: Final = 64
"""Records of the sample for each cell."""
LEAST: Final = 500
"""Records that a cell of the first stage has at least, if the table has."""
_AXES: Final = 8  # along which cells are cut: the widest ones
_DIGITS: Final = 2.0**20
_SWEEPS: Final = 30  # in a piece, at most
_STALLED: Final = 4e-4  # of the sum of squares: a sweep that gains less is the piece's last one


@dataclass(frozen=True, slots=True, eq=False)
class Scheme:
    """The scaling of columns to coordinates, and the cuts of each stage.

    `middle` and `scale`, (d,): what is subtracted, and what divides; a column that does not vary has scale 0.
    `axes`, (d, d): what rotates, so that the first coordinates hold most of every distance.
    `trees`: the cells of the first stage, and of each sweep.
    """

    middle: Floats
    scale: Floats
    axes: Floats
    trees: tuple[CellTree, ...]

    @classmethod
    def fit(cls, sample: Floats, mean: Floats, deviation: Floats, *, depth: int, sweeps: int, seed: int) -> Self:
        """Make a scheme from a sample (m, d), and from mean and population standard deviation (d,) of the table.

        Engines add floats in any order. Mean and deviation are rounded to 20 bits, so that their last digits do not
        decide how records are grouped; deviation 0 says that a column does not vary.
        """
        scale = _coarse(deviation)
        unit = np.where(scale > 0, scale, 1.0) / _DIGITS
        middle = np.rint(mean / unit) * unit
        scores = _scores(sample[np.lexsort(sample.T[::-1])], middle, scale)
        centred = scores - scores.mean(axis=0)
        axes = np.ascontiguousarray(np.linalg.eigh(centred.T @ centred)[1][:, ::-1])
        points = along(scores, axes)
        cuts = (_directions(len(axes), None if stage == 0 else seed + stage) for stage in range(sweeps + 1))
        return cls(middle, scale, axes, tuple(CellTree.fit(points, depth, turned) for turned in cuts))

    def points(self, values: Floats) -> Floats:
        """Return values (n, d) as coordinates (n, d) in which every column that varies counts alike.

        A record's coordinates are the same bits, whichever other records it comes with.
        """
        return along(_scores(values, self.middle, self.scale), self.axes)


def first(points: Floats, k: int, seed: int) -> Labels:
    """Group the records of one piece, given as coordinates (n, d), n >= k. O(n log n)."""
    centred = points - points.mean(axis=0)
    if len(points) < 2 * k or not centred.any():
        return _in_turn(len(points), k)
    Z = padded(centred.astype(np.float32))
    return _swept(Z, _start(centred, Z, k), k, seed)


def again(points: Floats, labels: Labels, k: int, seed: int) -> Labels:
    """Improve groups of k to 2k - 1 records of one piece, given as coordinates (n, d) and labels 0..g-1. O(n log n)."""
    centred = points - points.mean(axis=0)
    if len(points) < 2 * k or not centred.any():
        return labels
    return _swept(padded(centred.astype(np.float32)), labels, k, seed)


def travel(points: Floats, labels: Labels, cells: CellTree) -> Cell:
    """Return the cell (n,) to which each record goes with its whole group: the one of the group's centroid."""
    return cells.of(means(points, labels))[labels]


def means(values: Floats, labels: Labels) -> Floats:
    """Return the mean (g, d) of each group of values (n, d); labels are 0..g-1, each there."""
    sizes = np.bincount(labels)
    sums = [np.bincount(labels, weights=column) for column in values.T]
    return np.column_stack(sums) / sizes[:, None]


def replaced(
    values: Floats, labels: Labels, kinds: Sequence[npt.DTypeLike], decimals: Sequence[int | None] | None = None
) -> Floats:
    """Return, for each record, the mean of its group as the columns' types can hold it: (n, d).

    Whole numbers are rounded half to even, and floats to the column's own `decimals` (None: not at all). A group whose
    values are all the same keeps them.
    """
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate(([0], np.flatnonzero(np.diff(labels[order])) + 1))
    low = np.minimum.reduceat(values[order], starts)
    high = np.maximum.reduceat(values[order], starts)
    centroid = np.clip(low + means(values - low[labels], labels), low, high)
    for column, kind in enumerate(kinds):
        if np.dtype(kind).kind in "iu":
            centroid[:, column] = np.rint(centroid[:, column])
        else:
            places = None if decimals is None else decimals[column]
            nearest = rounded(centroid[:, column], places).astype(kind).astype(np.float64)
            centroid[:, column] = nearest + 0.0  # no negative zero
    return centroid[labels]


def depth_of(records: int, most: int) -> int:
    """Return how deep a tree is whose cells hold `most` records or fewer on average."""
    return max(0, int(-(-records // most) - 1).bit_length())


def _start(centred: Floats, Z: npt.NDArray[np.float32], k: int) -> Labels:
    if k < 50 and len(Z) <= 2_000:
        return mhm_labels(centred, npn_order(Z), k)
    return start_large(centred, Z, k)[1]


def _swept(Z: npt.NDArray[np.float32], labels: Labels, k: int, seed: int) -> Labels:
    search = GroupSearch(Z, labels, k, seed=seed, threads=1)
    total = float(np.einsum("ij,ij->", Z, Z))
    for _ in range(_SWEEPS):
        if search.sweep(rebuild=False) < _STALLED * total:
            break
    return canonical(search.labels)


def _scores(values: Floats, middle: Floats, scale: Floats) -> Floats:
    return np.ascontiguousarray((values - middle) / np.where(scale > 0, scale, np.inf))


def _directions(columns: int, seed: int | None) -> Floats:
    """Return directions (columns, a) along which to cut: the widest axes, or, with a seed, these turned at random."""
    widest = np.eye(columns)[:, :_AXES]
    if seed is None:
        return widest
    dice = np.random.default_rng(seed)  # randomness: function
    turn = np.linalg.qr(dice.normal(size=(widest.shape[1], widest.shape[1])))[0]
    return np.ascontiguousarray(widest @ turn)


def _coarse(deviation: Floats) -> Floats:
    mantissa, exponent = np.frexp(deviation)
    return np.ldexp(np.rint(mantissa * _DIGITS) / _DIGITS, exponent)


def _in_turn(records: int, k: int) -> Labels:
    groups = max(1, records // k)
    return np.arange(records, dtype=np.int64) * groups // records
