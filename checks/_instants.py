"""Read local times and time columns as moments, and say why that cannot be done.

One rule for every local time that a configuration names (cron lines, the calendars of freshness, maintenance, prices):
one that clocks show twice means the first time, one that they skip means the moment of the change. Local times in data
have a rule of their own, `read_local_time`: data cannot be newer than the time at which they were read.

A column is read in one of two ways. In the reading `utc` its values are moments; a text in it carries an offset. In the
reading `wall` they are naive wall clocks of a declared zone. Where the type decides, one reading is asked for; where
only the rows can tell (text, and everything in SQLite), both are, and `reading_of` picks the one that fits all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import ClassVar, Final, Literal, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from checks._contract import Context, Measurement, Misconfigured, Outcome, UnknownReason, unknown
from checks._outcome import Message
from checks.parameters.scalars import Weekdays
from sources import NotTemporal
from sources.expressions import ir
from sources.moments import Moment, as_moment

_STEP = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)
_EDGES: Final = (date.min.year, date.max.year)


def moment_of_local_time(local: datetime, zone: ZoneInfo) -> datetime:
    """Return the first moment, in UTC, at which clocks show a naive local time, or of the change that skips it.

    It lies `within_calendar`.
    """
    moment = within_calendar(local.replace(tzinfo=zone))
    if moment.year in _EDGES or moment.astimezone(zone).replace(tzinfo=None) == local:
        return moment
    return first_change(local.replace(tzinfo=zone, fold=1).astimezone(UTC), moment, zone)


def within_calendar(moment: datetime, zone: tzinfo = UTC) -> datetime:
    """Return a moment in another zone; one before the year 1 or after 9999 there is the first or last that there is.

    People write such moments for "always" and "never": 9999-12-31 in New York is in the year 10000 in UTC.
    """
    try:
        return moment.astimezone(zone)
    except OverflowError:
        if moment.year == date.max.year:
            return datetime.max.replace(tzinfo=zone)
        return datetime.min.replace(tzinfo=zone)


def first_change(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """Return when clocks change between two moments that differ in their offset, in UTC; it is a whole second."""
    while after - before > _SECOND:
        middle = before + (after - before) / 2
        if _offset(middle.astimezone(zone)) == _offset(before.astimezone(zone)):
            before = middle
        else:
            after = middle
    return after.replace(microsecond=0)


def latest_local_time(moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the latest naive wall clock that a zone has shown up to a moment.

    That is the wall clock of the moment, except while an hour is shown again: then it is the last instant of that
    hour, which was shown before. No wall clock that was written by then lies beyond it.
    """
    local = moment.astimezone(zone)
    if not local.fold:
        return local.replace(tzinfo=None)
    repeated = _offset(local.replace(fold=0)) - _offset(local)
    first, last = timedelta(), repeated  # the clock went back at most `repeated` ago: find when, to the microsecond
    while last - first > _STEP:
        middle = (first + last) // 2
        if (moment - middle).astimezone(zone).fold:
            first = middle
        else:
            last = middle
    return (moment - last).astimezone(zone).replace(tzinfo=None)


