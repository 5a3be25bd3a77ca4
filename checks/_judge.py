"""Judge measurements alike in every check: the empty table, limits, softer limits, shares of bad rows, since when."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from operator import or_
from typing import Annotated, Any, Final, Self, TypeAlias
from zoneinfo import ZoneInfo

from annotated_types import Ge, Le
from pydantic import Field, model_validator

from checks._contract import (
    Check,
    CheckParameters,
    Context,
    Json,
    Measurement,
    Occurrence,
    OccurrenceMethod,
    Outcome,
    PastMeasurement,
    Status,
    UnknownReason,
    unknown,
)
from checks._outcome import Message
from checks.parameters.columns import is_null, joined, without_null
from checks.parameters.numbers import decimal
from checks.parameters.rows import Sampling
from sources import MissingExtra
from sources.expressions import ir


class TakesSample(CheckParameters):
    """The parameters of a check that can be estimated from a sample of the rows."""

    sample: Sampling | None = Field(None, description="Estimate from a sample of the rows; by default all are counted.")

    @model_validator(mode="after")
    def _can_be_sampled(self) -> Self:
        if self.sample is None:
            return self
        if self.segments is not None or getattr(self, "learns", False):
            raise ValueError("'sample' goes without 'by' and learned limits, which need exact numbers")
        if self.on_empty != "unknown":
            raise ValueError("'sample' goes without 'on_empty': a sample without a row does not show an empty table")
        if not getattr(self, "max_ratio", 1):
            raise ValueError("'sample' needs a 'max_ratio' above 0: no sample shows that not one row is bad")
        return self


def from_bad_rows(measurement: Measurement, *more: object) -> Occurrence | None:
    """Return the earliest load time among the bad rows, if the table says when its rows arrive.

    `more` are load times beside the aggregate `first_bad_load`. A naive load time without a declared zone names no
    moment: None, and the last passing run then stands.
    """
    if measurement.loaded_at is None:
        return None
    zone = measurement.zones.of(measurement.loaded_at)
    moments = [as_utc(time, zone) for time in (measurement.values.get("first_bad_load"), *more)]
    current_moments = [moment for moment in moments if moment is not None]
    return Occurrence(min(current_moments), OccurrenceMethod.BAD_ROWS) if current_moments else None


def as_utc(value: object, zone: str | None) -> datetime | None:
    """Return an aware time in UTC. `zone` is where a naive value was written; None refuses naive values.

    Takes datetimes, dates (their midnight) and ISO text, as drivers return them; anything else gives None.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - its zone follows
    if not isinstance(value, datetime):
        return None
    if value.tzinfo is None:
        if zone is None:
            return None
        value = value.replace(tzinfo=ZoneInfo(zone))
    try:
        return value.astimezone(UTC)
    except OverflowError:  # a sentinel such as 0001-01-01 or 9999-12-31 in a zone east or west of UTC
        return None


def judge(check: Check, measurement: Measurement, history: Sequence[PastMeasurement] = ()) -> Outcome:
    """Return the outcome of a check: fail when its limits are broken, warn when only those of its `warn:` block are."""
    if check.sampling is not None:
        from checks.sampling import sampled_measurement  # only where rows are sampled

        sampled = sampled_measurement(check.sampling, measurement)
        if isinstance(sampled, Outcome):
            return sampled
        measurement = sampled
    if not check.judges_empty and "rows" in measurement.values and measurement.number("rows") == 0:
        return without_rows(check)
    try:
        outcome = check.judge(measurement, history)
    except MissingExtra as error:
        return unknown(UnknownReason.MISCONFIGURED, Message("{problem}", {"problem": str(error)}))
    if outcome.status is Status.PASS and measurement.values.get("compared") == 0:
        return without_rows(check, _ALL_NULL, outcome.observed)
    return _softened(check, outcome, measurement, history)


