"""A number that sums the table up stays within limits, or near what it usually is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from annotated_types import Ge, Gt
from pydantic import Field, model_validator

from checks._aggregates import Aggregate, Total, aggregate, aggregate_name, infinity, needs_column, total
from checks._contract import (
    Check,
    Context,
    Earlier,
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
from checks._judge import TakesSample, without_rows
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
from checks._literals import Scalar, comparable, literals_for, uncertain
from checks._outcome import Message
from checks.classes.few_people import TOO_LARGE, TOO_SMALL, group_counts, is_of_few
from checks.parameters.columns import ColumnName
from checks.parameters.numbers import Number, decimal, display_number, in_order, plain
from checks.parameters.scalars import PositiveDuration, Zone
from sources.expressions import ibis

_FINE: Final = Message("{what} is as expected")
_TOO_SMALL: Final = Message("{what} is {value:number}, at least {limit:number} expected")
_TOO_LARGE: Final = Message("{what} is {value:number}, at most {limit:number} expected")
_AWAY: Final = Message("{what} is {value:number}, {away:ratio} off the usual {baseline:number} for this weekday")
_INFINITE: Final = Message("{what} is infinite; usual is {baseline:number} for this weekday")
_USUALLY_ZERO: Final = Message("{what} is not 0, the usual value for this weekday")
_BELOW: Final = Message("{what} is {value:number}, below the learned limit {limit:number}; usual is {usual:number}")
_ABOVE: Final = Message("{what} is {value:number}, above the learned limit {limit:number}; usual is {usual:number}")
# a smallest or largest value is a value of the table: it is judged, and neither said nor kept; infinity is no number
_TOO_SMALL_VALUE: Final = Message("{what} is smaller than {limit:number}")
_TOO_LARGE_VALUE: Final = Message("{what} is larger than {limit:number}")
_SAMPLE_OF_FEW: Final = Message("a sample of fewer than {k:count} people is not judged")


class Metric(TakesSample, LearnsLimits):
    """An aggregate stays within limits, or near its median on the same weekday of the weeks before."""

    summary: ClassVar[str] = "An aggregate stays within limits, or near its usual value for the weekday."
    judges_values: ClassVar[bool] = True
    main_number: ClassVar[MainNumber | None] = MainNumber("value", low="min", high="max", again="number")
    warn_limits: ClassVar[frozenset[str]] = frozenset(
        {"min", "max", "tolerance", "max_deviation", "limits", "deviation"}
    )

    type: Literal["metric"] = "metric"
    aggregate: Aggregate | Literal["share"] = Field(description="Aggregate function.")
    column: ColumnName | None = Field(None, description="Column to aggregate; not used by 'count'.")
    value: Scalar | None = Field(None, description="With 'share': the value whose share of rows is measured.")
    min: Number | None = Field(None, description="Minimum.")
    max: Number | None = Field(None, description="Maximum.")
    tolerance: Annotated[Number, Ge(0)] = Field(
        0, description="Tolerance beyond 'min' and 'max': floating-point sums are inexact."
    )
    max_deviation: Annotated[float, Gt(0)] | None = Field(
        None, description="Maximum deviation from the median of the same weekday, as a share of that median."
    )
    compare: Literal["same_weekday"] = Field("same_weekday", description="Baseline of the deviation.")
    weeks: Weeks = 4
    time_column: ColumnName | None = Field(None, description="With 'window': column with the event time of a row.")
    window: PositiveDuration | None = Field(None, description="Aggregate only rows of this most recent period.")
    timezone: Zone | None = Field(None, description="Time zone of naive event times; overrides the table's.")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.aggregate == "share":
            if self.column is None or self.value is None:
                raise ValueError("'share' needs a 'column' and a 'value'")
        elif self.value is not None:
            raise ValueError("'value' goes with 'share' only")
        else:
            needs_column(self.aggregate, self.column)
        if self.min is None and self.max is None and self.max_deviation is None and not self.learns:
            raise ValueError("at least one of 'min', 'max', 'max_deviation', 'limits' and 'deviation'")
        if (self.time_column is None) != (self.window is None):
            raise ValueError("'time_column' and 'window' go together")
        if self._is_value and (self.max_deviation is not None or self.learns):
            word = "max_deviation" if self.max_deviation is not None else "deviation" if self.deviation else "limits"
            raise ValueError(
                f"'{word}' compares with earlier results, but '{self.aggregate}' is a value of the table, "
                "which is never stored; use 'min' and 'max'"
            )
        if self.sample is not None and (self.aggregate != "share" or self.window or self.max_deviation):
            raise ValueError(
                "'sample' is of 'share' with 'min' or 'max' only: other numbers have no interval that holds"
            )
        in_order(self.min, self.max)
        return self

    def wants(self, context: Context) -> Wants:
        """Request the aggregate, and for what it was on this weekday."""
        softer = self.softened()
        compares = self.max_deviation is not None or (softer is not None and softer.max_deviation is not None)
        earlier = self.learned_from(same_weekday(self.weeks) if compares else None)
        if self._is_of_people(context) and self.sample is None:
            earlier = replace(earlier or Earlier(), last_shown=True)
        if self.time_column is None or self.window is None:
            return Wants({"rows": context.rows, **self._aggregates(context)}, earlier=earlier)
        times = zoned_column(context, self.time_column, self.timezone)
        aggregates = {"rows": context.rows, **times.evidence}
        for clock in times.clocks:
            recent = (times.value > times.now(clock, -self.window)) & (times.value <= times.now(clock))
            within = replace(context, where=recent if context.where is None else context.where & recent)
            requested = {"in_window": within.rows, **self._aggregates(within)}
            aggregates |= {f"{name}_{clock.reading}": value for name, value in requested.items()}
        return Wants(aggregates, earlier=earlier)

    def _in_window(self, measurement: Measurement) -> Measurement | Outcome:
        """Return the measurement with the rows of the window for all rows."""
        if self.time_column is None:
            return measurement
        reading = reading_of(measurement, self.time_column, "in_window")
        if isinstance(reading, Outcome):
            return reading
        suffix = f"_{reading}"
        values = {name.removesuffix(suffix): n for name, n in measurement.values.items() if name.endswith(suffix)}
        return replace(measurement, values={**values, "rows": values["in_window"]})

    @property
    def value_column(self) -> str | None:
        """Return the column that is aggregated; none where the number is a value of the table, which is not shown."""
        return None if self._is_value else self.column

    def _is_of_people(self, context: Context) -> bool:
        return context.people is not None and context.people.protects(self.value_column)

    def _aggregates(self, context: Context) -> dict[str, Any]:
        groups: dict[str, Any] = {}
        if self._is_of_people(context) and self.column is not None:
            filled = self.aggregate in {Aggregate.SUM, Aggregate.MEAN, Aggregate.STDDEV}
            groups = dict(group_counts(context, self.column, filled=filled))
        if self.aggregate != "share":
            return groups | aggregate(context, self.aggregate, self.column)
        assert self.column is not None and self.value is not None  # noqa: S101, PT018 - validated above, for mypy
        column = context.column(self.column)
        literals = literals_for([self.value], column, self.column, context.dialect)
        # `isin`, since Ibis lets a column of a type that it does not know stand beside no `==`
        matching = comparable(column).isin(literals) if literals else ibis.literal(value=False)
        unsure = uncertain(column, [self.value], context.dialect)
        return (
            groups
            | {"matching": context.count(matching)}
            | ({} if unsure is None else {"imprecise": context.count(unsure)})
        )

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when the aggregate is beyond a limit, or too far from its usual value."""
        return self._judge(measurement, history) if measurement.sample is None else self._estimate(measurement)

    def _judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        baseline = median_of(history, "value")
        observed: dict[str, Json] = {"value": None, "baseline": plain(baseline)}
        windowed = self._in_window(measurement)
        value = windowed if isinstance(windowed, Outcome) else self._value(windowed, observed)
        if isinstance(value, Outcome):
            sign = 0 if isinstance(windowed, Outcome) else infinity(windowed.values)
            problem = self._infinite(sign, None if measurement.k else baseline)
            return value if problem is None else Outcome(Status.FAIL, problem, observed, self._expects)
        k = 0
        if isinstance(windowed, Measurement) and windowed.k and is_of_few(windowed, history, observed, k=windowed.k):
            k = windowed.k
        observed["value"] = None if self._is_value or k else plain(value.number)
        problem = self._beyond(value, k) or self._away(value, baseline, k)
        verdict = None
        if self.learns:
            number = float(value.number)
            verdict = self.learn(measurement, history, value=number, read=lambda past: number_in(past, "value"))
            observed["learned"] = verdict.observed or None
            problem = problem or self._beyond_learned(value, verdict, k)
        if problem is not None:
            return Outcome(Status.FAIL, problem, observed, self._expects)
        if isinstance(windowed, Measurement) and self.window is not None and not windowed.number("rows"):
            return replace(without_rows(self), observed=observed)
        if self.max_deviation is not None and baseline is None:
            return unknown(UnknownReason.NO_DATA, NOTHING_YET.given(weeks=self.weeks), observed)
        if verdict is not None and verdict.missing is not None:
            return replace(verdict.missing, observed=observed)
        return Outcome(Status.PASS, _FINE.given(what=self._what), observed, self._expects)

    def _estimate(self, measurement: Measurement) -> Outcome:
        """Judge the share in a sample."""
        from checks.sampling import RowShare, judge_shares

        if measurement.number("rows") < measurement.k:
            return unknown(UnknownReason.NO_DATA, _SAMPLE_OF_FEW.given(k=measurement.k))
        tolerance = decimal(self.tolerance)
        least = None if self.min is None else decimal(self.min) - tolerance
        most = None if self.max is None else decimal(self.max) + tolerance
        return judge_shares(measurement, [RowShare(self._what, "matching", least, most, "imprecise")])

    @property
    def _what(self) -> str:
        return aggregate_name(self.aggregate, self.column)

    @property
    def _expects(self) -> dict[str, Json]:
        limits = {"min": self.min, "max": self.max, "tolerance": self.tolerance or None}
        return {
            name: plain(limit)
            for name, limit in {**limits, "max_deviation": self.max_deviation}.items()
            if limit is not None
        }

    def _value(self, measurement: Measurement, observed: dict[str, Json]) -> Total | Outcome:
        if self.aggregate != "share":
            return total(measurement.values, self.aggregate, self._what, observed)
        rows, matching = measurement.number("rows"), measurement.number("matching")
        share = {**measurement.values, "value": matching, "count": rows}
        return total(share, self.aggregate, self._what, observed)

    def _beyond(self, value: Total, k: int) -> Message | None:
        """Return which limit is broken; with `k` above 0 the value is of fewer people and not shown."""
        number, tolerance = value.number, decimal(self.tolerance)
        if self.min is not None and number < decimal(self.min) - tolerance:
            limit, text, without_value = self.min, _TOO_SMALL, _TOO_SMALL_VALUE
        elif self.max is not None and number > decimal(self.max) + tolerance:
            limit, text, without_value = self.max, _TOO_LARGE, _TOO_LARGE_VALUE
        else:
            return None
        if k:
            return _without_value(self._what, -1 if text is _TOO_SMALL else 1, display_number(limit), k)
        if self._is_value:
            return without_value.given(what=self._what, limit=display_number(limit))
        return text.given(
            what=self._what, value=display_number(number, limit, rounded=value.rounded), limit=display_number(limit)
        )

    def _infinite(self, sign: int, baseline: Fraction | None) -> Message | None:
        """Return which limit an infinite aggregate is beyond; it is kept as no value."""
        if sign > 0 and self.max is not None:
            return _TOO_LARGE_VALUE.given(what=self._what, limit=display_number(self.max))
        if sign < 0 and self.min is not None:
            return _TOO_SMALL_VALUE.given(what=self._what, limit=display_number(self.min))
        if sign and self.max_deviation is not None and baseline is not None:
            return _INFINITE.given(what=self._what, baseline=display_number(baseline))
        return None

    def _away(self, value: Total, baseline: Fraction | None, k: int) -> Message | None:
        if self.max_deviation is None or baseline is None:
            return None
        distance = abs(value.number - baseline)
        if distance <= decimal(self.max_deviation) * abs(baseline):
            return None
        if not baseline:
            return _USUALLY_ZERO.given(what=self._what)
        if k:
            side = 1 if value.number > baseline else -1
            limit = baseline + side * decimal(self.max_deviation) * abs(baseline)
            return _without_value(self._what, side, rounded(float(limit)), k)
        text = display_number(value.number, baseline, rounded=value.rounded)
        usual = display_number(baseline, value.number, rounded=value.rounded)
        return _AWAY.given(what=self._what, value=text, away=float(distance / abs(baseline)), baseline=usual)

    def _beyond_learned(self, value: Total, verdict: LearnedVerdict, k: int) -> Message | None:
        if not verdict.side:
            return None
        limit, usual = rounded(verdict.bound), rounded(verdict.usual)
        if k:
            return _without_value(self._what, verdict.side, limit, k)
        text = display_number(value.number, decimal(limit), rounded=value.rounded)
        return (_BELOW if verdict.side < 0 else _ABOVE).given(what=self._what, value=text, limit=limit, usual=usual)

    @property
    def _is_value(self) -> bool:
        return isinstance(self.aggregate, Aggregate) and self.aggregate.is_value


def _without_value(what: str, side: int, limit: object, k: int) -> Message:
    return (TOO_SMALL if side < 0 else TOO_LARGE).given(what=what, limit=limit, k=k)


CHECK: Final[type[Check]] = Metric
