"""New rows keep arriving."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import ClassVar, Final, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, model_validator

from checks._contract import (
    Check,
    Context,
    Earlier,
    Json,
    MainNumber,
    Measurement,
    Misconfigured,
    Occurrence,
    OccurrenceMethod,
    Outcome,
    PastMeasurement,
    Status,
    UnknownReason,
    Wants,
    unknown,
)
from checks._instants import (
    Calendar,
    Epoch,
    EpochColumn,
    TimeColumn,
    epoch_column,
    moment_of,
    moment_since_1970,
    reading_of,
    zoned_column,
)
from checks._learned import LearnsLimits, number_in
from checks._outcome import Message
from checks.classes.few_people import least_group, people_counts
from checks.parameters.columns import ColumnName
from checks.parameters.scalars import Clock, Duration, PositiveDuration, Weekdays, Zone

_FRESH_ENOUGH: Final = Message("the newest row is {age:duration} old")
_TOO_OLD: Final = Message("the newest row is {age:duration} old, limit {limit:duration}")
_NOTHING_NEW: Final = Message("no new row for {age:duration} of expected time, limit {limit:duration}")
_NOT_BY: Final = Message("the newest row was {age:duration} old when it was due at {due:time}, limit {limit:duration}")
_UNUSUALLY_OLD: Final = Message("the newest row is {age:duration} old, learned limit {limit:duration}")
_RARELY_OLD: Final = Message(
    "the newest row is {age:duration} old, usual is {usual:duration}: as in one run of {odds:number}"
)
_OF_WRITES: Final = {
    _UNUSUALLY_OLD.text: Message("the table was last written {age:duration} ago, learned limit {limit:duration}"),
    _RARELY_OLD.text: Message(
        "the table was last written {age:duration} ago, usual is {usual:duration}: as in one run of {odds:number}"
    ),
    _FRESH_ENOUGH.text: Message("the table was last written {age:duration} ago"),
    _TOO_OLD.text: Message("the table was last written {age:duration} ago, limit {limit:duration}"),
    _NOTHING_NEW.text: Message("the table was not written for {age:duration} of expected time, limit {limit:duration}"),
    _NOT_BY.text: Message(
        "the table was last written {age:duration} before it was due at {due:time}, limit {limit:duration}"
    ),
}
"""What is said of the time of the last write, by what is said of the newest row."""
_NEVER: Final = Message("the catalogue does not know when the table was last written; engines forget it at a restart")
_NOT_SEEN_YET: Final = Message("no write was seen yet: the catalogue counts writes and keeps no time of them")
_COUNTS_WRITES: Final = "postgres"
_COUNTED_SPAN: Final = timedelta(weeks=5)
_EMPTY: Final = Message("the catalogue says no newest value of {column}: there is no row, or none with a time")
_IN_FUTURE: Final = Message("the newest value of {column} lies in the future, so the newest row before is not known")
_FRESH_OF_FEW: Final = Message(
    "the newest row is recent enough; its time is of fewer than {k:count} people and not shown"
)
_OLD_OF_FEW: Final = Message("the newest row is too old; its time is of fewer than {k:count} people and not shown")
_KEPT_OF_WRITES: Final = ("age_s", "expected_age_s", "learned")
_LEAST_SPREAD: Final = 60.0
"""Seconds: ages that differ by less than minutes are taken for equal."""


class Expected(BaseModel):
    """When rows are expected to arrive; at other times the data does not grow old."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    days: Weekdays = Weekdays.parse("mon-sun")
    holidays: tuple[date, ...] = Field((), description="Days without expected rows.")
    start: Clock | None = Field(None, description="Start time; midnight by default.")
    end: Clock | None = Field(None, description="End time; on the next day if it is not after the start.")
    by: Clock | None = Field(None, description="Time of these days at which the age is judged; by default always.")
    timezone: Zone | None = Field(None, description="Time zone of these days and times.")