def _softened(check: Check, outcome: Outcome, measurement: Measurement, history: Sequence[PastMeasurement]) -> Outcome:
    """Return the outcome with the limits of the `warn:` block; of a pooled check also while its own are not known."""
    softer = check.softened()
    waits = outcome.reason is UnknownReason.NO_DATA and check.is_pooled
    if (outcome.status is not Status.PASS and not waits) or softer is None:
        return outcome
    soft = softer.judge(measurement, history)
    if soft.status is Status.FAIL:
        return replace(soft, status=Status.WARN, occurrence=None)
    return soft if waits else outcome  # what is within the narrower limit is within the other, too


_NO_ROWS: Final = Message("no rows to evaluate")
_ALL_NULL: Final = Message("no values to evaluate: every row has NULL")


def without_rows(check: Check, message: Message = _NO_ROWS, observed: Mapping[str, Json] | None = None) -> Outcome:
    """Return the outcome of a check that has no row, or no value, to look at, as its `on_empty` says."""
    observed = {"rows": 0} if observed is None else observed
    if check.on_empty == "unknown":
        return unknown(UnknownReason.NO_DATA, message, observed)
    return Outcome(Status.PASS if check.on_empty == "pass" else Status.FAIL, message, observed)


def count_compared(context: Context, columns: Iterable[str]) -> Mapping[str, ir.IntegerScalar]:
    """Count the rows without NULL in some columns, as `compared`: where there are none, a check does not pass."""
    return {"compared": context.count(~any_null(context, columns))}


Share: TypeAlias = Annotated[float, Ge(0), Le(1), Field(description="Maximum share of failing rows, 0 to 1.")]

_FINE: Final = Message("no row violates the rule")
_UNCERTAIN: Final = Message(
    "{found:count} values cannot be compared exactly with the limit: SQLite stores them as REAL with 15 digits",
    one="{found:count} value cannot be compared exactly with the limit: SQLite stores it as REAL with 15 digits",
    counted="found",
)


def judge_violations(
    measurement: Measurement,
    say: Message,
    *,
    max_ratio: float,
    bad: int | None = None,
    counted_as: str = "violations",
    since: object = None,
) -> Outcome:
    """Fail when more than a share of the rows is bad; unknown when undecidable values would decide it.

    `say` is the sentence for failing; it gets the values `rows`, `bad` and `ratio` beside its own. `bad`: the number of
    bad rows, by default what was measured as `violations`. `counted_as` is the key of that number in `observed`.
    `since` is a load time of a bad row that did not come as `first_bad_load`.
    """
    if measurement.sample is not None:
        return estimate(measurement, [(say.values["column"], counted_as)], decimal(max_ratio))
    rows, bad = measurement.number("rows"), measurement.number("violations") if bad is None else bad
    ratio, allowed = Fraction(bad, rows or 1), decimal(max_ratio)
    observed: Mapping[str, Json] = {"rows": rows, counted_as: bad}
    expected: Mapping[str, Json] = {"max_ratio": max_ratio}
    uncertain = measurement.number("uncertain") if "uncertain" in measurement.values else 0
    if ratio <= allowed < Fraction(bad + uncertain, rows or 1):
        return unknown(UnknownReason.MISCONFIGURED, _UNCERTAIN.given(found=uncertain), observed)
    if ratio <= allowed:
        return Outcome(Status.PASS, _FINE, observed, expected)
    message = replace(say, values={**say.values, "rows": rows, "bad": bad, "ratio": float(ratio)})
    return Outcome(Status.FAIL, message, observed, expected, occurrence=from_bad_rows(measurement, since))


def estimate(measurement: Measurement, columns: Iterable[tuple[str, str]], most: Fraction) -> Outcome:
    """Judge shares of a sample that have one upper limit: of each its name, and the aggregate that counts its rows."""
    from checks.sampling import RowShare, judge_shares

    shares = [RowShare(what, name, most=most, uncertain="uncertain") for what, name in columns]
    return judge_shares(measurement, shares)


