"""Counts, histograms, sums and means, of all rows or in each cell of other columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from checks import Json
from checks.parameters.columns import ColumnName, ColumnNames
from remedies.differential_privacy.answers._contract import Noise, Statistic, Terms, plain
from remedies.differential_privacy.answers.grid import CELL, Grid
from remedies.differential_privacy.answers.reading import Reader
from remedies.differential_privacy.sensitivity import (
    Adjacency,
    centred_sum_sensitivity,
    count_sensitivity,
    group_sum_sensitivity,
    halves,
    histogram_sensitivity,
    mean_of,
    sum_sensitivity,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir


class Count(Statistic):
    """The number of rows that are meant, with noise."""

    summary: ClassVar[str] = "How many rows there are."

    statistic: Literal["count"] = "count"

    def columns(self) -> Sequence[str]:
        """Return no column."""
        return ()

    def noises(self, terms: Terms) -> Sequence[Noise]:
        """Return the noise of one count."""
        moved = count_sensitivity(rows=terms.declared.rows_per_unit)
        return (Noise("count", terms.accounting, self.nano(terms.accounting), moved),)

    def sums(self, rows: Reader, terms: Terms) -> ir.Table:  # noqa: ARG002 - the contract's
        """Count."""
        return rows.table.aggregate(rows=rows.table.count())

    def answer(self, results: Sequence[Mapping[str, Any]], terms: Terms) -> Mapping[str, Json]:
        """Return the count with noise; it may be below 0."""
        (noise,) = self.noises(terms)
        (value,) = noise.added([int(results[0]["rows"])])
        return {"value": value, "noise": list(self.accuracy(terms))}


class Histogram(Statistic):
    """The number of rows in each combination of declared values, with noise; combinations that never occur too."""

    summary: ClassVar[str] = "How many rows there are in each cell of some columns."

    statistic: Literal["histogram"] = "histogram"
    by: ColumnNames = Field(description="Columns to group by.")

    def columns(self) -> Sequence[str]:
        """Return the columns that are counted by."""
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


class _ColumnStatistic(Statistic):
    """A statistic of the numbers of one column, over all rows or by groups."""

    if TYPE_CHECKING:  # each statistic declares these fields with a description of its own
        column: ColumnName
        by: ColumnNames | tuple[()]

    def columns(self) -> Sequence[str]:
        """Return the column, and those that it is grouped by."""
        return (self.column, *self.by)

    def numbers(self) -> Sequence[str]:
        """Return the column whose numbers are used."""
        return (self.column,)

    def _cells(self, rows: Reader, terms: Terms) -> ir.Table:
        """Return the cell of each row, and its value in units of the grid."""
        units = rows.units(self.column, terms.declared.limits(self.column))
        return rows.table.select(**{CELL: Grid.of(self.by, terms.declared).cell(rows), "units": units})


class Sum(_ColumnStatistic):
    """The sum of a column whose limits are declared, with noise."""

    summary: ClassVar[str] = "What a column adds up to."

    statistic: Literal["sum"] = "sum"
    column: ColumnName = Field(description="Column to add up.")
    by: ColumnNames | tuple[()] = Field((), description="Columns to group by.")

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
        cells = self._cells(rows, terms)
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


class Mean(_ColumnStatistic):
    """The mean of a column whose limits are declared.

    Where the number of rows is public (`substitute`, each row a unit, all rows): the noisy sum divided by it. Otherwise
    half of the price is for the sum of the distances from the middle of the limits, half for the count.
    """

    summary: ClassVar[str] = "The mean of a column."

    statistic: Literal["mean"] = "mean"
    column: ColumnName = Field(description="Column to average.")
    by: ColumnNames | tuple[()] = Field((), description="Columns to group by.")

    def noises(self, terms: Terms) -> Sequence[Noise]:
        """Return the noise of the sum, and that of the count where it is not public."""
        declared, price = terms.declared, self.nano(terms.accounting)
        limits = declared.limits(self.column)
        Grid.of(self.by, declared)
        low, high, rows = limits.low_units, limits.high_units, declared.rows_per_unit
        grid = Fraction(limits.grid)
        if self._size_is_public(terms):
            moved = sum_sensitivity(declared.adjacency, low=low, high=high, one_row_each=True)
            return (Noise("sum", terms.accounting, price, moved, grid),)
        if self.by:
            around = group_sum_sensitivity(declared.adjacency, low=low - high, high=high - low, rows=rows)
            sensitivity = histogram_sensitivity(declared.adjacency, rows=rows)
        else:
            around = centred_sum_sensitivity(declared.adjacency, low=low, high=high, rows=rows)
            sensitivity = count_sensitivity(rows=rows)
        of_sum, of_count = halves(price)
        return (
            Noise("sum of distances from the middle", terms.accounting, of_sum, around, grid / 2),
            Noise("count", terms.accounting, of_count, sensitivity),
        )

    def sums(self, rows: Reader, terms: Terms) -> ir.Table:
        """Add up units of the grid, and count, by cell."""
        cells = self._cells(rows, terms)
        return cells.group_by(CELL).aggregate(units=cells["units"].sum(), rows=cells.count())

    def answer(self, results: Sequence[Mapping[str, Any]], terms: Terms) -> Mapping[str, Json]:
        """Return each mean, within the limits, with its count; None in the place of a mean of too few rows.

        The count is the one that the sum is divided by: public, or noisy and then it may be below 0. A mean whose count
        is below 1, or below what noise changes the count by in 95 of 100 cases, says nothing of the rows: it is
        withheld. That follows from the noisy count alone, and costs nothing.
        """
        grid, limits = Grid.of(self.by, terms.declared), terms.declared.limits(self.column)
        low, high = limits.low_units, limits.high_units
        units, counts = grid.filled(results, "units"), grid.filled(results, "rows")
        noises, least = self.noises(terms), Fraction(1)
        if self._size_is_public(terms):
            (total,), size = noises[0].added(units), max(counts[0], 1)
            means = [min(max(Fraction(total, size), Fraction(low)), Fraction(high))]
        else:
            centred = noises[0].added([2 * unit - (low + high) * of for unit, of in zip(units, counts, strict=True)])
            counts, least = list(noises[1].added(counts)), max(least, noises[1].within())
            means = [mean_of(item, of, low=low, high=high) for item, of in zip(centred, counts, strict=True)]
        cells: list[Mapping[str, Json]] = [
            {"value": plain(mean * Fraction(limits.grid)) if count >= least else None, "count": count}
            for mean, count in zip(means, counts, strict=True)
        ]
        values: dict[str, Json] = {"noise": list(self.accuracy(terms)), "withheld_below": plain(least)}
        if not self.by:
            return {**cells[0], **values}
        return {"groups": [{"by": grid.labels(at), **cell} for at, cell in enumerate(cells)], **values}

    def _size_is_public(self, terms: Terms) -> bool:
        declared = terms.declared
        whole = not self.by and not self.where
        return whole and not declared.unit and declared.adjacency is Adjacency.SUBSTITUTE
