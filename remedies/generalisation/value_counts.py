"""What coding did to a table, added up over its pieces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Distinct:
    """The number of distinct numbers of a column: `every` one, those joined by the top, those joined by the bottom."""

    every: int
    above: int = 0
    below: int = 0


@dataclass(frozen=True, slots=True)
class CodedCells:
    """Masks (rows,) of the cells of a column that are changed, and that lie above the top or below the bottom."""

    changed: Mask
    above: Mask
    below: Mask


@dataclass(slots=True)
class CodingCounts:
    """Rows and cells that were seen, that were changed, and that are at a bound now."""

    columns: Sequence[str]
    rows: int = 0
    rows_changed: int = 0
    changed: dict[str, int] = field(default_factory=dict)
    above: dict[str, int] = field(default_factory=dict)
    below: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Set all counts to zero."""
        for counts in (self.changed, self.above, self.below):
            counts.update(dict.fromkeys(self.columns, 0))

    def add(self, cells: Mapping[str, CodedCells], rows: int) -> None:
        """Add some rows."""
        self.rows += rows
        self.rows_changed += _either(cell.changed for cell in cells.values())
        for name, cell in cells.items():
            self.changed[name] += int(cell.changed.sum())
            self.above[name] += int(cell.above.sum())
            self.below[name] += int(cell.below.sum())

    def losses(self, distinct: Mapping[str, Distinct]) -> Mapping[str, float]:
        """Return the loss of each column in per cent, as `remedies.generalisation.utilities` has it (Iyengar 2002).

        A cell that could now be each of w numbers costs (w - 1) of (distinct numbers - 1).
        """
        return {
            name: 100 * self._lost(name, current_distinct) / max(self.rows, 1)
            for name, current_distinct in distinct.items()
        }

    def _lost(self, name: str, distinct: Distinct) -> float:
        above, below = self.above[name] * (distinct.above - 1), self.below[name] * (distinct.below - 1)
        return (max(above, 0) + max(below, 0)) / max(distinct.every - 1, 1)


def _either(masks: Iterable[Mask]) -> int:
    """Count the rows that are in any of some masks."""
    current_masks = list(masks)
    return int(np.logical_or.reduce(current_masks).sum()) if current_masks else 0
