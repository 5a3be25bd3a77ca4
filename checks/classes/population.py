"""Find the classes of a table in a population table, inside the engine.

Classes of both are put one under the other and grouped again: so NULL equals NULL on every engine, where a join on "not
distinct from" would compare every class with every other on some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Self, TypeAlias

from annotated_types import MinLen
from pydantic import Field

from checks._contract import Context, Misconfigured
from checks._outcome import Message
from checks.classes.tables import SIZE, ClassTables
from checks.parameters.columns import ColumnName, common_kind
from sources import did_you_mean
from sources.expressions import dt, ibis, ir

NO_POPULATION: Final = Message(
    "at least {outside:count} rows are not in {table}: it is not a population of this table",
    one="at least {outside:count} row is not in {table}: it is not a population of this table",
    counted="outside",
)
PopulationName: TypeAlias = Annotated[str, MinLen(1)]
PopulationColumns: TypeAlias = Annotated[
    Mapping[ColumnName, ColumnName],
    Field(description="Quasi-identifier: its name in the population table, if different."),
]

_ROWS: Final = "rows"
_POPULATION: Final = "population"


@dataclass(frozen=True, slots=True)
class Population:
    """A population table, and what the quasi-identifiers of the watched table are called there.

    `sizes` and `presence` answer questions about classes; bound to a population, they are what a `ClassQuestion` takes.
    """

    table: ir.Table
    names: Mapping[str, str]
    kinds: Mapping[str, dt.DataType]
    """In which type the values of both tables are compared, by quasi-identifier."""

    @classmethod
    def of(cls, context: Context, name: str, quasi_identifiers: Sequence[str], names: Mapping[str, str]) -> Self:
        """Return the population that a check refers to by `name`.

        `names`: quasi-identifier -> its column in the population, where the two differ.

        Raises:
            Misconfigured: a column is not there, or is of another kind than its quasi-identifier; or `names` has one
                that is no quasi-identifier.
        """
        unknown = sorted(set(names) - set(quasi_identifiers))
        if unknown:
            raise Misconfigured(
                f"'{unknown[0]}' is not a quasi-identifier{did_you_mean(unknown[0], quasi_identifiers)}"
            )
        columns = {own: names.get(own, own) for own in quasi_identifiers}
        must = "a quasi-identifier and its column in the population must have the same type"
        kinds = {own: common_kind(context, own, column, of=name, must=must) for own, column in columns.items()}
        return cls(context.references[name], columns, kinds)

    def counts(self, tables: ClassTables) -> ir.Table:
        """Return a row for each class of either table: its keys, its `rows` here and its `population`, 0 for none."""
        keys = {name: tables.key(name) for name in self.names}
        classes, none = tables.classes, ibis.literal(0, type="int64")
        own = {key: classes[key].cast(self.kinds[name]) for name, key in keys.items()}
        own_counts = classes.select(**own, rows=classes[SIZE].cast("int64"), population=none)
        columns = {key: self.table[self.names[name]].cast(self.kinds[name]) for name, key in keys.items()}
        people = self.table.select(**columns)
        population_counts = people.group_by(list(keys.values())).aggregate(rows=none, population=people.count())
        both = ibis.union(own_counts, population_counts)
        sums = {name: both[name].sum().cast("int64") for name in (_ROWS, _POPULATION)}
        return both.group_by(list(keys.values())).aggregate(**sums)

    def sizes(self, tables: ClassTables) -> ir.Table:
        """Count the table's classes by their size in the population.

        Columns: `population_size` (F, 0 for a class that the population has not); `rows` and `classes` of that F; and
        `outside`, the rows that cannot be of the population, at least (f - F where that is more than 0). F, rows and
        outside are what `checks.risk.JournalistRisk.of` takes.
        """
        counts = self.counts(tables)
        own = counts.filter(counts[_ROWS] > 0)
        return own.group_by(population_size=own[_POPULATION]).aggregate(
            rows=own[_ROWS].sum().cast("int64"), classes=own.count(), outside=_outside(own).sum().cast("int64")
        )

    def presence(self, tables: ClassTables) -> ir.Table:
        """Compute, in one row, the fields of `checks.risk.Presence`; a sum over no class is NULL."""
        counts = self.counts(tables)
        covered = counts[_POPULATION] > 0
        share = counts[_ROWS].cast("float64") / counts[_POPULATION].nullif(0).cast("float64")
        return counts.aggregate(
            rows=counts[_ROWS].sum().cast("int64"),
            population_rows=counts[_POPULATION].sum().cast("int64"),
            classes=counts.count(where=counts[_ROWS] > 0),
            population_classes=counts.count(where=covered),
            outside=_outside(counts).sum().cast("int64"),
            delta_min=share.min(),
            delta_max=share.max(),
        )


def _outside(counts: ir.Table) -> ir.IntegerColumn:
    beyond = counts[_ROWS] - counts[_POPULATION]
    return (beyond > 0).ifelse(beyond, 0)
