"""Turn local times into moments and back, also where clocks skip an hour or show it twice.

One rule for every local time that a configuration names (cron lines, the calendars of freshness, maintenance, prices):
one that clocks show twice means the first time, one that they skip means the moment of the change. Local times in data
have a rule of their own, `read_local_time`: data cannot be newer than the time at which they were read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from checks.parameters.scalars import Weekdays

_STEP = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)


def moment_of_local_time(local: datetime, zone: ZoneInfo) -> datetime:
    """Return the first moment, in UTC, at which clocks show a naive local time, or of the change that skips it.

    Raises:
        OverflowError: the moment lies outside the years 1 to 9999 in UTC.
    """
    moment = local.replace(tzinfo=zone).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == local:
        return moment
    return first_change(local.replace(tzinfo=zone, fold=1).astimezone(UTC), moment, zone)


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
_FIRST_DAY: Final = 3  # the ordinal of the first day whose midnight lies in the year 1 in every zone
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

    @property
    def _is_always(self) -> bool:
        return self.days == _EVERY_DAY and not self.holidays and self.start == self.end

    def _windows(self, since: datetime, until: datetime | None) -> Iterator[tuple[datetime, datetime]]:
        """Yield the windows that may touch the time between two moments, in order. They never overlap."""
        first = max(since.astimezone(self.zone).toordinal() - 1, _FIRST_DAY)
        last = date.max.toordinal() - 2 if until is None else until.astimezone(self.zone).toordinal()
        overnight = timedelta(days=0 if self.end > self.start else 1)
        for ordinal in range(first, last + 1):
            day = date.fromordinal(ordinal)
            if day.weekday() in self.days and day not in self.holidays:
                opened, closed = datetime.combine(day, self.start), datetime.combine(day + overnight, self.end)
                yield moment_of_local_time(opened, self.zone), moment_of_local_time(closed, self.zone)
