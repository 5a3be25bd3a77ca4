"""Count time only while something is expected to happen: on some weekdays, not on holidays, between two clock times.

All arithmetic is between moments, so an hour that clocks skip or show twice counts as it passed. A wall clock that is
shown twice means the first time; one that is skipped means the moment of the change (`checks._clocks`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from checks._clocks import moment_of_local_time
from checks.parameters.scalars import Weekdays

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
