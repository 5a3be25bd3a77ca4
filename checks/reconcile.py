"""A total agrees with that of another table."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Final, Literal, Self

from annotated_types import Ge, MinLen
from pydantic import BaseModel, ConfigDict, Field, model_validator

from checks._aggregates import (
    Aggregate,
    aggregate,
    decimal,
    exact,
    impostors,
    needs_column,
    plain,
    say_aggregate,
    without_impostors,
)
from checks._columns import ColumnName
from checks._contract import (
    Check,
    CheckParameters,
    Context,
    Json,
    Measurement,
    Misconfigured,
    Outcome,
    Past,
    Status,
    UnknownReason,
    Wants,
    unknown,
)
from checks._message import Message

_FINE: Final = Message("{own} agrees with {other}")
_NO_VALUE: Final = Message("{what} has no finite value: every value is NULL, or one is NaN or infinite")
_DIFFERS: Final = Message("{own} is {value:number}, {other} is {baseline:number}")
# a smallest or largest value is a value of the table: it is judged, and neither said nor kept
_DIFFERS_VALUE: Final = Message("{own} differs from {other}")


class Against(BaseModel):
    """The other side: an aggregate of another table of the same source."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: Annotated[str, MinLen(1)] = Field(description="The other table.")
    column: ColumnName | None = Field(None, description="Its column; by default of the same name.")
    aggregate: Aggregate | None = Field(None, description="How it is summed up; by default in the same way.")


class Reconcile(CheckParameters):
    """An aggregate equals that of another table of the same source, within a tolerance."""

    summary: ClassVar[str] = "An aggregate equals that of another table, within a tolerance."
    limits: ClassVar[frozenset[str]] = frozenset({"tolerance", "relative_tolerance"})

    type: Literal["reconcile"] = "reconcile"
    aggregate: Aggregate = Field(description="How the table is summed up in one number.")
    column: ColumnName | None = Field(None, description="The column that is summed up; 'count' does without.")
    against: Against = Field(description="What the number is compared with.")
    tolerance: Annotated[float, Ge(0)] = Field(0.0, description="Largest difference allowed.")
    relative_tolerance: Annotated[float, Ge(0)] = Field(
        0.0, description="Largest difference allowed, as a share of the other number; the larger tolerance holds."
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
        """Name the other table."""
        return (self.against.table,)

    def wants(self, context: Context) -> Wants:
        """Ask for the aggregate here, and for the other one by a statement of its own."""
        other = context.references[self.against.table]
        there = Context(other, context.dialect, context.now)
        try:
            theirs = aggregate(there, self._other_aggregate, self._other_column)
        except Misconfigured as error:
            raise Misconfigured(f"{self.against.table}: {error}") from None
        ours = aggregate(context, self.aggregate, self.column)
        strange = impostors(there, self._other_aggregate, self._other_column)
        return Wants(
            {"rows": context.rows, "value": ours, **impostors(context, self.aggregate, self.column)},
            {"other": other.aggregate(value=theirs, **strange)},
        )

    def judge(self, measurement: Measurement, history: Sequence[Past]) -> Outcome:
        """Fail when the two numbers are further apart than allowed."""
        own = say_aggregate(self.aggregate, self.column)
        other = say_aggregate(self._other_aggregate, self._other_column, self.against.table)
        here, there = measurement.values, measurement.tables["other"][0]
        value, baseline = _total(self.aggregate, here["value"]), _total(self._other_aggregate, there["value"])
        observed: dict[str, Json] = {"value": plain(value), "baseline": plain(baseline)}
        if self._compares_values:  # neither: where they agree, one is the other
            observed = {"value": None, "baseline": None}
        expected: dict[str, Json] = {"tolerance": self.tolerance, "relative_tolerance": self.relative_tolerance}
        nonsense = without_impostors(here, own, observed) or without_impostors(there, other, observed)
        if nonsense is not None:
            return nonsense
        if value is None or baseline is None:
            message = _NO_VALUE.given(what=own if value is None else other)
            return unknown(UnknownReason.NO_DATA, message, observed)
        if abs(value - baseline) <= max(decimal(self.tolerance), decimal(self.relative_tolerance) * abs(baseline)):
            return Outcome(Status.PASS, _FINE.given(own=own, other=other), observed, expected)
        message = _DIFFERS.given(own=own, other=other, value=plain(value), baseline=plain(baseline))
        if self._compares_values:
            message = _DIFFERS_VALUE.given(own=own, other=other)
        return Outcome(Status.FAIL, message, observed, expected)


def _total(how: Aggregate, value: object) -> Fraction | None:
    """Give the number; the sum of nothing is 0 here, since a table without rows may well be the difference."""
    return Fraction(0) if value is None and how is Aggregate.SUM else exact(value)


CHECK: Final[type[Check]] = Reconcile
