"""No text is longer than a number of characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from pydantic import Field

from checks._contract import Check, Context, MainNumber, Measurement, Misconfigured, Outcome, PastMeasurement, Wants
from checks._judge import Share, TakesSample, count_compared, judge_violations
from checks._outcome import Message
from checks.parameters.columns import ColumnName, type_name
from sources.expressions import ir


class Skeleton(TakesSample):
    """No text of a column is longer than a number of characters; NULL is allowed."""

    summary: ClassVar[str] = "No text is longer than a number of characters; NULL is allowed."
    main_number: ClassVar[MainNumber | None] = MainNumber("violations", again="share")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"max_ratio"})

    type: Literal["skeleton"] = "skeleton"
    column: ColumnName = Field(description="Column to check.")
    most: int = Field(ge=0, description="Maximum number of characters.")
    max_ratio: Share = 0.0

    def wants(self, context: Context) -> Wants:
        """Count the rows, and those whose text is too long."""
        kind = context.column(self.column).type()
        if not kind.is_string():
            raise Misconfigured(f"column '{self.column}' is of type {type_name(kind)}; this check needs a text column")
        too_long: ir.BooleanValue = context.column(self.column).length() > self.most
        counts = {"violations": context.count(too_long), **count_compared(context, [self.column])}
        return Wants({"rows": context.rows, **counts, **context.first_bad_load(too_long)})

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when more rows than allowed have a text that is too long."""
        text = "{column}: {bad:count} of {rows:count} rows have a text that is too long ({ratio:ratio})"
        return judge_violations(measurement, Message(text, {"column": self.column}), max_ratio=self.max_ratio)


CHECK: Final[type[Check]] = Skeleton
