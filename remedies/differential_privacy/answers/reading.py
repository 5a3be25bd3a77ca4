"""Read columns so that no value can make a statement fail: what a column holds must not show in an error.

Each function of a value is fixed by the declaration. Where columns have declared types (databases), the type is the
catalogue's and not the values', and one that does not fit is refused. The type of a column of a file follows from its
values: there every type is read, and a number, a moment and a text are the same in whatever type and spelling
(`_canonical`). Texts are read as numbers only where an engine can try without failing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from checks import did_you_mean
from remedies._errors import Misfit
from remedies.differential_privacy.answers.canonical import ValueKind, canonical
from remedies.differential_privacy.answers.domain import BoundedColumn, CategoryColumn, Cells, SteppedColumn
from sources import as_moment, engine_function

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt
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
_EXACT: Final = 2**53
"""Whole numbers below it are the same in double precision."""
_EXACT_DIGITS: Final = 15
_DAY_LENGTH: Final = 10


Held: TypeAlias = tuple[str, str]
"""What was read of a column: "cell" or "units", and its name."""


@dataclass(frozen=True, slots=True)
class Reader:
    """The columns of a table, as a statement reads them.

    `dialect`: of the engine, as sqlglot names it. `types_declared`: whether columns and their types are declared in a
    catalogue; those of files follow from what is in them. `held`: columns that hold what was read of a column already.
    """

    table: ir.Table
    dialect: str
    types_declared: bool = True
    held: Mapping[Held, str] = field(default_factory=dict)

    def column(self, name: str) -> ir.Column:
        """Return a column as it is.

        Raises:
            Misfit: the table has none of that name.
        """
        if name not in self.table.columns:
            raise Misfit(f"the table has no column '{name}'{did_you_mean(name, self.table.columns)}")
        return self.table[name]

    def written(self, name: str) -> ir.StringValue:
        """Return the values of a column as texts, whatever they are; some that differ may be written alike."""
        return self.as_text(self.column(name))

    def as_text(self, column: ir.Column) -> ir.StringValue:
        """Return values as texts, whatever they are; some that differ may be written alike."""
        import ibis

        read: ir.StringValue = column.cast("string")
        if self.dialect in _ANY_KIND:  # a cast that Ibis holds for needless: a number in a column of texts stays one
            read = ibis.literal("") + read
        return read

    def number(self, name: str) -> ir.FloatingValue:
        """Return the numbers of a column, true and false as 1 and 0; NULL where a value is none.

        Raises:
            Misfit: its declared type holds no numbers, or texts where the engine cannot try to read them.
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
        elif kind.is_numeric() and (self.types_declared or _casts_exactly(kind)):
            read = self._nan_is_null(column.cast("float64"))
        elif kind.is_string() and self.dialect in _TRIES:
            read = self._number_in(column)
        elif self.types_declared:
            raise Misfit(f"column '{name}' is of type {kind}; numbers are declared of it")
        else:  # the shortest text of a number is the same in every width
            read = self._number_in(column.cast("string")) if kind.is_numeric() else _nothing(column, "float64")
        return read

    def is_there(self, name: str) -> ir.BooleanValue:
        """Return where a column has a value: it is neither NULL nor NaN."""
        column = self.column(name)
        return (
            self.number(name) if column.type().is_floating() and self.dialect not in _ANY_KIND else column
        ).notnull()

    def unit(self, name: str) -> ir.Column:
        """Return what tells whose a row is.

        In a database units are distinguished as the engine does. In files by their number, moment or text, whatever the
        type: numbers in double precision.
        """
        column = self.column(name)
        kind = column.type()
        if self.types_declared and not (kind.is_unknown() and self.dialect in _ANY_KIND):
            return column
        if self.dialect in _ANY_KIND:
            number = column.cast("float64")
            is_whole = (column.typeof() == "real") & (number == number.round()) & (number.abs() < _EXACT)
            return is_whole.ifelse(number.cast("int64").cast("string"), self.written(name))
        if kind.is_numeric() or kind.is_boolean():
            return self.number(name)
        if kind.is_timestamp() or kind.is_date():
            return _spelled_moment(self._moment(column))
        text = self._plain_text(column)
        return self._canonical_text(text) if kind.is_string() else text

    def units(self, name: str, limits: BoundedColumn) -> ir.IntegerValue:
        """Return the numbers of a column in units of the grid, within the limits; NULL and NaN are what is declared."""
        import ibis

        if (place := self.held.get(("units", name))) is not None:
            return self.table[place]
        read = self.number(name)
        # Within the limits before it is rounded: rounding something enormous would fail.
        within = ibis.greatest(ibis.least(read, float(limits.high)), float(limits.low))
        grid = float(limits.grid)
        # What is nearly nothing is nothing before it is divided: the quotient may be too small for a strict engine.
        rounded = (within.abs() < grid / 4).ifelse(0.0, within / grid).round().cast("int64")
        again = ibis.greatest(ibis.least(rounded, limits.high_units), limits.low_units)
        number: ir.IntegerValue = read.isnull().ifelse(limits.missing_units, again)
        return number

    def cell(self, name: str, cells: Cells) -> ir.IntegerValue:
        """Return the cell that each row's value is in."""
        import ibis

        if (place := self.held.get(("cell", name))) is not None:
            return self.table[place]
        if isinstance(cells, SteppedColumn):
            low, high = cells.range
            read = self.number(name)
            is_in = ((read >= low) & (read < high + 1)).fill_null(_OUTSIDE)
            whole = ibis.greatest(ibis.least(read, float(high)), float(low)).floor().cast("int64")
            number: ir.IntegerValue = is_in.ifelse((whole - low) // cells.width, cells.rest).cast("int64")
            return number
        branches = list(self._matches(name, cells))
        number = ibis.cases(*branches, else_=cells.rest) if branches else ibis.literal(cells.rest)
        return number.cast("int64")

    def _matches(self, name: str, cells: CategoryColumn) -> Iterator[tuple[ir.BooleanValue, int]]:
        """Yield, of each declared value, where the column holds it, and its cell; of several the first holds.

        Raises:
            Misfit: the declared type of the column holds no such values.
        """
        column = self.column(name)
        kind = column.type()
        numbers = [(value, place) for value, place in _of_kind(cells, ValueKind.NUMBER)]
        if cells.kind != "text":
            read = self._truth(name) if cells.kind == "truth value" else self.number(name)
            yield from ((read == value, place) for value, place in numbers)
            return
        if self._has_texts(name, kind, all_numbers=len(numbers) == cells.size):
            text = self.written(name)
            yield from ((text == value, place) for place, value in enumerate(cells.values))
        if kind.is_integer() and self.types_declared:  # further ones are written in one way only
            numbers = [(value, place) for value, place in numbers if abs(float(value)) < _EXACT]
        if numbers and self._has_numbers(kind):
            number = self.number(name)
            yield from ((number == value, place) for value, place in numbers)
        moments = list(_of_kind(cells, ValueKind.MOMENT))
        if moments and not self.types_declared and (kind.is_string() or kind.is_date() or kind.is_timestamp()):
            moment = self._moment(column)
            yield from ((moment == value, place) for value, place in moments)

    def _has_texts(self, name: str, kind: dt.DataType, *, all_numbers: bool) -> bool:
        """Check whether texts of a column are compared as they are. `all_numbers`: the declared ones are numbers.

        Raises:
            Misfit: its declared type holds none of the texts, or has no one spelling, such as times of day or lists.
        """
        if not self.types_declared:
            return _has_safe_texts(kind)
        untyped = self.dialect in _ANY_KIND and kind.is_unknown()
        if kind.is_string() or kind.is_integer() or kind.is_date() or untyped:
            return True
        if (kind.is_numeric() or kind.is_boolean()) and all_numbers:
            return False
        raise Misfit(f"column '{name}' is of type {kind}; its declared values are texts")

    def _has_numbers(self, kind: dt.DataType) -> bool:
        if self.dialect in _ANY_KIND:
            return bool(kind.is_numeric() or kind.is_boolean() or kind.is_unknown())
        return bool(kind.is_numeric() or kind.is_boolean() or (kind.is_string() and self.dialect in _TRIES))

    def _truth(self, name: str) -> ir.FloatingValue:
        """Return the truth values of a column as 1 and 0; NULL, or another number, where a value is none."""
        import ibis

        column = self.column(name)
        if not (column.type().is_string() and self.dialect in _TRIES):
            return self.number(name)
        read: ir.FloatingValue = ibis.coalesce(column.try_cast("boolean").cast("int32"), self._number_in(column))
        return read

    def _number_in(self, text: ir.StringValue) -> ir.FloatingValue:
        """Read texts as numbers, true and false as 1 and 0; NULL where a text is neither."""
        import ibis

        word = text.lower()
        truth = ibis.cases((word == "true", 1.0), (word == "false", 0.0), else_=ibis.null("float64"))
        return ibis.coalesce(self._nan_is_null(text.try_cast("float64")), truth)

    def _moment(self, column: ir.Column) -> ir.IntegerValue:
        """Return the moments of a column of a file in microseconds since 1970; NULL where a value is none.

        DuckDB's own functions are called that give NULL where a day or a time is out of range.
        """
        kind = column.type()
        if kind.is_string():
            column = as_moment(column, self.dialect).value
        elif kind.is_date():
            column = column.try_cast("timestamp")
        read: ir.IntegerValue = engine_function("epoch_us", ("timestamp",), "int64")(column)
        return read

    def _plain_text(self, column: ir.Column) -> ir.StringValue:
        """Return the texts of a column of a file; NULL where its type has values that cannot be written safely."""
        return column.cast("string") if _has_safe_texts(column.type()) else _nothing(column, "string")

    def _canonical_text(self, text: ir.StringValue) -> ir.StringValue:
        """Spell texts that are numbers or moments as those; all others are what they are."""
        import ibis

        number = self._number_in(text)
        is_number = number.notnull() & (number.abs() < float("inf"))
        may_be_day = (text.length() >= _DAY_LENGTH) & (text.substr(4, 1) == "-")
        moment = ibis.coalesce(_spelled_moment(self._moment(text)), text)
        return ibis.cases((is_number, number.cast("string")), (may_be_day, moment), else_=text)

    def _near(self, column: ir.Column) -> ir.FloatingValue:
        """Read decimals as floats where neither too large nor too small ones are taken: as the nearest that is."""
        import ibis

        low, high = (ibis.literal(far, "decimal(38, 0)") for far in (-_FAR, _FAR))
        wide = column.cast("decimal")  # of any precision: one that is declared is not compared with the limits' own
        within = ibis.greatest(ibis.least(wide, high), low)
        is_tiny = within.abs() < ibis.literal(_TINY, "decimal(38, 30)")
        number: ir.FloatingValue = is_tiny.ifelse(0, within).cast("float64")
        is_number = column.notnull() & (column.cast("string") != "NaN")  # LEAST passes NULL over
        return is_number.ifelse(number, ibis.null("float64"))

    def _nan_is_null(self, read: ir.FloatingValue) -> ir.FloatingValue:
        import ibis

        number: ir.FloatingValue = read if self.dialect in _NO_NAN else read.isnan().ifelse(ibis.null("float64"), read)
        return number


def with_columns(table: ir.Table, names: Iterable[str]) -> ir.Table:
    """Return a table of files with all named columns: NULL where no file has one, as its writer may leave it out."""
    import ibis

    missing = [name for name in dict.fromkeys(names) if name not in table.columns]
    return table.mutate(**dict.fromkeys(missing, ibis.null("string"))) if missing else table


def _casts_exactly(kind: dt.DataType) -> bool:
    """Check whether a cast of a file's numbers to double precision is what their shortest texts are read as."""
    if kind.is_decimal():
        return bool(kind.precision is not None and kind.precision <= _EXACT_DIGITS)
    return bool(kind.is_integer() or kind.is_float64())


def _nothing(column: ir.Column, kind: str) -> ir.Value:
    """Return NULL in every row: no literal, which Ibis compares otherwise than a column."""
    import ibis

    return column.isnull().ifelse(ibis.null(kind), ibis.null(kind))


def _has_safe_texts(kind: dt.DataType) -> bool:
    """Check whether each value of a file's column that is neither a number nor a moment can be written as a text."""
    return bool(kind.is_string() or kind.is_uuid() or kind.is_binary() or kind.is_time() or kind.is_json())


def _of_kind(cells: CategoryColumn, kind: ValueKind) -> Iterator[tuple[float | int | str, int]]:
    """Yield the declared values of a kind, each with its cell."""
    for place, value in enumerate(cells.values):
        result = canonical(value)
        if result.kind is kind:
            yield result.value, place


def _spelled_moment(microseconds: ir.IntegerValue) -> ir.StringValue:
    import ibis

    text: ir.StringValue = ibis.literal("@") + microseconds.cast("string")
    return text