def read_local_time(wall: datetime, zone: ZoneInfo, *, not_after: datetime) -> datetime:
    """Return the moment that a naive wall clock means, in UTC.

    One that a clock shows twice, or skips, has two readings: the latest that is not after `not_after` is taken, else
    the earlier one.

    Raises:
        OverflowError: the moment lies outside the years 1 to 9999 in UTC.
    """
    early, late = sorted(wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    return late if late <= not_after else early


def _offset(local: datetime) -> timedelta:
    return local.utcoffset() or timedelta()


_MIDNIGHT: Final = time()
_EVERY_DAY: Final = Weekdays.parse("mon-sun")
_FIRST_DAY: Final = date(1970, 1, 1).toordinal()
"""Nothing is expected before: a sentinel such as 0001-01-01 is older than any limit, and not counted by the day."""
_NONE: Final = timedelta()


@dataclass(frozen=True, slots=True)
class Calendar:
    """When something is expected, by the clocks of a zone.

    Each day of `days` that is no holiday opens a window at `start`, which closes at `end`: on the following day if
    `end` is not after `start`. From midnight to midnight is the whole day.
    """

    zone: ZoneInfo
    days: Weekdays = _EVERY_DAY
    holidays: frozenset[date] = frozenset()
    start: time = _MIDNIGHT
    end: time = _MIDNIGHT

    def elapsed(self, since: datetime, until: datetime) -> timedelta:
        """Return the expected time between two moments, zero if the second is not later. Takes time by the day."""
        since, until = since.astimezone(UTC), until.astimezone(UTC)  # in one zone Python would subtract wall clocks
        if self._is_always:
            return max(until - since, _NONE)
        overlaps = (min(close, until) - max(start, since) for start, close in self._windows(since, until))
        return sum((overlap for overlap in overlaps if overlap > _NONE), _NONE)

    def after(self, since: datetime, length: timedelta) -> datetime:
        """Return the first moment, in UTC, at which a length of expected time has elapsed since a moment.

        Raises:
            OverflowError: it lies beyond the year 9999.
        """
        since = since.astimezone(UTC)
        if self._is_always or length <= _NONE:
            return since + length
        left = length
        for start, close in self._windows(since, None):
            begin = max(start, since)
            if close - begin >= left:
                return begin + left
            left -= max(close - begin, _NONE)
        raise OverflowError("beyond the last day of the calendar")

    def last_opening(self, until: datetime) -> datetime | None:
        """Return when the last window up to a moment opens; None without one in the year before."""
        for days in (8, 366):
            openings = [start for start, _ in self._windows(until - timedelta(days=days), until) if start <= until]
            if openings:
                return openings[-1]
        return None

    def next_opening(self, since: datetime) -> datetime:
        """Return when the first window that opens at a moment or later does.

        Raises:
            OverflowError: it lies beyond the year 9999.
        """
        for start, _ in self._windows(since, None):
            if start >= since:
                return start
        raise OverflowError("beyond the last day of the calendar")

    @property
    def _is_always(self) -> bool:
        return self.days == _EVERY_DAY and not self.holidays and self.start == self.end

    def _windows(self, since: datetime, until: datetime | None) -> Iterator[tuple[datetime, datetime]]:
        """Yield the windows that may touch the time between two moments, in order. They never overlap."""
        first = max(within_calendar(since, self.zone).toordinal() - 1, _FIRST_DAY)
        last = date.max.toordinal() - 2 if until is None else until.astimezone(self.zone).toordinal()
        overnight = timedelta(days=0 if self.end > self.start else 1)
        for ordinal in range(first, last + 1):
            day = date.fromordinal(ordinal)
            if day.weekday() in self.days and day not in self.holidays:
                opened, closed = datetime.combine(day, self.start), datetime.combine(day + overnight, self.end)
                yield moment_of_local_time(opened, self.zone), moment_of_local_time(closed, self.zone)


Reading: TypeAlias = Literal["utc", "wall"]
Epoch: TypeAlias = Literal["seconds", "milliseconds"]

_UTC: Final = "UTC"
_READINGS: Final[Sequence[Reading]] = ("utc", "wall")


class ZonedReading(NamedTuple):
    """A reading of a column, and the zone of its clocks; None for a column whose values know their zone."""

    reading: Reading
    zone: str | None


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """A column of moments: its values, and the clocks by which they may be read."""

    context: Context
    moment: Moment
    clocks: Sequence[ZonedReading]

    @property
    def value(self) -> ir.TimestampValue:
        """Return the values: they compare rightly with `now` of the clock by which they are read."""
        return self.moment.value

    def now(self, clock: ZonedReading, shift: timedelta = timedelta()) -> ir.TimestampValue:
        """Return the time of the measurement plus a shift, by a clock that has a zone or needs none."""
        return self.context.now(shift, clock.zone)

    @property
    def evidence(self) -> Mapping[str, ir.Value]:
        """Count what `reading_of` has to know."""
        filled = self.context.count(self.moment.value.notnull())
        counts = {"filled": filled, "unparsed": self.context.count(self.moment.unparsed)}
        if self.moment.aware is not None or self.moment.offset is None:
            return counts
        return {**counts, "with_offset": self.context.count(self.moment.offset)}


def time_column(context: Context, name: str, timezone: str | None = None) -> TimeColumn:
    """Return a column of moments. `timezone` is the zone of its wall clocks, before the one declared for the table.

    A wall clock of no zone is among its clocks, with `zone` None, if that is all that is known.

    Raises:
        Misconfigured: there is no such column, or it is neither a time nor text.
    """
    try:
        moment = as_moment(context.column(name), context.dialect)
    except NotTemporal as error:
        raise Misconfigured(str(error)) from None
    zone = timezone or context.zones.of(name)
    utc = [] if moment.aware is False else [ZonedReading("utc", None if moment.aware else _UTC)]
    wall = [] if moment.aware else [ZonedReading("wall", zone)]
    return TimeColumn(context, moment, utc + wall)


def zoned_column(context: Context, name: str, timezone: str | None = None) -> TimeColumn:
    """Return a column of moments whose every clock has a zone.

    Raises:
        Misconfigured: as `time_column`, or the column is naive and has no declared zone.
    """
    times = time_column(context, name, timezone)
    zoned = [clock for clock in times.clocks if clock.reading == "utc" or clock.zone is not None]
    if not zoned and context.column(name).type().is_date():
        text = f"{name} has dates, and it is not known where their days begin; declare a time zone for the source"
        raise Misconfigured(f"{text} or the column")
    if not zoned:
        raise Misconfigured(str(_without_zone(name)))
    return replace(times, clocks=zoned)


@dataclass(frozen=True, slots=True)
class EpochColumn:
    """A column of whole numbers since 1970, in UTC, as whole seconds; used as a `TimeColumn` is."""

    context: Context
    value: ir.IntegerValue
    clocks: ClassVar[Sequence[ZonedReading]] = (ZonedReading("utc", _UTC),)

    def now(self, clock: ZonedReading, shift: timedelta = timedelta()) -> ir.IntegerValue:
        """Return the time of the measurement plus a shift."""
        return self.context.now(shift, clock.zone).epoch_seconds()

    @property
    def evidence(self) -> Mapping[str, ir.Value]:
        """Count what `reading_of` has to know. SQLite takes text in a column of numbers."""
        filled, unparsed = self.value.notnull(), self.value.notnull() & False
        if self.context.dialect == "sqlite":
            unparsed = self.value.typeof().isin(["text", "blob"])
        return {"filled": self.context.count(filled), "unparsed": self.context.count(unparsed)}


def epoch_column(context: Context, name: str, epoch: Epoch) -> EpochColumn:
    """Return a column of seconds or milliseconds since 1970.

    Raises:
        Misconfigured: there is no such column, or it is not of whole numbers.
    """
    column = context.column(name)
    if not column.type().is_integer():
        raise Misconfigured(f"column '{name}' is of type {column.type()}; 'epoch' needs whole numbers")
    return EpochColumn(context, column if epoch == "seconds" else column // 1000)


def reading_of(measurement: Measurement, column: str, measured: str) -> Reading | Outcome:
    """Return the reading that fits the rows, of those for which `<measured>_<reading>` was measured.

    The outcome says why there is none: no value at all, values that are no time, some with an offset and some without,
    or wall clocks without a declared zone.
    """
    filled, unparsed = measurement.number("filled"), measurement.number("unparsed")
    readings: Sequence[Reading] = [reading for reading in _READINGS if f"{measured}_{reading}" in measurement.values]
    problem = None
    if unparsed:
        name = "{column}: {unparsed:count} value is not a valid timestamp"
        many = "{column}: {unparsed:count} values are not valid timestamps"
        problem = Message(many, {"column": column, "unparsed": unparsed}, one=name, counted="unparsed")
    elif not filled:
        return unknown(UnknownReason.NO_DATA, Message("{column} is NULL in every row", {"column": column}))
    elif "with_offset" in measurement.values:
        with_offset = measurement.number("with_offset")
        readings = [reading for reading in readings if with_offset == (filled if reading == "utc" else 0)]
        text = "{column}: {some:count} of {filled:count} values have an offset, the others have none"
        if 0 < with_offset < filled:
            problem = Message(text, {"column": column, "some": with_offset, "filled": filled})
        elif not readings:
            problem = _without_zone(column)
    if problem is not None:
        return unknown(UnknownReason.MISCONFIGURED, problem, {"unparsed": unparsed})
    return readings[0]


def moment_of(value: object, zone: str, *, not_after: datetime) -> datetime | None:
    """Return a value of a time column, as a driver returns it, as a moment in UTC; None if it names no moment.

    A wall clock that its zone shows twice is read as the latest moment that is not after `not_after`.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:  # such as -infinity
            return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - its zone follows
    if not isinstance(value, datetime):
        return None
    if value.tzinfo is not None:
        return value.astimezone(UTC)
    try:
        return read_local_time(value, ZoneInfo(zone), not_after=not_after)
    except OverflowError:  # a sentinel such as 0001-01-01 in a zone east of UTC
        return value.replace(tzinfo=UTC)


def moment_since_1970(seconds: object) -> datetime | None:
    """Return a value of an `EpochColumn` as a moment in UTC; None if the calendar has none."""
    try:
        return datetime.fromtimestamp(seconds, UTC) if isinstance(seconds, int) else None
    except (ValueError, OverflowError, OSError):
        return None


def placed(limit: date, clock: ZonedReading, zone: str | None) -> datetime | None:
    """Return a limit as it compares with the values of a column that are read by a clock; a date is its first instant.

    `zone` is the declared one of the column's wall clocks. A limit without an offset is a wall clock of that zone. None
    if a zone would have to be guessed.
    """
    wall = limit if isinstance(limit, datetime) else datetime(limit.year, limit.month, limit.day)  # noqa: DTZ001 - naive
    if wall.tzinfo is None and clock.reading == "wall":
        return wall
    if zone is None and (wall.tzinfo is None or clock.reading == "wall"):
        return None
    zoned = wall if wall.tzinfo else wall.replace(tzinfo=ZoneInfo(zone or _UTC))
    if clock.reading == "wall":
        return within_calendar(zoned, ZoneInfo(zone or _UTC)).replace(tzinfo=None)
    moment = within_calendar(zoned)
    return moment if clock.zone is None else moment.replace(tzinfo=None)


def _without_zone(column: str) -> Message:
    return Message(
        "{column} has timestamps without a time zone; declare one for the source or the column", {"column": column}
    )
