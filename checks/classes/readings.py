"""The readings of sensitive values by which l and t are judged: the strictest of them decides.

For k the exact values are the safe reading, for l they are not: four `hiv` and a NULL are one value that is known, and
`hiv`, `HIV` and `Hiv ` are one disease. So a class is also read without what is missing, and with one spelling for all
that a reader takes for the same, unless the configuration says that NULL, or the spelling, is a value.

    known        without NULL, NaN and text of white space alone
    normalised   one spelling (`checks.classes.spellings`); lower case without white space around where a column
                 has more values than are compared
    both         both of it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, TypeAlias

from pydantic import Field

from checks._contract import ClassQuestion, Context, Measurement
from checks.classes.people import PeopleParameters
from checks.classes.spellings import merged_spellings
from checks.classes.tables import (
    EXACT,
    MOST_MERGED,
    MOST_VALUES,
    ClassTables,
    PersonColumn,
    SensitiveReading,
    values_of,
)
from checks.parameters.columns import WITHOUT_NAN, ColumnName, QuasiIdentifiers, quasi_identifiers_of
from sources.expressions import ir

Answer: TypeAlias = "Callable[[ClassTables], ir.Table]"
VALUES, MISSING = "values of ", "missing in "


class ReadingName(StrEnum):
    """How sensitive values are read."""

    EXACT = "exact"
    KNOWN = "known"
    NORMALISED = "normalised"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Asked:
    """One way in which a sensitive column was asked about: by which reading, and by whose rows people were counted."""

    column: str
    reading: ReadingName = ReadingName.EXACT
    by: str | None = None

    @property
    def label(self) -> str:
        """Return the name of its answer."""
        return self.column if self == Asked(self.column) else f"{self.reading} by {self.by or ''}: {self.column}"

    @property
    def packed(self) -> tuple[str, str, str | None]:
        """Return it as plain data."""
        return self.column, self.reading.value, self.by


class SensitiveParameters(PeopleParameters):
    """The parameters of checks that judge sensitive values.

    `drops_missing`: whether what is missing has no pair, else one of no copies.
    """

    drops_missing: ClassVar[bool] = False

    quasi_identifiers: QuasiIdentifiers = ()
    missing_is_a_value: tuple[ColumnName, ...] = Field(
        (), description="Sensitive columns in which NULL is a value like any other."
    )
    spelling_is_a_value: tuple[ColumnName, ...] = Field(
        (), description="Sensitive columns in which values that differ in case or white space are different values."
    )

    def evidence(self, context: Context, columns: Sequence[str]) -> Mapping[str, ir.Value]:
        """Return aggregates that tell where readings differ, and which direct identifiers repeat."""
        missing = {
            f"{MISSING}{name}": context.count(is_missing(context, name)(context.column(name)))
            for name in columns
            if name not in self.missing_is_a_value
        }
        return {**missing, **self.identifier_counts(context)}

    def spellings(self, context: Context, names: tuple[str, ...], columns: Sequence[str]) -> dict[str, ClassQuestion]:
        """Request the values of the columns of text, at most `MOST_VALUES` each."""
        texts = [name for name in columns if context.column(name).type().is_string()]
        return {
            f"{VALUES}{name}": ClassQuestion(names, values_of(name), (name,))
            for name in texts
            if name not in self.spelling_is_a_value
        }

    def _readings(self, context: Context, measurement: Measurement, column: str) -> dict[ReadingName, SensitiveReading]:
        """Return the readings of a column that may differ from the exact one."""
        spelled = self._spelled(measurement, column)
        has_missing = column not in self.missing_is_a_value and self.has_missing(measurement, column)
        known = SensitiveReading(missing=is_missing(context, column), dropped=self.drops_missing)
        readings = {ReadingName.KNOWN: known} if has_missing else {}
        if spelled != EXACT:
            readings[ReadingName.NORMALISED] = spelled
            if has_missing:
                readings[ReadingName.BOTH] = replace(known, spellings=spelled.spellings, folded=spelled.folded)
        return readings

    def has_missing(self, measurement: Measurement, column: str) -> bool:
        """Check whether a value of a column counts as missing."""
        return bool(measurement.values.get(f"{MISSING}{column}"))

    def _spelled(self, measurement: Measurement, column: str) -> SensitiveReading:
        rows = measurement.tables.get(f"{VALUES}{column}", ())
        merged = merged_spellings(sorted(str(row["value"]) for row in rows))
        if len(rows) > MOST_VALUES or len(merged) > MOST_MERGED:
            return SensitiveReading(folded=True)
        return SensitiveReading(merged)

    def asked(
        self, context: Context, measurement: Measurement, column: str, answer: Answer
    ) -> Iterator[tuple[Asked, ClassQuestion]]:
        """Yield each way to ask about a column, but the plain one, with the question that it amounts to.

        `answer`: what is asked, of class tables that are read in this way.
        """
        names = quasi_identifiers_of(context, self.quasi_identifiers)
        readings = {ReadingName.EXACT: EXACT, **self._readings(context, measurement, column)}
        for person in self._counted(measurement):
            for name, reading in readings.items():
                asked = Asked(column, name, None if person is None else person.column)
                if asked != Asked(column):
                    yield asked, ClassQuestion(names, _read(reading, answer), (column,), person)

    def judged(self, asked: Sequence[Asked]) -> Sequence[Asked]:
        """Return the ways that decide: where people are counted by a declared column, rows do not."""
        return [item for item in asked if item.by is not None] if self.person is not None else asked

    def _counted(self, measurement: Measurement) -> Sequence[PersonColumn | None]:
        people = self.people_columns(measurement)
        return people if self.person is not None else [None, *people]


def _read(reading: SensitiveReading, answer: Answer) -> Answer:
    return lambda tables: answer(tables.read(reading))


def is_missing(context: Context, name: str) -> Callable[[ir.Column], ir.BooleanValue]:
    """Return of a value of a column whether it is none: NULL, NaN, or text of white space alone."""
    if context.column(name).type().is_string():
        return lambda value: value.isnull() | (value.strip() == "")
    if context.column(name).type().is_floating() and context.dialect not in WITHOUT_NAN:
        return lambda value: value.isnull() | value.isnan()
    return lambda value: value.isnull()


def asked_of(measurement: Measurement) -> Sequence[Asked]:
    """Return the ways in which sensitive columns were asked about."""
    return [Asked(column, ReadingName(name), by) for column, name, by in measurement.values["asked"]]
