"""Read columns so that no value can make a statement fail: what a column holds must not show in an error.

Each function of a value is fixed by the declaration and the column's type; the type is the catalogue's and not the
values'. Texts are read as numbers only where an engine can try without failing.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from checks import did_you_mean
from remedies._errors import Misfit
from remedies.differential_privacy.answers._domain import Cells, Limits, Range

if TYPE_CHECKING:
    import ibis.expr.types as ir

_TRIES: Final = frozenset({"duckdb", "spark", "databricks"})
"""Dialects of engines that can try to read a text as a number."""
_NO_NAN: Final = frozenset({"mysql", "sqlite"})
_ANY_KIND: Final = frozenset({"sqlite"})
"""Dialects of engines where a column can hold values of any type, whatever is declared of it."""
_STRICT: Final = frozenset({"postgres"})
"""Dialects of engines that fail where a number is too large or too small for a float, instead of taking the nearest."""
_OUTSIDE: Final = False
_FAR: Final = Decimal(10**30)
_TINY: Final = Decimal("1e-30")


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
        untyped = self.dialect in _ANY_KIND and kind.is_unknown()
        if not (kind.is_string() or kind.is_integer() or kind.is_date() or untyped):
            raise Misfit(f"column '{name}' is of type {kind}; its declared values are texts")
        return self.written(name)

    def written(self, name: str) -> ir.StringValue:
        """Give the values of a column as texts, whatever they are; some that differ may be written alike."""
        import ibis

        read: ir.StringValue = self.column(name).cast("string")
        if self.dialect in _ANY_KIND:  # a cast that Ibis holds for needless: a number in a column of texts stays one
            read = ibis.literal("") + read
        return read

    def number(self, name: str) -> ir.FloatingValue:
        """Give the numbers of a column; NULL where a text is none.

        Raises:
            Misfit: it holds no numbers, or texts where the engine cannot try to read them.
        """
        import ibis

        column = self.column(name)
        kind = column.type()
        if self.dialect in _ANY_KIND and (kind.is_numeric() or kind.is_boolean() or kind.is_unknown()):
            is_number = column.typeof().isin(["integer", "real"])
            read: ir.FloatingValue = is_number.ifelse(column.cast("float64"), ibis.null("float64"))
        elif kind.is_boolean():
            read = column.cast("int32").cast("float64")
        elif kind.is_decimal() and self.dialect in _STRICT:
            read = self._near(column)
        elif kind.is_numeric():
            read = self._nan_is_null(column.cast("float64"))
        elif kind.is_string() and self.dialect in _TRIES:
            read = self._nan_is_null(column.try_cast("float64"))
        else:
            raise Misfit(f"column '{name}' is of type {kind}; numbers are declared of it")
        return read

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
        grid = float(limits.grid)
        # What is nearly nothing is nothing before it is divided: the quotient may be too small for a strict engine.
        rounded = (within.abs() < grid / 4).ifelse(0.0, within / grid).round().cast("int64")
        again = ibis.greatest(ibis.least(rounded, limits.high_units), limits.low_units)
        found: ir.IntegerValue = read.isnull().ifelse(limits.missing_units, again)
        return found

    def cell(self, name: str, cells: Cells) -> ir.IntegerValue:
        """Give the cell that each row's value is in."""
        import ibis

        if isinstance(cells, Range):
            low, high = cells.range
            read = self.number(name)
            is_in = ((read >= low) & (read < high + 1)).fill_null(_OUTSIDE)
            whole = ibis.greatest(ibis.least(read, float(high)), float(low)).floor().cast("int64")
            found: ir.IntegerValue = is_in.ifelse((whole - low) // cells.width, cells.rest).cast("int64")
            return found
        read = {"text": self.text, "number": self.number, "truth value": self.truth}[cells.kind](name)
        found = ibis.cases(*((read == value, place) for place, value in enumerate(cells.values)), else_=cells.rest)
        return found.cast("int64")

    def _near(self, column: ir.Column) -> ir.FloatingValue:
        """Read decimals as floats where neither too large nor too small ones are taken: as the nearest that is."""
        import ibis

        low, high = (ibis.literal(far, "decimal(38, 0)") for far in (-_FAR, _FAR))
        wide = column.cast("decimal")  # of any precision: one that is declared is not compared with the limits' own
        within = ibis.greatest(ibis.least(wide, high), low)
        is_tiny = within.abs() < ibis.literal(_TINY, "decimal(38, 30)")
        found: ir.FloatingValue = is_tiny.ifelse(0, within).cast("float64")
        is_number = column.notnull() & (column.cast("string") != "NaN")  # LEAST passes NULL over
        return is_number.ifelse(found, ibis.null("float64"))

    def _nan_is_null(self, read: ir.FloatingValue) -> ir.FloatingValue:
        import ibis

        found: ir.FloatingValue = read if self.dialect in _NO_NAN else read.isnan().ifelse(ibis.null("float64"), read)
        return found
