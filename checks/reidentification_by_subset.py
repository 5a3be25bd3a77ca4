"""No few columns, known together, single out more records than allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import and_
from typing import Annotated, Any, ClassVar, Final, Literal

from annotated_types import Interval
from pydantic import Field

from checks._contract import (
    Check,
    CheckParameters,
    ClassQuestion,
    Context,
    Json,
    Kind,
    Measurement,
    Misconfigured,
    Outcome,
    PastMeasurement,
    Status,
    Wants,
)
from checks._outcome import Message
from checks.classes.few_people import named_people
from checks.classes.tables import PERSON, SIZE, ClassTables, PersonColumn
from checks.parameters.columns import ColumnName, QuasiIdentifiers, quasi_identifiers_of
from checks.risk.subsets import Separation, SpecialUniques, level_of, refuse_too_many
from sources.expressions import ibis, ir

_NONE: Final = Message(
    "no set of up to {known} columns identifies a record",
    one="no single column identifies a record",
    counted="known",
)
_FEW: Final = Message(
    "sets of up to {known} columns identify at most {uniques:count} of {rows:count} records, by {columns}",
    one="a single column identifies at most {uniques:count} of {rows:count} records, by {columns}",
    counted="known",
)
_MANY: Final = Message("{columns} together identify {uniques:count} of {rows:count} records")
_MOST_SHOWN: Final = 50


class ReidentificationBySubset(CheckParameters):
    """No set of up to `known` quasi-identifiers makes more than a share of the records unique."""

    summary: ClassVar[str] = "No small set of quasi-identifiers identifies more records than allowed."
    warn_limits: ClassVar[frozenset[str]] = frozenset({"max_unique_fraction"})
    kind: ClassVar[Kind] = Kind.DISCLOSURE
    looks_again: ClassVar[bool] = True

    type: Literal["reidentification_by_subset"] = "reidentification_by_subset"
    quasi_identifiers: QuasiIdentifiers = Field(
        (), description="Columns to combine; by default the quasi-identifiers of the table."
    )
    known: Annotated[int, Interval(ge=1, le=5)] = Field(3, description="Maximum number of columns an attacker knows.")
    max_unique_fraction: Annotated[float, Interval(ge=0, le=1)] = Field(
        description="Maximum share of records that a column set may identify."
    )
    special_uniques: bool = Field(
        default=False, description="Also count records that are unique in a set and in none of its parts (SUDA)."
    )
    person: ColumnName | None = Field(
        None, description="Column that identifies the person: people are counted, not rows; rows without one are one."
    )

    def wants(self, context: Context) -> Wants:
        """Request the largest sets."""
        names = sorted(quasi_identifiers_of(context, self.quasi_identifiers))
        try:
            refuse_too_many(len(names), self.known)
        except ValueError as error:
            raise Misconfigured(str(error)) from None
        wants = self._level(names, min(self.known, len(names)), {})
        if self.person is None:
            return wants
        named, people = named_people(context, self.person, context.where)
        rows = context.table.count(where=context.where)
        return replace(wants, aggregates={"people": people + (named < rows).ifelse(1, 0)})

    def follow_up(self, context: Context, measurement: Measurement) -> Wants | Measurement:
        """Request the next smaller sets, as far as they are part of one that identifies a record."""
        names = sorted(quasi_identifiers_of(context, self.quasi_identifiers))
        separations = _separations(measurement, names)
        smallest = min(len(separation) for separation in separations)
        if smallest > 1:
            wants = self._level(names, smallest - 1, separations)
            if wants.classes:
                return wants
        rows = int(next(iter(measurement.tables.values()))[0]["rows"] or 0)
        rows = rows if self.person is None else measurement.number("people")
        k = 1 if context.people is None else context.people.k
        return replace(measurement, values={"rows": rows, "names": names, "k": k})

    def _level(self, names: Sequence[str], level: int, separations: dict[tuple[str, ...], Separation]) -> Wants:
        answers = {
            _label(names, current_names): partial(_distinct_in, current_names, special=self.special_uniques)
            for current_names in level_of(names, level, separations)
        }
        person = None if self.person is None else PersonColumn(self.person)
        questions = {label: ClassQuestion(tuple(names), answer, person=person) for label, answer in answers.items()}
        return Wants(classes=questions)

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when a set singles out more than the share allowed; the smallest such set is named."""
        rows, names = measurement.number("rows"), measurement.values["names"]
        separations = _separations(measurement, names)
        ordered = sorted(separations.items(), key=lambda item: (len(item[0]), -item[1].uniques, item[0]))
        sets: list[Json] = [
            {
                "columns": list(entry),
                "uniques": separation.uniques,
                "distinction": separation.distinction,
                "separation": separation.separation,
            }
            for entry, separation in ordered[:_MOST_SHOWN]
        ]
        observed: dict[str, Json] = {"rows": rows, "sets": sets}
        if self.special_uniques:
            observed["special_uniques"] = self._special_uniques(measurement)
        expected: dict[str, Json] = {"max_unique_fraction": self.max_unique_fraction}
        for entry, separation in ordered:
            if separation.uniques / rows > self.max_unique_fraction:  # the limit itself is allowed
                many = _MANY.given(columns=entry, uniques=separation.uniques, rows=rows)
                return Outcome(Status.FAIL, many, observed, expected)
        size = min(self.known, len(names))
        worst, most = max(ordered, key=lambda item: item[1].uniques)  # the smallest set of those that do most
        if not most.uniques:
            return Outcome(Status.PASS, _NONE.given(known=size), observed, expected)
        few = _FEW.given(known=size, uniques=most.uniques, rows=rows, columns=worst)
        return Outcome(Status.PASS, few, observed, expected)

    def _special_uniques(self, measurement: Measurement) -> Json:
        """Return the minimal sample uniques by the number of columns, by set, and what each column contributes."""
        names = measurement.values["names"]
        counts = {_names_of(label, names): int(rows[0]["minimal"] or 0) for label, rows in measurement.tables.items()}
        known = min(self.known, len(names))
        special = SpecialUniques(counts, len(names), known, int(measurement.values["k"]))
        ordered = sorted(
            (item for item in counts.items() if item[1]), key=lambda item: (len(item[0]), -item[1], item[0])
        )
        return {
            "known": known,
            "hidden_below": special.k if special.k > 1 else None,
            "by_size": [{"columns": size, "count": special.of_size(size)} for size in range(1, known + 1)],
            "sets": [{"columns": list(entry), "count": special.shown(count)} for entry, count in ordered[:_MOST_SHOWN]],
            "contribution": {name: special.contribution(name) for name in names},
        }


