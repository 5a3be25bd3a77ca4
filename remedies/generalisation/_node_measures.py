"""What many nodes of one table lose, each measured with what the others have worked out already."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from remedies.generalisation._walks import Ground, pack_rows
from remedies.generalisation.frequencies import Frequencies
from remedies.generalisation.limits_of_classes import Seen
from remedies.generalisation.recoding import RecodedColumn, column_at
from remedies.generalisation.representatives import ReleasedCells, is_numeric
from remedies.generalisation.utility import Utilities, measured

Whole = npt.NDArray[np.int64]


class NodeMeasures:
    """Measures the nodes of a lattice one after the other, as `utilities` does, by their classes.

    At a level each leaf has one label: so a column's cells follow from how many rows of each leaf are suppressed.
    """

    def __init__(self, frequencies: Frequencies, ground: Ground, order: list[int], k: int) -> None:
        """Prepare it. `ground`: the table, its columns in this `order`."""
        self._frequencies, self._layout, self._order, self._k = frequencies, ground.layout, order, k
        self._margins = frequencies.margins()
        self._numeric = [domain.column for domain in frequencies.domains if is_numeric(domain)]
        self._columns: dict[tuple[int, int], RecodedColumn] = {}

    def of(self, seen: Seen) -> Utilities:
        """Measure a node whose classes were looked at."""
        whole = self._suppressed(seen)
        every = [self._cells(place, int(level), whole) for place, level in enumerate(seen.levels)]
        levels = [int(level) for level in seen.levels]
        return measured(every, levels, seen.sizes[~seen.broken], k=self._k, numeric=self._numeric)

    def _cells(self, place: int, level: int, whole: Whole) -> ReleasedCells:
        """Put together the cells of a column. `whole`: the combinations that are suppressed."""
        frequencies, total = self._frequencies, self._margins[place]
        if (place, level) not in self._columns:
            leaves = np.arange(len(total))
            self._columns[place, level] = column_at(frequencies.domains[place], leaves, level)
        column = self._columns[place, level]
        lost = np.bincount(frequencies.codes[whole, place], frequencies.counts[whole], len(total)).astype(np.int64)
        rows = total - lost
        leaf = np.lexsort((column.numbers,))
        leaf = leaf[rows[leaf] > 0]
        return ReleasedCells(column, leaf, column.numbers[leaf], rows[leaf], lost, total)

    def _suppressed(self, seen: Seen) -> Whole:
        """Find the combinations of the classes that are suppressed: int64."""
        if not seen.broken.any():
            return np.zeros(0, dtype=np.int64)
        frequencies = self._frequencies
        labels = [
            domain.nodes[level][frequencies.codes[:, place]]
            for place, (domain, level) in enumerate(zip(frequencies.domains, seen.levels, strict=True))
        ]
        keys = pack_rows([labels[place] for place in self._order], self._layout)
        broken = pack_rows([seen.leaves[:, place] for place in self._order], self._layout)
        return np.flatnonzero(_among(keys, broken))


def _among(keys: npt.NDArray[np.uint64], few: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Return of each row of keys (rows, words) whether it is one of a few."""
    if keys.shape[1] == 1:
        return np.isin(keys[:, 0], few[:, 0])
    entries = {row.tobytes() for row in few}
    return np.fromiter((row.tobytes() in entries for row in keys), dtype=np.bool_, count=len(keys))
