"""What a column adds up to, of all rows or in each cell of other columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from checks import Json
from checks.parameters.columns import ColumnName, ColumnNames
from remedies.differential_privacy.answers._contract import Statistic, Terms
from remedies.differential_privacy.answers._noise import Noise, plain
from remedies.differential_privacy.answers.grid import CELL, Grid
from remedies.differential_privacy.answers.reading import Reader
from remedies.differential_privacy.sensitivity import group_sum_sensitivity, sum_sensitivity

if TYPE_CHECKING:
    import ibis.expr.types as ir


class Sum(Statistic):
    """The sum of a column whose limits are declared, with noise."""

    summary: ClassVar[str] = "What a column adds up to."

    statistic: Literal["sum"] = "sum"
    column: ColumnName = Field(description="Column to add up.")
    by: ColumnNames | tuple[()] = Field((), description="Columns to group by.")

    def columns(self) -> Sequence[str]:
        """Name the column, and those that it is grouped by."""
        return (self.column, *self.by)

    def numbers(self) -> Sequence[str]:
        """Name the column whose numbers are used."""
        return (self.column,)

    def noises(self, terms: Terms) -> Sequence[Noise]:
        """Return the noise of each sum."""
        declared = terms.declared
        limits = declared.limits(self.column)
        Grid.of(self.by, declared)
        low, high, rows = limits.low_units, limits.high_units, declared.rows_per_unit
        if self.by:
            moved = group_sum_sensitivity(declared.adjacency, low=low, high=high, rows=rows)
        else:
            each_has_one = not declared.unit and not self.where
            moved = sum_sensitivity(declared.adjacency, low=low, high=high, rows=rows, one_row_each=each_has_one)
        return (Noise("sum", terms.accounting, self.nano(terms.accounting), moved, Fraction(limits.grid)),)

    def sums(self, rows: Reader, terms: Terms) -> ir.Table:
        """Add up units of the grid by cell."""
        units = rows.units(self.column, terms.declared.limits(self.column))
        cells = rows.table.select(**{CELL: Grid.of(self.by, terms.declared).cell(rows), "units": units})
        return cells.group_by(CELL).aggregate(units=cells["units"].sum())

    def answer(self, results: Sequence[Mapping[str, Any]], terms: Terms) -> Mapping[str, Json]:
        """Return each sum with noise."""
        grid, limits = Grid.of(self.by, terms.declared), terms.declared.limits(self.column)
        (noise,) = self.noises(terms)
        values = [plain(limits.number(units)) for units in noise.added(grid.filled(results, "units"))]
        current_values: dict[str, Json] = {"noise": list(self.accuracy(terms))}
        if not self.by:
            return {"value": values[0], **current_values}
        return {
            "groups": [{"by": grid.labels(cell), "value": value} for cell, value in enumerate(values)],
            **current_values,
        }
