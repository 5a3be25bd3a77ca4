"""A key names one row."""

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
from checks._judge import any_null, counted, from_bad_rows, offending_keys, repeated_keys
from checks._outcome import Message
from checks.parameters.columns import ColumnNames
from sources.expressions import ir


class PrimaryKey(CheckParameters):
    """A key is there in every row and names one row only."""

    summary: ClassVar[str] = "Key values are not NULL and unique."
    main_number: ClassVar[MainNumber | None] = MainNumber("duplicate_keys")

    type: Literal["primary_key"] = "primary_key"
    columns: ColumnNames = Field(description="Key columns.")

    def wants(self, context: Context) -> Wants:
        """Count the rows, those without a complete key, and the complete keys that occur more than once."""
        incomplete = any_null(context, self.columns)
        aggregates = {
            "rows": context.rows,
            "null_keys": context.count(incomplete),
            **context.first_bad_load(incomplete),
        }
        duplicates = repeated_keys(context, self.columns, complete=True)
        return Wants(aggregates, {"duplicates": duplicates}, grouped_by=self.columns)

    def violations(self, context: Context) -> ir.Table:
        """Return the keys that occur more than once or are incomplete."""
        return offending_keys(context, self.columns, nulls_offend=True, nulls_equal=False)

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when a key is missing or occurs more than once."""
        result = counted(measurement)
        keys, copies, missing = result["duplicate_keys"], result["duplicate_rows"], measurement.number("null_keys")
        observed: dict[str, Json] = {
            "rows": measurement.number("rows"),
            "duplicate_keys": keys,
            "duplicate_rows": copies,
            "null_keys": missing,
        }
        expected: dict[str, Json] = {"duplicate_keys": 0, "null_keys": 0}
        if not keys and not missing:
            return Outcome(Status.PASS, Message("every row has a unique key"), observed, expected)
        message = _message_of(keys=keys, copies=copies, missing=missing)
        bad_since = from_bad_rows(measurement, result["first_bad_load"])
        return Outcome(Status.FAIL, message, observed, expected, occurrence=bad_since)


def _message_of(*, keys: int, copies: int, missing: int) -> Message:
    values = {"keys": keys, "rows": copies, "missing": missing}
    if not keys:
        name = "{missing:count} row has NULL in its key"
        return Message("{missing:count} rows have NULL in their key", values, one=name, counted="missing")
    if not missing:
        name = "{keys:count} duplicate key ({rows:count} rows)"
        return Message("{keys:count} duplicate keys ({rows:count} rows)", values, one=name, counted="keys")
    return Message(
        "{keys:count} duplicate keys ({rows:count} rows); rows with NULL in their key: {missing:count}",
        values,
        one="{keys:count} duplicate key ({rows:count} rows); rows with NULL in their key: {missing:count}",
        counted="keys",
    )


CHECK: Final[type[Check]] = PrimaryKey
