"""No few columns, known together, single out more records than allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
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
from checks.classes.tables import SIZE, ClassTables
from checks.parameters.columns import QuasiIdentifiers, quasi_identifiers_of
from checks.risk.subsets import Separation, level_of, refuse_too_many
from sources.expressions import ir

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

    def wants(self, context: Context) -> Wants:
        """Request the largest sets."""
        names = sorted(quasi_identifiers_of(context, self.quasi_identifiers))
        try:
            refuse_too_many(len(names), self.known)
        except ValueError as error:
            raise Misconfigured(str(error)) from None
        return self._level(names, min(self.known, len(names)), {})

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
        return replace(measurement, values={"rows": rows, "names": names})

    def _level(self, names: Sequence[str], level: int, separations: dict[tuple[str, ...], Separation]) -> Wants:
        answers = {
            _label(names, current_names): partial(_distinct_in, current_names)
            for current_names in level_of(names, level, separations)
        }
        return Wants(classes={label: ClassQuestion(tuple(names), answer) for label, answer in answers.items()})

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


def _label(names: Sequence[str], current_names: Sequence[str]) -> str:
    return ",".join(str(names.index(name)) for name in current_names)


def _distinct_in(names: Sequence[str], tables: ClassTables) -> ir.Table:
    """Compute, for a set of columns: `rows`, `classes`, `uniques`, and `alike`, the sum of size x (size - 1)."""
    classes, keys = tables.classes, [tables.key(name) for name in names]
    groups = classes.group_by(keys).aggregate(size=classes[SIZE].sum().cast("int64"))
    size = groups["size"]
    return groups.aggregate(
        rows=size.sum().cast("int64"),
        classes=groups.count(),
        uniques=(size == 1).sum().cast("int64"),
        alike=(size * (size - 1)).sum().cast("int64"),
    )


def _separations(measurement: Measurement, names: Sequence[str]) -> dict[tuple[str, ...], Separation]:
    return {
        tuple(names[int(place)] for place in label.split(",")): _separation(rows[0])
        for label, rows in measurement.tables.items()
    }


def _separation(row: Any) -> Separation:
    counts = {name: int(row[name] or 0) for name in ("rows", "classes", "uniques", "alike")}
    return Separation.of(**counts)


CHECK: Final[type[Check]] = ReidentificationBySubset
