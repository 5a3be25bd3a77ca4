"""A column holds only values from a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal

from annotated_types import MinLen
from pydantic import Field

from checks._contract import Check, Context, MainNumber, Measurement, Outcome, PastMeasurement, Wants
from checks._judge import Share, TakesSample, count_compared, judge_violations
from checks._literals import Scalar, comparable, literals_for, uncertain
from checks._outcome import Message
from checks.parameters.columns import ColumnName, is_null
from sources.expressions import ir


class AcceptedValues(TakesSample):
    """Values of a column are in a list; NULL is allowed by default."""

    summary: ClassVar[str] = "Values of a column are in a list; NULL is allowed by default."
    judges_values: ClassVar[bool] = True
    main_number: ClassVar[MainNumber | None] = MainNumber("violations", again="share")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"max_ratio"})

    type: Literal["accepted_values"] = "accepted_values"
    column: ColumnName = Field(description="Column to check.")
    values: Annotated[tuple[Scalar, ...], MinLen(1)] = Field(description="Accepted values.")
    allow_null: bool = Field(default=True, description="Whether NULL is accepted.")
    max_ratio: Share = 0.0

    def wants(self, context: Context) -> Wants:
        """Count the rows, and those that hold another value."""
        column, violation = context.column(self.column), self._violation(context)
        unsure = uncertain(column, self.values, context.dialect)
        return Wants(
            {
                "rows": context.rows,
                "violations": context.count(violation),
                **({} if unsure is None else {"uncertain": context.count(unsure)}),
                **count_compared(context, [self.column]),
                **context.first_bad_load(violation),
            }
        )

    def violations(self, context: Context) -> ir.Table:
        """Return the rows that hold another value."""
        return context.rows_of(self._violation(context))

    def _violation(self, context: Context) -> ir.BooleanValue:
        column = context.column(self.column)
        accepted = literals_for(self.values, column, self.column, context.dialect)
        violation = comparable(column).notin(accepted) if accepted else column.notnull()  # NULL is neither in nor out
        return violation if self.allow_null else violation | is_null(column, context.dialect)

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when more rows than allowed hold another value."""
        text = "{column}: {bad:count} of {rows:count} rows have a value that is not accepted ({ratio:ratio})"
        return judge_violations(measurement, Message(text, {"column": self.column}), max_ratio=self.max_ratio)


CHECK: Final[type[Check]] = AcceptedValues
