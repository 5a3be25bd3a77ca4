"""How many rows there are in each cell of one or more columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from checks import Json
from checks.parameters.columns import ColumnNames
from remedies.differential_privacy.answers._contract import Statistic, Terms
from remedies.differential_privacy.answers._noise import Noise
from remedies.differential_privacy.answers.grid import CELL, Grid
from remedies.differential_privacy.answers.reading import Reader
from remedies.differential_privacy.sensitivity import histogram_sensitivity

if TYPE_CHECKING:
    import ibis.expr.types as ir


class Histogram(Statistic):
    """The number of rows in each combination of declared values, with noise; combinations that never occur too."""

    summary: ClassVar[str] = "How many rows there are in each cell of some columns."

    statistic: Literal["histogram"] = "histogram"
    by: ColumnNames = Field(description="Columns to group by.")

    def columns(self) -> Sequence[str]:
        """Name the columns that are counted by."""
        return self.by

    def noises(self, terms: Terms) -> Sequence[Noise]:
        """Return the noise of each cell."""
        Grid.of(self.by, terms.declared)
        moved = histogram_sensitivity(terms.declared.adjacency, rows=terms.declared.rows_per_unit)
        return (Noise("count", terms.accounting, self.nano(terms.accounting), moved),)

    def sums(self, rows: Reader, terms: Terms) -> ir.Table:
        """Count by cell."""
        cells = rows.table.select(**{CELL: Grid.of(self.by, terms.declared).cell(rows)})
        return cells.group_by(CELL).aggregate(rows=cells.count())

    def answer(self, results: Sequence[Mapping[str, Any]], terms: Terms) -> Mapping[str, Json]:
        """Return each cell's count with noise; some may be below 0."""
        grid = Grid.of(self.by, terms.declared)
        (noise,) = self.noises(terms)
        counts = noise.added(grid.filled(results, "rows"))
        groups: list[Json] = [{"by": grid.labels(cell), "value": value} for cell, value in enumerate(counts)]
        return {"groups": groups, "noise": list(self.accuracy(terms))}