def _label(names: Sequence[str], current_names: Sequence[str]) -> str:
    return ",".join(str(names.index(name)) for name in current_names)


def _distinct_in(names: Sequence[str], tables: ClassTables, *, special: bool = False) -> ir.Table:
    """Compute, for a set of columns: `rows`, `classes`, `uniques`, and `alike`, the sum of size x (size - 1).

    With `special` also `minimal`: those unique in it and in none of its parts. Of people, `uniques` and `minimal` count
    each once, the others once in each group.
    """
    keys = [tables.key(name) for name in names]
    if tables.person is None:
        classes = tables.classes
        groups = classes.group_by(keys).aggregate(size=classes[SIZE].sum().cast("int64"))
    else:
        units = tables.units({})
        units = units.mutate(**{PERSON: units[PERSON].cast("string").fill_null("")})
        who = units[PERSON]
        groups = units.group_by(keys).aggregate(size=who.nunique().cast("int64"), first=who.min(), last=who.max())
    if special:
        parts = [[key for key in keys if key != left_out] for left_out in keys]
        groups = groups.mutate(**{f"part{place}": _is_alone(groups, part) for place, part in enumerate(parts)})
    size = groups["size"]
    sums = {"rows": size.sum(), "classes": groups.count(), "alike": (size * (size - 1)).sum()}
    alone = {"uniques": size == 1}
    if special:
        alone["minimal"] = reduce(and_, (~groups[f"part{place}"] for place in range(len(keys))), size == 1)
    for name, condition in alone.items():
        sums[name] = condition.sum() if tables.person is None else groups["first"].nunique(where=condition)
    return groups.aggregate(**{name: number.cast("int64") for name, number in sums.items()})


def _is_alone(groups: ir.Table, keys: Sequence[str]) -> ir.BooleanValue:
    """Check of each group whether it alone is a group of fewer columns too, with one record or person."""
    window = ibis.window(group_by=list(keys))
    if "first" in groups.columns:
        return groups["first"].min().over(window) == groups["last"].max().over(window)
    return groups["size"].sum().over(window) == 1


def _separations(measurement: Measurement, names: Sequence[str]) -> dict[tuple[str, ...], Separation]:
    return {_names_of(label, names): _separation(rows[0]) for label, rows in measurement.tables.items()}


def _names_of(label: str, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names[int(place)] for place in label.split(","))


def _separation(row: Any) -> Separation:
    counts = {name: int(row[name] or 0) for name in ("rows", "classes", "uniques", "alike")}
    return Separation.of(**counts)


CHECK: Final[type[Check]] = ReidentificationBySubset
