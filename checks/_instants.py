"""Ask when: read a time column as moments, and say why that cannot be done.

A column is read in one of two ways. In the reading `utc` its values are moments; a text in it carries an offset. In the
reading `wall` they are naive wall clocks of a declared zone. Where the type decides, one reading is asked for; where
only the rows can tell (text, and everything in SQLite), both are, and `reading_of` picks the one that fits all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from checks._clocks import read_local_time
from checks._contract import Context, Measurement, Misconfigured, Outcome, UnknownReason, unknown
from checks._message import Message
from sources import NotTemporal
from sources.expressions import ir
from sources.moments import Moment, as_moment

Reading: TypeAlias = Literal["utc", "wall"]

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
        told = {"filled": filled, "unparsed": self.context.count(self.moment.unparsed)}
        if self.moment.aware is not None or self.moment.offset is None:
            return told
        return {**told, "with_offset": self.context.count(self.moment.offset)}


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
        Misconfigured: as `time_column`, or the column is naive and nobody declared a zone.
    """
    times = time_column(context, name, timezone)
    zoned = [clock for clock in times.clocks if clock.reading == "utc" or clock.zone is not None]
    if not zoned:
        raise Misconfigured(str(_without_zone(name)))
    return replace(times, clocks=zoned)


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


def moment_of(seen: object, zone: str, *, not_after: datetime) -> datetime | None:
    """Return a value of a time column, as a driver returns it, as a moment in UTC; None if it names no moment.

    A wall clock that its zone shows twice is read as the latest moment that is not after `not_after`.
    """
    if isinstance(seen, str):
        try:
            seen = datetime.fromisoformat(seen)
        except ValueError:  # such as -infinity
            return None
    if isinstance(seen, date) and not isinstance(seen, datetime):
        seen = datetime(seen.year, seen.month, seen.day)  # noqa: DTZ001 - its zone follows
    if not isinstance(seen, datetime):
        return None
    if seen.tzinfo is not None:
        return seen.astimezone(UTC)
    try:
        return read_local_time(seen, ZoneInfo(zone), not_after=not_after)
    except OverflowError:  # a sentinel such as 0001-01-01 in a zone east of UTC
        return seen.replace(tzinfo=UTC)


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
    moment = (wall if wall.tzinfo else wall.replace(tzinfo=ZoneInfo(zone or _UTC))).astimezone(UTC)
    if clock.reading == "wall":
        return moment.astimezone(ZoneInfo(zone or _UTC)).replace(tzinfo=None)
    return moment if clock.zone is None else moment.replace(tzinfo=None)


def _without_zone(column: str) -> Message:
    return Message(
        "{column} has timestamps without a time zone; declare one for the source or the column", {"column": column}
    )
