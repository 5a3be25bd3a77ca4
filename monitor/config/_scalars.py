"""The small words people type: those of the checks, and when things are due."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Final, Self, TypeAlias
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, PlainSerializer
from pydantic import WithJsonSchema as JsonSchema
from pydantic_core import CoreSchema, core_schema

from checks._scalars import (
    Clock,
    Duration,
    PositiveDuration,
    SchemaOfText,
    Weekdays,
    Zone,
    known_zone,
    parse_duration,
    say,
)

__all__ = [
    "Clock",
    "Cron",
    "Duration",
    "PositiveDuration",
    "Schedule",
    "SchemaOfText",
    "Weekdays",
    "Zone",
    "known_zone",
]

_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SCAN_FROM: Final = datetime(2024, 1, 1, tzinfo=UTC)
_SCAN_DAYS: Final = 8 * 366
"""Eight years hold every day that a cron line can name, the 29th of February on each second-rarest weekday included."""
_FIELD: Final = re.compile(r"[0-9a-z*/,\-]+")
_WEEKDAY_PART: Final = re.compile(r"(?P<first>\*|[a-z]{3}|[0-7])(-(?P<last>[a-z]{3}|[0-7]))?(/(?P<step>[1-7]))?")


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

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a schedule.

        Raises:
            ValueError: neither form, a duration of nothing, a cron field out of range, or a day that never comes.
        """
        words = " ".join(str(text).lower().split()) if isinstance(text, str) else ""
        if words.startswith("every "):
            length = parse_duration(words.removeprefix("every ").strip())
            if not length:
                raise ValueError("a schedule needs a duration longer than 0s, such as every 15m")
            return cls(f"every {say(length)}", length)
        if words.startswith("cron:"):
            line = words.removeprefix("cron:").strip()
            _check_cron(line)
            return cls(f"cron: {line}")
        raise ValueError(f"a schedule such as 'every 15m' or 'cron: 0 6 * * mon-fri', not {text!r}")

    def __str__(self) -> str:
        return self.text

    def next_after(self, moment: datetime, zone: str) -> datetime:
        """Give the first slot after a moment, in UTC; `zone` is the IANA zone of a cron line's wall clock."""
        moment = moment.astimezone(UTC)
        if self.every is not None:
            return moment + self.every - (moment - _EPOCH) % self.every
        return min(_next_cron(trigger, moment, zone) for trigger in _triggers(self._line, zone))

    def longest_period(self) -> timedelta:
        """Give the longest time between two slots in a row (clock changes apart)."""
        return self.every if self.every is not None else _longest_gap(self._line)

    @property
    def _line(self) -> str:
        return self.text.removeprefix("cron: ")

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


# --- cron -----------------------------------------------------------------------------------------------------------


def _check_cron(line: str) -> None:
    fields = line.split()
    if len(fields) != 5:
        raise ValueError(f"a cron line has five fields (minute hour day month weekday), not {len(fields)}: {line!r}")
    if not all(_FIELD.fullmatch(one) for one in fields):
        raise ValueError(f"a cron line of numbers, names, and * / , -, not {line!r}")
    try:
        triggers = _triggers(line, "UTC")
    except ValueError as error:
        raise ValueError(f"a cron line that can be read, not {line!r}: {error}") from None
    if next(_days(triggers), None) is None:
        raise ValueError(f"a cron line that is due some day, not {line!r}, which never is")


@cache
def _triggers(line: str, zone: str) -> tuple[CronTrigger, ...]:
    """Give APScheduler's triggers for a line: two when the day of the month and the weekday are both limited."""
    minute, hour, day, month, weekday = line.split()
    names = _weekday_names(weekday)
    pairs = [(day, names)] if day.startswith("*") or weekday.startswith("*") else [(day, "*"), ("*", names)]
    # A line with fixed hours is worked out on a wall clock without changes, and put onto the real one by `_instants`.
    wall = zone if hour.startswith("*") else "UTC"
    return tuple(
        CronTrigger(minute=minute, hour=hour, day=one, month=month, day_of_week=other, timezone=ZoneInfo(wall))
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


def _next_cron(trigger: CronTrigger, moment: datetime, zone: str) -> datetime:
    if str(trigger.timezone) == zone:
        found: datetime = trigger.get_next_fire_time(None, moment + timedelta(microseconds=1))
        return found.astimezone(UTC)
    wall = moment.astimezone(ZoneInfo(zone)).replace(tzinfo=UTC)
    while True:
        wall = trigger.get_next_fire_time(None, wall + timedelta(microseconds=1))
        found = _instant(wall.replace(tzinfo=None), ZoneInfo(zone))
        if found > moment:
            return found


def _instant(wall: datetime, zone: ZoneInfo) -> datetime:
    """Give the first moment at which clocks show a wall time, or, when they skip it, the moment of the jump."""
    found = wall.replace(tzinfo=zone).astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None) == wall:
        return found
    before, after = found - timedelta(days=2), found  # the clocks jump in between; halve the distance
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) / 2
        if _offset(middle, zone) == _offset(before, zone):
            before = middle
        else:
            after = middle
    return after.replace(microsecond=0)


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta | None:
    return moment.astimezone(zone).utcoffset()


def _days(triggers: tuple[CronTrigger, ...], days: int = _SCAN_DAYS) -> Iterator[datetime]:
    """Give the first moment of each of the next days (by default eight years of them) on which a line is due."""
    day, end = _SCAN_FROM, _SCAN_FROM + timedelta(days=days)
    while True:
        found = [trigger.get_next_fire_time(None, day) for trigger in triggers]
        due = min((one for one in found if one is not None), default=end)
        if due >= end:
            return
        day = due.replace(hour=0, minute=0) + timedelta(days=1)
        yield due


@cache
def _longest_gap(line: str) -> timedelta:
    triggers = _triggers(line, "UTC")
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
