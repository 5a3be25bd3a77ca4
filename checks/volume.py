"""There are as many rows as there should be."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, ClassVar, Final, Literal, Self

from annotated_types import Ge
from pydantic import Field, model_validator

from checks._contract import (
    Check,
    Context,
    Json,
    MainNumber,
    Measurement,
    Outcome,
    PastMeasurement,
    Status,
    UnknownReason,
    Wants,
    unknown,
)
from checks._instants import reading_of, zoned_column
from checks._judge import without_rows
from checks._learned import (
    NOTHING_YET,
    LearnedVerdict,
    LearnsLimits,
    Weeks,
    median_of,
    number_in,
    rounded,
    same_weekday,
)
from checks._outcome import Message
from checks.parameters.columns import ColumnName
from checks.parameters.numbers import Count, decimal, in_order, plain
from checks.parameters.scalars import PositiveDuration, Zone

_FINE: Final = Message("{rows:count} rows", one="{rows:count} row", counted="rows")
_TOO_FEW: Final = Message(
    "{rows:count} rows, at least {limit:count} expected",
    one="{rows:count} row, at least {limit:count} expected",
    counted="rows",
)
_TOO_MANY: Final = Message(
    "{rows:count} rows, at most {limit:count} expected",
    one="{rows:count} row, at most {limit:count} expected",
    counted="rows",
)
_SHRUNK: Final = Message(
    "{rows:count} rows, less than {limit:ratio} of the usual {baseline:number} for this weekday",
    one="{rows:count} row, less than {limit:ratio} of the usual {baseline:number} for this weekday",
    counted="rows",
)
_GROWN: Final = Message(
    "{rows:count} rows, more than {limit:ratio} of the usual {baseline:number} for this weekday",
    one="{rows:count} row, more than {limit:ratio} of the usual {baseline:number} for this weekday",
    counted="rows",
)
_UNUSUALLY_FEW: Final = Message(
    "{rows:count} rows, below the learned limit {limit:number}; usual is {usual:number}",
    one="{rows:count} row, below the learned limit {limit:number}; usual is {usual:number}",
    counted="rows",
)
_UNUSUALLY_MANY: Final = Message(
    "{rows:count} rows, above the learned limit {limit:number}; usual is {usual:number}",
    one="{rows:count} row, above the learned limit {limit:number}; usual is {usual:number}",
    counted="rows",
)
_RARE: Final = Message(
    "{rows:count} rows, usual is {usual:number}: as far from it as one run in {odds:number}",
    one="{rows:count} row, usual is {usual:number}: as far from it as one run in {odds:number}",
    counted="rows",
)

_UNSURE: Final = Message("about {rows:count} rows, give or take {error:count}: too near to a limit to tell; count them")


class Volume(LearnsLimits):
    """The number of rows, of all or of a recent window, stays within limits or near what it usually is."""

    summary: ClassVar[str] = "The number of rows is within limits, or near the usual number for the weekday."
    main_number: ClassVar[MainNumber | None] = MainNumber("rows", low="min", high="max", again="number")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"min", "max", "min_ratio", "max_ratio", "limits", "deviation"})
    judged_only: ClassVar[frozenset[str]] = frozenset({"min", "max"})
    judges_empty: ClassVar[bool] = True
    judges_absence: ClassVar[bool] = True
    pools: ClassVar[bool] = True

    type: Literal["volume"] = "volume"
    min: Count | None = Field(None, description="Minimum number of rows.")
    max: Count | None = Field(None, description="Maximum number of rows.")
    min_ratio: Annotated[float, Ge(0)] | None = Field(
        None, description="Minimum number of rows, as a share of the usual number."
    )
    max_ratio: Annotated[float, Ge(0)] | None = Field(
        None, description="Maximum number of rows, as a share of the usual number."
    )
    compare: Literal["same_weekday"] = Field("same_weekday", description="Baseline of the usual number.")
    weeks: Weeks = 4
    column: ColumnName | None = Field(None, description="With 'window': column with the event time of a row.")
    window: PositiveDuration | None = Field(None, description="Count only rows of this most recent period.")
    timezone: Zone | None = Field(None, description="Time zone of naive values; overrides the table's.")
    count: Literal["scan", "catalogue"] = Field(
        "scan", description="How rows are counted; the catalogue of PostgreSQL or MySQL says about how many there are."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if all(limit is None for limit in (self.min, self.max, self.min_ratio, self.max_ratio)) and not self.learns:
            raise ValueError("at least one of 'min', 'max', 'min_ratio', 'max_ratio', 'limits' and 'deviation'")
        if (self.column is None) != (self.window is None):
            raise ValueError("'column' and 'window' go together")
        if self.count == "catalogue" and (self.where or self.window or self.by):
            raise ValueError("'count: catalogue' is of whole tables: without 'where', 'window' and 'by'")
        in_order(self.min, self.max)
        if self.min_ratio is not None and self.max_ratio is not None and self.min_ratio > self.max_ratio:
            raise ValueError("'min_ratio' is larger than 'max_ratio'")
        return self

    def wants(self, context: Context) -> Wants:
        """Count the rows, or those of the window, and ask how many there were on this weekday."""
        softer = self.softened()
        compares = self.compares or (softer is not None and softer.compares)
        earlier = self.learned_from(same_weekday(self.weeks) if compares else None)
        if self.count == "catalogue":
            return Wants(estimate=True, earlier=earlier)
        aggregates = {"rows": context.rows}
        if self.column is not None and self.window is not None:
            times = zoned_column(context, self.column, self.timezone)
            aggregates |= times.evidence
            for clock in times.clocks:
                recent = (times.value > times.now(clock, -self.window)) & (times.value <= times.now(clock))
                aggregates[f"recent_{clock.reading}"] = context.count(recent)
        return Wants(aggregates, earlier=earlier)

    @property
    def compares(self) -> bool:
        """Check whether the usual number matters."""
        return self.min_ratio is not None or self.max_ratio is not None

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when there are too few or too many rows.

        No rows at all break a limit that asks for some; otherwise they are no answer.
        """
        rows = self._rows(measurement)
        if isinstance(rows, Outcome):
            return rows
        baseline = median_of(history, "rows")
        observed: dict[str, Json] = {"rows": rows, "baseline": plain(baseline)}
        problem = self._beyond(rows) or self._unusual(rows, baseline)
        if self.count == "catalogue" and self._may_differ(measurement, baseline, problem, observed):
            return unknown(UnknownReason.NO_DATA, _UNSURE.given(rows=rows, error=observed["error"]), observed)
        verdict = None
        if self.learns:
            verdict = self.learn(measurement, history, value=rows, read=lambda past: number_in(past, "rows"))
            observed["learned"] = verdict.observed or None
            problem = problem or _beyond_learned(rows, verdict, is_pooled=self.is_pooled)
        if problem is not None:
            return Outcome(Status.FAIL, problem, observed, self._expects)
        return self._without_problem(rows, baseline, verdict, observed)

    def _may_differ(
        self, measurement: Measurement, baseline: Fraction | None, problem: Message | None, observed: dict[str, Json]
    ) -> bool:
        """Check whether another number of rows within the error of an estimate would be judged otherwise."""
        rows, error, counted_at = (
            measurement.number("rows"),
            measurement.number("error"),
            measurement.values["counted_at"],
        )
        observed |= {"error": error, "counted_at": None if counted_at is None else counted_at.isoformat()}
        ends = [self._beyond(end) or self._unusual(end, baseline) for end in (max(0, rows - error), rows + error)]
        return any((end and end.text) != (problem and problem.text) for end in ends)

    def _without_problem(
        self, rows: int, baseline: Fraction | None, verdict: LearnedVerdict | None, observed: dict[str, Json]
    ) -> Outcome:
        if not rows:
            return replace(without_rows(self), observed=observed)
        if self.compares and baseline is None:
            return unknown(UnknownReason.NO_DATA, NOTHING_YET.given(weeks=self.weeks), observed)
        if verdict is not None and verdict.missing is not None:
            return replace(verdict.missing, observed=observed)
        return Outcome(Status.PASS, _FINE.given(rows=rows), observed, self._expects)

    @property
    def _expects(self) -> dict[str, Json]:
        limits = {"min": self.min, "max": self.max, "min_ratio": self.min_ratio, "max_ratio": self.max_ratio}
        return {name: plain(limit) for name, limit in limits.items() if limit is not None}

    def _rows(self, measurement: Measurement) -> int | Outcome:
        rows = measurement.number("rows")
        if self.column is None:
            return rows
        if not measurement.number("filled") and not measurement.number("unparsed"):
            return 0
        reading = reading_of(measurement, self.column, "recent")
        return reading if isinstance(reading, Outcome) else measurement.number(f"recent_{reading}")

    def _beyond(self, rows: int) -> Message | None:
        if self.min is not None and rows < self.min:
            return _TOO_FEW.given(rows=rows, limit=self.min)
        if self.max is not None and rows > self.max:
            return _TOO_MANY.given(rows=rows, limit=self.max)
        return None

    def _unusual(self, rows: int, baseline: Fraction | None) -> Message | None:
        if baseline is None:
            return None
        if self.min_ratio is not None and rows < decimal(self.min_ratio) * baseline:
            return _SHRUNK.given(rows=rows, limit=self.min_ratio, baseline=plain(baseline))
        if self.max_ratio is not None and rows > decimal(self.max_ratio) * baseline:
            return _GROWN.given(rows=rows, limit=self.max_ratio, baseline=plain(baseline))
        return None


def _beyond_learned(rows: int, verdict: LearnedVerdict, *, is_pooled: bool) -> Message | None:
    if not verdict.side:
        return None
    if is_pooled:
        return _RARE.given(rows=rows, usual=rounded(verdict.usual), odds=verdict.observed["odds"])
    text = _UNUSUALLY_FEW if verdict.side < 0 else _UNUSUALLY_MANY
    return text.given(rows=rows, limit=rounded(verdict.bound), usual=rounded(verdict.usual))


CHECK: Final[type[Check]] = Volume
