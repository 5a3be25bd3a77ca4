"""Records cannot be linked by an attacker who holds another table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from annotated_types import Ge, Le, MinLen
from pydantic import Field, model_validator

from checks._contract import (
    Check,
    CheckParameters,
    Context,
    Json,
    Kind,
    MainNumber,
    Measurement,
    Misconfigured,
    Outcome,
    PastMeasurement,
    Status,
    UnknownReason,
    Wants,
    unknown,
)
from checks._outcome import Message
from checks.classes.linkage import (
    SharedColumn,
    Tolerance,
    complete,
    linked_persons,
    linked_records,
    shared_column,
    shared_values,
    unreadable,
)
from checks.parameters.columns import ColumnName, ColumnNames
from checks.risk.record_linkage import Linkage
from sources.expressions import ir

_NOBODY: Final = Message("{table} has no row with values in all shared columns, so no linkage is possible")
_APART: Final = Message(
    "no value of {columns} occurs both here and in {table}, so nothing was compared; write both in one form (01234 is "
    "not 1234), or leave the column out"
)
_ROWS: Final = Message(
    "{unique:count} of {asked:count} rows match exactly one row of {table} ({share:ratio})",
    one="{unique:count} of {asked:count} rows matches exactly one row of {table} ({share:ratio})",
    counted="unique",
)
_PERSONS: Final = Message(
    "{unique:count} of {asked:count} people of {table} match exactly one person ({share:ratio})",
    one="{unique:count} of {asked:count} people of {table} matches exactly one person ({share:ratio})",
    counted="unique",
)


class LinkageCheck(CheckParameters):
    """At most a share of the records match one and only one record of an auxiliary table."""

    summary: ClassVar[str] = "Few records match exactly one record of another table on the shared columns."
    main_number: ClassVar[MainNumber | None] = MainNumber("uniquely_matched")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"max_unique_fraction"})
    kind: ClassVar[Kind] = Kind.DISCLOSURE
    looks_again: ClassVar[bool] = True

    type: Literal["linkage"] = "linkage"
    auxiliary: Annotated[str, MinLen(1)] = Field(
        description="Auxiliary table an attacker may have, of the same source."
    )
    on: ColumnNames | Annotated[Mapping[ColumnName, ColumnName], MinLen(1)] = Field(
        description="Shared columns; or own column: its name in the auxiliary table.",
        examples=[["postcode", "born"], {"postcode": "zip"}],
    )
    tolerance: Mapping[ColumnName, Tolerance] = Field(
        {}, description="Matching tolerance by own column; exact by default."
    )
    entity: ColumnName | Annotated[Mapping[ColumnName, ColumnName], MinLen(1)] | None = Field(
        None, description="Person key column if a person has several rows; or own column: its name there."
    )
    at_least: Annotated[int, Ge(1)] | None = Field(
        None, description="How many known rows of a person must match; by default all."
    )
    max_unique_fraction: Annotated[float, Ge(0), Le(1)] = Field(
        0.0, description="Maximum share that may match exactly one, 0 to 1."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        unknown = sorted(set(self.tolerance) - set(self._pairs))
        if unknown:
            raise ValueError(f"'tolerance' is for columns in 'on'; not there: {', '.join(unknown)}")
        if self.at_least is not None and self.entity is None:
            raise ValueError("'at_least' counts the known rows of a person: it needs 'entity'")
        if isinstance(self.entity, Mapping) and len(self.entity) > 1:
            raise ValueError("'entity' is one column, or one own column and its name in the auxiliary table")
        return self

    @property
    def _pairs(self) -> Mapping[str, str]:
        return self.on if isinstance(self.on, Mapping) else {name: name for name in self.on}

    @property
    def refers_to(self) -> tuple[str, ...]:
        """Return the auxiliary table."""
        return (self.auxiliary,)

    def wants(self, context: Context) -> Wants:
        """Count the rows, those that are complete, and by one join how many have one match, two, and so on."""
        auxiliary = Context(context.references[self.auxiliary], context.dialect, context.now)
        columns = [self._shared(context, auxiliary, names) for names in self._pairs.items()]
        own, other, people = context.filtered, auxiliary.table, {}
        if self.entity is not None:
            ((own_key, other_key),) = (
                {self.entity: self.entity} if isinstance(self.entity, str) else self.entity
            ).items()
            people = {"person": context.column(own_key), "target": self._auxiliary_column(auxiliary, other_key)}
        records = complete((own, other), columns, **people)
        links = linked_records(records) if self.entity is None else linked_persons(records, self.at_least)
        return Wants(
            {
                "rows": context.rows,
                "complete": context.count(_all_known([column.own.known for column in columns])),
                **_evidence("own", [column.own.evidence for column in columns]),
            },
            {"auxiliary": self._auxiliary(auxiliary, columns, people.get("target")), "links": links},
        )

    def follow_up(self, context: Context, measurement: Measurement) -> Wants | Measurement:
        """Request, where nothing matches, of each shared column whether any of its values occurs on both sides."""
        if measurement.tables["links"] or f"{_SHARED}0" in measurement.tables:
            return measurement
        auxiliary = Context(context.references[self.auxiliary], context.dialect, context.now)
        columns = [self._shared(context, auxiliary, names) for names in self._pairs.items()]
        tables = (context.table, auxiliary.table)  # how values are written is no matter of the filter
        return Wants(
            queries={f"{_SHARED}{at}": shared_values(complete(tables, [column])) for at, column in enumerate(columns)}
        )

    def _shared(self, context: Context, auxiliary: Context, names: tuple[str, str]) -> SharedColumn:
        context.column(names[0])
        self._auxiliary_column(auxiliary, names[1])
        return shared_column(context, auxiliary, names, self.tolerance.get(names[0]))

    def _auxiliary_column(self, context: Context, name: str) -> ir.Column:
        try:
            return context.column(name)
        except Misconfigured as error:
            raise Misconfigured(f"{self.auxiliary}: {error}") from None

    def _auxiliary(self, context: Context, columns: Sequence[SharedColumn], target: ir.Column | None) -> ir.Table:
        counts = {
            "rows": context.rows,
            "complete": context.count(_all_known([column.other.known for column in columns])),
        }
        persons = {} if target is None else {"persons": target.nunique()}
        return context.table.aggregate(
            **counts, **persons, **_evidence("other", [column.other.evidence for column in columns])
        )

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when more than the share allowed has one and only one match."""
        auxiliary = measurement.tables["auxiliary"][0]
        for at, names in enumerate(self._pairs.items()):
            problem = unreadable(
                _with_prefix(measurement.values, f"own{at}_"), _with_prefix(auxiliary, f"other{at}_"), names
            )
            if problem is not None:
                return problem
        rows, complete_rows = measurement.number("rows"), measurement.number("complete")
        observed: dict[str, Json] = {"rows": rows, "null_rows": rows - complete_rows}
        observed |= {"auxiliary_rows": int(auxiliary["rows"] or 0)}
        total = rows if self.entity is None else int(auxiliary["persons"] or 0)
        if not int(auxiliary["complete"] or 0) or not total:
            return unknown(UnknownReason.NO_DATA, _NOBODY.given(table=self.auxiliary), observed)
        apart = [
            name
            for at, name in enumerate(self._pairs)
            if f"{_SHARED}{at}" in measurement.tables and not measurement.tables[f"{_SHARED}{at}"][0]["shared"]
        ]
        if apart:
            message = _APART.given(columns=apart, table=self.auxiliary)
            return unknown(UnknownReason.MISCONFIGURED, message, {**observed, "not_compared": apart})
        counts = [tuple(int(row[key]) for key in _COUNTS) for row in measurement.tables["links"]]
        result = Linkage.of(((item[0], item[1], item[2]) for item in counts), rows=total)
        observed |= _observe(result) | ({} if self.entity is None else {"auxiliary_persons": total})
        expected: dict[str, Json] = {"max_unique_fraction": self.max_unique_fraction}
        share = result.uniquely_matched / total
        values = {"unique": result.uniquely_matched, "asked": total, "table": self.auxiliary, "share": share}
        status = Status.PASS if share <= self.max_unique_fraction else Status.FAIL
        return Outcome(status, self._message_of(values), observed, expected)

    def _message_of(self, values: Mapping[str, Any]) -> Message:
        return replace(_ROWS if self.entity is None else _PERSONS, values=values)


