"""Another tool evaluates it, such as dbt; its results are imported, and no pass measures it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, ClassVar, Final, Literal

from annotated_types import MaxLen, MinLen
from pydantic import Field

from checks._contract import (
    Check,
    CheckParameters,
    Context,
    Json,
    Measurement,
    Occurrence,
    Outcome,
    PastMeasurement,
    Status,
    UnknownReason,
    Wants,
    unknown,
)
from checks._outcome import Message
from checks.parameters.columns import ColumnNames
from checks.parameters.scalars import PositiveDuration

_PASSED: Final = Message("{check}: passed, reported by {origin}")
_FAILED: Final = Message("{check}: failed, reported by {origin}")
_VIOLATIONS: Final = Message(
    "{check}: {violations:count} violations, reported by {origin}",
    one="{check}: one violation, reported by {origin}",
    counted="violations",
)
_STALE: Final = Message("{check}: the newest row is {age:duration} old, reported by {origin}")
_ERROR: Final = Message("{check}: {origin} could not evaluate it; see its log")
_SKIPPED: Final = Message("{check}: {origin} skipped it")
_MISSING: Final = Message("{check}: the last run of {origin} has no result of it")
_PART: Final = Message("{check}: {origin} read no rows, or a part of them ({option})")
_UNDECLARED: Final = Message("{check}: {origin} ran with other options ({option}) than its source declares")
_UNLIKE: Final = Message(
    "{check}: {origin} ran with other options ({option}) than in the run that opened incident {incident}"
)


class External(CheckParameters):
    """A check that another tool evaluates. Its results arrive by `tablewatch import`, or over HTTP."""

    summary: ClassVar[str] = "Another tool evaluates it, such as dbt; its results are imported."
    judges_values: ClassVar[bool] = True
    takes_where: ClassVar[bool] = False
    takes_on_empty: ClassVar[bool] = False
    judges_empty: ClassVar[bool] = True

    type: Literal["external"] = "external"
    origin: Literal["dbt", "contract", "other"] = Field(description="Kind of tool that evaluates it.")
    reference: Annotated[str, MinLen(1), MaxLen(500)] | None = Field(
        None, description="Name of the check in the other tool; by default the id."
    )
    columns: ColumnNames | None = Field(None, description="Columns that it is about, where that is known.")
    every: PositiveDuration = Field(
        timedelta(days=1), description="Longest time between two results; later, the check counts as not run."
    )

    @property
    def key(self) -> str:
        """Return the name of the check in the other tool."""
        return self.reference or self.name

    @property
    def results_every(self) -> timedelta | None:
        """Return the longest time between two results of the other tool."""
        return self.every

    def wants(self, context: Context) -> Wants:
        """Request nothing: no pass evaluates it."""
        del context
        return Wants()

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Return that there is no result: what the other tool evaluated, it judged itself."""
        del measurement, history
        return self.missing()

    def outcome(self, status: Status, numbers: "ExternalNumbers | None" = None) -> Outcome:
        """Return what a result of the other tool means; unknown if it could not evaluate the check."""
        if status is Status.UNKNOWN:
            return unknown(UnknownReason.MISCONFIGURED, self._about(_ERROR))
        numbers = numbers or ExternalNumbers()
        message = self._about(_PASSED)
        if status is not Status.PASS:
            message = self._about(_FAILED)
            if numbers.age is not None:
                message = self._about(_STALE, age=numbers.age.total_seconds())
            elif numbers.violations:
                message = self._about(_VIOLATIONS, violations=numbers.violations)
        return Outcome(status, message, numbers.observed, occurrence=numbers.occurrence)

    def skipped(self) -> Outcome:
        """Return that the other tool left the check out of its run."""
        return unknown(UnknownReason.NO_DATA, self._about(_SKIPPED))

    def missing(self) -> Outcome:
        """Return that a run which was to evaluate every check has no result of this one."""
        return unknown(UnknownReason.NO_DATA, self._about(_MISSING))

    def of_part(self, option: str) -> Outcome:
        """Return that the other tool did not read all rows, by an option of its run."""
        return unknown(UnknownReason.NO_DATA, self._about(_PART, option=option))

    def under_other_options(self, options: str, incident: int | None) -> Outcome:
        """Return that the run is not comparable: with what is declared, or with the run that opened an incident."""
        if incident is None:
            return unknown(UnknownReason.NO_DATA, self._about(_UNDECLARED, option=options))
        return unknown(UnknownReason.NO_DATA, self._about(_UNLIKE, option=options, incident=incident))

    def _about(self, message: Message, **values: float | str) -> Message:
        return message.given(check=self.name, origin=self.origin, **values)


@dataclass(frozen=True, slots=True)
class ExternalNumbers:
    """What the other tool says beside its verdict.

    `violations`: how many rows break the check. `age`: of the newest row, for freshness. `occurrence`: when the data
    went bad, where the tool's own numbers show it. Each is None where the tool does not say.
    """

    violations: int | None = None
    age: timedelta | None = None
    occurrence: Occurrence | None = None

    @property
    def observed(self) -> Mapping[str, Json]:
        """Return the numbers as they are stored: a count of rows, an age in whole seconds."""
        age_s = None if self.age is None else max(0, round(self.age.total_seconds()))
        return {
            name: number
            for name, number in {"violations": self.violations, "age_s": age_s}.items()
            if number is not None
        }


CHECK: Final[type[Check]] = External
