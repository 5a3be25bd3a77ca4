"""A check: no text of a column is longer than a number of characters."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from tablewatch.plugins import (
    CheckParameters,
    ColumnName,
    Context,
    MainNumber,
    Measurement,
    Message,
    Misconfigured,
    Outcome,
    PastMeasurement,
    Wants,
    count_compared,
    judge_violations,
)


class TextLength(CheckParameters):
    """No text of a column is longer than a number of characters; NULL is allowed."""

    summary: ClassVar[str] = "No text is longer than a number of characters; NULL is allowed."
    main_number: ClassVar[MainNumber | None] = MainNumber("violations")

    type: Literal["text_length"] = "text_length"
    column: ColumnName = Field(description="Column to check.")
    most: int = Field(ge=0, description="Maximum number of characters.")

    def wants(self, context: Context) -> Wants:
        """Count the rows, and those whose text is too long, in the engine."""
        column = context.column(self.column)
        if not column.type().is_string():
            raise Misconfigured(f"column '{self.column}' holds no text, which this check needs")
        too_long = context.count(column.length() > self.most)
        return Wants({"rows": context.rows, "violations": too_long, **count_compared(context, [self.column])})

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when a text is too long."""
        text = "{column}: {bad:count} of {rows:count} rows have a text that is too long ({ratio:ratio})"
        return judge_violations(measurement, Message(text, {"column": self.column}), max_ratio=0.0)
