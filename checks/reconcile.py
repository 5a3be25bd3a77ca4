"""A total agrees with that of another table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self

from annotated_types import Ge, MinLen
from pydantic import BaseModel, ConfigDict, Field, model_validator

from checks._aggregates import Aggregate, Total, aggregate, aggregate_name, needs_column, total
from checks._contract import (
    Check,
    CheckParameters,
    Context,
    Earlier,
    Json,
    MainNumber,
    Measurement,
    Misconfigured,
    Outcome,
    PastMeasurement,
    Status,
    Wants,
)
from checks._measurement import BESIDE
from checks._outcome import Message
from checks.classes.few_people import group_counts, is_of_few
from checks.parameters.columns import ColumnName
from checks.parameters.numbers import Number, decimal, display_number, plain

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from sources.table_diff import DiffSide

_FINE: Final = Message("{own} matches {other}")
_DIFFERS: Final = Message("{own} is {value:number}, {other} is {baseline:number}")
# a smallest or largest value is a value of the table: it is judged, and neither said nor kept
_DIFFERS_VALUE: Final = Message("{own} differs from {other}")


class Against(BaseModel):
    """The other side: an aggregate of another table, of the same source or another one."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    table: Annotated[str, MinLen(1)] = Field(
        description="Other table: its name in the configuration, `source.table`, or a table of the same source."
    )
    column: ColumnName | None = Field(None, description="Column of the other table; by default the same name.")
    aggregate: Aggregate | None = Field(None, description="Aggregate function of the other table; by default the same.")


class Reconcile(CheckParameters):
    """An aggregate equals that of another table, of the same source or another one, within a tolerance."""

    summary: ClassVar[str] = "An aggregate equals that of another table, within a tolerance."
    main_number: ClassVar[MainNumber | None] = MainNumber("value")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"tolerance", "relative_tolerance"})
    compares_sources: ClassVar[bool] = True

    type: Literal["reconcile"] = "reconcile"
    aggregate: Aggregate = Field(description="Aggregate function.")
    column: ColumnName | None = Field(None, description="Column to aggregate; not used by 'count'.")
    against: Against = Field(description="What the aggregate is compared with.")
    tolerance: Annotated[Number, Ge(0)] = Field(0, description="Maximum absolute difference.")
    relative_tolerance: Annotated[Number, Ge(0)] = Field(
        0, description="Maximum relative difference to the other value; the larger tolerance applies."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        needs_column(self.aggregate, self.column)
        needs_column(self._other_aggregate, self._other_column)
        return self

    @property
    def _other_aggregate(self) -> Aggregate:
        return self.against.aggregate or self.aggregate

    @property
    def _other_column(self) -> str | None:
        return self.against.column or self.column

    @property
    def _compares_values(self) -> bool:
        return self.aggregate.is_value or self._other_aggregate.is_value

    @property
    def refers_to(self) -> tuple[str, ...]:
        """Return the other table."""
        return (self.against.table,)

    @property
    def value_column(self) -> str | None:
        """Return the column that is aggregated; none where a number is a value of a table, which is not shown."""
        return None if self._compares_values else self.column

    def wants(self, context: Context) -> Wants:
        """Request the aggregate here, and for the other one by a statement of its own."""
        other = context.references.get(self.against.table)
        queries = {}
        if other is not None:
            queries[BESIDE] = self._other(Context(other, context.dialect, context.now))
        aggregates = aggregate(context, self.aggregate, self.column)
        earlier = None
        if context.people is not None and self.column is not None and context.people.protects(self.value_column):
            aggregates |= group_counts(context, self.column, filled=True)
            earlier = Earlier(last_shown=True)
        beside = self.against.table if other is None else None
        return Wants({"rows": context.rows, **aggregates}, queries, earlier=earlier, beside=beside)

    def beside(self, left: DiffSide, right: AbstractContextManager[DiffSide]) -> Sequence[Mapping[str, Any]]:
        """Return the aggregate of the table of another source."""
        del left
        with right as side:
            other = self._other(Context(side.table, side.dialect, side.now))
            return side.source.fetch(side.compile(other))

    def _other(self, context: Context) -> ir.Table:
        try:
            aggregates = aggregate(context, self._other_aggregate, self._other_column)
        except Misconfigured as error:
            raise Misconfigured(f"{self.against.table}: {error}") from None
        return context.table.aggregate(**aggregates)

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when the two numbers are further apart than allowed."""
        own = aggregate_name(self.aggregate, self.column)
        other = aggregate_name(self._other_aggregate, self._other_column, self.against.table)
        observed: dict[str, Json] = {"value": None, "baseline": None}
        expected: dict[str, Json] = {
            "tolerance": plain(self.tolerance),
            "relative_tolerance": plain(self.relative_tolerance),
        }
        value = _total(measurement.values, self.aggregate, own, observed)
        baseline = _total(measurement.tables[BESIDE][0], self._other_aggregate, other, observed)
        if isinstance(value, Outcome):
            return value
        if isinstance(baseline, Outcome):
            return baseline
        number, reference = value.number, baseline.number
        hides = bool(measurement.k) and is_of_few(measurement, history, observed, k=measurement.k)
        if not (self._compares_values or hides):  # else neither: where they agree, one is the other
            observed |= {"value": plain(number), "baseline": plain(reference)}
        if abs(number - reference) <= max(decimal(self.tolerance), decimal(self.relative_tolerance) * abs(reference)):
            return Outcome(Status.PASS, _FINE.given(own=own, other=other), observed, expected)
        if self._compares_values or hides:
            return Outcome(Status.FAIL, _DIFFERS_VALUE.given(own=own, other=other), observed, expected)
        text = display_number(number, reference, rounded=value.rounded)
        message = _DIFFERS.given(
            own=own, other=other, value=text, baseline=display_number(reference, number, rounded=baseline.rounded)
        )
        return Outcome(Status.FAIL, message, observed, expected)


def _total(values: Mapping[str, Any], how: Aggregate, what: str, observed: Mapping[str, Json]) -> Total | Outcome:
    """Return the number; the sum of nothing is 0 here, since a table without rows may well be the difference."""
    nothing = values["value"] is None and values.get("approximate") is None and how is Aggregate.SUM
    return total({**values, "value": 0} if nothing else values, how, what, observed)


CHECK: Final[type[Check]] = Reconcile