def any_null(context: Context, columns: Iterable[str]) -> ir.BooleanColumn:
    """Return the predicate "some column of the key is NULL"."""
    return joined(or_, [is_null(context.column(name), context.dialect) for name in columns])


def repeated_keys(context: Context, columns: Iterable[str], *, complete: bool) -> ir.Table:
    """Count the keys that occur more than once and the rows they cover: one row.

    `complete` leaves out keys with a NULL in them; else NULL is a value like any other. Columns of the answer:
    `duplicate_keys`, `duplicate_rows` (NULL if there are none) and, for a table with `loaded_at`, `first_bad_load`: for
    each repeated key the latest load time (the data went bad when the repeated row arrived), of those the earliest.
    """
    rows = context.filtered
    keys = {f"key{number}": rows[context.column(name).get_name()] for number, name in enumerate(columns)}
    loads = {} if context.loaded_at is None else {"loaded": rows[context.column(context.loaded_at).get_name()]}
    narrow = rows.select(**keys, **loads)
    if complete:
        narrow = without_null(narrow, keys, context.dialect)
    latest = {"loaded": narrow["loaded"].max()} if loads else {}
    groups = narrow.group_by(list(keys)).aggregate(copies=narrow.count(), **latest)
    repeated = groups.filter(groups["copies"] > 1)
    first = {"first_bad_load": context.readable(repeated["loaded"].min())} if loads else {}
    return repeated.aggregate(duplicate_keys=repeated.count(), duplicate_rows=repeated["copies"].sum(), **first)


def offending_keys(context: Context, columns: Iterable[str], *, nulls_offend: bool, nulls_equal: bool) -> ir.Table:
    """Return the keys that occur more than once, and those with a NULL where that is wrong, with `copies`; most first.

    A column of the key that is itself named `copies` pushes the number to `copies_`.
    """
    names = list(columns)
    copies = free_name("copies", names)
    rows = context.filtered
    groups = rows.group_by([rows[name] for name in names]).aggregate(**{copies: rows.count()})
    incomplete = joined(or_, [is_null(groups[name], context.dialect) for name in names])
    repeated = groups[copies] > 1
    if not nulls_equal:
        repeated &= ~incomplete
    bad = repeated | incomplete if nulls_offend else repeated
    return groups.filter(bad).order_by(groups[copies].desc(), *names)


def free_name(word: str, names: Collection[str]) -> str:
    """Return a word, with as many `_` behind it as make it none of some names."""
    return next(word + "_" * more for more in range(len(names) + 1) if word + "_" * more not in names)


def counted(measurement: Measurement, query: str = "duplicates") -> Mapping[str, Any]:
    """Return the one row of `repeated_keys`, with 0 where there are none."""
    row = measurement.tables[query][0]
    whole = {name: int(row[name] or 0) for name in ("duplicate_keys", "duplicate_rows")}
    return {**whole, "first_bad_load": row.get("first_bad_load")}


_NOT_FOUND: Final = "not-found"
_GONE: Final = Message("the table is not found; it was there at {at:time}")


def not_found(message: Message) -> Outcome:
    """Return the outcome of each check of a table that its source does not have."""
    return unknown(UnknownReason.MISCONFIGURED, message, {"table": _NOT_FOUND})


def timed_out(query_timeout: timedelta) -> Outcome:
    """Return the outcome of a check whose statement went on after its limit and could not be stopped."""
    text = (
        "no answer within {deadline:duration}, and the statement could not be stopped; see query_timeout of the source"
    )
    return unknown(UnknownReason.TIMEOUT, Message(text, {"deadline": query_timeout.total_seconds()}))


def judge_absence(check: Check, outcome: Outcome, since: datetime) -> Outcome:
    """Return a fail for a table that a run at that time found and this one did not, if the check is about that.

    Any other outcome is returned as it is.
    """
    if outcome.observed.get("table") != _NOT_FOUND or not check.judges_absence:
        return outcome
    return Outcome(Status.FAIL, _GONE.given(at=since), outcome.observed)