class Freshness(LearnsLimits):
    """The newest row is not older than a length of time, counted while rows are expected."""

    summary: ClassVar[str] = "The newest row is recent enough; only time in which rows are expected counts."
    main_number: ClassVar[MainNumber | None] = MainNumber("expected_age_s", unit="s", high="max_age", again="number")
    warn_limits: ClassVar[frozenset[str]] = frozenset({"max_age", "limits", "deviation"})
    judged_only: ClassVar[frozenset[str]] = frozenset({"max_age"})
    pools: ClassVar[bool] = True

    type: Literal["freshness"] = "freshness"
    column: ColumnName | None = Field(None, description="Column with the event or load time of a row.")
    epoch: Epoch | None = Field(None, description="Unit of a column of whole numbers since 1970 (UTC).")
    time: Literal["scan", "catalogue", "last_write"] = Field(
        "scan",
        description="Judged time: of the newest row, by a scan or by statistics of files, or of the last write, "
        "which is not the time of the newest row.",
    )
    max_age: PositiveDuration | None = Field(None, description="Maximum age of the newest row.")
    skew: Duration = Field(
        timedelta(minutes=5), description="Tolerated clock skew into the future; later rows are ignored."
    )
    timezone: Zone | None = Field(None, description="Time zone of naive values; overrides the table's.")
    expected: Expected | None = Field(None, description="When rows are expected; by default always.")

    @model_validator(mode="after")
    def _has_a_limit(self) -> Self:
        if self.max_age is None and not self.learns:
            raise ValueError("at least one of 'max_age', 'limits' and 'deviation'")
        if (self.column is None) != (self.time == "last_write"):
            raise ValueError(f"'time: {self.time}' {'needs' if self.column is None else 'goes without'} a 'column'")
        if self.time != "scan" and self.epoch is not None:
            raise ValueError(f"'time: {self.time}' reads no numbers since 1970; remove 'time' or 'epoch'")
        if self.time != "scan" and (self.where or self.by):
            raise ValueError(f"'time: {self.time}' is of whole tables: without 'where' and 'by'; remove 'time'")
        return self

    @property
    def value_column(self) -> str | None:
        """Return the column whose newest time is shown."""
        return self.column if self.time == "scan" else None

    def wants(self, context: Context) -> Wants:
        """Find the newest row that is not in the future, and count those that are."""
        if self.column is None:
            earlier = Earlier(span=_COUNTED_SPAN) if context.dialect == _COUNTS_WRITES else None
            return Wants(last_write=True, earlier=self.learned_from(earlier))
        if self.epoch is not None:
            return self._wants_of(context, epoch_column(context, self.column, self.epoch))
        if (kind := context.column(self.column).type()).is_integer():
            expected = "expected a time, ISO 8601 text, or 'epoch: seconds' or 'epoch: milliseconds' for a number"
            raise Misconfigured(f"column '{self.column}' is of type {kind}; {expected}")
        times = zoned_column(context, self.column, self.timezone)
        if self.time == "catalogue":
            if not context.column(self.column).type().is_temporal():
                raise Misconfigured(f"'time: catalogue' needs times in '{self.column}', not texts; remove 'time'")
            return Wants(newest=self.column, earlier=self.learned_from())
        return self._wants_of(context, times)

    def _wants_of(self, context: Context, times: TimeColumn | EpochColumn) -> Wants:
        aggregates = {"rows": context.rows, **times.evidence}
        for clock in times.clocks:
            future = times.value > times.now(clock, self.skew)
            past = times.value <= times.now(clock, self.skew)
            looked_at = past if context.where is None else past & context.where
            aggregates[f"newest_{clock.reading}"] = context.readable(times.value.max(where=looked_at))
            aggregates[f"future_{clock.reading}"] = context.count(future)
        if context.people is not None and context.people.protects(self.value_column):
            aggregates |= people_counts(context, context.where)
        return Wants(aggregates, earlier=self.learned_from())

    def stands_still(self, measurement: Measurement) -> bool:
        """Check whether no row lies in the future: the newest one is the same then at any later time."""
        return not any(value for name, value in measurement.values.items() if name.startswith("future_"))

    def judge(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Fail when the newest row is older than allowed, or when all there are lie in the future."""
        if self.column is None:
            return self._judge_write(measurement, history)
        if self.time == "catalogue":
            return self._judge_catalogue(measurement, history, self.column)
        outcome = self._judge_rows(measurement, history, self.column)
        return _of_few(outcome, measurement.k) if least_group(measurement) < measurement.k else outcome

    def _judge_rows(self, measurement: Measurement, history: Sequence[PastMeasurement], column: str) -> Outcome:
        reading = reading_of(measurement, column, "newest")
        if isinstance(reading, Outcome):
            return reading
        zone = "UTC" if reading == "utc" else self.timezone or measurement.zones.of(column) or "UTC"
        future = measurement.number(f"future_{reading}")
        value = measurement.values[f"newest_{reading}"]
        if value is None:
            message = Message(
                "all {future:count} rows have future timestamps",
                {"future": future},
                one="the only row has a future timestamp",
                counted="future",
            )
            return Outcome(Status.FAIL, message, _observe(None, future), self._expects)
        latest = measurement.measured_at + self.skew
        newest = moment_of(value, zone, not_after=latest) if self.epoch is None else moment_since_1970(value)
        if newest is None:
            text = "the newest value of {column} is not a valid timestamp"
            return unknown(UnknownReason.MISCONFIGURED, Message(text, {"column": column}), _observe(None, future))
        return self._judge_age(newest, measurement, history, future)

    def _judge_catalogue(self, measurement: Measurement, history: Sequence[PastMeasurement], column: str) -> Outcome:
        zone = self.timezone or measurement.zones.of(column) or "UTC"
        latest = measurement.measured_at + self.skew
        newest = moment_of(measurement.values["newest"], zone, not_after=latest)
        if newest is None:
            return unknown(UnknownReason.NO_DATA, _EMPTY.given(column=column), _observe(None, 0))
        if newest > latest:
            return unknown(UnknownReason.NO_DATA, _IN_FUTURE.given(column=column), _observe(None, 0))
        return self._judge_age(newest, measurement, history, 0)

    def _judge_write(self, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
        """Judge the age of the last write as that of a newest row, and call it what it is."""
        written, writes = measurement.values["written"], measurement.values.get("writes")
        counted: dict[str, Json] = {} if writes is None else {"writes": writes}
        if written is None and writes is not None:
            written = _counted_write(writes, measurement.measured_at, history)
        if written is None:
            message = _NEVER if writes is None else _NOT_SEEN_YET
            return unknown(UnknownReason.NO_DATA, message, {"written": None, **counted})
        outcome = self._judge_age(written, measurement, history, 0)
        kept = {name: outcome.observed[name] for name in _KEPT_OF_WRITES if name in outcome.observed}
        text = _OF_WRITES.get(outcome.message.text)
        message = outcome.message if text is None else replace(text, values=outcome.message.values)
        return replace(outcome, message=message, observed={"written": written.isoformat(), **counted, **kept})

    def _judge_age(
        self, newest: datetime, measurement: Measurement, history: Sequence[PastMeasurement], future: int
    ) -> Outcome:
        now = measurement.measured_at
        calendar = self._calendar(measurement.zones.calendar)
        times = self._times(calendar)
        due = now if times is None else times.last_opening(now) or newest
        age = calendar.elapsed(newest, due)
        observed = _observe(newest, future, age=now - newest, expected_age=age)
        limit, text, missing = self.max_age, self._too_old, None
        rare: dict[str, Json] = {}
        if self.learns and (limit is None or age <= limit):
            verdict = self.learn(
                measurement, history, value=age.total_seconds(), read=_age_in, above_only=True, floor=_LEAST_SPREAD
            )
            observed["learned"], missing = verdict.observed or None, verdict.missing
            if verdict.side:
                limit, text = timedelta(seconds=verdict.bound), _RARELY_OLD if self.is_pooled else _UNUSUALLY_OLD
                rare = {"usual": round(verdict.usual), "odds": verdict.observed.get("odds")}
        if limit is not None and age > limit:
            deadline = _deadline(newest, limit, calendar, times)
            message = text.given(age=age.total_seconds(), due=due, limit=limit.total_seconds(), future=future, **rare)
            occurrence = Occurrence(deadline, OccurrenceMethod.FRESHNESS_DEADLINE)
            return Outcome(Status.FAIL, message, observed, self._expects, occurrence=occurrence)
        if missing is not None:
            return replace(missing, observed=observed)
        shown = age if times is None else max(now - newest, timedelta())
        message = _FRESH_ENOUGH.given(age=shown.total_seconds(), future=future)
        return Outcome(Status.PASS, message, observed, self._expects)

    @property
    def _too_old(self) -> Message:
        if self.expected is None:
            return _TOO_OLD
        return _NOTHING_NEW if self.expected.by is None else _NOT_BY

    @property
    def _expects(self) -> dict[str, Json]:
        return {} if self.max_age is None else {"max_age_s": self.max_age.total_seconds()}

    def next_due(self, observed: Mapping[str, Json], zone: str) -> datetime | None:
        """Return when a newer row or write is due at the latest; None where a learned limit alone decides."""
        newest, calendar = observed.get("newest") or observed.get("written"), self._calendar(zone)
        if self.max_age is None or not isinstance(newest, str):
            return None
        try:
            return _deadline(datetime.fromisoformat(newest), self.max_age, calendar, self._times(calendar))
        except OverflowError:  # beyond the last day of the calendar
            return None

    def _calendar(self, of_project: str) -> Calendar:
        when = self.expected or Expected()
        zone = ZoneInfo(when.timezone or self.timezone or of_project)
        midnight = datetime.min.time()
        return Calendar(zone, when.days, frozenset(when.holidays), when.start or midnight, when.end or midnight)

    def _times(self, calendar: Calendar) -> Calendar | None:
        """Return the times of day at which the age is judged; None where it always is."""
        by = None if self.expected is None else self.expected.by
        return None if by is None else replace(calendar, start=by, end=by)


def _counted_write(writes: int, now: datetime, history: Sequence[PastMeasurement]) -> datetime | None:
    """Return the first run that saw the last write, by how many there were at each; None before one was seen.

    A number that fell began again, and says of no time before it.
    """
    pasts = [past for past in history if isinstance(past.observed.get("writes"), int)]
    if not pasts or pasts[-1].observed["writes"] > writes:
        return None
    if pasts[-1].observed["writes"] < writes:
        return now
    written = pasts[-1].observed.get("written")
    return datetime.fromisoformat(written) if isinstance(written, str) else None


def _age_in(past: PastMeasurement) -> float | None:
    return number_in(past, "expected_age_s")


def _of_few(outcome: Outcome, k: int) -> Outcome:
    """Return an outcome without the times of fewer people than `k`, also without when the data went bad."""
    message = {Status.FAIL: _OLD_OF_FEW.given(k=k), Status.PASS: _FRESH_OF_FEW.given(k=k)}
    observed = {**outcome.observed, **dict.fromkeys(("newest", "age_s", "expected_age_s"))}
    return replace(outcome, message=message.get(outcome.status, outcome.message), observed=observed, occurrence=None)


def _observe(
    newest: datetime | None, future: int, *, age: timedelta | None = None, expected_age: timedelta | None = None
) -> dict[str, Json]:
    """Return what was seen; ages are in whole seconds and never negative."""
    return {
        "newest": None if newest is None else newest.isoformat(),
        "age_s": None if age is None else max(0, round(age.total_seconds())),
        "expected_age_s": None if expected_age is None else round(expected_age.total_seconds()),
        "future_rows": future,
    }


def _deadline(newest: datetime, limit: timedelta, calendar: Calendar, times: Calendar | None) -> datetime:
    """Return the first moment at which a newest row is judged too old."""
    missed_at = calendar.after(newest, limit)
    return missed_at if times is None else times.next_opening(missed_at)


CHECK: Final[type[Check]] = Freshness
