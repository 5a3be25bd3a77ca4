"""How likely it is that each record of a sample is found in the population, and each group of records (household).

    f records of a class in the sample stand for F in the population, F estimated by the sum of their weights. With
    p = f/F, F given f is negative binomial, and the risk of a record of the class is the mean of 1/F:

        r = (p/f) 2F1(1, 1; f + 1; 1 - p)
        f = 1: (p/q) ln(1/p),   f > 1: (p/q) (1/(f - 1) - r of f - 1),   q = 1 - p

Every engine computes it. For p < 1/2 and f up to 7 by the second line, else by 24 terms of the series and an estimate
of the others: the relative error is below 3e-9 (tried for f up to 100 and F/f up to 1e9). F = f makes it 1/f, the
prosecutor risk.

The risk of a group is 1 - prod(1 - r) of its members: one of them who is found names the others.

Source: Benedetti, R. and Franconi, L. (1998). Statistical and technological solutions for controlled data
dissemination. Franconi, L. and Polettini, S. (2004). Individual risk estimation in mu-Argus: a review. For groups, and
as in sdcMicro: Templ, M., Kowarik, A. and Meindl, B. (2015). Journal of Statistical Software 67(4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checks._contract import Context
from checks._errors import Misconfigured
from checks.classes.tables import PERSON, ClassTables
from sources.expressions import ibis, ir

MOST_WEIGHT: Final = 1e12
UNFIT: Final = "unfit"
_CLOSED, _TERMS = 7, 24
_WEIGHT, _GROUP, _RISK = "weight", "group", "risk"


@dataclass(frozen=True, slots=True)
class Weights:
    """What a record stands for: the weight in a `column`, else 1/`fraction`. `group`: the column of its household."""

    column: str | None
    fraction: float = 1.0
    group: str | None = None

    def unfit(self, context: Context) -> Mapping[str, ir.Value]:
        """Count the rows whose weight is NULL, below 1, or above 1e12.

        Raises:
            Misconfigured: the table has no such column, or it has no numbers.
        """
        if self.group is not None:
            context.column(self.group)
        if self.column is None:
            return {}
        weight = context.column(self.column)
        if not weight.type().is_numeric():
            raise Misconfigured(f"the weight column '{self.column}' is {weight.type()}; a column of numbers expected")
        unfit = ~_fits(weight)
        return {UNFIT: context.table.count(where=unfit if context.where is None else context.where & unfit)}

    def risks(self, tables: ClassTables) -> ir.Table:
        """Return one row: `records`, `population` (the sum of weights), `expected`, `highest`; of groups, the same.

        `expected`: how many records are expected to be found, the sum of their risks. With groups also `groups`,
        `expected_in_groups`, where each record has the risk of its group, and `highest_of_group`.
        """
        people = self._people(tables)
        risk, weight = people[_RISK], people[_WEIGHT]
        if self.group is None:
            return people.aggregate(
                records=people["members"].sum().cast("int64"),
                population=weight.sum(),
                expected=(people["members"] * risk).sum(),
                highest=risk.max(),
            )
        groups = self._groups(people)
        return groups.aggregate(
            records=groups["members"].sum().cast("int64"),
            population=groups["weight"].sum(),
            expected=groups["expected"].sum(),
            highest=groups["highest"].max(),
            groups=groups.count(),
            expected_in_groups=(groups["members"] * groups["of_group"]).sum(),
            highest_of_group=groups["of_group"].max(),
        )

    def _groups(self, people: ir.Table) -> ir.Table:
        """Return a row for each group, and for each record or person without one: sums, and the risk `of_group`."""
        risk = people[_RISK]
        sums = {"weight": _WEIGHT, "expected": _RISK, "highest": _RISK}
        people = people.mutate(missed=(risk < 1).ifelse(1 - risk, 1.0).ln())
        named, alone = people.filter(people[_GROUP].notnull()), people.filter(people[_GROUP].isnull())
        groups = named.group_by(_GROUP).aggregate(
            members=named.count(),
            weight=named[_WEIGHT].sum(),
            expected=named[_RISK].sum(),
            highest=named[_RISK].max(),
            missed=named["missed"].sum(),
        )
        names = {name: alone[column] for name, column in sums.items()}
        single = alone.select(members=ibis.literal(1, type="int64"), **names, missed=alone["missed"])
        groups = groups.drop(_GROUP).union(single)
        return groups.mutate(of_group=(groups["highest"] < 1).ifelse(1 - groups["missed"].exp(), 1.0))

    def _people(self, tables: ClassTables) -> ir.Table:
        """Return a row for each class, or where people or groups count for each person: `members`, `weight`, `risk`."""
        units = self._units(tables)
        keys = list(tables.keys)
        if tables.person is None and self.group is None:
            classes = units.group_by(keys).aggregate(members=units.count(), weight=units[_WEIGHT].sum())
            return classes.mutate(**{_RISK: individual_risk(classes["members"], classes[_WEIGHT])})
        window = ibis.window(group_by=keys)
        counted = units.mutate(members=units.count().over(window), weights=units[_WEIGHT].sum().over(window))
        rows = counted.mutate(**{_RISK: individual_risk(counted["members"], counted["weights"])})
        names = [_WEIGHT, _RISK, *([_GROUP] if self.group is not None else [])]
        if tables.person is not None:
            rows = _highest_of_each(rows, names, apart=tables.person.apart)
        return rows.select(*names, members=ibis.literal(1, type="int64"))

    def _units(self, tables: ClassTables) -> ir.Table:
        rows = tables.rows
        weight = ibis.literal(1 / self.fraction, type="float64")
        if self.column is not None:
            column = rows[self.column]
            weight = _fits(column).ifelse(column.cast("float64"), 1.0)
        group = {} if self.group is None else {_GROUP: rows[self.group].cast("string")}
        return tables.units({_WEIGHT: weight, **group})


def individual_risk(count: ir.NumericValue, weight: ir.NumericValue) -> ir.FloatingValue:
    """Return the risk of a record of a class: `count` records in the sample, of the `weight` F, at least as much."""
    f, population = count.cast("float64"), weight.cast("float64")
    odds = f / (population - f).nullif(0.0)
    closed = [(population / f).ln() * odds]
    for place in range(1, _CLOSED):
        closed.append((closed[-1] * -1 + 1 / place) * odds)
    q = (population - f) / population
    rest = (f + _TERMS) / (f + _TERMS - q * (_TERMS + 1))
    for term in range(_TERMS - 1, 0, -2):  # two at once, nested on the left only: SQLite's parser has a stack of 100
        first = q * term / (f + term)
        rest = rest * (first * q * (term + 1) / (f + (term + 1))) + (first + 1)
    branches = [(count == place, risk) for place, risk in enumerate(closed, start=1)]
    return (population < f * 2).ifelse(rest / population, ibis.cases(*branches, else_=rest / population))


def _fits(weight: ir.Column) -> ir.BooleanValue:
    """Check whether a weight is one; NaN is above every number, or NULL."""
    return weight.notnull() & (weight >= 1) & (weight <= MOST_WEIGHT)


def _highest_of_each(rows: ir.Table, names: Sequence[str], *, apart: bool) -> ir.Table:
    """Return the highest risk of each person, in the class where it is; rows without a person may be of one each."""
    named = rows.filter(rows[PERSON].notnull()) if apart else rows
    sums = {name: named[name].max() if name == _RISK else named[name].min() for name in names}
    people = named.group_by(PERSON).aggregate(**sums).drop(PERSON)
    return people.union(rows.filter(rows[PERSON].isnull()).select(*people.columns)) if apart else people
