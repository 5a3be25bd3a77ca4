"""No value occurs twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from pydantic import Field

from checks._contract import (
    Check,
    CheckParameters,
    Context,
    Json,
    MainNumber,
    Measurement,
    Outcome,
    PastMeasurement,
    Status,
    Wants,
)
from checks._judge import any_null, count_compared, counted, from_bad_rows, offending_keys, repeated_keys
from checks._outcome import Message
from checks.parameters.columns import ColumnNames
from sources.expressions import ir


class Unique(CheckParameters):
    """Combinations of values are unique; NULL is allowed."""

    summary: ClassVar[str] = "Combinations of values are unique; NULL is allowed."
    main_number: ClassVar[MainNumber | None] = MainNumber("duplicate_keys")

    type: Literal["unique"] = "unique"
    columns: ColumnNames = Field(description="Columns whose combined values are unique.")
    nulls: Literal["distinct", "equal"] = Field(
        "distinct", description="Whether NULLs are distinct, as in standard SQL, or equal."
    )

    def wants(self, context: Context) -> Wants:
        """Count the rows, those with a NULL, and the combinations that occur more than once."""
        nulls = context.count(any_null(context, self.columns))
        table = repeated_keys(context, self.columns, complete=self.nulls == "distinct")
        compared = count_compared(context, self.columns) if self.nulls == "distinct" else {}
        counts = {"rows": context.rows, "null_keys": nulls, **compared}
        return Wants(counts, {"duplicates": table}, grouped_by=self.columns)

    def violations(self, context: Context) -> ir.Table:
        """Return the combinations that occur more than once."""
        return offending_keys(context, self.columns, nulls_offend=False, nulls_equal=self.nulls == "equal")

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when a combination occurs more than once."""
        result = counted(measurement)
        keys, copies = result["duplicate_keys"], result["duplicate_rows"]
        observed: dict[str, Json] = {
            "rows": measurement.number("rows"),
            "duplicate_keys": keys,
            "duplicate_rows": copies,
            "null_keys": measurement.number("null_keys"),
        }
        expected: dict[str, Json] = {"duplicate_keys": 0}
        if not keys:
            return Outcome(Status.PASS, Message("no duplicates"), observed, expected)
        name = "{keys:count} duplicate key ({rows:count} rows)"
        many = "{keys:count} duplicate keys ({rows:count} rows)"
        message = Message(many, {"keys": keys, "rows": copies}, one=name, counted="keys")
        bad_since = from_bad_rows(measurement, result["first_bad_load"])
        return Outcome(Status.FAIL, message, observed, expected, occurrence=bad_since)


CHECK: Final[type[Check]] = Unique
