"""Count the slots of a cron line over years, without going from one to the next.

On a day on which the clocks stay as they are, as on those beside it, a line that is due at all is due as often as on
every other such day. Only the days around a change of the clocks, the first and the last are gone through.
"""

from datetime import UTC, datetime, time, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from monitor.config._cron import next_slot

_DAY: Final = timedelta(days=1)
_JUST_BEFORE: Final = timedelta(microseconds=1)
_FIRST_REACH: Final = timedelta(hours=2)
_UTC: Final = ZoneInfo("UTC")


def count_slots(line: str, after: datetime, until: datetime, zone: ZoneInfo) -> int:
    """Count the slots after a moment and not after another, both UTC; `zone` is whose wall clock the line goes by."""
    total = 0
    while (slot := next_slot(line, after, zone)) <= until:
        start, end = _day_of(slot, zone)
        if after < start and end <= until and _is_plain(start, end, zone):
            total += _slots_of_a_day(line)
            after = end - _JUST_BEFORE
        else:
            total += 1
            after = slot
    return total


def last_slots(line: str, after: datetime, until: datetime, zone: ZoneInfo, *, most: int) -> tuple[datetime, ...]:
    """Return the last slots after a moment and not after another, up to so many, in order."""
    reach = _FIRST_REACH
    while True:
        begin = max(after, until - reach)
        found = _each(line, begin, until, zone)
        if len(found) >= most or begin == after:
            return tuple(found[-most:])
        reach *= 4


def _each(line: str, after: datetime, until: datetime, zone: ZoneInfo) -> list[datetime]:
    results = []
    while (slot := next_slot(line, after, zone)) <= until:
        results.append(slot)
        after = slot
    return results


@cache
def _slots_of_a_day(line: str) -> int:
    """Return how often a line is due on a day on which it is due and the clocks do not change."""
    first = next_slot(line, datetime(2024, 1, 1, tzinfo=UTC) - _JUST_BEFORE, _UTC)
    start, end = _day_of(first, _UTC)
    return len(_each(line, start - _JUST_BEFORE, end - _JUST_BEFORE, _UTC))


def _day_of(moment: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return when the day of a moment begins and ends on a wall clock, as far as that is plain."""
    date = moment.astimezone(zone).date()
    begins = (datetime.combine(one, time(), tzinfo=zone) for one in (date, date + _DAY))
    start, end = (begin.astimezone(UTC) for begin in begins)
    return start, end


def _is_plain(start: datetime, end: datetime, zone: ZoneInfo) -> bool:
    """Check whether the clocks stay as they are on a day, and on those beside it."""
    moments = (start - _DAY, start, end, end + _DAY)
    return len({moment.astimezone(zone).utcoffset() for moment in moments}) == 1
