"""Schedules, and when cron lines are due: cronsim walks the calendar, the changes of the clocks are handled here.

A line with fixed hours is due once for each local time that it names: at its first occurrence where clocks go back, at
the moment of the change where they skip it. A line whose hour begins with `*` is due whenever the local time matches:
an hour that occurs twice counts twice, one that is skipped not at all. cronsim runs on local time without a zone,
because version 2.8 passes over slots where clocks change by half an hour (Lord Howe).
"""

import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import pairwise, takewhile
from typing import Annotated, Any, Final, Self, TypeAlias
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, PlainSerializer
from pydantic import WithJsonSchema as JsonSchema
from pydantic_core import CoreSchema, core_schema

from checks import first_change, moment_of_local_time
from checks.parameters.scalars import parse_duration, say

_DAY: Final = timedelta(days=1)
_JUST_BEFORE: Final = timedelta(microseconds=1)
_FIRST_REACH: Final = timedelta(hours=2)
_START: Final = datetime.combine(date(2024, 1, 1), time())
_EIGHT_YEARS: Final = 8 * 366 * _DAY
"""Eight years hold every day that a cron line can name, the 29th of February on each second-rarest weekday included."""
_FIELD: Final = re.compile(r"[0-9a-z*/,\-]+")
_UTC: Final = ZoneInfo("UTC")
_FIELD_NAMES: Final = ("minute", "hour", "day-of-month", "month", "day-of-week")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_WEEKDAY_RANGE: Final = re.compile(rf"({'|'.join(_DAYS)}|[0-7])-({'|'.join(_DAYS)}|[0-7])(?!\w|/)")


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
    minute, hour, day, _, weekday = fields
    try:
        CronSim(_with_lists(f"{minute} {hour} {day} * {weekday}"), _START)
        CronSim(_with_lists(f"{minute} {hour} * {fields[3]} {weekday}"), _START)
    except CronSimError as error:
        name = str(error).lower().removeprefix("bad ")
        text = dict(zip(_FIELD_NAMES, fields, strict=True)).get(name, line)
        raise ValueError(f"a valid cron line, not {line!r}: {name} {text!r} is not valid") from None
    if not _is_ever_due(line):
        raise ValueError(f"a cron line that matches some date, not {line!r}, which never matches")


def _is_ever_due(line: str) -> bool:
    try:
        return next(CronSim(_with_lists(line), _START), None) is not None
    except CronSimError:  # each field is valid, but no month among them has such a day
        return False


