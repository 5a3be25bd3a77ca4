"""The cells of one or more columns together: rows are counted in them where the table lives, empty ones included."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from checks import Json
from remedies._errors import Misfit
from remedies.differential_privacy.answers._declared import Declared
from remedies.differential_privacy.answers.domain import Cells
from remedies.differential_privacy.answers.reading import Reader

if TYPE_CHECKING:
    import ibis.expr.types as ir

CELL: Final = "cell"
_MOST: Final = 100_000


@dataclass(frozen=True, slots=True)
class Grid:
    """All combinations of the cells of some columns; without a column, one cell that holds every row."""

    columns: Mapping[str, Cells]

    @classmethod
    def of(cls, names: Iterable[str], declared: Declared) -> Grid:
        """Return the cells of declared columns.

        Raises:
            Misfit: a column has no declared cells, or together there are too many.
        """
        result = cls({name: declared.cells(name) for name in names})
        if result.size > _MOST:
            raise Misfit(f"{', '.join(result.columns)} have {result.size:,} cells together, expected at most {_MOST:,}")
        return result

    @property
    def size(self) -> int:
        """Return the number of cells."""
        return math.prod(column.cells for column in self.columns.values())

    def cell(self, reader: Reader) -> ir.IntegerValue:
        """Return the number of the cell that each row is in, as an expression."""
        import ibis

        number: ir.IntegerValue | None = None
        for name, cells in self.columns.items():
            cell = reader.cell(name, cells)
            number = cell if number is None else number * cells.cells + cell
        return ibis.literal(0, "int64") if number is None else number

    def filled(self, rows: Sequence[Mapping[str, Any]], name: str) -> list[int]:
        """Lay what the engine gave of each cell into a list; it gives no empty cells."""
        laid = [0] * self.size
        for row in rows:
            laid[int(row[CELL])] = int(row[name] or 0)
        return laid

    def labels(self, number: int) -> Mapping[str, Json]:
        """Return the values of a cell, column by column; None is what is not declared."""
        values: dict[str, Json] = {}
        for name, cells in reversed(list(self.columns.items())):
            number, place = divmod(number, cells.cells)
            values[name] = cells.label(place)
        return {name: values[name] for name in self.columns}
