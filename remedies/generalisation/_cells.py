"""The cells of a recoded column, put together: which leaf has which label, in how many rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from remedies.generalisation.recoding import EVERYTHING, Labels, RecodedColumn, Recoding

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedCells:
    """A column's cells. `leaf`, `label`, `rows` int64 (pairs,): released cells, each pair of leaf and label once.

    `lost`, `total` int64 (leaves,): the suppressed rows of each leaf, and all of its rows.
    """

    column: RecodedColumn
    leaf: Whole
    label: Whole
    rows: Whole
    lost: Whole
    total: Whole

    @property
    def labels(self) -> Labels:
        """Return the column's labels."""
        return self.column.labels

    @property
    def lines(self) -> int:
        """Count the lines of the column's hierarchy."""
        return len(self.column.domain.hierarchy.values)

    @property
    def covered(self) -> Whole:
        """Count the rows of the table, suppressed or not, that hold a leaf under each label: int64 (labels,)."""
        up_to = np.append(0, np.cumsum(self.total[self.labels.order]))
        whole: Whole = up_to[self.labels.last] - up_to[self.labels.first]
        return whole

    def summed(self, of_label: Floats, of_lost: float) -> float:
        """Add up what each cell has: by its label, or because its row is suppressed."""
        return float(np.dot(of_label[self.label], self.rows) + of_lost * self.lost.sum())


def cells_of(recoding: Recoding, place: int) -> ReleasedCells:
    """Put together the cells of the column at a place."""
    frequencies, column = recoding.frequencies, recoding.columns[place]
    codes, leaves = frequencies.codes[:, place], len(column.domain.values)
    gone = recoding.suppressed
    kept = np.where(gone, 0, frequencies.counts)
    pairs = column.numbers * leaves + codes
    room = len(column.labels.texts) * leaves
    if room > max(4 * len(pairs), 65_536):
        known, pairs = np.unique(pairs, return_inverse=True)
    else:
        known = np.arange(room)
    rows = _counted(pairs, kept, len(known))
    held = np.flatnonzero(rows)
    leaf, label, rows = known[held] % leaves, known[held] // leaves, rows[held]
    lost = _counted(codes[gone], frequencies.counts[gone], leaves)
    return ReleasedCells(column, leaf, label, rows, lost, lost + _counted(leaf, rows, leaves))


def is_everything(labels: Labels) -> npt.NDArray[np.bool_]:
    """Return of each label whether it could be any value."""
    values: npt.NDArray[np.bool_] = labels.levels == EVERYTHING
    return values


def _counted(places: Whole, counts: Whole, room: int) -> Whole:
    return np.rint(np.bincount(places, weights=counts, minlength=room)).astype(np.int64)