def next_slot(line: str, moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the first time after a moment at which a line is due, both in UTC; `zone` is that of its local time."""
    find = _next_by_elapsed_time if line.split()[1].startswith("*") else _next_by_local_time
    return find(line, moment, zone)


def _next_by_local_time(line: str, moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the next slot of a line with fixed hours: each local time of it is due once."""
    local = moment.astimezone(zone).replace(tzinfo=None)
    while True:
        local = _after(line, local)
        slot = moment_of_local_time(local, zone)
        if slot > moment:
            return slot


def _next_by_elapsed_time(line: str, moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the next moment at which the local time fits a line of any hour, going from change to change."""
    while True:
        shift = _offset(moment, zone)
        slot = (_after(line, (moment + shift).replace(tzinfo=None)) - shift).replace(tzinfo=UTC)
        if _offset(slot, zone) == shift:
            return slot
        change = first_change(moment, slot, zone)
        if slot < change:
            return slot
        local = (change + _offset(change, zone)).replace(tzinfo=None)
        if _after(line, local - _JUST_BEFORE) == local:
            return change
        moment = change


@cache
def _calendar(line: str) -> CronSim:
    return CronSim(_with_lists(line), _START)


def _after(line: str, local: datetime) -> datetime:
    """Return the first local time after another that fits a line, as if clocks never changed."""
    slots = copy(_calendar(line))
    slots.dt = local.replace(microsecond=0)
    return next(slots)


def _with_lists(line: str) -> str:
    """Return a line whose weekdays are not given as ranges across Saturday (`sat-mon`), which cronsim does not read."""
    *fields, weekdays = line.split()

    def in_order(match: re.Match[str]) -> str:
        first, last = (_DAYS.index(day) if day in _DAYS else int(day) for day in match.groups())
        days = [*range(first, 7), *range(last + 1)]
        return ",".join(str(day) for day in days) if last < first < 7 else match[0]

    return " ".join([*fields, _WEEKDAY_RANGE.sub(in_order, weekdays)])


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()


def count_slots(line: str, after: datetime, until: datetime, zone: ZoneInfo) -> int:
    """Count the slots after a moment and not after another, both UTC; years of minutes take a moment.

    On a day without a change of the clocks, as on those beside it, a line that is due at all is due as often as on
    every other such day: only the days around a change, the first and the last are gone through slot by slot.
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
    of_a_day = takewhile(lambda slot: slot.date() == days[0].date(), _slots_from(line, days[0]))
    times = list(of_a_day)
    within = max((after - before for before, after in pairwise(times)), default=timedelta())
    across = max((after - before for before, after in pairwise(days)), default=366 * _DAY)
    return max(within, across - (times[-1] - times[0]))


def _days(line: str, reach: timedelta) -> Iterator[datetime]:
    """Yield the first slot of each day on which a line is due, from a fixed day on, without clock changes."""
    moment = _START - _JUST_BEFORE
    while (slot := _after(line, moment)) < _START + reach:
        yield slot
        moment = datetime.combine(slot.date() + _DAY, time()) - _JUST_BEFORE


def _slots_from(line: str, first: datetime) -> Iterator[datetime]:
    while True:
        yield first
        first = _after(line, first)


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
    start, end = (moment_of_local_time(datetime.combine(day, time()), zone) for day in (date, date + _DAY))
    return start, end


def _is_plain(start: datetime, end: datetime, zone: ZoneInfo) -> bool:
    """Check whether the clocks stay as they are on a day, and on those beside it."""
    moments = (start - _DAY, start, end, end + _DAY)
    return len({moment.astimezone(zone).utcoffset() for moment in moments}) == 1


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


_CHANGES: Final = "when data changes"
_AT_LEAST: Final = ", at least every"
_LOOK: Final = "every 5m"
"""How often the sign of changes is asked for by default."""
_ONCE: Final = timedelta(days=1)
"""In which time all is read by default."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When something is due: `every 15m`, or `cron: 0 6 * * mon-fri` in a time zone. `str(schedule)` is its text.

    `every` counts from 1970-01-01T00:00Z, so its slots are evenly spaced and the same on every machine, whatever the
    time zone; for a wall clock time there is `cron`.

    Cron lines have five fields and mean what cron means: weekdays 0 and 7 are Sunday; when both the day of the month
    and the weekday are limited, either is enough. A time that the clocks skip in spring is due once, when they have
    jumped; a time that they show twice in autumn is due the first time only, unless the hour is `*` or `*/n`: such a
    line goes by elapsed time.
    """

    text: str
    every: timedelta | None = None
    full_every: timedelta | None = None
    """With `when data changes`: a table that did not change is read once in this time, else each time."""

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a schedule, which may end in `when data changes` and the time in which all is read at least once.

        Raises:
            ValueError: neither form, a duration of nothing, a cron field out of range, or a day that never comes.
        """
        words = " ".join(str(text).lower().split()) if isinstance(text, str) else ""
        if _CHANGES in words:
            return cls._on_changes(words)
        if words.startswith("every "):
            length = parse_duration(words.removeprefix("every ").strip())
            if not length:
                raise ValueError("a schedule needs a duration longer than 0s, such as every 15m")
            return cls(f"every {say(length)}", length)
        if words.startswith("cron:"):
            line = words.removeprefix("cron:").strip()
            check_line(line)
            return cls(f"cron: {line}")
        raise ValueError(f"a schedule such as 'every 15m' or 'cron: 0 6 * * mon-fri', not {text!r}")

    @classmethod
    def _on_changes(cls, words: str) -> Self:
        when, _, end = words.partition(_CHANGES)
        length = parse_duration(end.removeprefix(_AT_LEAST).strip()) if end.startswith(_AT_LEAST) else _ONCE
        if not length or (end and not end.startswith(_AT_LEAST)):
            raise ValueError(f"after '{_CHANGES}' nothing, or a length such as '{_AT_LEAST.strip()} 12h', not '{end}'")
        schedule = cls.parse(when.strip() or _LOOK)
        return replace(schedule, text=f"{schedule.text} {_CHANGES}{_AT_LEAST} {say(length)}", full_every=length)

    def __str__(self) -> str:
        return self.text

    def next_after(self, moment: datetime, zone: str) -> datetime:
        """Return the first slot after a moment, in UTC; `zone` is the IANA zone of a cron line's wall clock."""
        moment = moment.astimezone(UTC)
        if self.every is not None:
            return moment + self.every - (moment - _EPOCH) % self.every
        return next_slot(self._line, moment, ZoneInfo(zone))

    def count_between(self, after: datetime, until: datetime, zone: str) -> int:
        """Count the slots after a moment and not after another; years of minutes take a moment."""
        if self.every is not None:
            return max(0, (until - _EPOCH) // self.every - (after - _EPOCH) // self.every)
        return count_slots(self._line, after.astimezone(UTC), until.astimezone(UTC), ZoneInfo(zone))

    def last_between(self, after: datetime, until: datetime, zone: str, *, most: int) -> tuple[datetime, ...]:
        """Return the last slots after a moment and not after another, up to so many, in order."""
        if self.every is not None:
            count = min(most, self.count_between(after, until, zone))
            last = until - (until - _EPOCH) % self.every
            return tuple(last - self.every * back for back in reversed(range(count)))
        return last_slots(self._line, after.astimezone(UTC), until.astimezone(UTC), ZoneInfo(zone), most=most)

    def longest_period(self) -> timedelta:
        """Return the longest time between two slots in a row (clock changes apart)."""
        return self.every if self.every is not None else longest_gap(self._line)

    @property
    def _line(self) -> str:
        return self.text.removeprefix("cron: ").partition(f" {_CHANGES}")[0]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        as_text = core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema())
        return core_schema.no_info_plain_validator_function(cls._read, serialization=as_text)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {
            "type": "string",
            "pattern": r"^(every +[0-9wdhms]+|cron: *\S+( +\S+){4})$",
            "description": "When it is due: evenly spaced, or a cron line of five fields.",
            "examples": ["every 15m", "cron: 0 6 * * mon-fri"],
        }

    @classmethod
    def _read(cls, value: object) -> "Schedule":
        return value if isinstance(value, Schedule) else cls.parse(value)


def _read_cron(value: object) -> Schedule:
    if isinstance(value, Schedule):
        return value
    if isinstance(value, str):
        return Schedule.parse(f"cron: {value.removeprefix('cron:')}")
    raise ValueError(f"a cron line such as '0 8 * * mon', not {value!r}")


Cron: TypeAlias = Annotated[
    Schedule,
    BeforeValidator(_read_cron),
    PlainSerializer(lambda schedule: str(schedule).removeprefix("cron: "), return_type=str),
    JsonSchema(
        {
            "type": "string",
            "pattern": r"^\S+( +\S+){4}$",
            "description": "A cron line: minute, hour, day of the month, month, weekday.",
            "examples": ["0 8 * * mon"],
        }
    ),
]
