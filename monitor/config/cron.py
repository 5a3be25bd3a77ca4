"""When cron lines are due: cronsim reads them and finds their slots, by the rules of Debian's cron.

A line with fixed minutes and hours is due once for each local time that it names: at its first occurrence where clocks
go back, right after the gap where they go forward. A line whose minute or hour begins with `*` is due whenever the
local time matches, so an hour that occurs twice counts twice and one that is skipped not at all.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from functools import cache
from itertools import pairwise, takewhile
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

_DAY: Final = timedelta(days=1)
_JUST_BEFORE: Final = timedelta(microseconds=1)
_FIRST_REACH: Final = timedelta(hours=2)
_START: Final = datetime(2024, 1, 1)  # noqa: DTZ001 - days of the calendar, on no clock
_EIGHT_YEARS: Final = 8 * 366 * _DAY
"""Eight years hold every day that a cron line can name, the 29th of February on each second-rarest weekday included."""
_FIELD: Final = re.compile(r"[0-9a-z*/,\-]+")
_UTC: Final = ZoneInfo("UTC")


def check_line(line: str) -> None:
    """Raise an error for a text that is not a cron line.

    Raises:
        ValueError: not five fields, a field that cannot be read, a day that never comes.
    """
    fields = line.split()
    if len(fields) != 5:
        raise ValueError(f"a cron line has five fields (minute hour day month weekday), not {len(fields)}: {line!r}")
    if not all(_FIELD.fullmatch(field) for field in fields):
        raise ValueError(f"a cron line of numbers, names, and * / , -, not {line!r}")
    try:
        slots = CronSim(line, _START)
    except CronSimError as error:
        raise ValueError(f"a cron line that can be read, not {line!r}: {str(error).lower()}") from None
    if next(slots, None) is None:
        raise ValueError(f"a cron line that is due some day, not {line!r}, which never is")


def next_slot(line: str, moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the first time after a moment at which a line is due, both in UTC; `zone` is that of its local time."""
    slots = (slot.astimezone(UTC) for slot in CronSim(line, moment.astimezone(zone)))
    return next(slot for slot in slots if slot > moment)


def count_slots(line: str, after: datetime, until: datetime, zone: ZoneInfo) -> int:
    """Count the slots after a moment and not after another, both UTC; years of minutes take a moment.

    On a day without a change of the clocks, as on those beside it, a line that is due at all is due as often as on every
    other such day: only the days around a change, the first and the last are gone through slot by slot.
    """
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
        slots = _slots_between(line, begin, until, zone)
        if len(slots) >= most or begin == after:
            return tuple(slots[-most:])
        reach *= 4


@cache
def longest_gap(line: str) -> timedelta:
    """Return the longest time between two slots of a line in a row (clock changes apart)."""
    _, _, day, month, _ = line.split()
    days = list(_days(line, 15 * _DAY if day == month == "*" else _EIGHT_YEARS))
    of_a_day = takewhile(lambda slot: slot.date() == days[0].date(), CronSim(line, days[0] - _JUST_BEFORE))
    times = list(of_a_day)
    within = max((after - before for before, after in pairwise(times)), default=timedelta())
    across = max((after - before for before, after in pairwise(days)), default=366 * _DAY)
    return max(within, across - (times[-1] - times[0]))


def _days(line: str, reach: timedelta) -> Iterator[datetime]:
    """Yield the first slot of each day on which a line is due, from a fixed day on, without clock changes."""
    moment = _START - _JUST_BEFORE
    while (slot := next(CronSim(line, moment))) < _START + reach:
        yield slot
        moment = datetime.combine(slot.date() + _DAY, time()) - _JUST_BEFORE


def _slots_between(line: str, after: datetime, until: datetime, zone: ZoneInfo) -> list[datetime]:
    slots = []
    while (slot := next_slot(line, after, zone)) <= until:
        slots.append(slot)
        after = slot
    return slots


@cache
def _slots_of_a_day(line: str) -> int:
    """Return how often a line is due on a day on which it is due and the clocks do not change."""
    first = next_slot(line, _START.replace(tzinfo=UTC) - _JUST_BEFORE, _UTC)
    start, end = _day_of(first, _UTC)
    return len(_slots_between(line, start - _JUST_BEFORE, end - _JUST_BEFORE, _UTC))


def _day_of(moment: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return when the day of a moment begins and ends in local time, in UTC."""
    date = moment.astimezone(zone).date()
    start, end = (datetime.combine(day, time(), tzinfo=zone).astimezone(UTC) for day in (date, date + _DAY))
    return start, end


def _is_plain(start: datetime, end: datetime, zone: ZoneInfo) -> bool:
    """Check whether the clocks stay as they are on a day, and on those beside it."""
    moments = (start - _DAY, start, end, end + _DAY)
    return len({moment.astimezone(zone).utcoffset() for moment in moments}) == 1
