"""Values lie between two limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import partial, reduce
from operator import ge, gt, le, lt, or_
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from checks._aggregates import holds_no_number
from checks._contract import Check, Context, MainNumber, Measurement, Misconfigured, Outcome, PastMeasurement, Wants
from checks._instants import TimeColumn, ZonedReading, placed, reading_of, time_column
from checks._judge import Share, TakesSample, count_compared, estimate, judge_violations
from checks._literals import Comparison, compared, uncertain
from checks._outcome import Message
from checks._segments import TakesSegments
from checks.parameters.columns import ColumnName, fit, is_nan, number_types
from checks.parameters.numbers import Limit, decimal, in_order, is_time
from sources.expressions import ibis, ir


class Range(TakesSample, TakesSegments):
    """Values lie between two limits, which are numbers, dates or times; NULL is allowed."""

    summary: ClassVar[str] = "Values are between two limits; NULL is allowed."
    judges_values: ClassVar[bool] = True
    main_number: ClassVar[MainNumber | None] = MainNumber("violations", again="share")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"max_ratio"})

    type: Literal["range"] = "range"
    column: ColumnName = Field(description="Column to check.")
    min: Limit | None = Field(None, description="Minimum.")
    max: Limit | None = Field(None, description="Maximum.")
    exclusive_min: bool = Field(default=False, description="Whether the minimum itself is excluded.")
    exclusive_max: bool = Field(default=False, description="Whether the maximum itself is excluded.")
    max_ratio: Share = 0.0

    @model_validator(mode="after")
    def _has_limits(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("at least one of 'min' and 'max'")
        in_order(self.min, self.max)
        return self

    def wants(self, context: Context) -> Wants:
        """Count the rows, and those whose value lies outside."""
        if is_time(self.min) or is_time(self.max):
            return Wants({"rows": context.rows, **count_compared(context, [self.column]), **self._times(context)})
        numbers = self._numbers(context)
        outside, nan = self._bad_numbers(context), is_nan(numbers, context.dialect)
        unsure = uncertain(numbers, [self.min, self.max], context.dialect)
        more = {"nan": nan, "uncertain": unsure}
        return Wants(
            {
                "rows": context.rows,
                "violations": context.count(outside),
                **{name: context.count(condition) for name, condition in more.items() if condition is not None},
                **count_compared(context, [self.column]),
                **context.first_bad_load(outside),
            }
        )

    def violations(self, context: Context) -> ir.Table:
        """Return the rows whose value lies outside; a text is read with an offset where it has one."""
        if not (is_time(self.min) or is_time(self.max)):
            return context.rows_of(self._bad_numbers(context))
        times, parts = time_column(context, self.column), []
        for clock, outside in self._bad_times(context, times):
            offset = times.moment.offset if times.moment.aware is None else None
            parts.append(outside if offset is None else outside & (offset if clock.reading == "utc" else ~offset))
        return context.rows_of(reduce(or_, parts))

    def _numbers(self, context: Context) -> ir.NumericColumn:
        return fit(context, self.column, number_types(), text="a numeric range needs a numeric column")

    def _bad_numbers(self, context: Context) -> ir.BooleanValue:
        numbers = self._numbers(context)
        outside = self._outside(partial(compared, numbers, dialect=context.dialect), self.min, self.max)
        if context.dialect == "sqlite":  # where a text may stand in for a number, and is larger than all of them
            outside |= holds_no_number(numbers)
        nan = is_nan(numbers, context.dialect)
        return outside if nan is None else outside | nan

    def _times(self, context: Context) -> Mapping[str, ir.Value]:
        is_text = context.dialect == "sqlite" or not context.column(self.column).type().is_temporal()
        if self.sample is not None and is_text:
            raise Misconfigured(
                f"'sample' needs times in '{self.column}', not texts: one that is none may not be drawn"
            )
        times = time_column(context, self.column)
        aggregates = dict(times.evidence)
        for clock, outside in self._bad_times(context, times):
            counts = {"violations": context.count(outside), **context.first_bad_load(outside)}
            aggregates |= {f"{name}_{clock.reading}": value for name, value in counts.items()}
        return aggregates

    def _bad_times(self, context: Context, times: TimeColumn) -> Sequence[tuple[ZonedReading, ir.BooleanValue]]:
        """Return which values lie outside, by each clock that the limits can be read by."""
        zone, limits, results = context.zones.of(self.column), (self.min, self.max), []
        for clock in times.clocks:
            low, high = (placed(limit, clock, zone) if isinstance(limit, date) else None for limit in limits)
            if (low is None) == (self.min is None) and (high is None) == (self.max is None):
                results.append((clock, self._outside(partial(_compared, times.value), low, high)))
        if not results:
            raise Misconfigured(
                f"column '{self.column}' and its limits must both have a time zone or both have none; declare the "
                "column's time zone, or write the limits in the form of the column, with or without an offset"
            )
        return results

    def _outside(self, compare: Callable[[Any, Any], ir.BooleanValue], low: Any, high: Any) -> ir.BooleanValue:
        parts = []
        if low is not None:
            parts.append(compare(le if self.exclusive_min else lt, low))
        if high is not None:
            parts.append(compare(ge if self.exclusive_max else gt, high))
        return reduce(or_, parts)

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when more values than allowed lie outside."""
        name, since = "violations", None
        times = "filled" in measurement.values
        if times and (measurement.number("filled") or measurement.number("unparsed")):
            reading = reading_of(measurement, self.column, name)
            if isinstance(reading, Outcome):
                return reading
            name, since = f"{name}_{reading}", measurement.values.get(f"first_bad_load_{reading}")
        if measurement.sample is not None:
            return estimate(measurement, [(self.column, name)], decimal(self.max_ratio))
        nan = measurement.number("nan") if "nan" in measurement.values else 0
        text = "{column}: {bad:count} of {rows:count} rows are outside the range ({ratio:ratio})"
        if nan:
            text = (
                "{column}: {bad:count} of {rows:count} rows are outside the range ({ratio:ratio}), {nan:count} as NaN"
            )
        return judge_violations(
            measurement,
            Message(text, {"column": self.column, **({"nan": nan} if nan else {})}),
            max_ratio=self.max_ratio,
            bad=measurement.number(name) if name in measurement.values else 0,
            since=since,
        )


def _compared(values: ir.Column, comparison: Comparison, limit: datetime) -> ir.BooleanValue:
    return comparison(values, ibis.literal(limit))


CHECK: Final[type[Check]] = Range
