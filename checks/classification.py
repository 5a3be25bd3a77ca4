"""Every column is classified: none is released without a decision."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final, Literal

from pydantic import Field

from checks._contract import (
    Check,
    CheckParameters,
    ColumnClass,
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

_ALL: Final = Message("every column is classified")
_UNCLASSIFIED: Final = Message(
    "not classified: {columns}; classify each as direct-identifier, quasi-identifier, sensitive or other"
)
_GONE: Final = Message("classified, but not in the table: {columns}")


class Classification(CheckParameters):
    """Every column of the table is a direct identifier, a quasi-identifier, sensitive or other, and said to be so."""

    summary: ClassVar[str] = "Every column is classified."
    kind: ClassVar[Kind] = Kind.DISCLOSURE
    takes_where: ClassVar[bool] = False
    takes_on_empty: ClassVar[bool] = False
    judges_empty: ClassVar[bool] = True
    looks_again: ClassVar[bool] = True

    type: Literal["classification"] = "classification"
    columns: dict[str, ColumnClass] = Field({}, description="Column classification; by default the table's `columns`.")

    def wants(self, context: Context) -> Wants:
        """Request the names of the columns only."""
        if not self.columns and not context.classified:
            raise Misconfigured("no columns are classified; classify them with 'columns'")
        return Wants(schema=True)

    def follow_up(self, context: Context, measurement: Measurement) -> Measurement:
        """Add the classified columns to the measurement."""
        return replace(measurement, values={"classified": sorted(self.columns or context.classified)})

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when a column is not classified; a classified one that is not there is a warning."""
        classified = set(measurement.values["classified"])
        unclassified = [name for name in measurement.columns if name not in classified]
        missing = sorted(classified - set(measurement.columns))
        observed: dict[str, Json] = {"unclassified": unclassified, "gone": missing}
        expected: dict[str, Json] = {"unclassified": []}
        if unclassified:
            return Outcome(Status.FAIL, _UNCLASSIFIED.given(columns=unclassified), observed, expected)
        if missing:
            return Outcome(Status.WARN, _GONE.given(columns=missing), observed, expected)
        return Outcome(Status.PASS, _ALL, observed, expected)


CHECK: Final[type[Check]] = Classification
