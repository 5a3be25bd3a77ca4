"""Read columns so that no value can make a statement fail: what a column holds must not show in an error.

Each function of a value is fixed by the declaration and the column's type; the type is the catalogue's and not the
values'. Texts are read as numbers only where an engine can try without failing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from checks import did_you_mean
from remedies._errors import Misfit
from remedies.differential_privacy.answers._domain import Cells, Limits, Range

if TYPE_CHECKING:
    import ibis.expr.types as ir

_TRIES: Final = frozenset({"duckdb", "spark", "databricks"})
"""Dialects of engines that can try to read a text as a number."""
_NO_NAN: Final = frozenset({"sqlite"})


@dataclass(frozen=True, slots=True)
class Reader:
    """The columns of a table, as a statement reads them. `dialect`: of the engine, as sqlglot names it."""

    table: ir.Table
    dialect: str

    def column(self, name: str) -> ir.Column:
        """Give a column as it is.

        Raises:
            Misfit: the table has none of that name.
        """
        if name not in self.table.columns:
            raise Misfit(f"the table has no column '{name}'{did_you_mean(name, self.table.columns)}")
        return self.table[name]

    def text(self, name: str) -> ir.StringValue:
        """Give the texts of a column.

        Raises:
            Misfit: it holds something that has no one spelling, such as fractions or times of day.
        """
        column = self.column(name)
        kind = column.type()
        if not (kind.is_string() or kind.is_integer() or kind.is_date()):
            raise Misfit(f"column '{name}' is of type {kind}; its declared values are texts")
        read: ir.StringValue = column.cast("string")
        return read

    def number(self, name: str) -> ir.FloatingValue:
        """Give the numbers of a column; NULL where a text is none.

        Raises:
            Misfit: it holds no numbers, or texts where the engine cannot try to read them.
        """
        column = self.column(name)
        kind = column.type()
        if kind.is_numeric() or kind.is_boolean():
            read: ir.FloatingValue = column.cast("float64")
            return self._nan_is_null(read) if kind.is_floating() else read
        if kind.is_string() and self.dialect in _TRIES:
            return self._nan_is_null(column.try_cast("float64"))
        raise Misfit(f"column '{name}' is of type {kind}; numbers are declared of it")

    def truth(self, name: str) -> ir.BooleanValue:
        """Give the truth values of a column; NULL where there is none.

        Raises:
            Misfit: it holds no truth values.
        """
        column = self.column(name)
        kind = column.type()
        if kind.is_boolean():
            return column
        if kind.is_string() and self.dialect in _TRIES:
            read: ir.BooleanValue = column.try_cast("boolean")
            return read
        raise Misfit(f"column '{name}' is of type {kind}; truth values are declared of it")

    def units(self, name: str, limits: Limits) -> ir.IntegerValue:
        """Give the numbers of a column in units of the grid, within the limits; NULL and NaN are what is declared."""
        import ibis

        read = self.number(name)
        # Within the limits before it is rounded: rounding something enormous would fail.
        within = ibis.greatest(ibis.least(read, float(limits.high)), float(limits.low))
        rounded = (within / float(limits.grid)).round().cast("int64")
        again = ibis.greatest(ibis.least(rounded, limits.high_units), limits.low_units)
        found: ir.IntegerValue = read.isnull().ifelse(limits.missing_units, again)
        return found

    def cell(self, name: str, cells: Cells) -> ir.IntegerValue:
        """Give the cell that each row's value is in."""
        import ibis

        if isinstance(cells, Range):
            low, high = cells.range
            read = self.number(name)
            is_in = ((read >= low) & (read < high + 1)).fill_null(False)  # noqa: FBT003 - Ibis takes it so
            whole = ibis.greatest(ibis.least(read, float(high)), float(low)).floor().cast("int64")
            found: ir.IntegerValue = is_in.ifelse((whole - low) // cells.width, cells.rest).cast("int64")
            return found
        read = {"text": self.text, "number": self.number, "truth value": self.truth}[cells.kind](name)
        found = ibis.cases(*((read == value, place) for place, value in enumerate(cells.values)), else_=cells.rest)
        return found.cast("int64")

    def _nan_is_null(self, read: ir.FloatingValue) -> ir.FloatingValue:
        import ibis

        if self.dialect in _NO_NAN:
            return read
        found: ir.FloatingValue = read.isnan().ifelse(ibis.null("float64"), read)
        return found