_SHARED: Final = "shared "
_COUNTS: Final = ("candidates", "found", "both_ways")


def _all_known(conditions: Sequence[ir.BooleanValue]) -> ir.BooleanValue:
    first, *rest = conditions
    for item in rest:
        first &= item
    return first


def _evidence(side: str, results: Sequence[Mapping[str, ir.Value]]) -> dict[str, ir.Value]:
    return {f"{side}{at}_{name}": value for at, counts in enumerate(results) for name, value in counts.items()}


def _with_prefix(values: Mapping[str, Any], prefix: str) -> Mapping[str, Any]:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def _observe(linkage: Linkage) -> dict[str, Json]:
    """Return the counts; candidates only as none, one, a few and many: how many exactly may tell more than it helps."""
    few = sum(count for number, count in linkage.candidates.items() if 1 < number < _MANY)
    many = sum(count for number, count in linkage.candidates.items() if number >= _MANY)
    return {
        "matched": linkage.matched,
        "uniquely_matched": linkage.uniquely_matched,
        "uniquely_matched_both_ways": linkage.uniquely_matched_both_ways,
        "fraction": linkage.fraction,
        "candidates": {"0": linkage.candidates.get(0, 0), "1": linkage.uniquely_matched, "2-4": few, "5+": many},
    }


_MANY: Final = 5

CHECK: Final[type[Check]] = LinkageCheck
