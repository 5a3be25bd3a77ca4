"""Read cron lines, and find when they are due: once for each wall clock time, whatever the clocks do."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger

_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SCAN_FROM: Final = datetime(2024, 1, 1, tzinfo=UTC)
_SCAN_DAYS: Final = 8 * 366
"""Eight years hold every day that a cron line can name, the 29th of February on each second-rarest weekday included."""
_FIELD: Final = re.compile(r"[0-9a-z*/,\-]+")
_WEEKDAY_PART: Final = re.compile(r"(?P<first>\*|[a-z]{3}|[0-7])(-(?P<last>[a-z]{3}|[0-7]))?(/(?P<step>[1-7]))?")


def check_line(line: str) -> None:
    """Refuse what is no cron line.

    Raises:
        ValueError: not five fields, a field that cannot be read, a day that never comes.
    """
    fields = line.split()
    if len(fields) != 5:
        raise ValueError(f"a cron line has five fields (minute hour day month weekday), not {len(fields)}: {line!r}")
    if not all(_FIELD.fullmatch(field) for field in fields):
        raise ValueError(f"a cron line of numbers, names, and * / , -, not {line!r}")
    try:
        triggers = _triggers(line)
    except ValueError as error:
        raise ValueError(f"a cron line that can be read, not {line!r}: {error}") from None
    if next(_days(triggers), None) is None:
        raise ValueError(f"a cron line that is due some day, not {line!r}, which never is")


def next_slot(line: str, moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the first moment after another at which a line is due, both UTC; `zone` is whose wall clock it goes by."""
    find = _next_by_elapsed_time if line.split()[1].startswith("*") else _next_by_the_wall
    return min(find(trigger, moment, zone) for trigger in _triggers(line))


@cache
def _triggers(line: str) -> tuple[CronTrigger, ...]:
    """Return APScheduler's triggers for a line: two when the day of the month and the weekday are both limited.

    They run on a wall clock without changes, and what they find is put onto the real one here: on a real one,
    APScheduler passes over slots after the clocks went forward.
    """
    minute, hour, day, month, weekday = line.split()
    names = _weekday_names(weekday)
    pairs = [(day, names)] if day.startswith("*") or weekday.startswith("*") else [(day, "*"), ("*", names)]
    return tuple(
        CronTrigger(minute=minute, hour=hour, day=one, month=month, day_of_week=other, timezone=UTC)
        for one, other in pairs
    )


def _weekday_names(field: str) -> str:
    """Write the weekdays as names, because APScheduler counts from Monday and cron from Sunday."""
    if field == "*":
        return field
    numbers: set[int] = set()
    for part in field.split(","):
        match = _WEEKDAY_PART.fullmatch(part)
        if match is None:
            raise ValueError(f"weekday {part!r}; write sun, mon ... or 0 to 7")
        first = 0 if match["first"] == "*" else _weekday(match["first"])
        last = 6 if match["first"] == "*" else _weekday(match["last"] or match["first"])
        numbers.update((first + step) % 7 for step in range(0, (last - first) % 7 + 1, int(match["step"] or 1)))
    return ",".join(_DAYS[number] for number in sorted(numbers))


def _weekday(word: str) -> int:
    if word.isdigit():
        return int(word) % 7
    if word not in _DAYS:
        raise ValueError(f"weekday {word!r}; write sun, mon ... or 0 to 7")
    return _DAYS.index(word)


def _next_by_the_wall(trigger: CronTrigger, moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the next slot of a line with fixed hours: each wall time of it is due once."""
    wall = moment.astimezone(zone).replace(tzinfo=UTC)
    while True:
        wall = _after(trigger, wall)
        current_moment = _instant(wall.replace(tzinfo=None), zone)
        if current_moment > moment:
            return current_moment


def _next_by_elapsed_time(trigger: CronTrigger, moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the next moment at which the wall clock fits a line of any hour; it is sought from change to change."""
    while True:
        shift = _offset(moment, zone)
        found = _after(trigger, moment + shift) - shift
        if _offset(found, zone) == shift:
            return found
        change = _first_change(moment, found, zone)
        if found < change:
            return found
        at_once = change + _offset(change, zone)
        if _after(trigger, at_once - timedelta(microseconds=1)) == at_once:
            return change
        moment = change


def _after(trigger: CronTrigger, wall: datetime) -> datetime:
    moment: datetime = trigger.get_next_fire_time(None, wall + timedelta(microseconds=1))
    return moment


def _first_change(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """Return when the clocks change between two moments that differ in their offset, to the second."""
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) / 2
        if _offset(middle, zone) == _offset(before, zone):
            before = middle
        else:
            after = middle
    return after.replace(microsecond=0)


def _instant(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the first moment at which clocks show a wall time, or, when they skip it, the moment of the jump."""
    found = wall.replace(tzinfo=zone).astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None) == wall:
        return found
    return _first_change(found - timedelta(days=2), found, zone)


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()


def _days(triggers: tuple[CronTrigger, ...], days: int = _SCAN_DAYS) -> Iterator[datetime]:
    """Yield the first moment of each of the next days (by default eight years of them) on which a line is due."""
    day, end = _SCAN_FROM, _SCAN_FROM + timedelta(days=days)
    while True:
        results = [trigger.get_next_fire_time(None, day) for trigger in triggers]
        due = min((result for result in results if result is not None), default=end)
        if due >= end:
            return
        day = due.replace(hour=0, minute=0) + timedelta(days=1)
        yield due


@cache
def longest_gap(line: str) -> timedelta:
    """Return the longest time between two slots of a line in a row (clock changes apart)."""
    triggers = _triggers(line)
    _, _, day, month, _ = line.split()
    repeats_weekly = day == month == "*"
    days = list(_days(triggers, 15 if repeats_weekly else _SCAN_DAYS))
    times, moment = [], days[0]
    while moment.date() == days[0].date():
        times.append(moment)
        moment = min(trigger.get_next_fire_time(None, moment + timedelta(microseconds=1)) for trigger in triggers)
    within = max((after - before for before, after in pairwise(times)), default=timedelta())
    first, last = times[0] - days[0], times[-1] - days[0]
    across = max((after - before for before, after in pairwise(days)), default=timedelta(days=366))
    return max(within, across + first - last)
