"""Classes counted in people instead of rows, where a column says whose each row is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from checks._contract import CheckParameters, ColumnClass, Context, Measurement
from checks.classes.few_people import named_people
from checks.classes.tables import PersonColumn
from checks.parameters.columns import ColumnName

if TYPE_CHECKING:
    import ibis.expr.types as ir

_NAMED, _DISTINCT = "named:", "distinct:"


class PeopleParameters(CheckParameters):
    """The parameters of checks that count people where rows are of people.

    Equal rows hide no person if they are all of one.
    """

    person: ColumnName | None = Field(
        None,
        description="Column that identifies the person: people are counted, not rows; rows without one are one person.",
    )
    identifiers: tuple[ColumnName, ...] | None = Field(
        None,
        description="Direct identifiers that are counted in the same way where they repeat, if there is no 'person'; "
        "by default those the table classifies as such.",
    )

    pseudonyms: tuple[ColumnName, ...] = Field(
        (),
        description="Identifiers that leave as pseudonyms: rows of a person can be linked, so classes are of people "
        "who are alike in all of their rows.",
    )

    def identifier_counts(self, context: Context) -> Mapping[str, ir.Value]:
        """Return aggregates that tell which direct identifiers repeat.

        Raises:
            Misconfigured: the table has no such column.
        """
        if self.person is not None:
            context.column(self.person)
        counts = {name: named_people(context, name, context.where) for name in self._identifiers(context)}
        named = {f"{_NAMED}{name}": rows for name, (rows, _) in counts.items()}
        return named | {f"{_DISTINCT}{name}": people for name, (_, people) in counts.items()}

    def _identifiers(self, context: Context) -> Sequence[str]:
        if self.person is not None:
            return [name for name in self.pseudonyms if name != self.person]
        if self.identifiers is not None:
            return list(dict.fromkeys((*self.identifiers, *self.pseudonyms)))
        names = [name for name, word in context.classified.items() if word is ColumnClass.DIRECT_IDENTIFIER]
        return list(dict.fromkeys((*names, *self.pseudonyms)))

    @property
    def declared_person(self) -> Sequence[PersonColumn]:
        """Return the column of the person, if one is named."""
        return [] if self.person is None else [PersonColumn(self.person, linked=bool(self.pseudonyms))]

    def people_columns(self, measurement: Measurement) -> Sequence[PersonColumn]:
        """Return the columns by which people are counted.

        The person's, and each pseudonym that repeats; without a person each direct identifier that does.
        """
        names = [name.removeprefix(_NAMED) for name in measurement.values if name.startswith(_NAMED)]
        repeated = [
            PersonColumn(name, apart=True, linked=bool(self.pseudonyms))
            for name in names
            if measurement.number(f"{_DISTINCT}{name}") < measurement.number(f"{_NAMED}{name}")
        ]
        return [*self.declared_person, *repeated]
